//! Decisions of operators: switches on and off, limits overridden and not.

use sprag_core::ids::{Slot, SwitchId};
use sprag_core::text::check_limit_key;
use sprag_store::Mutation;
use sprag_store::records::FactKind;
use sprag_wire::SwitchStatus;

use crate::command::{self, Code, Refusal, Reply};
use crate::control::{
    Answer, LimitKey, LimitView, Matches, Mode, Numbers, OVERRIDES_MAX, Override, REJOIN, Rejoining, Request,
    SWITCHES_MAX, Switch, SwitchOn, SwitchView, fact,
};
use crate::lane::Lane;
use crate::member::PATIENCE_MILLIS;

impl Lane {
    /// Decides on what an operator asks.
    pub(super) fn control(&mut self, request: &Request) -> Reply {
        let answer = match request {
            Request::Switches => Ok(Answer::Switches(self.switch_views())),
            Request::SwitchOn(switch) => self.switch_on(switch).map(Answer::Switch),
            Request::SwitchOff { id, matches } => self.switch_off(*id, *matches).map(Answer::Switch),
            Request::Limits => Ok(Answer::Limits(self.limit_views())),
            Request::SetLimit {
                key,
                numbers,
                by,
                matches,
            } => self.set_limit(key, *numbers, by, *matches).map(Answer::Limit),
            Request::AcceptClock { by } => {
                self.accept_clock(by);
                Ok(Answer::Clock)
            }
            Request::ClearLimit { key, matches } => self.clear_limit(key, *matches).map(Answer::Limit),
        };
        answer.map(|answer| command::Answer::Control(Box::new(answer)))
    }

    fn switch_views(&self) -> Vec<SwitchView> {
        let on = self.control.switches.all().filter(|switch| switch.is_on(self.now));
        on.map(|switch| switch.shown(self.force_of(switch.id))).collect()
    }

    /// Whether a switch holds everywhere. Every node looks at the switches with each heartbeat, and begins nothing once it has
    /// not looked for a while: after that no attempt begins that does not know of it.
    fn force_of(&self, id: SwitchId) -> SwitchStatus {
        let is_known = self.control.has_been_stored(id, PATIENCE_MILLIS, self.now);
        if is_known || self.owned.owns_everything() {
            SwitchStatus::Effective
        } else {
            SwitchStatus::Arming
        }
    }

    /// From the next attempt on, nothing in the scope begins.
    fn switch_on(&mut self, switch: &SwitchOn) -> Result<SwitchView, Refusal> {
        let SwitchOn {
            scope,
            mode,
            reason,
            by,
            lasts,
        } = switch.clone();
        if self.control.switches.len() >= SWITCHES_MAX {
            let detail = format!("{SWITCHES_MAX} switches are on; release one first");
            return Err(Refusal::new(Code::SwitchesFull, detail));
        }
        let switch = Switch {
            id: self.mint.switch(Slot(0)),
            scope,
            mode,
            reason,
            by,
            since: self.now,
            expires_at: lasts.map(|lasts| self.now.plus(lasts)),
            swept: false,
        };
        tracing::warn!(switch = %switch.id, scope = %switch.scope, mode = mode.word(), reason = switch.reason, "a switch is on");
        let view = switch.shown(self.force_of(switch.id));
        self.keep_switch(switch);
        if mode == Mode::Cancel && self.control.sweep.is_none() {
            self.control.next_sweep();
        }
        Ok(view)
    }

    /// Retention goes on, and ids follow the clock again.
    fn accept_clock(&mut self, by: &str) {
        tracing::warn!(by, now = %self.now, "the clock was accepted: retention continues");
        let fact = self.control.clock.accept(self.now);
        self.order_by_clock();
        // The answer lists the notes that are left: it must not show the one that this settles.
        self.control.board.clock.show(&self.control.clock, self.now);
        self.batch.log.push(Mutation::PutFact(fact));
        self.control.aged_at = self.now;
    }

    /// Remembers a switch as it is now.
    pub(super) fn keep_switch(&mut self, switch: Switch) {
        let fact = fact(FactKind::Switch, switch.id.to_string(), &switch);
        self.batch.log.push(Mutation::PutFact(fact));
        self.control.switches.put(switch);
    }

    fn switch_off(&mut self, id: SwitchId, matches: Matches) -> Result<SwitchView, Refusal> {
        let on = self.control.switches.get(id).filter(|switch| switch.is_on(self.now));
        let Some(switch) = on else {
            return Err(Refusal::new(Code::SwitchUnknown, format!("no switch `{id}` is on")));
        };
        if !matches.is(switch.revision()) {
            return Err(changed(&format!("switch `{id}`"), switch.revision()));
        }
        let view = switch.shown(SwitchStatus::Released);
        tracing::warn!(switch = %id, scope = %view.scope, "a switch was released");
        self.release_switch(id);
        Ok(view)
    }

    /// What the switch held begins again, in line order and under its limits.
    pub(super) fn release_switch(&mut self, id: SwitchId) {
        if self.control.switches.remove(id).is_none() {
            return;
        }
        self.batch.log.push(Mutation::DeleteFact {
            kind: FactKind::Switch,
            key: id.to_string(),
        });
        self.dispatcher.switches_changed();
        if self.control.sweep.is_some_and(|sweep| sweep.switch == id) {
            self.control.next_sweep();
        }
        // Actions may stand in no line; the mark says so to a process that starts before all of them joined theirs.
        self.control.rejoining = Some(Rejoining::from_the_start());
        // Where others share the store, whoever is given a shard looks anyway.
        if self.owned.is_whole() {
            self.batch
                .log
                .push(Mutation::PutFact(fact(FactKind::Mark, REJOIN, &())));
        }
    }

    fn limit_views(&self) -> Vec<LimitView> {
        let mut keys = self.dispatcher.limit_keys();
        for key in self.control.overrides.keys() {
            keys.entry(key.clone()).or_default();
        }
        let view = |(key, known): (String, LimitKey)| {
            let overridden = self.control.overrides.get(&key).cloned();
            known.shown(&key, overridden)
        };
        keys.into_iter().map(view).collect()
    }

    fn limit_view(&self, key: &str) -> LimitView {
        let known = self.dispatcher.limit_keys().remove(key).unwrap_or_default();
        known.shown(key, self.control.overrides.get(key).cloned())
    }

    /// The numbers count from the next attempt on. Attempts under way go on.
    fn set_limit(&mut self, key: &str, numbers: Numbers, by: &str, matches: Matches) -> Result<LimitView, Refusal> {
        check_key(key)?;
        let revision = self.limit_revision(key);
        if !matches.is(revision) {
            return Err(changed(&format!("the limit `{key}`"), revision));
        }
        if revision == 0 && self.control.overrides.len() >= OVERRIDES_MAX {
            let detail = format!("{OVERRIDES_MAX} limits are overridden; clear one first");
            return Err(Refusal::new(Code::LimitsFull, detail));
        }
        let overridden = Override {
            numbers,
            by: by.to_owned(),
            since: self.now,
            // Time makes it differ from that of an override that was cleared before.
            revision: (revision + 1).max(self.now.as_millis().max(1).unsigned_abs()),
        };
        self.batch
            .log
            .push(Mutation::PutFact(fact(FactKind::Limit, key, &overridden)));
        self.control.overrides.insert(key.to_owned(), overridden);
        self.dispatcher.set_override(key, Some(numbers));
        Ok(self.limit_view(key))
    }

    /// The definitions count again.
    fn clear_limit(&mut self, key: &str, matches: Matches) -> Result<LimitView, Refusal> {
        let revision = self.limit_revision(key);
        if revision == 0 {
            return Err(Refusal::new(
                Code::LimitUnknown,
                format!("the limit `{key}` is not overridden"),
            ));
        }
        if !matches.is(revision) {
            return Err(changed(&format!("the limit `{key}`"), revision));
        }
        self.control.overrides.remove(key);
        self.batch.log.push(Mutation::DeleteFact {
            kind: FactKind::Limit,
            key: key.to_owned(),
        });
        self.dispatcher.set_override(key, None);
        Ok(self.limit_view(key))
    }

    fn limit_revision(&self, key: &str) -> u64 {
        self.control.overrides.get(key).map_or(0, |found| found.revision)
    }
}

fn check_key(key: &str) -> Result<(), Refusal> {
    check_limit_key(key).map_err(|problem| Refusal::new(Code::NameInvalid, format!("the key of a limit {problem}")))
}

/// The refusal of a change to something that is not what whoever asks has seen.
pub(super) fn changed(what: &str, revision: u64) -> Refusal {
    let detail = match revision {
        0 => format!("{what} is not there, and the request is about one that is; look again"),
        _ => format!("{what} is at revision {revision}, which is not what the request is about; look at it again"),
    };
    Refusal::new(Code::PreconditionFailed, detail)
}
