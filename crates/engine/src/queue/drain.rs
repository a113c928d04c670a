//! How actions that a switch held start after its release: at a rate, across all nodes.
//!
//! Every node lets its share of the rate pass: as much of it as it owns of the shards. Nothing is stored: a process that starts
//! anew begins with a small burst and continues at the rate.

use std::collections::BTreeMap;

use sprag_core::action::{Action, Rate};
use sprag_core::ids::SwitchId;
use sprag_core::time::Timestamp;

use super::permits::Lack;
use super::rate::Bucket;
use super::switch::{Held, Release, Switch, Switches};

/// At most what a rate allows in this time starts at once, in milliseconds. Longer than the walk over what was set aside rests.
const BURST_MILLIS: u128 = 200;

/// What is left of the rates of the switches that are being released.
#[derive(Debug)]
pub(crate) struct Drains {
    buckets: BTreeMap<SwitchId, Bucket>,
    /// So many of so many shards are owned here.
    share: (u32, u32),
}

impl Default for Drains {
    fn default() -> Self {
        Self {
            buckets: BTreeMap::new(),
            share: (1, 1),
        }
    }
}

impl Drains {
    /// So many of all shards are owned here now. Switches that are gone are forgotten.
    pub(crate) fn follow(&mut self, share: (u32, u32), switches: &Switches) {
        self.share = share;
        self.buckets.retain(|id, _| switches.get(*id).is_some());
    }

    /// What the next action of a type lacks that was due then, as far as its whole line waits for a release.
    pub(crate) fn lacks(&mut self, switches: &Switches, kind: &str, due: Timestamp, now: Timestamp) -> Option<Lack> {
        let mut releases = switches.releases_type(kind, due, now);
        releases.find_map(|(switch, release)| match self.peek(switch.id, release, now) {
            Ok(()) => None,
            Err(until) => Some(Lack::Release(switch.id, until)),
        })
    }

    /// Whether an action may start now, as far as releases are concerned; if not, when to ask again.
    pub(crate) fn check(&mut self, switches: &Switches, action: &Action, now: Timestamp) -> Result<(), Timestamp> {
        let mut releases = switches.releases(action, now);
        releases.try_for_each(|(switch, release)| self.peek(switch.id, release, now))
    }

    /// An action starts.
    pub(crate) fn take(&mut self, switches: &Switches, action: &Action, now: Timestamp) -> Result<(), Timestamp> {
        self.check(switches, action, now)?;
        for (Switch { id, .. }, Release { rate, .. }) in switches.releases(action, now) {
            let rate = shared(rate, self.share);
            if let Some(bucket) = self.buckets.get_mut(id) {
                bucket.take(rate, now)?;
            }
        }
        Ok(())
    }

    fn peek(&mut self, id: SwitchId, release: Release, now: Timestamp) -> Result<(), Timestamp> {
        let Release { held, rate, at: _ } = release;
        if held == Held::Skip {
            // It is cancelled as soon as the walk comes to it.
            return Err(Timestamp::MAX);
        }
        let rate = shared(rate, self.share);
        let bucket = self.buckets.entry(id).or_insert_with(|| Bucket::new(rate, now));
        bucket.peek(rate, now)
    }
}

/// The part of a rate that a node with so many of all shards has, in portions that start at once.
fn shared(rate: Rate, (owned, all): (u32, u32)) -> Rate {
    // So many milliseconds of all nodes' shards, for so many starts.
    let millis = u128::from(rate.per_millis.max(1)) * u128::from(all.max(1));
    let starts = u128::from(rate.count.max(1)) * u128::from(owned.max(1));
    let portion = (starts * BURST_MILLIS).div_ceil(millis);
    Rate {
        count: u32::try_from(portion).unwrap_or(u32::MAX),
        per_millis: u64::try_from((millis * portion).div_ceil(starts)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_nodes_come_to_the_rate_and_never_to_more() {
        for (count, per_millis) in [(100, 1_000), (1, 1_000), (7, 1_000), (15, 60_000), (1_000_000, 1_000)] {
            let rate = Rate { count, per_millis };
            for nodes in [vec![1], vec![1, 1, 1], vec![5, 20, 39]] {
                let all = nodes.iter().sum();
                let period = 1_000 * per_millis;
                let started: u128 = nodes
                    .iter()
                    .map(|&owned| {
                        let share = shared(rate, (owned, all));
                        u128::from(period) * u128::from(share.count) / u128::from(share.per_millis)
                    })
                    .sum();
                let meant = 1_000 * u128::from(count);
                assert!(started <= meant, "{started} of {meant}");
                // Periods are whole milliseconds, so very fast rates are missed by some.
                assert!(count > 10_000 || started * 10 >= meant * 9, "{started} of {meant}");
            }
        }
    }

    #[test]
    fn what_a_rate_allows_in_a_fifth_of_a_second_starts_at_once() {
        let rate = Rate {
            count: 100,
            per_millis: 1_000,
        };
        let per = |count, per_millis| Rate { count, per_millis };
        assert_eq!(shared(rate, (1, 1)), per(20, 200));
        assert_eq!(shared(rate, (1, 4)), per(5, 200));
        assert_eq!(shared(per(6_000, 60_000), (1, 1)), per(20, 200));
        assert_eq!(shared(per(1, 1_000), (1, 1)), per(1, 1_000));
    }
}
