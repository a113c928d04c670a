//! Which addresses are not the public internet, and what they are instead.
//!
//! IPv4 lists what is special; IPv6 accepts global unicast only and lists what is special inside it. An IPv4-mapped
//! IPv6 address is judged as the IPv4 address it stands for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::network::Network;

type Named = (Network, &'static str);

const LOOPBACK_V4: Network = v4([127, 0, 0, 0], 8);
const LOOPBACK_V6: Network = Network::v6(Ipv6Addr::LOCALHOST, 128);
const GLOBAL_UNICAST: Network = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Narrow blocks first: the first that holds an address names it.
const SPECIAL_V4: [Named; 19] = [
    (v4([169, 254, 169, 254], 32), "a cloud metadata service"),
    (v4([100, 100, 100, 200], 32), "a cloud metadata service"),
    (v4([168, 63, 129, 16], 32), "a cloud metadata service"),
    (v4([192, 0, 0, 192], 32), "a cloud metadata service"),
    (v4([255, 255, 255, 255], 32), "broadcast"),
    (v4([0, 0, 0, 0], 8), "unspecified"),
    (v4([10, 0, 0, 0], 8), "private"),
    (v4([100, 64, 0, 0], 10), "shared by carriers (CGNAT)"),
    (LOOPBACK_V4, "loopback"),
    (v4([169, 254, 0, 0], 16), "link-local"),
    (v4([172, 16, 0, 0], 12), "private"),
    (v4([192, 0, 0, 0], 24), "reserved for protocols"),
    (v4([192, 0, 2, 0], 24), "for documentation"),
    (v4([192, 88, 99, 0], 24), "a 6to4 relay"),
    (v4([192, 168, 0, 0], 16), "private"),
    (v4([198, 18, 0, 0], 15), "for benchmarks"),
    (v4([198, 51, 100, 0], 24), "for documentation"),
    (v4([203, 0, 113, 0], 24), "for documentation"),
    (v4([224, 0, 0, 0], 3), "multicast or reserved"),
];

const SPECIAL_V6: [Named; 17] = [
    (
        v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),
        "a cloud metadata service",
    ),
    (Network::v6(Ipv6Addr::UNSPECIFIED, 128), "unspecified"),
    (LOOPBACK_V6, "loopback"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), "an IPv4-compatible address"),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), "an IPv4-translated address"),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), "an IPv4 address behind NAT64"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "an IPv4 address behind NAT64"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "unique local"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link-local"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site-local"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "an IPv4 address behind Teredo"),
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "for benchmarks"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "reserved for protocols"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "for documentation"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "an IPv4 address behind 6to4"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "for documentation"),
];

const fn v4(octets: [u8; 4], prefix: u8) -> Network {
    Network::v4(Ipv4Addr::from_octets(octets), prefix)
}

const fn v6(segments: [u16; 8], prefix: u8) -> Network {
    Network::v6(Ipv6Addr::from_segments(segments), prefix)
}

/// What the address is, if it is not on the public internet.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    let address = address.to_canonical();
    let named = |ranges: &[Named]| {
        ranges
            .iter()
            .find(|(range, _)| range.contains(address))
            .map(|&(_, name)| name)
    };
    match address {
        IpAddr::V4(_) => named(&SPECIAL_V4),
        IpAddr::V6(_) if GLOBAL_UNICAST.contains(address) => named(&SPECIAL_V6),
        IpAddr::V6(_) => named(&SPECIAL_V6).or(Some("not globally routed")),
    }
}

/// The narrowest block worth allowing for the sake of this address: all of loopback, otherwise the address alone.
pub(super) fn block_to_allow(address: IpAddr) -> Network {
    let address = address.to_canonical();
    [LOOPBACK_V4, LOOPBACK_V6]
        .into_iter()
        .find(|loopback| loopback.contains(address))
        .unwrap_or_else(|| Network::single(address))
}
