//! Kill switches: while one is on, nothing in its scope begins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sprag_core::action::Action;
use sprag_core::ids::SwitchId;
use sprag_core::time::Timestamp;
use sprag_wire::{self as wire, SwitchMode, SwitchStatus, Waiting, WaitingFor};

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

/// A switch that is on, as it is stored.
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
}

impl Switch {
    /// Whether it still holds.
    pub fn is_on(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
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

/// The switches that are on.
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

    /// The oldest that holds an action.
    pub fn holding(&self, action: &Action, now: Timestamp) -> Option<&Switch> {
        self.all()
            .find(|switch| switch.is_on(now) && switch.scope.covers(action))
    }

    /// Whether one holds an action for what it is, so that others of its line go on without it.
    pub(crate) fn sets_aside(&self, action: &Action, now: Timestamp) -> bool {
        let mut switches = self.all();
        switches.any(|switch| switch.is_on(now) && switch.scope.is_selective() && switch.scope.covers(action))
    }

    /// The oldest that holds all actions of a type, and so their lines.
    pub(crate) fn holding_type(&self, kind: &str, now: Timestamp) -> Option<SwitchId> {
        let holds = |switch: &&Switch| switch.is_on(now) && switch.scope.covers_type(kind);
        self.all().find(holds).map(|switch| switch.id)
    }

    /// Whether everything is held.
    pub(crate) fn hold_everything(&self, now: Timestamp) -> bool {
        self.all().any(|switch| switch.is_on(now) && switch.scope == Scope::All)
    }

    /// What a queued action waits for, if a switch holds it.
    pub(crate) fn waiting(&self, action: &Action, now: Timestamp) -> Option<Waiting> {
        self.holding(action, now).map(Switch::waiting)
    }

    /// When the next of them comes to its end.
    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.all().filter_map(|switch| switch.expires_at).min()
    }

    /// Those that have come to their end.
    pub(crate) fn ended(&self, now: Timestamp) -> Vec<SwitchId> {
        let ended = self.all().filter(|switch| !switch.is_on(now));
        ended.map(|switch| switch.id).collect()
    }
}
