//! Limits as operators see and set them.

use std::collections::BTreeMap;

use super::action_queue::Numbers as Known;
use super::dispatcher::Dispatcher;
use super::permits::Lack;
use crate::limits::{LimitKey, Numbers, define};

impl Dispatcher {
    /// An operator's numbers count under `key` from now on, or no longer do. Lines that waited are looked at again;
    /// attempts under way go on.
    pub(crate) fn set_override(&mut self, key: &str, numbers: Option<Numbers>) {
        self.permits.set_override(key, numbers);
        self.unpark_where(
            |lack| matches!(lack, Lack::Key(held) | Lack::Grant(held) | Lack::Rate(held, _) if held == key),
        );
    }

    /// A switch went on or off: lines that one held are looked at again.
    pub(crate) fn switches_changed(&mut self) {
        self.unpark_where(|lack| matches!(lack, Lack::Switch(_) | Lack::Release(..)));
    }

    /// Every key that something waits or runs under.
    pub(crate) fn limit_keys(&self) -> BTreeMap<String, LimitKey> {
        let mut keys: BTreeMap<String, LimitKey> = BTreeMap::new();
        for line in self.lines.values() {
            for limit in &line.limits {
                let known = keys.entry(limit.key.clone()).or_default();
                known.waiting += line.len();
                known.more |= line.more;
                if line.numbers == Known::Known {
                    define(&mut known.definitions, limit.into());
                }
            }
        }
        for key in self.permits.keys() {
            keys.entry(key.clone()).or_default().running = self.permits.of_key(key);
        }
        keys
    }
}
