//! What the dispatcher knows about its lines and types, for people who ask why the queue does not move.

use std::collections::BTreeMap;

use sprag_core::action::LimitUse;
use sprag_core::time::Timestamp;
use sprag_wire::{QueueDepth, QueueLine, Waiting, WaitingFor};

use super::action_queue::ActionQueue;
use super::dispatcher::Dispatcher;
use super::permits::Lack;
use crate::leases::polls::waiting_for_runner;
use crate::queue::control::Switches;
use crate::read::queue::{LinesInMemory, TypeInMemory};

impl Dispatcher {
    /// Every line with what holds it back, and every type with what runs. Only the store knows how much waits.
    pub(crate) fn status(&self, switches: &Switches, now: Timestamp) -> LinesInMemory {
        let lines = self.lines.iter();
        let lines = lines.map(|(name, line)| (name.clone(), self.line_status(name, line, switches, now)));
        let mut types: BTreeMap<String, TypeInMemory> = BTreeMap::new();
        for (kind, running) in self.permits.by_type() {
            types.entry(kind.to_owned()).or_default().running = running;
        }
        for (kind, started) in self.started.all(now) {
            types.entry(kind.to_owned()).or_default().started_last_minute = started;
        }
        LinesInMemory {
            lines: lines.collect(),
            types,
        }
    }

    fn line_status(&self, name: &str, line: &ActionQueue, switches: &Switches, now: Timestamp) -> QueueLine {
        QueueLine {
            kind: line.kind.clone(),
            runner: line.route.as_ref().map(|route| route.runner.clone()),
            limits: line.limits.iter().map(|LimitUse { key, .. }| key.clone()).collect(),
            destination: line.destination.clone(),
            running: self.permits.of_type(&line.kind),
            waiting: match switches.holding_type(&line.kind, now) {
                Some(switch) => Some(lack_waiting(&Lack::Switch(switch), now)),
                None => self.lack_of.get(name).map(|lack| match lack {
                    Lack::Runner(route) => waiting_for_runner(self, route),
                    lack => lack_waiting(lack, now),
                }),
            },
            depth: QueueDepth::default(),
        }
    }
}

/// What the name of a line tells about it, where this process does not serve it.
pub(crate) fn line_named(name: &str) -> QueueLine {
    let line = ActionQueue::named(name);
    QueueLine {
        kind: line.kind,
        runner: line.route.map(|route| route.runner),
        limits: line.limits.into_iter().map(|limit| limit.key).collect(),
        destination: line.destination,
        depth: QueueDepth::default(),
        running: 0,
        waiting: None,
    }
}

fn lack_waiting(lack: &Lack, now: Timestamp) -> Waiting {
    let waiting = |reason, object: &str, until| Waiting::Waiting {
        reason,
        object: object.to_owned(),
        since: now,
        until,
    };
    match lack {
        Lack::Total => waiting(WaitingFor::Permit, "this node", None),
        Lack::Switch(switch) | Lack::Release(switch, _) => waiting(WaitingFor::KillSwitch, &switch.to_string(), None),
        Lack::Type(kind) => waiting(WaitingFor::Permit, kind, None),
        Lack::Key(key) | Lack::Grant(key) => waiting(WaitingFor::Permit, key, None),
        Lack::Rate(key, until) => waiting(WaitingFor::Rate, key, Some(*until)),
        Lack::Circuit(destination, until) => waiting(WaitingFor::Circuit, destination, Some(*until)),
        Lack::Runner(route) => waiting(WaitingFor::Runner, &route.runner, None),
    }
}
