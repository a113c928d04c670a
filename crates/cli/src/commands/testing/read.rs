//! A test file with everything it names: machines, action definitions, the configuration of runners.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sprag_agent::durable::Loads;
use sprag_core::clock::Manual;
use sprag_core::document::Finding;
use sprag_core::document::source::{self, Document, Limits};
use sprag_core::machine::Machine;
use sprag_core::machine::testing::{Case, Reach, Scenario, Target, Test, TestFile, TestSubject};
use sprag_runners::reach;

use crate::commands::machine::findings::{self, counted};
use crate::commands::machine::{local, templates};
use crate::commands::registry;
use crate::config::Settings;
use crate::failure::Failure;
use crate::input;

/// A test that can run.
pub(in crate::commands) enum Ready {
    /// Of a machine.
    Scenario(Box<Scenario>, Arc<Machine>),
    /// Of an action.
    Action(Box<Case>, Arc<Definition>),
}

/// An action definition that is tested.
pub(in crate::commands) struct Definition {
    /// The definition.
    pub(in crate::commands) subject: TestSubject,
    /// How its attempts reach the world.
    pub(in crate::commands) reach: Reach,
    /// How runners are configured.
    pub(super) settings: Arc<Settings>,
}

/// Why a file cannot be used.
pub(in crate::commands) enum Unusable {
    /// These findings, each in the file where it stands.
    Findings(PathBuf, Vec<Finding>),
    /// Something else.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Unusable {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Unusable {
    /// As a command fails with it.
    pub(in crate::commands) fn failure(self, code: &'static str) -> anyhow::Error {
        match self {
            Self::Other(error) => error,
            Self::Findings(path, found) => {
                let detail = format!("`{}` has {}", path.display(), counted(found.len(), "error"));
                let failure = Failure::invalid(detail).code(code);
                let failure = found.iter().fold(failure, |failure, finding| {
                    failure.note(findings::text(&path, finding).trim_end())
                });
                failure.into()
            }
        }
    }
}

/// Reads a file and checks everything that can be known before anything runs. `config` is the server's configuration,
/// unless the file names its own.
pub(in crate::commands) fn read(path: &Path, config: Option<&Path>) -> Result<Vec<Ready>, Unusable> {
    let text = input::text(path)?;
    let file = TestFile::read(&text, input::format(path, &text))
        .map_err(|found| Unusable::Findings(path.to_owned(), found))?;
    let TestFile {
        machine,
        configuration,
        tests,
    } = file;
    let mut loader = Loader {
        path,
        config: config
            .map(Path::to_owned)
            .or(configuration.map(|name| beside(path, &name))),
        machine: machine.map(|name| beside(path, &name)),
        settings: None,
        compiled: None,
        definitions: BTreeMap::new(),
    };
    tests.into_iter().map(|test| loader.ready(test)).collect()
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

/// What was loaded for a file so far: each thing once, and only if a test needs it.
struct Loader<'a> {
    path: &'a Path,
    config: Option<PathBuf>,
    machine: Option<PathBuf>,
    settings: Option<Arc<Settings>>,
    compiled: Option<Arc<Machine>>,
    definitions: BTreeMap<Option<String>, Arc<Definition>>,
}

impl Loader<'_> {
    fn ready(&mut self, test: Test) -> Result<Ready, Unusable> {
        match test {
            Test::Scenario(scenario) => {
                let machine = self.compiled()?;
                usable(self.path, scenario.check(&machine))?;
                Ok(Ready::Scenario(scenario, machine))
            }
            Test::Action(case) => {
                let definition = self.definition(&case.target)?;
                let kind = definition.subject.definition().map_or("", |of| of.kind.as_str());
                usable(self.path, case.check(kind, definition.reach))?;
                Ok(Ready::Action(case, definition))
            }
        }
    }

    fn compiled(&mut self) -> Result<Arc<Machine>, Unusable> {
        if let Some(machine) = &self.compiled {
            return Ok(Arc::clone(machine));
        }
        let machine = Arc::new(local::load(&self.machine.clone().unwrap_or_default())?);
        Ok(Arc::clone(self.compiled.insert(machine)))
    }

    fn settings(&mut self) -> Result<Arc<Settings>, Unusable> {
        if let Some(settings) = &self.settings {
            return Ok(Arc::clone(settings));
        }
        let settings = Arc::new(Settings::of_file(self.config.as_deref())?);
        Ok(Arc::clone(self.settings.insert(settings)))
    }

    fn definition(&mut self, target: &Target) -> Result<Arc<Definition>, Unusable> {
        let key = match target {
            Target::Definition { .. } => None,
            Target::Action { action_id, .. } => Some(action_id.clone()),
        };
        if let Some(definition) = self.definitions.get(&key) {
            return Ok(Arc::clone(definition));
        }
        let (at, subject) = match target {
            Target::Definition {
                document,
                pointer,
                templates,
            } => {
                let subject = TestSubject::alone(document, pointer, templates.as_deref());
                (self.path.to_owned(), subject)
            }
            Target::Action { action_id, .. } => {
                let at = self.machine.clone().unwrap_or_default();
                let subject = TestSubject::within(&parsed(&at)?, action_id);
                (at, subject)
            }
        };
        let settings = self.settings()?;
        let subject = subject.map_err(|found| Unusable::Findings(at.clone(), found))?;
        let clock = Arc::new(Manual::default());
        let options = (&settings.runners, &settings.agents);
        let known = registry(options, Loads::default(), clock, Arc::default())?;
        usable(&at, subject.check(&known))?;
        let kind = subject.definition().map_or("", |definition| definition.kind.as_str());
        let definition = Arc::new(Definition {
            reach: reach(kind, &subject.config()),
            subject,
            settings,
        });
        self.definitions.insert(key, Arc::clone(&definition));
        Ok(definition)
    }
}

fn usable(path: &Path, found: Vec<Finding>) -> Result<(), Unusable> {
    if found.is_empty() {
        Ok(())
    } else {
        Err(Unusable::Findings(path.to_owned(), found))
    }
}

/// A machine file with the mail templates that stand beside it.
pub(in crate::commands) fn parsed(path: &Path) -> Result<Document, Failure> {
    let text = input::text(path)?;
    let parsed = source::parse(&text, input::format(path, &text), &Limits::DEFINITION);
    let mut document = parsed.map_err(|error| {
        let (file, at) = (path.display(), error.at);
        Failure::invalid(format!("{file}:{}:{}: {}", at.line, at.column, error.detail)).code("action-invalid")
    })?;
    templates::fill(path, &mut document.value)?;
    Ok(document)
}
