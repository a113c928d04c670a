//! Starts a process: argv without a shell, its own group, a mark in its environment, its output in a file.
//!
//! The child writes to its log file itself, in append mode, so it does not depend on the supervisor. The supervisor
//! sets limits right after the start, normally before the child's own code runs.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use sprag_process::cgroup;

use super::MARK;
use super::logfile::{self, Access};
use super::user::{Account, UserError};
use super::watch::Watched;
use crate::services::{Limits, Service};

/// Where programs are looked for when neither the service nor the supervisor says.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// What services do not inherit: addresses, tokens and secrets that are meant for Sprag itself.
const OWN_PREFIX: &str = "SPRAG_";

/// A program that can be started.
#[derive(Debug)]
pub(super) struct Launch {
    program: PathBuf,
    account: Option<Account>,
}

/// Why a service cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("program `{program}` was not found{looked}")]
    NotFound {
        /// As written.
        program: String,
        /// Where it was looked for.
        looked: String,
    },
    /// It cannot be executed.
    #[error("`{}` is not a program that can be executed", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// It has nowhere to run.
    #[error("`{}` is not a folder to run in", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such user.
    #[error(transparent)]
    User(#[from] UserError),
    /// Its log cannot be written.
    #[error("log `{}` cannot be opened", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused.
    #[error("`{program}` could not be started")]
    Refused {
        /// As written.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A limit could not be set; the process was killed.
    #[error("the limits of `{program}` could not be set")]
    Limits {
        /// As written.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// Goes into the control group whose door is `$0`, if it lets us in, and becomes the program with its arguments.
const ENTER: &str = r#"{ echo 0 > "$0"; } 2>/dev/null; exec "$@""#;

impl LaunchError {
    /// What of a service in the file it speaks of, as a JSON pointer from there.
    pub fn pointer(&self) -> &'static str {
        match self {
            Self::NoFolder { .. } => "/cwd",
            Self::User(_) => "/user",
            Self::Limits { .. } => "/limits",
            Self::NotFound { .. } | Self::NotExecutable { .. } | Self::Refused { .. } | Self::Log { .. } => {
                "/command/0"
            }
        }
    }

    /// With what the system said.
    pub(super) fn text(&self) -> String {
        let source = std::error::Error::source(self);
        source.map_or_else(|| self.to_string(), |source| format!("{self}: {source}"))
    }

    /// Whether the same configuration may work later.
    pub fn is_configuration(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Log { .. })
    }
}

/// Everything that keeps a service from being started now: its program, its folder or its user is not there.
pub fn missing(service: &Service, folder: &Path) -> Vec<LaunchError> {
    if !service.has_process() {
        return Vec::new();
    }
    let program = program(service, folder).err();
    let place = check_folder(service).err();
    program.into_iter().chain(place).chain(account(service).err()).collect()
}

fn program(service: &Service, folder: &Path) -> Result<PathBuf, LaunchError> {
    let name = service.command.first().map(String::as_str).unwrap_or_default();
    find_program(name, &service.env, folder)
}

fn check_folder(service: &Service) -> Result<(), LaunchError> {
    if service.cwd.is_dir() {
        return Ok(());
    }
    Err(LaunchError::NoFolder {
        path: service.cwd.clone(),
    })
}

fn account(service: &Service) -> Result<Option<Account>, LaunchError> {
    Ok(service.user.as_deref().map(Account::find).transpose()?)
}

impl Launch {
    /// Checks everything that can be checked before something is started, or stopped for it.
    pub(super) fn prepare(service: &Service, folder: &Path) -> Result<Self, LaunchError> {
        let program = program(service, folder)?;
        check_folder(service)?;
        let account = account(service)?;
        Ok(Self { program, account })
    }

    /// Starts it.
    pub(super) fn start(
        &self,
        service: &Service,
        mark: &str,
        log: &Path,
        group: Option<&Path>,
    ) -> Result<Watched, LaunchError> {
        let name = service.command.first().cloned().unwrap_or_default();
        let refused = |source| LaunchError::Refused {
            program: name.clone(),
            source,
        };
        let output = open_log(log)?;
        let errors = output.try_clone().map_err(refused)?;
        let mut command = self.command(service, mark, group);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().map_err(refused)?;
        let watched = Watched::child(child.id()).map_err(refused)?;
        if let Err(source) = limit(watched.identity.pid, &service.limits) {
            watched.identity.signal(rustix::process::Signal::KILL);
            return Err(LaunchError::Limits { program: name, source });
        }
        Ok(watched)
    }

    fn command(&self, service: &Service, mark: &str, group: Option<&Path>) -> Command {
        let arguments = service.command.get(1..).unwrap_or_default();
        let mut command = match group {
            // A process that is put into a control group from outside may have children by then, left outside. A shell
            // that goes in by itself and becomes the program has none. Another user could not go in.
            Some(group) if self.account.is_none() => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", ENTER]).arg(cgroup::door(group)).arg(&self.program);
                command
            }
            _ => {
                let mut command = Command::new(&self.program);
                command.arg0(service.command.first().map(String::as_str).unwrap_or_default());
                command
            }
        };
        command.args(arguments);
        for name in own_variables() {
            command.env_remove(name);
        }
        command
            .envs(service.env.iter().map(|(name, value)| (name, value)))
            .env(MARK, mark)
            .current_dir(&service.cwd)
            .process_group(0);
        if let Some(Account { user, group }) = self.account {
            // The standard library drops supplementary groups with the user.
            command.gid(group).uid(user);
        }
        command
    }
}

fn open_log(path: &Path) -> Result<File, LaunchError> {
    logfile::open_log(path, Access::Append).map_err(|source| LaunchError::Log {
        path: path.to_owned(),
        source,
    })
}

/// Why the service could not be started now, in words; nothing is touched.
pub(super) fn obstacle(service: &Service, folder: &Path, log: &Path) -> Option<String> {
    let prepared = Launch::prepare(service, folder).map(drop);
    let checked = prepared.and_then(|()| {
        logfile::check_log(log).map_err(|source| LaunchError::Log {
            path: log.to_owned(),
            source,
        })
    });
    checked.err().map(|error| error.text())
}

/// The file to execute. A name with a slash begins at the file's folder, one without is looked for: on the service's
/// own `PATH`, or the supervisor's.
pub(super) fn find_program(name: &str, env: &[(String, String)], folder: &Path) -> Result<PathBuf, LaunchError> {
    if name.contains('/') {
        let path = folder.join(name);
        return if !path.exists() {
            Err(LaunchError::NotFound {
                program: name.to_owned(),
                looked: format!(" as `{}`", path.display()),
            })
        } else if is_program(&path) {
            Ok(path)
        } else {
            Err(LaunchError::NotExecutable { path })
        };
    }
    let own = env.iter().find(|(name, _)| name == "PATH");
    let search = own
        .map(|(_, value)| value.clone())
        .or_else(|| std::env::var("PATH").ok())
        .unwrap_or_else(|| SEARCH_PATH.to_owned());
    let mut places = search.split(':').map(|place| Path::new(place).join(name));
    places
        .find(|path| is_program(path))
        .ok_or_else(|| LaunchError::NotFound {
            program: name.to_owned(),
            looked: match own {
                Some(_) => " in any folder of its own `PATH`",
                None => " in any folder of the supervisor's `PATH`",
            }
            .to_owned(),
        })
}

/// The variables of the supervisor that are meant for Sprag itself.
pub(super) fn own_variables() -> Vec<OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names
        .filter(|name| name.to_string_lossy().starts_with(OWN_PREFIX))
        .collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn limit(pid: i32, limits: &Limits) -> io::Result<()> {
    let Limits {
        open_files,
        processes,
        address_space,
        file_size,
        core_size,
    } = *limits;
    let wanted = [
        (Resource::Nofile, open_files),
        (Resource::Nproc, processes),
        (Resource::As, address_space),
        (Resource::Fsize, file_size),
        (Resource::Core, core_size),
    ];
    for (resource, bound) in wanted {
        let Some(bound) = bound else { continue };
        let both = Rlimit {
            current: Some(bound),
            maximum: Some(bound),
        };
        prlimit(Pid::from_raw(pid), resource, both)?;
    }
    Ok(())
}
