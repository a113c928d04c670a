//! A line: queued actions of one type, under the same keys, for the same destination, in the order they are served.

use std::collections::BTreeMap;

use sprag_core::action::{Action, LINE_DIGEST, LimitUse, Route};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;
use sprag_store::traits::ReadyRef;

/// How many actions of a line are kept in memory; the rest waits in the store.
pub(crate) const LINE_MAX: usize = 1_024;

/// The order in which a line is served: priority, then due, then age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// 100 − priority, so that higher goes first.
    pub(crate) rank: u8,
    pub(crate) run_at: Timestamp,
    action: ActionId,
}

/// What is known of the numbers of a line's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Nothing: the line is known by its name.
    Unknown,
    /// An action was chosen that will tell. Until then no other is, so that none overtakes it.
    Asked,
    /// All of them.
    Known,
}

/// One line.
#[derive(Debug)]
pub(crate) struct ActionQueue {
    pub(crate) kind: String,
    /// What its actions ask of an external runner; none where this process performs them.
    pub(crate) route: Option<Route>,
    pub(crate) limits: Vec<LimitUse>,
    pub(crate) destination: Option<String>,
    /// Whether the numbers of its limits are known.
    pub(crate) numbers: Numbers,
    /// Its name is a digest, so that only an action can tell what it is.
    is_digest: bool,
    ready: BTreeMap<Place, ExecutionId>,
    /// The store may hold actions of this line that are not in memory.
    pub(crate) more: bool,
}

impl ActionQueue {
    /// The empty line an action belongs to.
    pub(crate) fn of(action: &Action) -> Self {
        Self {
            kind: action.kind.clone(),
            route: action.route(),
            limits: action.body.limits.clone(),
            destination: action.body.destination.clone(),
            numbers: Numbers::Known,
            is_digest: false,
            ready: BTreeMap::new(),
            more: false,
        }
    }

    /// A line known by its stored name only: the limits' numbers come with its first action.
    pub(crate) fn named(name: &str) -> Self {
        let (before, destination) = match name.split_once('\u{1e}') {
            Some((before, destination)) => (before, Some(destination.to_owned())),
            None => (name, None),
        };
        let mut parts = before.split('\u{1f}');
        let first = parts.next().unwrap_or_default();
        let (kind, route) = first.split_once('\u{1d}').unwrap_or((first, ""));
        let limits = parts
            .map(|key| LimitUse {
                key: key.to_owned(),
                concurrency: None,
                rate: None,
            })
            .collect();
        Self {
            kind: kind.to_owned(),
            route: Route::parse(kind, route),
            limits,
            destination,
            numbers: Numbers::Unknown,
            is_digest: name.starts_with(LINE_DIGEST),
            ready: BTreeMap::new(),
            more: true,
        }
    }

    /// Adds an action; where the line is full, the last one in order goes back to the store.
    pub(crate) fn add(&mut self, ready: ReadyRef) {
        let place = Place {
            rank: 100_u8.saturating_sub(ready.key.priority),
            run_at: ready.key.run_at,
            action: ready.key.action,
        };
        // While the store holds more, something there may come before what is added after the last in memory.
        let beyond = self.ready.last_key_value().is_none_or(|(last, _)| place > *last);
        if self.more && beyond {
            return;
        }
        self.ready.insert(place, ready.execution);
        if self.ready.len() > LINE_MAX {
            self.ready.pop_last();
            self.more = true;
        }
    }

    /// The action just taken is asked for the numbers, unless they are known or asked for. Says whether it is.
    pub(crate) fn ask(&mut self) -> bool {
        let asks = self.numbers == Numbers::Unknown && (self.is_digest || !self.limits.is_empty());
        if asks {
            self.numbers = Numbers::Asked;
        }
        asks
    }

    /// One of its actions tells what the name could not: the numbers of its limits, and everything where the name is a
    /// digest.
    pub(crate) fn learn(&mut self, action: &Action) {
        if self.is_digest {
            self.kind.clone_from(&action.kind);
            self.destination.clone_from(&action.body.destination);
            self.is_digest = false;
        }
        self.limits.clone_from(&action.body.limits);
        self.route = action.route();
        self.numbers = Numbers::Known;
    }

    /// The first in order.
    pub(crate) fn head(&self) -> Option<(Place, ActionId, ExecutionId)> {
        self.ready
            .first_key_value()
            .map(|(place, &execution)| (*place, place.action, execution))
    }

    /// Takes the first in order away.
    pub(crate) fn pop(&mut self) {
        self.ready.pop_first();
    }

    /// Takes an action away, wherever it stands.
    pub(crate) fn remove(&mut self, action: ActionId) {
        self.ready.retain(|place, _| place.action != action);
    }

    /// Takes away what is of executions that go.
    pub(crate) fn drop_where(&mut self, goes: impl Fn(ExecutionId) -> bool) {
        self.ready.retain(|_, execution| !goes(*execution));
    }

    /// Forgets what memory holds of it: the store holds all of that, and more.
    pub(crate) fn reread(&mut self) {
        self.ready.clear();
        self.more = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether the store must be asked before the line can be served.
    pub(crate) fn needs_refill(&self) -> bool {
        self.ready.is_empty() && self.more
    }

    /// Nothing in memory and nothing in the store: the line can go.
    pub(crate) fn is_gone(&self) -> bool {
        self.ready.is_empty() && !self.more
    }
}
