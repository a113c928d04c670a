//! A tree of services, from its file to its end: alone, or inside a server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sprag_core::action::BoxFuture;
use sprag_core::clock::Clock;
use sprag_server::{NotReloaded, NotStartable, Reload, Reloaded, Workers};
use sprag_supervisor::process::{self, Services, StateFolder, StateFolderError};
use sprag_supervisor::services::{ServiceRule, ServicesFile};
use sprag_supervisor::store::{Store, StoreOptions};
use sprag_supervisor::{Declaration, Handle, Options, Setup, ShutdownOutcome, Supervisor};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::alarms::Alarms;
use super::check;
use crate::failure::Failure;

/// Where a supervisor remembers.
pub(crate) const STATE: &str = "./sprag-services.db";

/// A file of services, and what it said when it was last read.
#[derive(Debug)]
pub(crate) struct ServicesSource {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Where its services are remembered.
    pub(crate) state: PathBuf,
    /// What it says.
    pub(crate) file: ServicesFile,
}

/// A tree of services at work.
pub(crate) struct Running {
    /// For the API.
    pub(crate) workers: Workers,
    ticking: JoinHandle<ShutdownOutcome>,
    reaping: JoinHandle<()>,
    telling: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts the tree. Whatever runs already is adopted, and what is not in the file any more is ended and forgotten.
    pub(crate) async fn start(
        source: ServicesSource,
        clock: &Arc<dyn Clock>,
        limit_millis: Option<u64>,
    ) -> anyhow::Result<Self> {
        let place = Arc::new(place(&source)?);
        let reaping = tokio::spawn(process::reap());
        let known: Vec<String> = source.file.walk().into_iter().map(|(path, _)| path).collect();
        for path in place.sweep(&known).await {
            tracing::info!(service = path, "service removed from file, processes ended");
        }
        let services = Services::new(place, Arc::clone(clock));
        let declaration = declaration(&source.file)?;
        let options = Options {
            shutdown_limit_millis: limit_millis,
            ..Options::default()
        };
        let store = Arc::new(open(&source.state)?);
        for worker in store.retire_except(&known, clock.now()) {
            tracing::info!(service = %worker, "service removed from file, stored state deleted");
        }
        let setup = Setup::new(services.registry(), Arc::clone(clock))
            .options(options)
            .metrics(services.metrics())
            .store(Arc::clone(&store));
        let (supervisor, handle) = Supervisor::new(setup, declaration)?;
        let file = Reloading {
            source: Mutex::new(source),
            handle: handle.clone(),
            services: services.clone(),
        };
        Ok(Self {
            workers: Workers {
                handle,
                services,
                store,
                reload: Arc::new(file),
                clock: Arc::clone(clock),
            },
            ticking: tokio::spawn(supervisor.run()),
            reaping,
            telling: None,
        })
    }

    /// Has troubles of services told from now on.
    pub(crate) fn tell(&mut self, alarms: Alarms) {
        if !alarms.is_empty() {
            self.telling = Some(tokio::spawn(alarms.tell(self.workers.clone())));
        }
    }

    /// Stops everything, children before parents. What would not stop in its time is killed.
    pub(crate) async fn stop(self) -> Stopped {
        let Self {
            workers,
            ticking,
            reaping,
            telling,
        } = self;
        // Who goes because everybody goes is in no trouble, and its trouble is not over.
        if let Some(telling) = telling {
            telling.abort();
        }
        let before = workers.services.killed();
        workers.handle.shut_down().await;
        let outcome = ticking.await.unwrap_or(ShutdownOutcome::Unclean { cuts: Vec::new() });
        if outcome != ShutdownOutcome::Clean {
            workers.services.kill().await;
        }
        reaping.abort();
        let counts = workers.services.killed().into_iter();
        let killed = counts.filter(|(path, count)| before.get(path) != Some(count));
        Stopped {
            outcome,
            killed: killed.map(|(path, _)| path).collect(),
        }
    }
}

/// How everything stopped.
pub(crate) struct Stopped {
    /// Who was cut off.
    pub(crate) outcome: ShutdownOutcome,
    /// Services of which something did not stop in time, so Sprag killed it.
    pub(crate) killed: Vec<String>,
}

/// Follows the file when it is asked to.
struct Reloading {
    source: Mutex<ServicesSource>,
    handle: Handle,
    services: Services,
}

impl Reload for Reloading {
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NotReloaded>> {
        Box::pin(self.follow())
    }
}

impl Reloading {
    async fn follow(&self) -> Result<Reloaded, NotReloaded> {
        // One at a time: each compares with what the one before it declared.
        let mut source = self.source.lock().await;
        let file = check::read(&source.path)?;
        let not = |error: &dyn std::error::Error| NotReloaded {
            detail: error.to_string(),
            findings: Vec::new(),
        };
        let declaration = declaration(&file).map_err(|error| not(error.as_ref()))?;
        let mut reloaded = difference(&source.file, &file);
        reloaded.not_startable = not_startable(&file, &reloaded);
        for path in &reloaded.added {
            // One of that name that was there before is another one.
            self.services.forget(path);
        }
        self.handle.declare(declaration).await.map_err(|error| not(&error))?;
        for NotStartable { path, reason } in &reloaded.not_startable {
            tracing::warn!(service = path, reason, "service not startable");
        }
        tracing::info!(
            added = ?reloaded.added,
            changed = ?reloaded.changed,
            removed = ?reloaded.removed,
            unchanged = reloaded.unchanged,
            "services file reloaded"
        );
        source.file = file;
        Ok(reloaded)
    }
}

/// Takes the folder of the state, unless another process has it.
fn place(source: &ServicesSource) -> Result<StateFolder, Failure> {
    let place = StateFolder::open(&source.state);
    let claimed = place.and_then(|place| place.claim(&source.path).map(|()| place));
    claimed.map_err(|error| {
        let notes = match &error {
            StateFolderError::Other { known, claim, .. } => vec![
                format!(
                    "give this file a state of its own: `sprag supervise --state PATH`, `sprag up --services-state PATH`, \
                     or another folder; `{}` keeps its services and what was counted about them",
                    known.display()
                ),
                format!(
                    "if it is the same file, moved or renamed: remove `{}`, and start again; services that are not in \
                     it any more are ended then",
                    claim.display()
                ),
            ],
            _ => Vec::new(),
        };
        let failure = Failure::new(format!("{:#}", anyhow::Error::from(error)));
        notes.into_iter().fold(failure, Failure::note)
    })
}

fn declaration(file: &ServicesFile) -> anyhow::Result<Declaration> {
    Ok(Declaration {
        children: process::children(file)?,
        rules: process::rules(&file.rules)?,
        ..Declaration::default()
    })
}

/// What a new file says otherwise than the old one, by path.
fn difference(old: &ServicesFile, new: &ServicesFile) -> Reloaded {
    let (before, after) = (old.walk(), new.walk());
    let names: BTreeSet<&str> = after.iter().map(|(path, _)| path.as_str()).collect();
    let removed = before
        .iter()
        .filter(|(path, _)| !names.contains(path.as_str()))
        .map(|(path, _)| path.clone())
        .collect();
    let mut reloaded = Reloaded {
        removed,
        rules: rules_between(&rules(old), &rules(new)),
        ..Reloaded::default()
    };
    for (path, service) in &after {
        match before.iter().find(|(known, _)| known == path) {
            None => reloaded.added.push(path.clone()),
            Some((_, known)) if known.written != service.written => reloaded.changed.push(path.clone()),
            Some(_) => reloaded.unchanged += 1,
        }
    }
    reloaded
}

/// Which of the new and changed services could not be started on this machine, and why.
fn not_startable(file: &ServicesFile, reloaded: &Reloaded) -> Vec<NotStartable> {
    let services = file.walk();
    let is_new = |path: &String| reloaded.added.contains(path) || reloaded.changed.contains(path);
    let new = services
        .iter()
        .filter(|(path, service)| service.enabled && is_new(path));
    new.flat_map(|(path, service)| {
        let missing = process::missing(service, &file.folder);
        missing.into_iter().map(|error| NotStartable {
            path: path.clone(),
            reason: error.to_string(),
        })
    })
    .collect()
}

/// Every rule as it is written, by its owner and its name.
fn rules(file: &ServicesFile) -> BTreeMap<(String, &str), String> {
    let of_root = file.rules.iter().map(|rule| (String::new(), rule));
    let services = file.walk();
    let owned = services
        .into_iter()
        .flat_map(|(path, service)| service.rules.iter().map(move |rule| (path.clone(), rule)));
    of_root
        .chain(owned)
        .map(|(owner, rule)| {
            let ServiceRule {
                name,
                when: _,
                written,
                grace,
                restart,
                affects,
                budget,
                message,
            } = rule;
            let written = format!("{written} {grace:?} {restart} {affects:?} {budget:?} {message:?}");
            ((owner, name.as_str()), written)
        })
        .collect()
}

/// How many are in one of them only, or not the same in both.
fn rules_between<K: Ord>(old: &BTreeMap<K, String>, new: &BTreeMap<K, String>) -> usize {
    let gone = old.keys().filter(|name| !new.contains_key(name)).count();
    let others = new.iter().filter(|(name, rule)| old.get(name) != Some(rule)).count();
    gone + others
}

/// What an earlier supervisor remembered. What of it cannot be read is said and begun anew.
fn open(state: &Path) -> Result<Store, Failure> {
    let opened = Store::open(state, StoreOptions::default())
        .map_err(|error| Failure::new(format!("`{}` cannot be opened: {error}", state.display())))?;
    for malformed in &opened.malformed {
        tracing::warn!(worker = %malformed.worker, part = malformed.part, problem = malformed.problem, "stored state not readable");
    }
    Ok(opened.store)
}

#[cfg(test)]
mod tests {
    use sprag_core::document::source::Format;
    use sprag_supervisor::services::load;

    use super::*;

    fn file(for_shop: &str, for_all: &str) -> ServicesFile {
        let rule = |grace: &str, child: &str| {
            format!(
                "[{{ name: r, when: {{ \"==\": [ {{ var: {child}.state }}, failed ] }}, for: {grace}, restart: {child} }}]"
            )
        };
        let (inner, outer) = (rule(for_shop, "web"), rule(for_all, "shop"));
        let text = format!(
            "services: {{ shop: {{ children: {{ web: {{ command: [a] }} }}, rules: {inner} }} }}\nrules: {outer}\n"
        );
        let loaded = load(&text, Format::Yaml, Path::new("/"));
        loaded.file.unwrap_or_else(|| panic!("{:?}", loaded.findings))
    }

    #[test]
    fn a_rule_that_is_written_otherwise_is_told_although_no_service_is() {
        let old = file("5s", "5s");
        let told = |new: &ServicesFile| {
            let Reloaded {
                changed,
                unchanged,
                rules,
                ..
            } = difference(&old, new);
            (changed, unchanged, rules)
        };
        assert_eq!(told(&file("5s", "5s")), (vec![], 2, 0));
        assert_eq!(told(&file("4s", "5s")), (vec![], 2, 1));
        assert_eq!(told(&file("4s", "4s")), (vec![], 2, 2));
        let mut without = file("5s", "5s");
        without.rules.clear();
        assert_eq!(told(&without), (vec![], 2, 1));
    }
}
