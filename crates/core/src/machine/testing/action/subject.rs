//! What is tested: one action definition, in its machine or alone, and the facts it is triggered on.
//!
//! A definition alone is put into a machine of one state, so that it is read, compiled and triggered by the same code
//! as any other.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::mock;
use crate::action::secret::{self, Owner};
use crate::action::{ConfigProblem, Definition, ResultEvent};
use crate::document::source::{Document, Place, Position, shown};
use crate::document::{Finding, Findings, Severity};
use crate::ids::ExecutionId;
use crate::machine::context::Context;
use crate::machine::event;
use crate::machine::execution::{Cause, End, Execution, Facts, Fate, How, Message};
use crate::machine::load::{ConfigCheck, LoadOptions, UnknownType, load_document};
use crate::machine::model::{Machine, StateIndex};
use crate::machine::state_set::StateSet;
use crate::machine::trigger;
use crate::time::Timestamp;

/// What the machine around a lone definition is called.
const ALONE: &str = "action_test";
/// The state of that machine, where the definition names none.
const STATE: &str = "triggered";
/// Where the definition stands in that machine.
const WITHIN: &str = "/actions/0";

/// How attempts of a type reach the world, as far as a mock can stand in for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By HTTP: replies can be scripted.
    Http,
    /// In another way: only outcomes can be scripted, and nothing runs without one.
    Other,
    /// Not at all.
    Nothing,
}

/// An action definition that can be tested.
#[derive(Debug)]
pub struct TestSubject {
    /// The machine it belongs to.
    pub machine: Machine,
    /// Its position among the machine's actions.
    pub position: usize,
    /// The definition as it was written.
    document: Document,
    /// Where it stands in its file.
    pointer: String,
}

/// The facts an action is triggered on.
#[derive(Clone, Debug)]
pub struct Occasion {
    /// The variables, over the machine's own.
    pub variables: Map<String, Value>,
    /// The business key.
    pub key: Option<String>,
    /// When.
    pub now: Timestamp,
    /// What leads to the trigger; the start, if nothing does.
    pub event: Option<Event>,
    /// How other actions ended before.
    pub results: Map<String, Value>,
}

/// What leads to a trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `done.<actionId>` and `failed.<actionId>` are ends of actions, everything else is a message.
    pub kind: String,
    /// What it carries.
    pub payload: Value,
    /// What an action gave.
    pub result: Value,
    /// Why an action failed, as `{type, message}`.
    pub error: Option<Value>,
}

impl TestSubject {
    /// The definition in `document`, which stands at `pointer` in its file, with mail templates of its own.
    pub fn alone(document: &Document, pointer: &str, templates: Option<&Document>) -> Result<Self, Vec<Finding>> {
        let loaded = load_document(&around(document, templates), &LoadOptions::default());
        let moved = |finding: Finding| match finding.pointer.strip_prefix(WITHIN) {
            Some(rest) => Finding {
                pointer: format!("{pointer}{rest}"),
                ..finding
            },
            None => finding,
        };
        match loaded.machine {
            Some(machine) => Ok(Self {
                machine,
                position: 0,
                document: document.clone(),
                pointer: pointer.to_owned(),
            }),
            None => Err(loaded.findings.into_iter().filter(is_error).map(moved).collect()),
        }
    }

    /// The action of that id in a machine file.
    pub fn within(machine: &Document, action_id: &str) -> Result<Self, Vec<Finding>> {
        let loaded = load_document(machine, &LoadOptions::default());
        let Some(compiled) = loaded.machine else {
            return Err(loaded.findings.into_iter().filter(is_error).collect());
        };
        let found = compiled.action(action_id).map(|(position, _)| position);
        let position = found.ok_or_else(|| vec![no_action(&compiled, action_id)])?;
        let actions = machine.root().member("actions");
        let definition = actions.and_then(|actions| actions.items().nth(position));
        Ok(Self {
            machine: compiled,
            position,
            document: definition.map_or_else(|| machine.clone(), |definition| definition.to_document()),
            pointer: format!("/actions/{position}"),
        })
    }

    /// The definition, compiled.
    pub fn definition(&self) -> Option<&Definition> {
        self.machine.actions.get(self.position)
    }

    /// The definition as it was written.
    pub fn written(&self) -> Value {
        self.document.value.clone()
    }

    /// The configuration as it was written.
    pub fn config(&self) -> Value {
        self.document.value.get("config").cloned().unwrap_or_else(|| json!({}))
    }

    /// Everything that the type's runner has against the configuration.
    pub fn check(&self, runners: &dyn ConfigCheck) -> Vec<Finding> {
        let mut findings = Findings::default();
        let kind = self.definition().map_or("", |definition| definition.kind.as_str());
        match runners.check(kind, &self.config()) {
            Ok(mut problems) => {
                problems.extend(self.secret_problems(kind, runners));
                for ConfigProblem {
                    pointer,
                    detail,
                    remedy,
                    fault: _,
                } in problems
                {
                    findings.error(
                        &self.place(&format!("/config{pointer}")),
                        "invalid-config",
                        detail,
                        remedy,
                    );
                }
            }
            // A runner elsewhere may serve types that are not known here.
            Err(_) if self.document.value.get("runner").is_some() => {}
            Err(UnknownType { nearest }) => {
                let detail = format!("no runner serves type `{}`", shown(kind));
                let remedy = match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => "use a known type, or name the external `runner` that serves it".to_owned(),
                };
                findings.error(&self.place("/type"), "unknown-type", detail, remedy);
            }
        }
        findings.finish()
    }

    /// Every secret that stands where the type takes none. Which machine may name which secret is not judged here: a
    /// definition alone belongs to none.
    fn secret_problems(&self, kind: &str, runners: &dyn ConfigCheck) -> Vec<ConfigProblem> {
        let uses = self.definition().map(|definition| definition.config.secrets());
        let owner = Owner {
            machine: &self.machine.id,
            kind,
        };
        secret::problems(uses.unwrap_or_default(), owner, runners)
    }

    /// What a trigger on these facts comes to, as in the engine.
    pub fn trigger(&self, occasion: &Occasion, execution: ExecutionId) -> Option<Fate> {
        let definition = self.definition()?;
        let cause = occasion.cause();
        let owner = self.owner();
        let mut at = Execution::new(
            Facts {
                id: execution,
                key: occasion.key.clone(),
                version: 1,
                created_at: occasion.now,
            },
            self.variables(occasion),
        );
        at.active = StateSet::of(self.machine.ancestors(owner).chain([owner]));
        at.results = Arc::new(occasion.results.clone());
        if let Cause::Message(message) = &cause {
            at.message = Some(Arc::clone(message));
        }
        let event = event::Event::of(&cause, &self.machine, &at, occasion.now);
        let context = Context {
            machine: &self.machine,
            execution: &at,
            before: &at.active,
            event: Some(&event),
            owner,
            now: occasion.now,
        };
        Some(trigger::fate(definition, &context))
    }

    /// The place a pointer from the definition leads to, or the nearest one around it that exists.
    fn place(&self, pointer: &str) -> Place {
        let Place { at, pointer } = self.document.root().inside(pointer);
        Place {
            at,
            pointer: format!("{}{pointer}", self.pointer),
        }
    }

    /// The state whose entry triggers it; the machine itself, if something else does.
    fn owner(&self) -> StateIndex {
        let mut states = self.machine.indexes();
        states
            .find(|&state| self.machine.state(state).triggers.contains(&self.position))
            .unwrap_or(StateIndex::ROOT)
    }

    fn variables(&self, occasion: &Occasion) -> Map<String, Value> {
        let mut variables = self.machine.variables.clone();
        variables.extend(occasion.variables.clone());
        variables
    }
}

impl Occasion {
    fn cause(&self) -> Cause {
        let Some(Event {
            kind,
            payload,
            result,
            error,
        }) = &self.event
        else {
            return Cause::Start;
        };
        let ends = [("done.", How::Done), ("failed.", How::Failed)];
        let end = ends
            .into_iter()
            .find_map(|(prefix, how)| Some((kind.strip_prefix(prefix)?.to_owned(), how)));
        match end {
            Some((action_id, how)) => Cause::Ended(End {
                action_id,
                ordinal: 1,
                how,
                event: Some(ResultEvent {
                    kind: kind.clone(),
                    payload: payload.clone(),
                }),
                result: result.clone(),
                error: error.as_ref().map(|error| mock::failure(error).error),
            }),
            None => Cause::Message(Arc::new(Message {
                id: "action_test".to_owned(),
                kind: kind.clone(),
                payload: payload.clone(),
            })),
        }
    }
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

fn no_action(machine: &Machine, action_id: &str) -> Finding {
    let mut findings = Findings::default();
    let known = machine.actions.iter().map(|definition| definition.action_id.as_str());
    let remedy = match findings.nearest(action_id, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "use the `actionId` of one of its actions".to_owned(),
    };
    let place = Place {
        at: Position::START,
        pointer: String::new(),
    };
    let detail = format!("`{}` has no action `{}`", machine.id, shown(action_id));
    findings.error(&place, "unknown-action", detail, remedy);
    findings.finish().remove(0)
}

/// A machine whose one action is the definition.
fn around(definition: &Document, templates: Option<&Document>) -> Document {
    let at = Position::START;
    let member = |name| definition.root().member(name);
    let mut machine = vec![
        ("id", at, Document::text(ALONE, at)),
        ("actions", at, Document::list(vec![definition.clone()], at)),
    ];
    let trigger = member("triggerState").and_then(|spot| Some((spot.place().at, spot.text()?)));
    if let Some((at, path)) = trigger {
        machine.extend(states(path, at));
    } else {
        let run = member("actionId").map_or_else(|| Document::text("", at), |id| id.to_document());
        machine.push(("entry", at, Document::map(vec![("run", at, run)], at)));
        machine.extend(states(STATE, definition.root().place().at));
    }
    machine.extend(templates.map(|templates| ("templates", at, templates.clone())));
    Document::map(machine, at)
}

/// `initial` and `states` that lead to a state of that name, which is written at `at`: a dotted path, or an id after `#`.
fn states(path: &str, at: Position) -> Vec<(&'static str, Position, Document)> {
    if let Some(id) = path.strip_prefix('#') {
        let id = Document::text(id, Position::START);
        return level(STATE, vec![("id", Position::START, id)], at);
    }
    let mut names = path.rsplit('.');
    let innermost = names.next().unwrap_or(STATE);
    names.fold(level(innermost, Vec::new(), at), |inside, name| level(name, inside, at))
}

fn level(name: &str, state: Vec<(&str, Position, Document)>, at: Position) -> Vec<(&'static str, Position, Document)> {
    let start = Position::START;
    let state = Document::map(state, start);
    vec![
        ("initial", start, Document::text(name, start)),
        ("states", start, Document::map(vec![(name, at, state)], start)),
    ]
}
