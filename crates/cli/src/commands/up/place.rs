//! Where a server is, such that no other process can be there while it is.

use std::net::SocketAddr;

/// The kernel's run, the network it listens in and the address there: the process with a socket on it is the only one. A
/// container has a network of its own, and another machine another kernel. None where the system does not say.
pub(super) fn of(listens: SocketAddr) -> Option<String> {
    let run = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let network = std::fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} {} {listens}", run.trim(), network.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_addresses_are_two_places_and_one_is_the_same_every_time() {
        let [one, other] = ["127.0.0.1:7400", "127.0.0.1:7401"].map(|text| text.parse().unwrap());
        assert!(of(one).is_some());
        assert_eq!(of(one), of(one));
        assert_ne!(of(one), of(other));
    }
}
