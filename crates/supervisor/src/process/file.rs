//! From a file of services to children of a supervisor.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use sprag_core::clock::Clock;

use super::place::Place;
use super::probe::Asker;
use super::runtime::Runtime;
use super::worker::{ServiceState, ServiceWorker};
use crate::child::{ChildSpec, Dependency, Need, RestartPolicy};
use crate::registry::{BuildError, Registry};
use crate::rule::{Rule, RuleError};
use crate::services::{self, Condition, Restart, Service, ServicesFile};
use crate::snapshot::Identity;
use crate::worker::Goal;

/// The type of a service without children.
pub const KIND_SERVICE: &str = "service";
/// The type of a service that owns others.
pub const KIND_PARENT: &str = "parent";

/// What a file says, as children of the root.
pub fn children(file: &ServicesFile) -> Result<Vec<ChildSpec>, RuleError> {
    file.services.iter().map(|service| child(service, file)).collect()
}

/// The rules over the services at the top.
pub fn rules(rules: &[services::Rule]) -> Result<Vec<Rule>, RuleError> {
    rules.iter().map(rule).collect()
}

fn child(service: &Service, file: &ServicesFile) -> Result<ChildSpec, RuleError> {
    let is_parent = !service.children.is_empty();
    let kind = if is_parent { KIND_PARENT } else { KIND_SERVICE };
    let spec = json!({
        "name": service.name,
        "folder": file.folder,
        "written": plain(&service.written),
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
    child.stop_grace_millis = u64::try_from(service.stop.grace.as_millis()).ok();
    Ok(child)
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

/// What stands still owns nothing that runs.
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

fn rule(rule: &services::Rule) -> Result<Rule, RuleError> {
    let services::Rule {
        name,
        when: _,
        written,
        grace,
        restart,
        affects,
    } = rule;
    let built = Rule::when(name, written, restart)?;
    let built = built.grace(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    Ok(match affects {
        Some(affects) => built.affecting(affects.iter().map(String::as_str)),
        None => built,
    })
}

/// The types of workers that services are. What is known about a service outlives its worker.
pub fn registry(place: &Arc<Place>, clock: &Arc<dyn Clock>) -> Result<Registry, String> {
    let known = Arc::new(Known {
        asker: Asker::new()?,
        place: Arc::clone(place),
        clock: Arc::clone(clock),
        runtimes: Mutex::default(),
    });
    let parents = Arc::clone(&known);
    Ok(Registry::default()
        .with(KIND_SERVICE, move |identity: &Identity| {
            Ok::<_, BuildError>(known.worker(identity, ServiceState::Stopped))
        })
        .with(KIND_PARENT, move |identity: &Identity| {
            // One that stands still would stop what it owns, which may be there already.
            Ok::<_, BuildError>(parents.worker(identity, ServiceState::Starting))
        }))
}

/// Every service that there ever was in this process.
struct Known {
    place: Arc<Place>,
    asker: Asker,
    clock: Arc<dyn Clock>,
    runtimes: Mutex<BTreeMap<String, Arc<Runtime>>>,
}

impl Known {
    fn worker(&self, identity: &Identity, initial: ServiceState) -> ServiceWorker {
        let path = identity.path.as_ref();
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = runtimes.entry(path.to_owned()).or_insert_with(|| {
            let (place, clock) = (Arc::clone(&self.place), Arc::clone(&self.clock));
            Arc::new(Runtime::new(path, place, self.asker.clone(), clock))
        });
        ServiceWorker::new(Arc::clone(runtime), initial)
    }
}
