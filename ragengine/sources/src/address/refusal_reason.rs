use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// A cloud metadata address, which hands out credentials. It cannot be allowed.
    Metadata,
    /// An address of the Kubernetes API server.
    ApiServer,
    /// The unspecified address, such as `0.0.0.0`.
    Unspecified,
    /// The pod itself.
    Loopback,
    /// Reachable only from the node.
    LinkLocal,
    /// A group of hosts.
    Multicast,
    /// Not assigned to any host.
    Reserved,
    /// An address of a private network. It is refused only if a public server redirects to it.
    Private,
}

impl RefusalReason {
    /// The reason against an address, from the address alone. `None` if it is public.
    pub fn against(address: IpAddr) -> Option<Self> {
        if METADATA.contains(&address) {
            return Some(Self::Metadata);
        }
        match address {
            IpAddr::V4(address) => Self::against_v4(address),
            IpAddr::V6(address) => Self::against_v6(address),
        }
    }

    /// What the user can do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Metadata => "use another address",
            _ => "use another address, or add it to allowedRanges",
        }
    }

    /// Whether it only applies if a public server redirects to the address.
    pub fn depends_on_reach(self) -> bool {
        self == Self::Private
    }

    /// Whether a range that contains an IPv6 address also permits the IPv4 address embedded in it. Addresses that only
    /// the pod or the node can reach must be allowed by themselves, because the range is meant for an address
    /// translator.
    pub fn is_allowed_with_outer_address(self) -> bool {
        matches!(self, Self::Private | Self::Unspecified | Self::Multicast | Self::Reserved)
    }

    fn against_v4(address: Ipv4Addr) -> Option<Self> {
        match address.octets() {
            [0, ..] => Some(Self::Unspecified),
            [127, ..] => Some(Self::Loopback),
            [169, 254, ..] => Some(Self::LinkLocal),
            [224..=239, ..] => Some(Self::Multicast),
            [240..=255, ..] => Some(Self::Reserved),
            // RFC 1918, and RFC 6598, which clouds use for pods and Services.
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Some(Self::Private),
            _ => None,
        }
    }

    fn against_v6(address: Ipv6Addr) -> Option<Self> {
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Some(Self::Unspecified),
            [0, 0, 0, 0, 0, 0, 0, 1] => Some(Self::Loopback),
            [0xfe80..=0xfebf, ..] => Some(Self::LinkLocal),
            [0xff00..=0xffff, ..] => Some(Self::Multicast),
            // RFC 4193, and the deprecated site-local range.
            [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Self::Private),
            _ => None,
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Metadata => "a cloud metadata address, which hands out credentials",
            Self::ApiServer => "an address of the API server",
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
            Self::Private => "a private address, and a public server leads to it",
        })
    }
}

/// The addresses of cloud metadata services.
const METADATA: [IpAddr; 16] = [
    // Amazon, Azure, Google and most others.
    v4(169, 254, 169, 254),
    // Google, for workloads on a node.
    v4(169, 254, 169, 252),
    // Amazon, for containers and for pods.
    v4(169, 254, 170, 2),
    v4(169, 254, 170, 23),
    // Tencent.
    v4(169, 254, 0, 23),
    // Scaleway.
    v4(169, 254, 42, 42),
    v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42]),
    // Alibaba.
    v4(100, 100, 100, 200),
    // The agent of Azure.
    v4(168, 63, 129, 16),
    // Oracle, its current and its former address.
    v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]),
    v4(192, 0, 0, 192),
    // Amazon, for machines and for pods.
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23]),
    // Google.
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]),
    // Akamai.
    v6([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1]),
    // OpenStack.
    v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe]),
];

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn v6(segments: [u16; 8]) -> IpAddr {
    let [a, b, c, d, e, f, g, h] = segments;
    IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h))
}
