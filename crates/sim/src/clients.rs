//! Simulated clients: they start, send, repeat what was not answered, pause, resume, move, cancel and fix.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ask::Request;
use serde_json::{Map, Value, json};
use sprag_core::action::Status;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::Machine;
use sprag_engine::leases::ends_once;
use sprag_engine::requests::idempotency::{Idempotency, Key};
use sprag_engine::requests::{AttemptRef, Migrate, RetryDead, SendMessage, Sent, Start, Target};
use sprag_store::records::ExecutionStatus;

use crate::machines::Fixture;
use crate::model::Model;
use crate::random::Random;

/// How many executions are open at once before clients start no more.
const OPEN_MAX: usize = 14;
/// The business keys that clients use.
const KEYS: [&str; 3] = ["red", "green", "blue"];

/// A request, and what its answer is for.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// What is asked.
    pub request: Request,
    /// What the answer means to the client.
    pub purpose: Purpose,
}

/// What an answer means to the client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    /// A machine version is kept.
    Apply,
    /// An execution starts.
    Start,
    /// An execution starts, under the idempotency key with that number.
    StartOnce(u64),
    /// The message with that number.
    Send(u64),
    /// Something is done to an execution.
    Execution(ExecutionId),
    /// Something is done to an action.
    Action(ActionId),
    /// A program asks for work; the answer comes later.
    Lease,
    /// The heartbeat of a program.
    Beat(AttemptRef),
    /// A program ended its attempt.
    Finish(AttemptRef),
    /// An attempt's checkpoint.
    Checkpoint(AttemptRef, Value),
    /// A node says what it has under a limit.
    State(u64),
    /// Something is decided about operations.
    Workflow,
    /// No client waits.
    Nothing,
}

/// A message that was sent, perhaps more than once.
#[derive(Clone, Debug)]
struct Letter {
    send: SendMessage,
    answer: Option<Sent>,
}

/// A start under an idempotency key, perhaps sent more than once.
#[derive(Clone, Debug)]
struct OneStart {
    start: Start,
    answer: Option<String>,
}

/// The clients.
#[derive(Debug)]
pub(crate) struct Clients {
    random: Random,
    fixtures: Vec<&'static Fixture>,
    letters: BTreeMap<u64, Letter>,
    starts: BTreeMap<u64, OneStart>,
}

impl Clients {
    /// Clients that use these machines.
    pub(crate) fn new(random: Random, fixtures: Vec<&'static Fixture>) -> Self {
        Self {
            random,
            fixtures,
            letters: BTreeMap::new(),
            starts: BTreeMap::new(),
        }
    }

    /// Applies the first version of every machine in use.
    pub(crate) fn begin(&self) -> Vec<Ask> {
        let first = self.fixtures.iter().filter_map(|fixture| fixture.versions.first());
        let apply = |machine: &Arc<Machine>| Ask {
            request: Request::Apply(Arc::clone(machine).into()),
            purpose: Purpose::Apply,
        };
        first.map(apply).collect()
    }

    /// What a client asks next.
    pub(crate) fn ask(&mut self, model: &mut Model) -> Option<Ask> {
        match self.random.below(100) {
            0..=17 => self.start(model),
            18..=20 => self.start_once(model),
            21..=23 => self.start_again(),
            24..=52 => self.send(model),
            53..=60 => self.send_again(),
            61..=80 => self.control(model),
            81..=83 => self.apply(),
            84..=97 => self.repair(model),
            _ => Some(Ask {
                request: Request::Queue,
                purpose: Purpose::Nothing,
            }),
        }
    }

    fn start(&mut self, model: &Model) -> Option<Ask> {
        let open = model.executions.values().filter(|known| known.status.is_open()).count();
        if open >= OPEN_MAX {
            return None;
        }
        let fixture = *self.random.pick(&self.fixtures)?;
        let key = self
            .random
            .chance(1, 3)
            .then(|| self.random.pick(&KEYS).map(|key| (*key).to_owned()))
            .flatten();
        let version = self
            .random
            .chance(1, 6)
            .then(|| u32::try_from(self.random.between(1, 3)).unwrap_or(1));
        let desk = ["main", "side"][usize::from(self.random.chance(1, 4))];
        let variables = if fixture.name == "limits" {
            vec![("desk".to_owned(), json!(desk))]
        } else {
            Vec::new()
        };
        let variables: Map<String, Value> = variables.into_iter().collect();
        let start = Start {
            machine: fixture.name.to_owned(),
            version,
            key,
            variables,
            tags: Vec::new(),
        };
        Some(Ask {
            request: Request::Start(start),
            purpose: Purpose::Start,
        })
    }

    /// A start under an idempotency key. The tag tells whether the key ever started a second execution.
    fn start_once(&mut self, model: &Model) -> Option<Ask> {
        let Request::Start(start) = self.start(model)?.request else {
            return None;
        };
        let number = u64::try_from(self.starts.len()).unwrap_or(u64::MAX) + 1;
        let start = Start {
            tags: vec![once_tag(number)],
            ..start
        };
        let one = OneStart {
            start: start.clone(),
            answer: None,
        };
        self.starts.insert(number, one);
        Some(Ask {
            request: Request::Start(start),
            purpose: Purpose::StartOnce(number),
        })
    }

    /// The same start again, under its key: because no answer came, or for no reason at all.
    fn start_again(&mut self) -> Option<Ask> {
        let known: Vec<u64> = self.starts.keys().copied().collect();
        let recent = known.len().saturating_sub(4);
        let number = *self.random.pick(known.get(recent..)?)?;
        Some(Ask {
            request: Request::Start(self.starts.get(&number)?.start.clone()),
            purpose: Purpose::StartOnce(number),
        })
    }

    /// What makes a request act once, where its client gave a key.
    pub(crate) fn idempotency(ask: &Ask) -> Option<Idempotency> {
        if let Request::Finish(attempt, outcome) = &ask.request {
            return Some(ends_once(*attempt, outcome));
        }
        let Purpose::StartOnce(number) = &ask.purpose else {
            return None;
        };
        let key = Key::new("client", &once_tag(*number)).ok()?;
        ask.request.once(&key)
    }

    /// The first answer that came under a key.
    pub(crate) fn first_answer(&mut self, number: u64, answer: String) -> Option<String> {
        let one = self.starts.get_mut(&number)?;
        Some(one.answer.get_or_insert(answer).clone())
    }

    fn send(&mut self, model: &Model) -> Option<Ask> {
        let (to, machine) = if self.random.chance(1, 5) {
            let fixture = *self.random.pick(&self.fixtures)?;
            let key = (*self.random.pick(&KEYS)?).to_owned();
            (
                Target::Key {
                    machine: fixture.name.to_owned(),
                    key,
                },
                fixture.name.to_owned(),
            )
        } else {
            let id = self.execution(model)?;
            (Target::Id(id), model.executions.get(&id)?.row.machine.clone())
        };
        let fixture = self.fixtures.iter().find(|fixture| fixture.name == machine)?;
        let kind = if self.random.chance(1, 20) {
            "NONSENSE"
        } else {
            *self.random.pick(fixture.messages)?
        };
        let with_id = self.random.chance(2, 3);
        Some(self.letter(to, kind, with_id))
    }

    /// Very many messages for one that is held: more than one decision works off at once.
    pub(crate) fn flood(&mut self, model: &Model) -> Vec<Ask> {
        let held = model
            .executions
            .iter()
            .filter(|(_, known)| known.status == ExecutionStatus::Paused);
        let held: Vec<ExecutionId> = held.map(|(&id, _)| id).collect();
        let Some(&id) = self.random.pick(&held) else {
            return Vec::new();
        };
        let many = self.random.between(60, 140);
        (0..many)
            .map(|_| self.letter(Target::Id(id), "NONSENSE", false))
            .collect()
    }

    /// The message that ends an endless machine.
    pub(crate) fn end(&mut self, id: ExecutionId) -> Ask {
        self.letter(Target::Id(id), "END", false)
    }

    fn letter(&mut self, to: Target, kind: &str, with_id: bool) -> Ask {
        let number = u64::try_from(self.letters.len()).unwrap_or(u64::MAX) + 1;
        let id = with_id.then(|| format!("message-{number}"));
        let payload = json!({ "n": number });
        let send = SendMessage {
            to,
            kind: kind.to_owned(),
            payload,
            id,
        };
        let letter = Letter {
            send: send.clone(),
            answer: None,
        };
        self.letters.insert(number, letter);
        Ask {
            request: Request::Send(send),
            purpose: Purpose::Send(number),
        }
    }

    /// The same message again, under its id: because no answer came, or for no reason at all.
    fn send_again(&mut self) -> Option<Ask> {
        let known: Vec<u64> = self
            .letters
            .iter()
            .filter(|(_, letter)| letter.send.id.is_some())
            .map(|(&number, _)| number)
            .collect();
        let recent = known.len().saturating_sub(8);
        let number = *self.random.pick(known.get(recent..)?)?;
        let send = self.letters.get(&number)?.send.clone();
        Some(Ask {
            request: Request::Send(send),
            purpose: Purpose::Send(number),
        })
    }

    /// An answer to a message: what the first one was, if there was one from the same execution.
    pub(crate) fn answered(&mut self, number: u64, answer: &Sent) -> Option<Sent> {
        let letter = self.letters.get_mut(&number)?;
        let first = letter.answer.get_or_insert_with(|| answer.clone());
        (first.execution == answer.execution).then(|| first.clone())
    }

    fn execution(&mut self, model: &Model) -> Option<ExecutionId> {
        let any = self.random.chance(1, 12);
        let open = model
            .executions
            .iter()
            .filter(|(_, known)| any || known.status.is_open());
        let open: Vec<ExecutionId> = open.map(|(&id, _)| id).collect();
        self.random.pick(&open).copied()
    }

    fn control(&mut self, model: &Model) -> Option<Ask> {
        let id = self.execution(model)?;
        let status = model.executions.get(&id)?.status;
        let request = match (self.random.below(12), status) {
            (0..=2, _) => Request::Pause(id),
            (3..=7, _) | (8 | 9, ExecutionStatus::Paused | ExecutionStatus::Failed) => Request::Resume(id),
            (8, _) => Request::Cancel(id),
            _ => {
                let version = self
                    .random
                    .chance(1, 2)
                    .then(|| u32::try_from(self.random.between(1, 3)).unwrap_or(1));
                Request::Migrate(Migrate {
                    execution: id,
                    version,
                    states: BTreeMap::new(),
                })
            }
        };
        Some(Ask {
            request,
            purpose: Purpose::Execution(id),
        })
    }

    fn apply(&mut self) -> Option<Ask> {
        let fixture = *self.random.pick(&self.fixtures)?;
        let machine = self.random.pick(&fixture.versions)?;
        Some(Ask {
            request: Request::Apply(Arc::clone(machine).into()),
            purpose: Purpose::Apply,
        })
    }

    fn repair(&mut self, model: &mut Model) -> Option<Ask> {
        let wanted: &[Status] = match self.random.below(6) {
            0 => &[Status::Scheduled, Status::Retrying],
            1 | 2 => &[Status::Scheduled, Status::Retrying, Status::Queued, Status::Running],
            _ => &[Status::Dead],
        };
        let found = model
            .actions
            .iter()
            .filter(|(_, known)| wanted.contains(&known.action.status));
        let found: Vec<ActionId> = found.map(|(&id, _)| id).collect();
        let id = *self.random.pick(&found)?;
        let request = match (wanted.len(), self.random.below(8)) {
            (2, _) => {
                model.asked.retry_now.insert(id);
                Request::RetryNow(id)
            }
            (4, 0) => Request::Explain(id),
            (4, _) => {
                model.asked.cancel.insert(id);
                Request::CancelAction(id)
            }
            (_, 0) => {
                model.asked.archive.insert(id);
                Request::Archive(id)
            }
            (_, roll) => {
                model.asked.retry_dead.insert(id);
                let config = (roll == 1).then(|| json!({ "edited": self.random.below(1_000) }));
                let version = (roll == 2).then(|| u32::try_from(self.random.between(1, 2)).unwrap_or(1));
                Request::RetryDead(RetryDead {
                    config,
                    version,
                    ..RetryDead::as_is(id)
                })
            }
        };
        Some(Ask {
            request,
            purpose: Purpose::Action(id),
        })
    }
}

/// What only executions under this key are tagged with.
fn once_tag(number: u64) -> String {
    format!("once-{number}")
}
