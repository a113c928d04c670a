//! What operators set for everybody: kill switches and overrides of limits.
//!
//! Both are facts of the control shard, durable before they are answered and in force from the next attempt on. The
//! lane keeps them in memory; after a batch that was not written they are read again.

mod board;
mod clock;
mod limit;
mod restored;
mod scope;
mod switch;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sprag_core::ids::{ActionId, ExecutionId, SwitchId};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::records::{Fact, FactKind};
use sprag_store::traits::{OpenAction, ReadyKey};
use sprag_store::{Error, LaneReads, ShardId};

pub(crate) use board::Board;
pub(crate) use clock::ClockCheck;
pub use clock::{BEHIND_MILLIS, ClockView, JUMP_MILLIS};
pub(crate) use limit::define;
pub use limit::{LimitKey, LimitView, Numbers, Override};
pub(crate) use restored::report;
pub use restored::{Because, Effect, Report, backup_mark, hold};
pub use scope::{ParseScopeError, Scope};
pub(crate) use switch::{ARMING, EFFECTIVE, RELEASED, UNMATCHED};
pub use switch::{Mode, Switch, SwitchView, Switches};

/// Switches at a time.
pub const SWITCHES_MAX: usize = 100;
/// Overrides at a time.
pub const OVERRIDES_MAX: usize = 1_000;
/// The longest reason, in characters.
pub const REASON_CHARACTERS_MAX: usize = 1_000;

/// What operators ask of a lane.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// All switches that are on.
    Switches,
    /// Put a switch on.
    SwitchOn(SwitchOn),
    /// Take a switch off.
    SwitchOff {
        /// Which.
        id: SwitchId,
        /// Only if it is still this one.
        matches: Matches,
    },
    /// All keys that are limited.
    Limits,
    /// Override a limit.
    SetLimit {
        /// Under which key.
        key: String,
        /// With what.
        numbers: Numbers,
        /// Who.
        by: String,
        /// Only if what is there is still this.
        matches: Matches,
    },
    /// Believe the clock, though it jumped ahead or is behind what is stored.
    AcceptClock {
        /// Who says so.
        by: String,
    },
    /// Let the definitions count again.
    ClearLimit {
        /// Under which key.
        key: String,
        /// Only if what is there is still this.
        matches: Matches,
    },
}

/// A switch to put on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchOn {
    /// What it holds.
    pub scope: Scope,
    /// What it does to it.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// After how many milliseconds it goes off by itself.
    pub lasts: Option<u64>,
}

/// Which revision of something a request is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Matches {
    /// Whatever is there.
    #[default]
    Any,
    /// Whatever is there, but something.
    Something,
    /// This one; 0 where there must be none.
    Revision(u64),
    /// None that there could be.
    Nothing,
}

impl Matches {
    /// Whether `revision` is the one.
    pub fn is(self, revision: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Something => revision != 0,
            Self::Revision(wanted) => wanted == revision,
            Self::Nothing => false,
        }
    }
}

/// What a lane answers to operators.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// All switches that are on.
    Switches(Vec<SwitchView>),
    /// One switch, as it is or was last.
    Switch(SwitchView),
    /// All keys that are limited.
    Limits(Vec<LimitView>),
    /// One key.
    Limit(LimitView),
    /// The clock is believed.
    Clock,
}

/// Work of the engine's own that follows from what operators set, and from the age of executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chore {
    /// An action that stood in no line because of a switch may join one again.
    Rejoin(ExecutionId, ActionId),
    /// Everything that was set aside has been looked at.
    Rejoined,
    /// An open action may be in the scope of a switch that cancels.
    Cancel(ActionId),
    /// Everything in the scope of a switch has been looked at.
    Swept(SwitchId),
    /// A switch has come to its end.
    Lapse(SwitchId),
    /// Closed executions are old enough to go.
    Expire {
        /// Those that may go.
        executions: Vec<ExecutionId>,
        /// How far the walk has come; none at its end.
        after: Option<ExecutionId>,
    },
}

/// Where the walk over what was set aside stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rejoining {
    /// From which shard on.
    pub(crate) shard: ShardId,
    pub(crate) after: Option<ReadyKey>,
}

impl Rejoining {
    pub(crate) fn from_the_start() -> Self {
        Self {
            shard: CONTROL,
            after: None,
        }
    }
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

/// What operators have set, in memory.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) switches: Switches,
    pub(crate) overrides: BTreeMap<String, Override>,
    pub(crate) rejoining: Option<Rejoining>,
    pub(crate) sweep: Option<Sweep>,
    /// Since when switches are stored, or were so when this lane first saw them.
    stored: BTreeMap<SwitchId, Timestamp>,
    /// Switches that this lane has come to the end of, where others have shards too.
    pub(crate) swept: BTreeSet<SwitchId>,
    pub(crate) aged: Aging,
    /// When old executions are looked at next.
    pub(crate) aged_at: Timestamp,
    /// Whether the clock can be believed.
    pub(crate) clock: ClockCheck,
    /// What readers see.
    pub(crate) board: Board,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            switches: Switches::default(),
            overrides: BTreeMap::new(),
            rejoining: None,
            sweep: None,
            stored: BTreeMap::new(),
            swept: BTreeSet::new(),
            aged: Aging::from_the_start(),
            aged_at: Timestamp::default(),
            clock: ClockCheck::default(),
            board: Board::default(),
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
    pub(crate) fn read(store: &mut dyn LaneReads) -> Result<Self, Error> {
        let mut control = Self::default();
        for fact in store.facts(FactKind::Switch)? {
            control.switches.put(body(&fact)?);
        }
        for fact in store.facts(FactKind::Limit)? {
            control.overrides.insert(fact.key.clone(), body(&fact)?);
        }
        let marks = store.facts(FactKind::Mark)?;
        for fact in &marks {
            match fact.key.as_str() {
                REJOIN => control.rejoining = Some(Rejoining::from_the_start()),
                RETENTION => control.aged.after = body(fact)?,
                // A backup leaves its own.
                _ => {}
            }
        }
        control.clock = ClockCheck::of(&marks, store.last_run()?)?;
        control.next_sweep();
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
        self.board = before.board.clone();
        self.clock.inherit(&before.clock);
    }

    /// Whether a switch has been stored for so many milliseconds.
    pub(crate) fn has_been_stored(&self, id: SwitchId, millis: u64, now: Timestamp) -> bool {
        let since = self.stored.get(&id);
        since.is_some_and(|since| now.since(*since) >= millis)
    }

    /// Begins with the first switch that cancels and has not come to the end of it.
    pub(crate) fn next_sweep(&mut self) {
        let open = self
            .switches
            .all()
            .find(|switch| switch.mode == Mode::Cancel && !switch.swept && !self.swept.contains(&switch.id));
        self.sweep = open.map(|switch| Sweep {
            switch: switch.id,
            phase: 0,
            shard: CONTROL,
            after: None,
        });
    }
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

fn body<T: DeserializeOwned>(fact: &Fact) -> Result<T, Error> {
    serde_json::from_slice(&fact.body).map_err(|error| Error::Corrupt {
        detail: format!("the fact `{}` cannot be read: {error}", fact.key),
    })
}
