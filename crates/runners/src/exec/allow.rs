//! Which programs may be started: `[exec] allow`.
//!
//! A program is the path that is started, not the file behind it: where one binary serves many names, allowing one
//! name must not allow them all. Only the directory is followed to its real place, so `/bin/sh` and `/usr/bin/sh` are
//! one program where `/bin` is a link.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::{ConfigProblem, Fault};

use super::user::{self, UserError};

/// Where names without a slash are looked for, whatever the server's own environment says.
pub(super) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The most entries `[exec] allow` may have.
const ENTRIES_MAX: usize = 1_000;

/// `[exec]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Programs that definitions may start: absolute paths, or names found on the fixed search path.
    pub allow: Vec<String>,
    /// Environment variables that definitions may set.
    pub env: Vec<String>,
    /// The user that programs run as; the server's own if not given.
    pub user: Option<String>,
}

impl Options {
    /// Whether programs can run as the user that is named, on this machine and by this process.
    pub fn check_user(&self) -> Result<(), UserError> {
        self.user.as_deref().map_or(Ok(()), |name| user::find(name).map(drop))
    }
}

/// Why `[exec]` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Neither an absolute path nor a bare name.
    #[error("`{entry}` in `[exec] allow` is neither an absolute path nor a name without a slash")]
    Entry {
        /// The entry.
        entry: String,
    },
    /// Not the name of a variable.
    #[error("`{name}` in `[exec] env` is not the name of a variable; write letters, digits and `_`, no digit first")]
    VariableName {
        /// The entry.
        name: String,
    },
    /// A variable that makes programs run other code.
    #[error(
        "`{name}` in `[exec] env` can make an allowed program run other code, so definitions may never set it; remove \
         it from the list"
    )]
    Variable {
        /// The entry.
        name: String,
    },
    /// More variables than the list may have.
    #[error("`[exec] env` has more than {most} entries")]
    TooManyVariables {
        /// How many there may be.
        most: usize,
    },
    /// No name of a user.
    #[error("`[exec] user` is empty or holds a `:`; name a user of this machine, or leave the key out")]
    User,
    /// More entries than one list may have.
    #[error("`[exec] allow` has more than {ENTRIES_MAX} entries")]
    TooMany,
}

/// Why a program is not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("`{program}` is neither an absolute path nor a name without a slash")]
    Form { program: String },
    #[error("`{program}` is on none of {SEARCH_PATH}")]
    NotFound { program: String },
    #[error("`{program}` is not allowed; to allow it, add `[exec] allow = [\"{path}\"]`")]
    NotAllowed { program: String, path: String },
}

impl ProgramError {
    pub(super) fn outcome(&self) -> Outcome {
        Outcome::not_done(kind::INVALID_CONFIGURATION, self.to_string())
    }

    pub(super) fn problem(&self, pointer: &str) -> ConfigProblem {
        let remedy = match self {
            Self::Form { .. } => "write an absolute path such as `/usr/bin/rsync`".to_owned(),
            Self::NotFound { .. } => "install it, or write its absolute path".to_owned(),
            Self::NotAllowed { path, .. } => format!("the operator adds `[exec] allow = [\"{path}\"]`"),
        };
        ConfigProblem {
            pointer: pointer.to_owned(),
            detail: self.to_string(),
            remedy,
            fault: Fault::Definition,
        }
    }
}

/// The programs that may be started. Names are looked up when they are needed: a program installed later is found.
pub(super) struct Programs {
    allowed: Vec<String>,
}

impl Programs {
    pub(super) fn new(options: &Options) -> Result<Self, OptionsError> {
        let Options { allow, .. } = options;
        if allow.len() > ENTRIES_MAX {
            return Err(OptionsError::TooMany);
        }
        match allow.iter().find(|entry| !has_form(entry)) {
            Some(entry) => Err(OptionsError::Entry { entry: entry.clone() }),
            None => Ok(Self { allowed: allow.clone() }),
        }
    }

    /// The path to start for `program`, if it may be started.
    pub(super) fn find(&self, program: &str) -> Result<PathBuf, ProgramError> {
        if !has_form(program) {
            return Err(ProgramError::Form {
                program: program.to_owned(),
            });
        }
        let Some(path) = locate(program) else {
            return Err(ProgramError::NotFound {
                program: program.to_owned(),
            });
        };
        if self
            .allowed
            .iter()
            .filter_map(|entry| locate(entry))
            .any(|allowed| allowed == path)
        {
            return Ok(path);
        }
        Err(ProgramError::NotAllowed {
            program: program.to_owned(),
            path: path.display().to_string(),
        })
    }
}

fn has_form(program: &str) -> bool {
    let plain = !program.is_empty() && !program.contains('\0');
    let name = !program.contains('/') && program != "." && program != "..";
    plain && (name || program.starts_with('/'))
}

/// The path of a program with its directory followed to its real place. An absolute path need not exist: starting it
/// says so.
fn locate(program: &str) -> Option<PathBuf> {
    if program.starts_with('/') {
        return Some(settled(Path::new(program)));
    }
    SEARCH_PATH
        .split(':')
        .map(|directory| Path::new(directory).join(program))
        .find(|path| is_program(path))
        .map(|path| settled(&path))
}

fn settled(path: &Path) -> PathBuf {
    let Some((directory, name)) = path.parent().zip(path.file_name()) else {
        return path.to_owned();
    };
    directory
        .canonicalize()
        .map_or_else(|_| path.to_owned(), |directory| directory.join(name))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
