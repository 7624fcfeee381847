//! Where a server listens on a machine without IPv6.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// "Address family not supported by protocol", on Linux. The standard library has no name for it.
const ADDRESS_FAMILY_NOT_SUPPORTED: i32 = 97;

/// The address to listen on after this error: `[::]` is all addresses, also those of IPv4, so on a machine without IPv6
/// it is those of IPv4. `None` if the error has another cause, or the address is a specific one.
pub fn without_ipv6(address: SocketAddr, error: &io::Error) -> Option<SocketAddr> {
    let is_missing =
        error.raw_os_error() == Some(ADDRESS_FAMILY_NOT_SUPPORTED) || error.kind() == io::ErrorKind::AddrNotAvailable;
    let is_all = address.ip() == Ipv6Addr::UNSPECIFIED;
    (is_all && is_missing).then(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_addresses_become_those_of_ipv4_and_only_without_ipv6() {
        let not_supported = || io::Error::from_raw_os_error(ADDRESS_FAMILY_NOT_SUPPORTED);
        for (address, error, expected) in [
            ("[::]:5000", not_supported(), Some("0.0.0.0:5000")),
            ("[::]:0", io::ErrorKind::AddrNotAvailable.into(), Some("0.0.0.0:0")),
            ("[::]:5000", io::ErrorKind::AddrInUse.into(), None),
            ("[::]:80", io::ErrorKind::PermissionDenied.into(), None),
            ("[::1]:5000", not_supported(), None),
            ("[fd00::1]:5000", io::ErrorKind::AddrNotAvailable.into(), None),
            ("0.0.0.0:5000", io::ErrorKind::AddrNotAvailable.into(), None),
        ] {
            let expected: Option<SocketAddr> = expected.map(|text| text.parse().unwrap());
            assert_eq!(without_ipv6(address.parse().unwrap(), &error), expected, "{address} {error}");
        }
    }
}
