//! Turns a services file into children of a supervisor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use sprag_core::clock::Clock;

use super::folder::StateFolder;
use super::probe::Asker;
use super::runtime::{Around, Runtime};
use super::worker::{ServiceState, ServiceWorker};
use crate::report::metrics::Metrics;
use crate::rule::{Rule, RuleError};
use crate::services::{self, Condition, Restart, Service, ServicesFile};
use crate::worker::Goal;
use crate::worker::child::{ChildSpec, Dependency, Need, RestartPolicy};
use crate::worker::registry::{BuildError, Registry};
use crate::worker::snapshot::Identity;

/// The type of a service without children.
pub const KIND_SERVICE: &str = "service";
/// The type of a service that owns others.
pub const KIND_PARENT: &str = "parent";

/// What a file says, as children of the root.
pub fn children(file: &ServicesFile) -> Result<Vec<ChildSpec>, RuleError> {
    file.services.iter().map(|service| child(service, file)).collect()
}

/// The rules over the services at the top.
pub fn rules(rules: &[services::ServiceRule]) -> Result<Vec<Rule>, RuleError> {
    rules.iter().map(rule).collect()
}

fn child(service: &Service, file: &ServicesFile) -> Result<ChildSpec, RuleError> {
    let is_parent = !service.children.is_empty();
    let kind = if is_parent { KIND_PARENT } else { KIND_SERVICE };
    let spec = json!({
        "name": service.name,
        "folder": file.folder,
        "written": plain(&service.written),
        "expected": expected(&service.children),
    });
    let children: Result<Vec<ChildSpec>, RuleError> = service.children.iter().map(|inner| child(inner, file)).collect();
    let mut child = ChildSpec::new(&service.name, kind, spec);
    child.enabled = service.enabled;
    child.depends_on = service.depends_on.iter().map(dependency).collect();
    child.restart = match service.restart {
        Restart::Always => RestartPolicy::Always,
        Restart::OnFailure => RestartPolicy::OnFailure,
        Restart::Never => RestartPolicy::Never,
    };
    child.children = children?;
    for inner in &mut child.children {
        inner.states = follow_parent();
    }
    child.rules = rules(&service.rules)?;
    child.budget = service.budget;
    child.stop_grace_millis = u64::try_from(service.stop.grace.as_millis()).ok();
    Ok(child)
}

/// The children without which a parent is not up: those that are to run, and to run on.
fn expected(children: &[Service]) -> Vec<&str> {
    let is_job = |name: &str| {
        let mut waits = children.iter().flat_map(|child| &child.depends_on);
        waits.any(|(on, condition)| on == name && *condition == Condition::Completed)
    };
    let run = children
        .iter()
        .filter(|child| child.enabled && child.restart != Restart::Never && !is_job(&child.name));
    run.map(|child| child.name.as_str()).collect()
}

/// As text in which nothing looks like a template: a file of services has none.
fn plain(written: &Value) -> String {
    let text = written.to_string();
    // Inside JSON these two stand next to each other only within texts, where the first can be escaped.
    ["{{", "{%", "{#"].iter().fold(text, |text, opening| {
        let escaped = format!("\\u007b{}", opening.get(1..).unwrap_or_default());
        text.replace(opening, &escaped)
    })
}

/// A service stops when its parent stops.
fn follow_parent() -> BTreeMap<String, Goal> {
    let down = ["stopped", "stopping"];
    down.map(|state| (state.to_owned(), Goal::Stopped)).into()
}

fn dependency((name, condition): &(String, Condition)) -> Dependency {
    Dependency {
        on: name.clone(),
        need: match condition {
            Condition::Started => Need::Started,
            Condition::Ready => Need::Ready,
            Condition::Completed => Need::Completed,
        },
    }
}

fn rule(rule: &services::ServiceRule) -> Result<Rule, RuleError> {
    let services::ServiceRule {
        name,
        when: _,
        written,
        grace,
        restart,
        affects,
        budget,
        message,
    } = rule;
    let built = Rule::when(name, written, restart)?;
    let mut built = built.grace(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    built.budget = *budget;
    if let Some(affects) = affects {
        built = built.affecting(affects.iter().map(String::as_str));
    }
    match message {
        Some(message) => built.message(message),
        None => Ok(built),
    }
}

/// The services of one supervisor: what is known about each outlives its worker.
#[derive(Clone)]
pub struct Services(Arc<SharedServices>);

struct SharedServices {
    around: Around,
    asker: Asker,
    /// Those that had a process when the supervisor began.
    found: BTreeSet<String>,
    runtimes: Mutex<BTreeMap<String, Arc<Runtime>>>,
}

impl Services {
    /// Looks at what there is in `place`.
    pub fn new(place: Arc<StateFolder>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(SharedServices {
            asker: Asker::default(),
            found: place.running(),
            around: Around {
                place,
                clock,
                metrics: Arc::default(),
            },
            runtimes: Mutex::default(),
        }))
    }

    /// What is counted about the services: for the supervisor to count the rest with.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.0.around.metrics)
    }

    /// How often something of each service had to be killed because it did not stop in time; those with none are left
    /// out.
    pub fn killed(&self) -> BTreeMap<String, u64> {
        let runtimes = self.runtimes();
        let counts = runtimes.iter().map(|(path, runtime)| (path.clone(), runtime.killed()));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// The types of workers that services are.
    pub fn registry(&self) -> Registry {
        let (services, parents) = (self.clone(), self.clone());
        Registry::default()
            .with(KIND_SERVICE, move |identity: &Identity| {
                Ok::<_, BuildError>(services.worker(identity, ServiceState::Stopped))
            })
            .with(KIND_PARENT, move |identity: &Identity| {
                // One that stands still would stop what it owns, which may be there already.
                Ok::<_, BuildError>(parents.worker(identity, ServiceState::Starting))
            })
    }

    /// Forgets the failures of a service: a person starts it anew.
    pub fn forget(&self, path: &str) {
        if let Some(runtime) = self.runtimes().get(path) {
            runtime.forget();
        }
    }

    /// Kills what is left of any service, at once.
    pub async fn kill(&self) {
        let runtimes: Vec<Arc<Runtime>> = self.runtimes().values().cloned().collect();
        for runtime in runtimes {
            runtime.kill().await;
        }
    }

    /// The log of a service.
    pub fn log(&self, path: &str) -> PathBuf {
        self.0.around.place.log(path)
    }

    fn runtimes(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Runtime>>> {
        self.0.runtimes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worker(&self, identity: &Identity, initial: ServiceState) -> ServiceWorker {
        let path = identity.path.as_ref();
        let SharedServices {
            around, asker, found, ..
        } = self.0.as_ref();
        let mut runtimes = self.runtimes();
        let runtime = runtimes
            .entry(path.to_owned())
            .or_insert_with(|| Arc::new(Runtime::new(path, asker.clone(), around)));
        // A process that exists already is not down, even if it waits for others: it is not stopped for the order.
        let is_up = runtime.has_process().unwrap_or_else(|| found.contains(path));
        let initial = if is_up { ServiceState::Starting } else { initial };
        ServiceWorker::new(Arc::clone(runtime), initial)
    }
}
