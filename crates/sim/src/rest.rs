//! The end of a run: faults stop, an operator fixes what a person must fix, and everything comes to rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ask::Request;
use sprag_core::machine::Machine;
use sprag_engine::requests::Migrate;
use sprag_store::records::ExecutionStatus;

use crate::clients::{Ask, Purpose};
use crate::machines;
use crate::proposers;
use crate::simulation::Simulation;
use crate::violation::{Checked, Invariant, Violation};

/// How many ticks everything has to come to rest.
pub(crate) const TICKS_MAX: usize = 1_500;
/// How much simulated time, in milliseconds.
pub(crate) const TIME_MAX_MILLIS: u64 = 3_600_000;
/// Nothing due within this time is rest, in milliseconds.
pub(crate) const REST_MILLIS: u64 = 600_000;

impl Simulation {
    /// Lets everything come to rest, and checks that it did.
    pub(crate) fn settle(&mut self) -> Checked {
        self.trace.line(format_args!("{} faults stop", self.now()));
        self.world.lock().is_calm = true;
        {
            let mut disk = self.disk.lock();
            disk.outage = None;
            disk.next = None;
            disk.next_read = None;
            disk.is_picky = false;
        }
        self.drop_stale();
        let is_going_down = self.process.as_ref().is_some_and(|process| process.closes_at.is_some());
        if is_going_down {
            self.crash("it went down");
        }
        let has_refused = self.disk.lock().has_refused;
        if has_refused {
            // What was refused by plan was set aside: only another process takes it up again.
            self.crash("after a refusal");
        }
        if self.process.is_none() {
            self.open()?;
        }
        let until = self.now().plus(TIME_MAX_MILLIS);
        for round in 0..TICKS_MAX {
            self.repair(round);
            self.programs_take_all();
            self.deliver();
            self.tick_all()?;
            let is_quiet =
                self.model.is_at_rest(self.now().plus(REST_MILLIS)) && self.world.lock().next_event().is_none();
            if is_quiet && !self.needs_mending() {
                self.model.check_reasons()?;
                self.model.check_plans()?;
                self.check_all_effects()?;
                return self.check_stored();
            }
            let next = self.next_instant().unwrap_or(self.now());
            self.move_to(next.max(self.now()).min(until));
            if self.now() >= until {
                break;
            }
        }
        Err(Violation::new(Invariant::Settles, self.model.unrest(self.now())))
    }

    pub(crate) fn needs_mending(&self) -> bool {
        if !self.model.undecided().is_empty() {
            return true;
        }
        let mut open = self.model.executions.values().filter(|known| known.status.is_open());
        open.any(|known| known.status != ExecutionStatus::Running || is_endless(&known.row.machine))
    }

    /// People resume what is paused, fix what failed, and end what would continue for ever.
    pub(crate) fn repair(&mut self, round: usize) {
        let ask = |id, request| Ask {
            request,
            purpose: Purpose::Execution(id),
        };
        let mut asks = Vec::new();
        let mut ending = Vec::new();
        for (&id, known) in self.model.executions.iter().filter(|(_, known)| known.status.is_open()) {
            let machine = &known.row.machine;
            let repaired = machines::named(machine).and_then(|fixture| fixture.versions.last());
            match known.status {
                ExecutionStatus::Running if is_endless(machine) => ending.push(id),
                ExecutionStatus::Failed if round > TICKS_MAX / 2 => asks.push(ask(id, Request::Cancel(id))),
                ExecutionStatus::Failed => {
                    let migrate = Migrate {
                        execution: id,
                        version: None,
                        states: BTreeMap::new(),
                    };
                    let apply = |machine: &Arc<Machine>| Ask {
                        request: Request::Apply(Arc::clone(machine).into()),
                        purpose: Purpose::Apply,
                    };
                    asks.extend(repaired.map(apply));
                    asks.push(ask(id, Request::Migrate(migrate)));
                    asks.push(ask(id, Request::Resume(id)));
                }
                ExecutionStatus::Paused => asks.push(ask(id, Request::Resume(id))),
                _ => {}
            }
        }
        self.inbox.extend(asks);
        self.decide_all(round);
        for id in ending {
            self.inbox.push_back(self.clients.end(id));
        }
    }

    /// People decide about every plan that waits for them: they approve it, and later end what still waits.
    fn decide_all(&mut self, round: usize) {
        for id in self.model.undecided() {
            if round > TICKS_MAX / 2 {
                self.inbox.push_back(proposers::cancel(id));
                continue;
            }
            for by in ["bob", "cleo"] {
                let approval = proposers::approval(&mut self.model, id, by);
                self.inbox
                    .extend(approval.map(|approval| proposers::ask(Request::Approve(approval))));
            }
        }
    }
}

fn is_endless(machine: &str) -> bool {
    machines::named(machine).is_some_and(|fixture| fixture.is_endless)
}
