//! An action definition in a file: alone, among tests, or in a machine that the tests name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sprag_core::clock::Manual;
use sprag_core::document::Finding;
use sprag_core::machine::rehearsal::{Reach, RehearsalFile, Subject, Target};
use sprag_core::source::{self, Document, Limits};
use sprag_runners::{Registry, reach};

use crate::commands::Known;
use crate::commands::machine::findings::{self, counted};
use crate::commands::machine::templates;
use crate::config::{Environment, Given, Settings};
use crate::failure::Failure;
use crate::input;

/// A file that was read, with the definition that it is about.
pub(super) struct Read {
    /// The file.
    pub(super) path: PathBuf,
    /// What stands in it.
    pub(super) file: RehearsalFile,
    /// What it is about.
    pub(super) subject: Subject,
    /// How attempts reach the world.
    pub(super) reach: Reach,
    /// How runners are configured.
    pub(super) settings: Settings,
}

/// Why a file cannot be used.
pub(super) enum Unusable {
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
    pub(super) fn failure(self) -> anyhow::Error {
        match self {
            Self::Other(error) => error,
            Self::Findings(path, found) => {
                let detail = format!("`{}` has {}", path.display(), counted(found.len(), "error"));
                let failure = Failure::invalid(detail).code("action-invalid");
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
pub(super) fn read(path: &Path, config: Option<&Path>) -> Result<Read, Unusable> {
    let text = input::text(path)?;
    let here = |found| Unusable::Findings(path.to_owned(), found);
    let file = RehearsalFile::read(&text, input::format(path, &text)).map_err(here)?;
    let beside = |name: &String| path.parent().unwrap_or(Path::new("")).join(name);
    let named = file.configuration.as_ref().map(beside);
    let given = Given {
        config: config.or(named.as_deref()),
        ..Given::default()
    };
    let settings = Settings::load(&given, &Environment::process())?;
    let (at, subject) = match &file.target {
        Target::Definition {
            document,
            pointer,
            templates,
        } => {
            let subject = Subject::alone(document, pointer, templates.as_ref()).map_err(here)?;
            (path.to_owned(), subject)
        }
        Target::Action { machine, action_id, .. } => {
            let at = beside(machine);
            let subject = within(&at, action_id)?;
            (at, subject)
        }
    };
    let known = Known(Registry::standard(
        &settings.runners,
        Arc::new(Manual::default()),
        Arc::default(),
    )?);
    let problems = subject.check(&known);
    if !problems.is_empty() {
        return Err(Unusable::Findings(at, problems));
    }
    let kind = subject.definition().map_or("", |definition| definition.kind.as_str());
    let reach = reach(kind, &subject.config());
    let misused = file.check(kind, reach);
    if !misused.is_empty() {
        return Err(here(misused));
    }
    Ok(Read {
        path: path.to_owned(),
        file,
        subject,
        reach,
        settings,
    })
}

fn within(path: &Path, action_id: &str) -> Result<Subject, Unusable> {
    let mut document = parsed(path)?;
    templates::fill(path, &mut document.value)?;
    Subject::within(&document, action_id).map_err(|found| Unusable::Findings(path.to_owned(), found))
}

fn parsed(path: &Path) -> Result<Document, Failure> {
    let text = input::text(path)?;
    source::parse(&text, input::format(path, &text), &Limits::DEFINITION).map_err(|error| {
        let (file, at) = (path.display(), error.at);
        Failure::invalid(format!("{file}:{}:{}: {}", at.line, at.column, error.detail)).code("action-invalid")
    })
}
