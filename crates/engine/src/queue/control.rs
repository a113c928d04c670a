//! What operators set for everybody: kill switches, overrides of limits and tokens.
//!
//! All are facts of the control shard, durable before they are answered and in force from the next attempt on. The
//! lane keeps them in memory; after a batch that was not written they are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sprag_core::ids::{ActionId, ExecutionId, SwitchId};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::records::{Fact, FactKind, ProcessRun};
use sprag_store::traits::{OpenAction, ReadyKey};
use sprag_store::{Error, ShardId};

use crate::decide::ClockCheck;
use crate::limits::Override;

pub use super::scope::{ParseScopeError, Scope};
pub use super::switch::{DRAIN_DEFAULT, Held, Mode, Release, Switch, Switches};
use super::tokens::Tokens;
pub use sprag_wire::Switch as SwitchView;

/// Switches at a time.
pub const SWITCHES_MAX: usize = 100;
/// Overrides at a time.
pub const OVERRIDES_MAX: usize = 1_000;
/// The longest reason, in characters.
pub const REASON_CHARACTERS_MAX: usize = 1_000;

/// How long the walk over what was set aside rests while something that it came to must wait, in milliseconds: at least, and
/// at most.
const REJOIN_REST_MILLIS: u64 = 100;
const REJOIN_REST_MILLIS_MAX: u64 = 1_000;

/// Where the walk over what was set aside stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rejoining {
    /// From which shard on.
    pub(crate) shard: ShardId,
    pub(crate) after: Option<ReadyKey>,
    /// When it continues.
    pub(crate) due: Timestamp,
}

impl Rejoining {
    pub(crate) fn from_the_start() -> Self {
        Self {
            shard: CONTROL,
            after: None,
            due: Timestamp::default(),
        }
    }
}

/// Where the search for actions that wait for a release stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Finishing {
    /// Of the release of which switch; the first, if that is gone.
    pub(crate) switch: Option<SwitchId>,
    pub(crate) before: Option<ActionId>,
    /// When it continues.
    pub(crate) due: Timestamp,
}

/// Where the walk over old executions stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Aging {
    /// From which shard on.
    pub(crate) shard: ShardId,
    pub(crate) after: Option<ExecutionId>,
}

impl Aging {
    pub(crate) fn from_the_start() -> Self {
        Self {
            shard: CONTROL,
            after: None,
        }
    }
}

/// Where the walk over what a switch cancels stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sweep {
    pub(crate) switch: SwitchId,
    pub(crate) phase: usize,
    /// From which shard on.
    pub(crate) shard: ShardId,
    pub(crate) after: Option<OpenAction>,
}

/// The name of the mark that says that actions may wait to join their line again.
pub(crate) const REJOIN: &str = "rejoin";
/// The name of the mark that says how far old executions have been looked at.
pub(crate) const RETENTION: &str = "retention";

/// The name of the mark that has the digest of the last server's configuration.
pub(crate) const CONFIGURATION: &str = "configuration";

/// What operators have set, in memory.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) switches: Switches,
    pub(crate) overrides: BTreeMap<String, Override>,
    /// Shared with those who check tokens.
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) rejoining: Option<Rejoining>,
    /// Where the page began that the walk over what was set aside read last.
    pub(crate) rejoined: Rejoining,
    pub(crate) finishing: Finishing,
    pub(crate) sweep: Option<Sweep>,
    /// Since when switches are stored, or were so when this lane first saw them.
    stored: BTreeMap<SwitchId, Timestamp>,
    /// Switches that this lane has come to the end of, where others have shards too.
    pub(crate) swept: BTreeSet<SwitchId>,
    pub(crate) aged: Aging,
    /// When old executions are looked at next.
    pub(crate) aged_at: Timestamp,
    /// The digest of the last server's configuration.
    pub(crate) configuration: Option<String>,
    /// Whether the clock can be believed.
    pub(crate) clock: ClockCheck,
}

/// The facts of the control shard, as they are stored.
#[derive(Debug)]
pub(crate) struct StoredControl {
    pub(crate) switches: Vec<Fact>,
    pub(crate) limits: Vec<Fact>,
    pub(crate) tokens: Vec<Fact>,
    pub(crate) marks: Vec<Fact>,
    pub(crate) last_run: Option<ProcessRun>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            switches: Switches::default(),
            overrides: BTreeMap::new(),
            tokens: Arc::default(),
            rejoining: None,
            rejoined: Rejoining::from_the_start(),
            finishing: Finishing::default(),
            sweep: None,
            stored: BTreeMap::new(),
            swept: BTreeSet::new(),
            aged: Aging::from_the_start(),
            aged_at: Timestamp::default(),
            configuration: None,
            clock: ClockCheck::default(),
        }
    }
}

impl Control {
    /// Nothing is known but the clock.
    pub(crate) fn with_clock(clock: ClockCheck) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Everything as it is stored.
    pub(crate) fn of(stored: &StoredControl) -> Result<Self, Error> {
        let StoredControl {
            switches,
            limits,
            tokens,
            marks,
            last_run,
        } = stored;
        let mut control = Self::default();
        for fact in switches {
            control.switches.put(body(fact)?);
        }
        for fact in limits {
            control.overrides.insert(fact.key.clone(), body(fact)?);
        }
        control.tokens = Arc::new(read_tokens(tokens)?);
        for fact in marks {
            match fact.key.as_str() {
                REJOIN => control.rejoining = Some(Rejoining::from_the_start()),
                RETENTION => control.aged.after = body(fact)?,
                CONFIGURATION => control.configuration = Some(body(fact)?),
                // A backup leaves its own.
                _ => {}
            }
        }
        if control.switches.being_released().next().is_some() {
            control.rejoining = Some(Rejoining::from_the_start());
        }
        control.clock = ClockCheck::of(marks, *last_run)?;
        Ok(control)
    }

    /// Every switch in memory is stored by now. What was known of others is forgotten.
    pub(crate) fn is_stored(&mut self, now: Timestamp) {
        let Self { stored, switches, .. } = self;
        stored.retain(|id, _| switches.get(*id).is_some());
        for switch in switches.all() {
            stored.entry(switch.id).or_insert(now);
        }
    }

    /// Takes over what `before` knew that is not itself stored.
    pub(crate) fn inherit(&mut self, before: &mut Self) {
        self.swept = std::mem::take(&mut before.swept);
        self.stored = std::mem::take(&mut before.stored);
        self.clock.inherit(&before.clock);
        if self.tokens == before.tokens {
            self.tokens = Arc::clone(&before.tokens);
        }
    }

    /// Whether a switch has been stored for so many milliseconds.
    pub(crate) fn has_been_stored(&self, id: SwitchId, millis: u64, now: Timestamp) -> bool {
        let since = self.stored.get(&id);
        since.is_some_and(|since| now.since(*since) >= millis)
    }

    /// The walk over what was set aside reads its last page again then: something in it must wait until then.
    pub(crate) fn rejoin_again(&mut self, until: Timestamp, now: Timestamp) {
        // One that is to be cancelled waits for another walk.
        let due = until
            .max(now.plus(REJOIN_REST_MILLIS))
            .min(now.plus(REJOIN_REST_MILLIS_MAX));
        self.rejoining = Some(Rejoining { due, ..self.rejoined });
    }

    /// Begins with the first switch that cancels and has not come to the end of it.
    pub(crate) fn next_sweep(&mut self, now: Timestamp) {
        let cancels = |switch: &Switch| !switch.cancelled_statuses(now).is_empty();
        let open = self
            .switches
            .all()
            .find(|switch| cancels(switch) && !switch.swept && !self.swept.contains(&switch.id));
        self.sweep = open.map(|switch| Sweep {
            switch: switch.id,
            phase: 0,
            shard: CONTROL,
            after: None,
        });
    }
}

fn read_tokens(facts: &[Fact]) -> Result<Tokens, Error> {
    let mut tokens = Tokens::default();
    for fact in facts {
        tokens.put(body(fact)?);
    }
    Ok(tokens)
}

/// A fact as it is stored.
pub(crate) fn fact(kind: FactKind, key: impl Into<String>, body: &impl Serialize) -> Fact {
    Fact {
        kind,
        key: key.into(),
        // These are plain records of texts and numbers, which always have a JSON form.
        body: serde_json::to_vec(body).unwrap_or_default(),
    }
}

pub(crate) fn body<T: DeserializeOwned>(fact: &Fact) -> Result<T, Error> {
    serde_json::from_slice(&fact.body).map_err(|error| Error::Corrupt {
        detail: format!("the fact `{}` cannot be read: {error}", fact.key),
    })
}
