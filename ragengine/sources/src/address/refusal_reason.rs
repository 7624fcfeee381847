use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// A cloud hands out credentials there. Nothing allows it.
    Metadata,
    /// It is the API server's.
    ApiServer,
    /// It stands for none.
    Unspecified,
    /// It is the pod's own.
    Loopback,
    /// Only the node reaches it.
    LinkLocal,
    /// It is many at once.
    Multicast,
    /// Nobody has it.
    Reserved,
    /// It belongs to a network that is not everybody's. That alone is no reason: it is one where something public leads there.
    Private,
}

impl RefusalReason {
    /// Why an address may not be used, whoever asks. None: it is public.
    pub fn against(address: IpAddr) -> Option<Self> {
        if METADATA.contains(&address) {
            return Some(Self::Metadata);
        }
        match address {
            IpAddr::V4(address) => Self::against_v4(address),
            IpAddr::V6(address) => Self::against_v6(address),
        }
    }

    /// What can be done about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Metadata => "nothing allows it",
            _ => "allowedRanges can allow it",
        }
    }

    /// Whether it is one only where something public leads.
    pub fn depends_on_reach(self) -> bool {
        self == Self::Private
    }

    /// Whether a range with an address as it is written allows this of an address that it carries. What only the pod and the node reach must be
    /// named itself: the range was meant for a translator, and not for them.
    pub fn is_allowed_with_carrier(self) -> bool {
        matches!(self, Self::Private | Self::Unspecified | Self::Multicast | Self::Reserved)
    }

    fn against_v4(address: Ipv4Addr) -> Option<Self> {
        match address.octets() {
            [0, ..] => Some(Self::Unspecified),
            [127, ..] => Some(Self::Loopback),
            [169, 254, ..] => Some(Self::LinkLocal),
            [224..=239, ..] => Some(Self::Multicast),
            [240..=255, ..] => Some(Self::Reserved),
            // RFC 1918, and RFC 6598, in which clouds have pods and Services.
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
            // RFC 4193, and what was site-local before it.
            [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Self::Private),
            _ => None,
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Metadata => "where a cloud hands out credentials",
            Self::ApiServer => "the API server's",
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
            Self::Private => "private, and what leads there is public",
        })
    }
}

/// Where clouds hand out credentials.
const METADATA: [IpAddr; 16] = [
    // Amazon, Azure, Google and most others.
    v4(169, 254, 169, 254),
    // Google's for workloads, on the node.
    v4(169, 254, 169, 252),
    // Amazon's for containers, and for pods.
    v4(169, 254, 170, 2),
    v4(169, 254, 170, 23),
    // Tencent.
    v4(169, 254, 0, 23),
    // Scaleway.
    v4(169, 254, 42, 42),
    v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42]),
    // Alibaba.
    v4(100, 100, 100, 200),
    // Azure's agent.
    v4(168, 63, 129, 16),
    // Oracle, and what it had before.
    v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]),
    v4(192, 0, 0, 192),
    // Amazon, and its own for pods.
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
