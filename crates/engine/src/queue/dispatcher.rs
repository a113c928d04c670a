//! Lines, permits and circuits together.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::action::{Action, LimitUse};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, Mint};
use sprag_core::time::Timestamp;
use sprag_store::traits::{ReadyKey, ReadyRef};

use super::action_queue::{ActionQueue, LINE_MAX, Numbers};
use super::circuit::{CircuitOptions, Circuits};
use super::permits::{Caps, Lack, Need, Permits};

use super::control::Switches;
use super::drain::Drains;
use super::recent::RecentStarts;
use super::shards::Resting;
use crate::leases::polls::{Polls, waiting_for_runner};
use crate::leases::table::Leases;
use crate::limits::demand;
use crate::read::view::{Waiting, WaitingFor};

/// How long a suspect waits for a permit that others hold, before it is looked at again, in milliseconds.
const SUSPECT_REST_MILLIS: u64 = 1_000;

/// An action to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) action: ActionId,
    pub(crate) execution: ExecutionId,
}

/// A place held for an action that was chosen and has not begun.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) attempt: AttemptId,
    /// The limits it was chosen under: those of its line, which may not be its own.
    limits: Vec<LimitUse>,
    /// The line that waits for it to tell the numbers of its limits.
    asks: Option<String>,
}

/// An action that must run alone.
#[derive(Debug)]
pub(crate) struct Suspect {
    pub(crate) execution: ExecutionId,
    /// Its rate is used up until then.
    not_before: Timestamp,
}

/// Decides which queued action starts next.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) lines: BTreeMap<String, ActionQueue>,
    /// Lines that may start: by rank of their head, then by turn.
    eligible: BTreeMap<(u8, u64), String>,
    place_of: BTreeMap<String, (u8, u64)>,
    /// Lines of which nothing is in memory and something in the store.
    pub(crate) hungry: BTreeSet<String>,
    /// Lines that lack something, under what they lack.
    pub(crate) parked: BTreeMap<Lack, BTreeSet<String>>,
    pub(crate) lack_of: BTreeMap<String, Lack>,
    /// Attempts that started in the last minute.
    pub(crate) started: RecentStarts,
    turn: u64,
    /// Chosen, but not begun yet: they hold their place among those under way.
    pub(crate) reserved: BTreeMap<ActionId, Reserved>,
    pub(crate) permits: Permits,
    circuits: Circuits,
    destinations: BTreeMap<AttemptId, String>,
    /// Programs that wait for work.
    pub(crate) polls: Polls,
    /// Attempts that programs outside this process perform.
    pub(crate) leases: Leases,
    /// Suspects run alone, after everything else.
    pub(crate) suspects: BTreeMap<ActionId, Suspect>,
    /// When something was last chosen.
    pub(crate) chosen_at: Timestamp,
    /// Attempts of suspects: while there is one, nothing else begins.
    alone: BTreeSet<AttemptId>,
    /// Nothing more starts: the engine is going down.
    closed: bool,
    /// Shards of which nothing begins, because they are being handed over.
    pub(crate) resting: Resting,
    /// Rates at which released actions begin.
    pub(crate) drains: Drains,
}

impl Dispatcher {
    pub(crate) fn new(caps: Caps, circuits: CircuitOptions, now: Timestamp) -> Self {
        Self {
            lines: BTreeMap::new(),
            eligible: BTreeMap::new(),
            place_of: BTreeMap::new(),
            hungry: BTreeSet::new(),
            parked: BTreeMap::new(),
            lack_of: BTreeMap::new(),
            started: RecentStarts::default(),
            turn: 0,
            reserved: BTreeMap::new(),
            permits: Permits::new(caps),
            circuits: Circuits::new(circuits),
            destinations: BTreeMap::new(),
            polls: Polls::new(now),
            leases: Leases::default(),
            suspects: BTreeMap::new(),
            chosen_at: Timestamp::default(),
            alone: BTreeSet::new(),
            closed: false,
            resting: Resting::default(),
            drains: Drains::default(),
        }
    }

    /// Forgets what the store knows better. What only memory knows stays: rates that are used up, destinations that
    /// fail, that nothing more may start.
    pub(crate) fn forget(&mut self) {
        self.lines.clear();
        self.eligible.clear();
        self.place_of.clear();
        self.hungry.clear();
        self.parked.clear();
        self.lack_of.clear();
        self.reserved.clear();
        self.permits.forget();
        self.circuits.forget();
        self.destinations.clear();
        self.polls.forget();
        self.suspects.clear();
        self.alone.clear();
    }

    /// Whether nothing more is let start.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Lets nothing more start.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.polls.close();
    }

    /// How many attempts are under way.
    pub(crate) fn running(&self) -> usize {
        self.permits.len()
    }

    /// How many of them this process performs itself.
    pub(crate) fn performing(&self) -> usize {
        self.permits.len().saturating_sub(self.leases.len())
    }

    /// A queued action joins its line.
    pub(crate) fn join(&mut self, action: &Action) {
        if self.resting.has(action.origin.execution.slot()) {
            return;
        }
        if action.body.crashes.is_suspect() {
            self.suspect(action, Timestamp::default());
            return;
        }
        let name = action.line();
        let line = self
            .lines
            .entry(name.clone())
            .or_insert_with(|| ActionQueue::of(action));
        line.learn(action);
        let key = ReadyKey {
            priority: action.priority,
            run_at: action.run_at,
            action: action.id,
        };
        line.add(ReadyRef {
            key,
            execution: action.origin.execution,
        });
        self.requeue(&name);
    }

    /// An action leaves its line without starting.
    pub(crate) fn leave(&mut self, action: &Action) {
        self.suspects.remove(&action.id);
        let name = action.line();
        if let Some(line) = self.lines.get_mut(&name) {
            line.remove(action.id);
            self.requeue(&name);
        }
    }

    /// Lines that must be refilled before they can be served.
    pub(crate) fn hungry(&self) -> Vec<String> {
        self.hungry.iter().cloned().collect()
    }

    /// Whether a line must be refilled.
    pub(crate) fn is_hungry(&self) -> bool {
        !self.hungry.is_empty()
    }

    /// The next of what the store holds of a line, from its front, but for executions that are set aside. Says whether to
    /// read on: none of these may be chosen, and there are more.
    pub(crate) fn refill(
        &mut self,
        name: &str,
        found: Vec<ReadyRef>,
        is_set_aside: impl Fn(ExecutionId) -> bool,
    ) -> bool {
        let Some(line) = self.lines.get_mut(name) else {
            return false;
        };
        let full = found.len() >= LINE_MAX;
        line.more = false;
        for ready in found {
            let id = ready.key.action;
            let is_known = self.reserved.contains_key(&id) || self.suspects.contains_key(&id);
            if !is_known && !is_set_aside(ready.execution) {
                line.add(ready);
            }
        }
        line.more = full;
        let reads_on = line.needs_refill();
        self.requeue(name);
        reads_on
    }

    /// The next action to begin, if any may. Its place is held until it begins or is given back.
    pub(crate) fn choose(&mut self, mint: &mut Mint, switches: &Switches, now: Timestamp) -> Option<Chosen> {
        self.chosen_at = now;
        self.unpark_due(now);
        if self.closed || self.resting.is_held() || !self.alone.is_empty() || switches.hold_everything(now) {
            return None;
        }
        while let Some((_, name)) = self.eligible.pop_first() {
            self.place_of.remove(&name);
            let Some(line) = self.lines.get_mut(&name) else {
                continue;
            };
            let Some((place, action, execution)) = line.head() else {
                self.requeue(&name);
                continue;
            };
            if let Some(switch) = switches.holding_type(&line.kind, now) {
                self.park(name, Lack::Switch(switch));
                continue;
            }
            if let Some(lack) = self.drains.lacks(switches, &line.kind, place.run_at, now) {
                self.park(name, lack);
                continue;
            }
            let need = Need {
                kind: &line.kind,
                limits: &line.limits,
            };
            if let Some(lack) = lacking(
                &self.circuits,
                &mut self.permits,
                line.destination.as_deref(),
                &need,
                now,
            ) {
                self.park(name, lack);
                continue;
            }
            let poll = line.route.as_ref().map(|route| self.polls.find(route).ok_or(route));
            let poll = match poll.transpose() {
                Ok(poll) => poll,
                Err(route) => {
                    let lack = Lack::Runner(route.clone());
                    self.park(name, lack);
                    continue;
                }
            };
            let attempt = mint.attempt(execution.slot());
            self.permits.take(attempt, &need, now);
            self.polls.take(poll, attempt);
            if let Some(destination) = line.destination.clone() {
                self.circuits.begin(&destination, attempt);
                self.destinations.insert(attempt, destination);
            }
            line.pop();
            let asks = line.ask().then(|| name.clone());
            let limits = line.limits.clone();
            self.reserved.insert(action, Reserved { attempt, limits, asks });
            self.requeue(&name);
            return Some(Chosen { action, execution });
        }
        self.choose_suspect(mint, now)
    }

    fn choose_suspect(&mut self, mint: &mut Mint, now: Timestamp) -> Option<Chosen> {
        if self.performing() > 0 || self.is_hungry() || self.permits.is_full() {
            return None;
        }
        let mut free = self.suspects.iter().filter(|(_, suspect)| suspect.not_before <= now);
        let (&action, &Suspect { execution, .. }) = free.next()?;
        self.suspects.remove(&action);
        let attempt = mint.attempt(execution.slot());
        self.permits.take(
            attempt,
            &Need {
                kind: "suspect",
                limits: &[],
            },
            now,
        );
        self.alone.insert(attempt);
        self.reserved.insert(
            action,
            Reserved {
                attempt,
                limits: Vec::new(),
                asks: None,
            },
        );
        Some(Chosen { action, execution })
    }

    /// The attempt a chosen action begins under. An action whose own limits are tighter than those its line was
    /// thought to have goes back into the line, which knows them now; a suspect waits until it can run alone.
    pub(crate) fn begin(&mut self, action: &Action, now: Timestamp) -> Option<AttemptId> {
        let Reserved { attempt, limits, asks } = self.reserved.remove(&action.id)?;
        if self.closed || self.resting.has(action.origin.execution.slot()) {
            self.release(attempt);
            if let Some(name) = asks {
                self.answer(&name, None);
            }
            return None;
        }
        if let Some(name) = asks {
            self.answer(&name, Some(action));
        }
        if self.alone.contains(&attempt) {
            return self.begin_alone(action, attempt, now);
        }
        if action.body.crashes.is_suspect() {
            self.release(attempt);
            self.join(action);
            return None;
        }
        let poll = self.polls.taken_from(attempt);
        if action.body.runner.is_some() && poll.is_none() {
            // The program that asked for it has gone: it waits for the next.
            self.release(attempt);
            self.join(action);
            return None;
        }
        if limits == action.body.limits {
            return Some(attempt);
        }
        let destination = self.destinations.get(&attempt).cloned();
        self.release(attempt);
        let need = Need {
            kind: &action.kind,
            limits: &action.body.limits,
        };
        if self.permits.lacks(&need, now).is_some() {
            self.join(action);
            return None;
        }
        self.permits.take(attempt, &need, now);
        self.polls.take(poll, attempt);
        if let Some(destination) = destination {
            self.circuits.begin(&destination, attempt);
            self.destinations.insert(attempt, destination);
        }
        Some(attempt)
    }

    /// This process performs nothing else, so of all limits only a rate, or what others perform, can stand in the way of a
    /// suspect.
    fn begin_alone(&mut self, action: &Action, attempt: AttemptId, now: Timestamp) -> Option<AttemptId> {
        self.release(attempt);
        let need = Need {
            kind: &action.kind,
            limits: &action.body.limits,
        };
        if let Some(lack) = self.permits.lacks(&need, now) {
            let until = match lack {
                Lack::Rate(_, until) => until,
                _ => now.plus(SUSPECT_REST_MILLIS),
            };
            self.suspect(action, until);
            return None;
        }
        self.permits.take(attempt, &need, now);
        self.alone.insert(attempt);
        Some(attempt)
    }

    /// The action that a line waited for tells the numbers of its limits, or does not.
    fn answer(&mut self, name: &str, action: Option<&Action>) {
        if let Some(line) = self.lines.get_mut(name) {
            match action {
                Some(action) => line.learn(action),
                None => line.numbers = Numbers::Unknown,
            }
            self.requeue(name);
        }
    }

    fn suspect(&mut self, action: &Action, not_before: Timestamp) {
        let execution = action.origin.execution;
        self.suspects.insert(action.id, Suspect { execution, not_before });
    }

    /// A chosen action does not begin after all.
    pub(crate) fn give_back(&mut self, action: ActionId) {
        if let Some(reserved) = self.reserved.remove(&action) {
            self.release(reserved.attempt);
            if let Some(name) = reserved.asks {
                self.answer(&name, None);
            }
        }
    }

    /// An attempt that was under way before this process: it holds its permits until it is settled.
    pub(crate) fn adopt(&mut self, attempt: AttemptId, action: &Action, now: Timestamp) {
        let need = Need {
            kind: &action.kind,
            limits: &action.body.limits,
        };
        self.permits.take(attempt, &need, now);
        if action.body.crashes.is_suspect() {
            self.alone.insert(attempt);
        } else {
            self.alone.remove(&attempt);
        }
    }

    /// An attempt ended, with this error type or none.
    pub(crate) fn end(&mut self, attempt: AttemptId, error: Option<&str>, now: Timestamp) {
        if let Some(destination) = self.destinations.get(&attempt).cloned()
            && self.circuits.end(&destination, attempt, error, now)
        {
            self.unpark_where(|lack| matches!(lack, Lack::Circuit(parked, _) if *parked == destination));
        }
        self.release(attempt);
    }

    /// Gives back whatever the attempt holds.
    pub(crate) fn release(&mut self, attempt: AttemptId) {
        if let Some(destination) = self.destinations.remove(&attempt) {
            self.circuits.let_go(&destination, attempt);
        }
        self.alone.remove(&attempt);
        self.polls.give_back(attempt);
        for freed in self.permits.release(attempt) {
            self.unpark(&freed);
        }
    }

    /// When something parked by time may start.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        let times = self.parked.keys().filter_map(|lack| match lack {
            Lack::Rate(_, until) | Lack::Circuit(_, until) | Lack::Release(_, until) => Some(*until),
            Lack::Total | Lack::Type(_) | Lack::Key(_) | Lack::Grant(_) | Lack::Switch(_) | Lack::Runner(_) => None,
        });
        // One whose time has come waits for what is under way to end, not for the clock.
        let suspects = self.suspects.values().map(|suspect| suspect.not_before);
        let suspects = suspects.filter(|&at| at > self.chosen_at);
        let stated = demand::next(self);
        times.chain(suspects).chain(self.polls.next_end()).chain(stated).min()
    }

    /// What a queued action waits for.
    pub(crate) fn explain(&self, action: &Action) -> Waiting {
        let waiting = |reason, object: String, until| Waiting::Waiting {
            reason,
            object,
            since: action.run_at,
            until,
        };
        match self.lack_of.get(&action.line()) {
            Some(Lack::Key(key) | Lack::Grant(key)) => waiting(WaitingFor::Permit, key.clone(), None),
            Some(Lack::Type(kind)) => waiting(WaitingFor::Permit, kind.clone(), None),
            Some(Lack::Rate(key, until)) => waiting(WaitingFor::Rate, key.clone(), Some(*until)),
            Some(Lack::Circuit(destination, until)) => waiting(WaitingFor::Circuit, destination.clone(), Some(*until)),
            Some(Lack::Switch(switch) | Lack::Release(switch, _)) => {
                waiting(WaitingFor::KillSwitch, switch.to_string(), None)
            }
            Some(Lack::Runner(route)) => waiting_for_runner(self, route),
            Some(Lack::Total) | None => waiting(WaitingFor::Permit, "this node".to_owned(), None),
        }
    }

    pub(crate) fn requeue(&mut self, name: &str) {
        if let Some(place) = self.place_of.remove(name) {
            self.eligible.remove(&place);
        }
        self.hungry.remove(name);
        let Some(line) = self.lines.get(name) else { return };
        if line.is_gone() {
            self.lines.remove(name);
            self.forget_lack(name);
            return;
        }
        if self.lack_of.contains_key(name) || line.numbers == Numbers::Asked {
            return;
        }
        if line.needs_refill() {
            self.hungry.insert(name.to_owned());
        } else if let Some((place, _, _)) = line.head() {
            self.turn += 1;
            self.eligible.insert((place.rank, self.turn), name.to_owned());
            self.place_of.insert(name.to_owned(), (place.rank, self.turn));
        }
    }

    fn park(&mut self, name: String, lack: Lack) {
        self.parked.entry(lack.clone()).or_default().insert(name.clone());
        self.lack_of.insert(name, lack);
    }

    fn forget_lack(&mut self, name: &str) {
        if let Some(lack) = self.lack_of.remove(name)
            && let Some(names) = self.parked.get_mut(&lack)
        {
            names.remove(name);
            if names.is_empty() {
                self.parked.remove(&lack);
            }
        }
    }

    pub(crate) fn unpark(&mut self, lack: &Lack) {
        for name in self.parked.remove(lack).unwrap_or_default() {
            self.lack_of.remove(&name);
            self.requeue(&name);
        }
    }

    fn unpark_due(&mut self, now: Timestamp) {
        self.unpark_where(|lack| {
            matches!(
                lack,
                Lack::Rate(_, until) | Lack::Circuit(_, until) | Lack::Release(_, until) if *until <= now
            )
        });
    }

    /// Lets parked lines be looked at again, where what they lack is said to be free.
    pub(crate) fn unpark_where(&mut self, free: impl Fn(&Lack) -> bool) {
        let freed: Vec<Lack> = self.parked.keys().filter(|lack| free(lack)).cloned().collect();
        for lack in freed {
            self.unpark(&lack);
        }
    }
}

fn lacking(
    circuits: &Circuits,
    permits: &mut Permits,
    destination: Option<&str>,
    need: &Need<'_>,
    now: Timestamp,
) -> Option<Lack> {
    if let Some(destination) = destination
        && let Some(until) = circuits.holds(destination, now)
    {
        return Some(Lack::Circuit(destination.to_owned(), until));
    }
    permits.lacks(need, now)
}
