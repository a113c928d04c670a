//! Blocks of addresses, as `127.0.0.0/8` writes them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where the IPv4 part of a mapped address begins.
const MAPPED_PREFIX: u8 = 96;

/// A block of addresses. An IPv4-mapped IPv6 block is its IPv4 block: both name the same hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    base: IpAddr,
    prefix: u8,
}

/// Why a text is not a block of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NetworkError {
    /// It does not have the form.
    Form,
    /// Bits beyond the prefix are set; the block that was probably meant.
    HostBits(Network),
}

impl Network {
    /// The block of IPv4 addresses.
    pub(super) const fn v4(base: Ipv4Addr, prefix: u8) -> Self {
        Self {
            base: IpAddr::V4(base),
            prefix,
        }
    }

    /// The block of IPv6 addresses.
    pub(super) const fn v6(base: Ipv6Addr, prefix: u8) -> Self {
        Self {
            base: IpAddr::V6(base),
            prefix,
        }
    }

    /// The block that holds one address.
    pub(super) fn single(address: IpAddr) -> Self {
        Self {
            base: address,
            prefix: width(address),
        }
    }

    /// Whether the address lies in the block.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }

    /// Reads `10.0.0.0/8`, `fd00::/8`, or a single address.
    pub(super) fn parse(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Form)?;
        let prefix = match prefix {
            None => width(address),
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
                .parse()
                .ok()
                .filter(|&prefix| prefix <= width(address))
                .ok_or(NetworkError::Form)?,
            Some(_) => return Err(NetworkError::Form),
        };
        let network = Self { base: address, prefix }.unmapped();
        let whole = Self {
            base: network.first(),
            prefix: network.prefix,
        };
        if whole == network {
            Ok(network)
        } else {
            Err(NetworkError::HostBits(whole))
        }
    }

    fn unmapped(self) -> Self {
        match (self.base, self.prefix.checked_sub(MAPPED_PREFIX)) {
            (IpAddr::V6(base), Some(prefix)) => match base.to_ipv4_mapped() {
                Some(base) => Self {
                    base: IpAddr::V4(base),
                    prefix,
                },
                None => self,
            },
            _ => self,
        }
    }

    fn first(&self) -> IpAddr {
        match self.base {
            IpAddr::V4(base) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(base.to_bits() & mask))
            }
            IpAddr::V6(base) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(base.to_bits() & mask))
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}
