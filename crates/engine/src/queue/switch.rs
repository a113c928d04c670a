//! Kill switches: while one is on, nothing in its scope begins.
//!
//! A switch that is released still holds what was due by then: those actions begin at a rate, or are cancelled. Once none of
//! them is queued any more, the switch is deleted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sprag_core::action::{Action, Rate, Status};
use sprag_core::ids::SwitchId;
use sprag_core::time::Timestamp;
use sprag_wire::{self as wire, HeldActions, SwitchMode, SwitchStatus, Waiting, WaitingFor};

use super::scope::Scope;

/// What a switch does to what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Nothing new begins; attempts under way continue.
    #[default]
    Hold,
    /// Nothing new begins, what waits is cancelled, and attempts under way are asked to stop.
    Cancel,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Hold, Self::Cancel];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Cancel => "cancel",
        }
    }
}

impl From<Mode> for SwitchMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Hold => Self::Hold,
            Mode::Cancel => Self::Cancel,
        }
    }
}

/// The rate at which held actions start after a release, unless configured.
pub const DRAIN_DEFAULT: Rate = Rate {
    count: 100,
    per_millis: 1_000,
};

/// What becomes of the actions that a switch held until its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Held {
    /// They start, at a rate.
    #[default]
    Run,
    /// They are cancelled.
    Skip,
}

impl From<Held> for HeldActions {
    fn from(held: Held) -> Self {
        match held {
            Held::Run => Self::Run,
            Held::Skip => Self::Skip,
        }
    }
}

/// A release, as it is stored until nothing that the switch held is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// When. Actions that are due later are free.
    pub at: Timestamp,
    /// What becomes of those that were due.
    pub held: Held,
    /// How many of them start in how much time.
    pub rate: Rate,
}

/// A switch that is on or being released, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// Its id.
    pub id: SwitchId,
    /// What it holds.
    pub scope: Scope,
    /// What it does to it.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// Who put it on.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// When it goes off by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether everything that it cancels has been.
    #[serde(default)]
    pub swept: bool,
    /// The rate at which held actions start once it has expired.
    #[serde(default = "drain_default")]
    pub rate: Rate,
    /// How it was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
}

fn drain_default() -> Rate {
    DRAIN_DEFAULT
}

/// What runs when its turn comes may be waiting again when it ends, so what waits is looked at twice.
const SWEPT: [Status; 6] = [
    Status::Scheduled,
    Status::Retrying,
    Status::Queued,
    Status::Running,
    Status::Retrying,
    Status::Queued,
];

impl Switch {
    /// Whether it holds everything in its scope.
    pub fn is_on(&self, now: Timestamp) -> bool {
        self.released(now).is_none()
    }

    /// How it was released. One that has expired is, before anybody writes so.
    pub fn released(&self, now: Timestamp) -> Option<Release> {
        let expired = || {
            let at = self.expires_at.filter(|expires_at| *expires_at <= now)?;
            Some(Release {
                at,
                held: Held::Run,
                rate: self.rate,
            })
        };
        self.release.or_else(expired)
    }

    /// The release that an action waits for: the switch held it, and is off.
    pub(crate) fn releases(&self, action: &Action, now: Timestamp) -> Option<Release> {
        let release = self.released(now)?;
        (action.run_at <= release.at && self.scope.covers(action)).then_some(release)
    }

    /// Whether it cancels an open action.
    pub(crate) fn cancels(&self, action: &Action, now: Timestamp) -> bool {
        if self.released(now).is_none() {
            return self.mode == Mode::Cancel && self.scope.covers(action);
        }
        let release = self.releases(action, now);
        action.status == Status::Queued && release.is_some_and(|release| release.held == Held::Skip)
    }

    /// The statuses of the actions that it cancels, in the order in which they are looked at; none for one that cancels nothing.
    pub(crate) fn cancelled_statuses(&self, now: Timestamp) -> &'static [Status] {
        match self.released(now) {
            None if self.mode == Mode::Cancel => &SWEPT,
            Some(Release { held: Held::Skip, .. }) => &[Status::Queued],
            _ => &[],
        }
    }

    /// What changes with everything that a request could be about. A switch says the same from its first day to its last.
    pub fn revision(&self) -> u64 {
        self.since.as_millis().max(1).unsigned_abs()
    }

    /// As the API shows it.
    pub(crate) fn shown(&self, status: SwitchStatus) -> wire::Switch {
        let revision = self.revision();
        let Self {
            id,
            scope,
            mode,
            reason,
            by,
            since,
            expires_at,
            swept,
            rate: _,
            release,
        } = self.clone();
        wire::Switch {
            id,
            scope: scope.to_string(),
            mode: mode.into(),
            status,
            reason,
            by,
            since,
            expires_at,
            swept: (mode == Mode::Cancel).then_some(swept),
            release: release.map(|Release { at, held, rate }| wire::SwitchRelease {
                at,
                held: held.into(),
                rate: (held == Held::Run).then_some(rate),
            }),
            revision,
        }
    }

    fn waiting(&self) -> Waiting {
        Waiting::Waiting {
            reason: WaitingFor::KillSwitch,
            object: self.id.to_string(),
            since: self.since,
            until: self.expires_at,
        }
    }
}

/// The switches that are on or being released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    by_id: BTreeMap<SwitchId, Switch>,
}

impl Switches {
    /// Puts one on, or in the place of itself.
    pub(crate) fn put(&mut self, switch: Switch) {
        self.by_id.insert(switch.id, switch);
    }

    /// Takes one off.
    pub(crate) fn remove(&mut self, id: SwitchId) -> Option<Switch> {
        self.by_id.remove(&id)
    }

    pub(crate) fn get(&self, id: SwitchId) -> Option<&Switch> {
        self.by_id.get(&id)
    }

    /// All of them, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Switch> {
        self.by_id.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Those that are on.
    fn on(&self, now: Timestamp) -> impl Iterator<Item = &Switch> {
        self.all().filter(move |switch| switch.is_on(now))
    }

    /// The oldest that is on and holds an action.
    pub fn holding(&self, action: &Action, now: Timestamp) -> Option<&Switch> {
        self.on(now).find(|switch| switch.scope.covers(action))
    }

    /// Whether one holds an action for what it is, so that others of its line go on without it.
    pub(crate) fn sets_aside(&self, action: &Action, now: Timestamp) -> bool {
        let mut switches = self.on(now);
        switches.any(|switch| switch.scope.is_selective() && switch.scope.covers(action))
    }

    /// The oldest that is on and holds all actions of a type, and so their lines.
    pub(crate) fn holding_type(&self, kind: &str, now: Timestamp) -> Option<SwitchId> {
        let mut switches = self.on(now);
        let holds = switches.find(|switch| switch.scope.covers_type(kind));
        holds.map(|switch| switch.id)
    }

    /// Whether everything is held.
    pub(crate) fn hold_everything(&self, now: Timestamp) -> bool {
        self.on(now).any(|switch| switch.scope == Scope::All)
    }

    /// The releases that an action waits for.
    pub(crate) fn releases(&self, action: &Action, now: Timestamp) -> impl Iterator<Item = (&Switch, Release)> {
        let releases = move |switch| Switch::releases(switch, action, now);
        self.all().filter_map(move |switch| Some((switch, releases(switch)?)))
    }

    /// The releases that all actions of a type wait for that were due then.
    pub(crate) fn releases_type(
        &self,
        kind: &str,
        due: Timestamp,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Switch, Release)> {
        let over = self.all().filter(move |switch| switch.scope.covers_type(kind));
        let released = over.filter_map(move |switch| Some((switch, switch.released(now)?)));
        released.filter(move |(_, release)| due <= release.at)
    }

    /// What a queued action waits for, if a switch holds it.
    pub(crate) fn waiting(&self, action: &Action, now: Timestamp) -> Option<Waiting> {
        let released = || self.releases(action, now).next().map(|(switch, _)| switch);
        self.holding(action, now).or_else(released).map(Switch::waiting)
    }

    /// When the next of them comes to its end.
    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        let on = self.all().filter(|switch| switch.release.is_none());
        on.filter_map(|switch| switch.expires_at).min()
    }

    /// Those that have come to their end.
    pub(crate) fn ended(&self, now: Timestamp) -> Vec<SwitchId> {
        let ended = self
            .all()
            .filter(|switch| switch.release.is_none() && !switch.is_on(now));
        ended.map(|switch| switch.id).collect()
    }

    /// Those whose release is stored.
    pub(crate) fn being_released(&self) -> impl Iterator<Item = (&Switch, Release)> {
        self.all().filter_map(|switch| Some((switch, switch.release?)))
    }
}
