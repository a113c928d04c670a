//! From the engine's changes to the listeners concerned.
//!
//! One task reads the changes and fans them out, so a commit wakes one reader however many streams there are, and none
//! when there are no streams. What waits for a listener is a set of what to look at, with a bound: beyond it the
//! listener learns that it lags, and reads everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::counter::Counter;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::{Change, Handle, RecordKind};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::filter::Filter;

/// Different hints that wait for one listener; with more it lags.
pub(super) const HINTS_MAX: usize = 256;

/// What a listener wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Interest {
    /// One execution and its actions.
    Execution(ExecutionId),
    /// All there is, on every node.
    Everything,
    /// All there is on this node, for another node.
    Here,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    /// A machine.
    Machine(Arc<str>),
    /// An execution, and whether it is closed.
    Execution(ExecutionId, bool),
    /// An action, whose, and whether it is a dead letter or was one.
    Action(ActionId, ExecutionId, bool),
    /// A record of another kind.
    Record(RecordKind, Arc<str>),
}

impl Hint {
    /// The execution that it is about.
    fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::Machine(_) | Self::Record(..) => None,
            Self::Execution(execution, _) | Self::Action(_, execution, _) => Some(*execution),
        }
    }
}

impl From<Change> for Hint {
    fn from(change: Change) -> Self {
        match change {
            Change::Execution { id, status, .. } => Self::Execution(id, !status.is_open()),
            Change::Action {
                id,
                execution,
                is_letter,
            } => Self::Action(id, execution, is_letter),
            Change::Machine { id } => Self::Machine(id),
            Change::Record { kind, id } => Self::Record(kind, id),
        }
    }
}

/// What waits for a listener.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    /// What to look at.
    pub(super) hints: BTreeSet<Hint>,
    /// There was more than fits: everything is to be looked at.
    pub(super) lagged: bool,
}

/// Where hints wait for one listener.
#[derive(Debug, Default)]
struct Mailbox {
    /// Which hints are meant.
    filter: Filter,
    pending: Mutex<Pending>,
    filled: Notify,
}

impl Mailbox {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a hint; says whether the listener lags with it.
    fn put(&self, hint: &Hint) -> bool {
        if !self.filter.means(hint) {
            return false;
        }
        let mut pending = self.pending();
        if pending.lagged || pending.hints.contains(hint) {
            return false;
        }
        if pending.hints.len() == HINTS_MAX {
            drop(pending);
            self.lag();
            return true;
        }
        pending.hints.insert(hint.clone());
        drop(pending);
        self.filled.notify_one();
        false
    }

    fn lag(&self) {
        *self.pending() = Pending {
            hints: BTreeSet::new(),
            lagged: true,
        };
        self.filled.notify_one();
    }
}

/// Fans changes out.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    listeners: Mutex<Listeners>,
    /// Whether a task listens to other nodes.
    pub(super) is_relayed: AtomicBool,
    /// How often a listener began to lag.
    pub(super) lagged: Counter,
}

#[derive(Debug, Default)]
struct Listeners {
    /// Tells listeners of the same interest apart.
    next: u64,
    mailboxes: BTreeMap<(Interest, u64), Arc<Mailbox>>,
    /// Whether a task reads the changes.
    is_fed: bool,
}

impl Listeners {
    fn of(&self, interest: Interest) -> impl Iterator<Item = &Mailbox> {
        let range = (interest, 0)..=(interest, u64::MAX);
        self.mailboxes.range(range).map(|(_, mailbox)| mailbox.as_ref())
    }
}

impl Hub {
    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who listen to every node what another node says.
    pub(crate) fn tell_theirs(&self, news: &Result<Hint, Missed>) {
        let listeners = self.listeners();
        for mailbox in listeners.of(Interest::Everything) {
            let lags = if let Ok(hint) = news {
                mailbox.put(hint)
            } else {
                mailbox.lag();
                true
            };
            self.lagged.inc_by(u64::from(lags));
        }
    }

    /// Tells those who listen to everything what does not come from the engine.
    pub(crate) fn tell_own(&self, hint: &Hint) {
        let listeners = self.listeners();
        for interest in [Interest::Everything, Interest::Here] {
            for mailbox in listeners.of(interest) {
                self.lagged.inc_by(u64::from(mailbox.put(hint)));
            }
        }
    }

    /// Whether any client listens to every node.
    pub(crate) fn has_far_listeners(&self) -> bool {
        self.listeners().of(Interest::Everything).next().is_some()
    }

    /// Tells all who are concerned; says whether any client listens. If not, the next one starts another
    /// task, so the caller must end.
    fn tell(&self, news: Result<Hint, Missed>) -> bool {
        let mut listeners = self.listeners();
        if listeners.mailboxes.is_empty() {
            listeners.is_fed = false;
            return false;
        }
        match news {
            Ok(hint) => {
                let own = hint.execution().map(Interest::Execution);
                for interest in own.into_iter().chain([Interest::Everything, Interest::Here]) {
                    for mailbox in listeners.of(interest) {
                        self.lagged.inc_by(u64::from(mailbox.put(&hint)));
                    }
                }
            }
            Err(Missed) => {
                for mailbox in listeners.mailboxes.values() {
                    mailbox.lag();
                    self.lagged.inc_by(1);
                }
            }
        }
        true
    }
}

/// Changes went by unread.
pub(crate) struct Missed;

/// Reads changes for as long as any client listens.
async fn feed(hub: Arc<Hub>, mut changes: Receiver<Change>) {
    loop {
        let news = match changes.recv().await {
            Ok(change) => Ok(Hint::from(change)),
            Err(RecvError::Lagged(_)) => Err(Missed),
            Err(RecvError::Closed) => {
                hub.listeners().is_fed = false;
                return;
            }
        };
        if !hub.tell(news) {
            return;
        }
    }
}

/// One who listens, with a place among the streams.
pub(super) struct Listener {
    hub: Arc<Hub>,
    name: (Interest, u64),
    mailbox: Arc<Mailbox>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// Listens from now on.
    pub(super) fn new(
        hub: &Arc<Hub>,
        engine: &Handle,
        (interest, filter): (Interest, Filter),
        place: OwnedSemaphorePermit,
    ) -> Self {
        let mut listeners = hub.listeners();
        listeners.next += 1;
        let name = (interest, listeners.next);
        let mailbox = Arc::new(Mailbox {
            filter,
            ..Mailbox::default()
        });
        listeners.mailboxes.insert(name, Arc::clone(&mailbox));
        if !listeners.is_fed {
            listeners.is_fed = true;
            // Subscribed here and not in the task: a change right after this call must not be missed.
            tokio::spawn(feed(Arc::clone(hub), engine.changes()));
        }
        Self {
            hub: Arc::clone(hub),
            name,
            mailbox,
            _place: place,
        }
    }

    /// Waits until something waits.
    pub(super) async fn filled(&self) {
        self.mailbox.filled.notified().await;
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Pending {
        std::mem::take(&mut *self.mailbox.pending())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.hub.listeners().mailboxes.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(number: u64) -> Hint {
        Hint::Execution(ExecutionId::from_bytes(u128::from(number).to_be_bytes()), false)
    }

    #[test]
    fn a_reader_that_does_not_read_lags_instead_of_growing() {
        let mailbox = Mailbox::default();
        for number in 0..HINTS_MAX {
            mailbox.put(&execution(number as u64));
            mailbox.put(&execution(number as u64));
        }
        assert_eq!(mailbox.pending().hints.len(), HINTS_MAX, "the same hint waits once");
        assert!(!mailbox.pending().lagged);
        let lagged = (0..10_000).filter(|number| mailbox.put(&execution(number + 1_000)));
        assert_eq!(lagged.count(), 1, "it begins to lag once");
        let lagging = Pending {
            hints: BTreeSet::new(),
            lagged: true,
        };
        assert_eq!(*mailbox.pending(), lagging);
    }
}
