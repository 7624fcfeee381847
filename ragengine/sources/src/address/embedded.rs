use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All addresses that an address may lead to: itself, and the IPv4 addresses embedded in it, to which a translator or a
/// tunnel would forward.
pub fn reachable(address: IpAddr) -> Vec<IpAddr> {
    let embedded = match address {
        IpAddr::V4(_) => Vec::new(),
        IpAddr::V6(address) => embedded_in(address),
    };
    std::iter::once(address).chain(embedded.into_iter().map(IpAddr::V4)).collect()
}

fn embedded_in(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    match address.segments() {
        // Unspecified and loopback are not IPv4-compatible addresses.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        // IPv4-compatible, IPv4-mapped, IPv4-translated (RFC 2765), NAT64 with its well-known prefix (RFC 6052).
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => vec![joined(high, low)],
        [0x64, 0xff9b, 1, ..] => embedded_in_local_nat64(address),
        // 6to4.
        [0x2002, high, low, ..] => vec![joined(high, low)],
        // Teredo: the address of the server, and the inverted address of the client.
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            vec![joined(high, low), joined(!client_high, !client_low)]
        }
        _ => Vec::new(),
    }
}

/// NAT64 with the prefix for local use (RFC 8215). The address does not show which prefix length the network has
/// chosen, so all lengths of RFC 6052 are considered. Results that begin with zero are left out: they come from the
/// padding of another length, and no translator forwards to them.
fn embedded_in_local_nat64(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bytes = address.octets();
    // The octet at index 8 is never part of the IPv4 address.
    let by_prefix = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]];
    let embedded = by_prefix.map(|places| Ipv4Addr::from(places.map(|place| bytes[place])));
    let meant: Vec<_> = embedded.into_iter().filter(|address| address.octets()[0] != 0).collect();
    if meant.is_empty() { vec![Ipv4Addr::UNSPECIFIED] } else { meant }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_addresses_are_found() {
        let cases = [
            ("10.0.0.7", &[][..]),
            ("2606:4700::1", &[]),
            ("fd00::a00:7", &[]),
            ("::", &[]),
            ("::1", &[]),
            ("::10.0.0.7", &["10.0.0.7"]),
            ("::ffff:10.0.0.7", &["10.0.0.7"]),
            ("::ffff:0:10.0.0.7", &["10.0.0.7"]),
            ("64:ff9b::10.0.0.7", &["10.0.0.7"]),
            ("2002:a00:7::1", &["10.0.0.7"]),
            // The example of RFC 4380: server 65.54.227.120, client 192.0.2.45.
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", &["65.54.227.120", "192.0.2.45"]),
            // The examples of RFC 6052 with the prefix for local use: 48, 56, 64 and 96 bits.
            ("64:ff9b:1:c000:2:2100::", &["192.0.2.33", "2.33.0.0"]),
            ("64:ff9b:1:c0:0:221::", &["192.0.2.33"]),
            ("64:ff9b:1:0:c0:2:2100::", &["192.0.2.33", "33.0.0.0"]),
            ("64:ff9b:1::192.0.2.33", &["192.0.2.33"]),
            ("64:ff9b:1::", &["0.0.0.0"]),
            // The octet between the parts is ignored.
            ("64:ff9b:1:c000:ff02:2100::", &["192.0.2.33", "2.33.0.0"]),
        ];
        for (address, expected) in cases {
            let address: IpAddr = address.parse().unwrap();
            let expected: Vec<IpAddr> =
                std::iter::once(address).chain(expected.iter().map(|text| text.parse().unwrap())).collect();
            assert_eq!(reachable(address), expected, "{address}");
        }
    }

    #[test]
    fn every_length_of_the_prefix_for_local_use_is_considered() {
        let found = reachable("64:ff9b:1:0a01:0002:0304:0506:0708".parse().unwrap());
        let expected = ["10.1.2.3", "1.2.3.4", "2.3.4.5", "5.6.7.8"].map(|text| text.parse::<IpAddr>().unwrap());
        assert_eq!(found[1..], expected);
    }
}
