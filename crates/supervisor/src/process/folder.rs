//! The folder for the logs and records of services, beside the state file.
//!
//! One supervisor uses a folder at a time: it locks the folder, and the lock ends with the process.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sprag_store::private;

use super::MARK;
use super::probe::probe_mark;
use super::record::{ServiceRecords, Started, log_file, path_of_log};
use super::tree;

/// The kernel makes a new one at every look.
const RANDOM_UUID: &str = "/proc/sys/kernel/random/uuid";

/// Says which file of services the folder belongs to.
const CLAIM: &str = "file";

/// The folder of one supervisor.
#[derive(Debug)]
pub struct StateFolder {
    folder: PathBuf,
    /// Tells the processes of this state file from those of another.
    instance: String,
    pub(super) records: ServiceRecords,
    _lock: File,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFolderError {
    /// Another supervisor holds it.
    #[error("another supervisor uses `{}`: stop it first, or name another state file with --state", folder.display())]
    Held {
        /// The folder.
        folder: PathBuf,
    },
    /// What is kept in it belongs to another file of services.
    #[error("`{}` holds the state of the services of `{}`, not of `{}`", folder.display(), known.display(), given.display())]
    Other {
        /// The folder.
        folder: PathBuf,
        /// The file that it belongs to.
        known: PathBuf,
        /// The file that was given.
        given: PathBuf,
        /// The file that says so: without it the next supervisor may use the folder.
        claim: PathBuf,
    },
    /// It cannot be read or written.
    #[error("`{}` cannot be used", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl StateFolder {
    /// Opens the folder that belongs to a state file: `sprag-services.db` has `sprag-services.d`.
    pub fn open(state: &Path) -> Result<Self, StateFolderError> {
        let folder = state.with_extension("d");
        for part in [folder.clone(), folder.join("logs"), folder.join("run")] {
            private::folder(&part).map_err(|source| StateFolderError::Io { path: part, source })?;
        }
        let lock = folder.join("lock");
        let failed = |source| StateFolderError::Io {
            path: lock.clone(),
            source,
        };
        let file = private::create(&lock).map_err(failed)?;
        if file.try_lock().is_err() {
            return Err(StateFolderError::Held { folder });
        }
        let folder = folder.canonicalize().map_err(failed)?;
        Ok(Self {
            instance: instance(&folder)?,
            records: ServiceRecords::new(folder.join("run")),
            folder,
            _lock: file,
        })
    }

    /// Ties the folder to a file of services: what is remembered in it is that file's, and no other may end it.
    pub fn claim(&self, file: &Path) -> Result<(), StateFolderError> {
        let claim = self.folder.join(CLAIM);
        let failed = |source| StateFolderError::Io {
            path: claim.clone(),
            source,
        };
        let given = std::path::absolute(file).map_err(failed)?;
        let beside = self.folder.parent().unwrap_or(&self.folder);
        if let Ok(written) = fs::read_to_string(&claim)
            && !written.trim().is_empty()
        {
            let known = beside.join(written.trim());
            if is_same(&known, &given) {
                return Ok(());
            }
            return Err(StateFolderError::Other {
                folder: self.folder.clone(),
                known,
                given,
                claim,
            });
        }
        // A folder that is moved as a whole, its file with it, is still the same.
        let is_beside = given.parent().and_then(|parent| parent.canonicalize().ok()).as_deref() == Some(beside);
        let name = given.file_name().map(PathBuf::from).filter(|_| is_beside);
        let written = name.unwrap_or(given);
        private::write(&claim, format!("{}\n", written.display()).as_bytes()).map_err(failed)
    }

    /// The log of a service.
    pub fn log(&self, path: &str) -> PathBuf {
        log_file(&self.folder.join("logs"), path)
    }

    /// The mark of a service: the value in the environment of its processes.
    pub(super) fn mark(&self, path: &str) -> String {
        format!("{}/{path}", self.instance)
    }

    /// The services that have a process now, also one of an earlier supervisor: by record, by mark, or by their log.
    pub(super) fn running(&self) -> BTreeSet<String> {
        let mut running: BTreeSet<String> = self
            .records
            .paths()
            .into_iter()
            .filter(|path| {
                self.records
                    .load(path)
                    .process
                    .is_some_and(|started| started.is_alive())
            })
            .collect();
        let logs = self.folder.join("logs");
        for status in sprag_process::table() {
            let pid = status.identity.pid;
            if status.ended || status.group != pid {
                continue;
            }
            let mark = sprag_process::variable(pid, MARK);
            let marked = mark.and_then(|mark| Some(mark.strip_prefix(&self.instance)?.strip_prefix('/')?.to_owned()));
            let output = fs::read_link(format!("/proc/{pid}/fd/1")).ok();
            let logged = output.and_then(|output| path_of_log(&logs, &output));
            running.extend(marked.or(logged));
        }
        running
    }

    /// Ends what is left of services that are not in the file any more. Returns their paths.
    pub async fn sweep(&self, known: &[String]) -> Vec<String> {
        let mut gone = Vec::new();
        for path in self.records.paths() {
            if known.contains(&path) {
                continue;
            }
            let record = self.records.load(&path);
            let mark = self.mark(&path);
            let mut tree = match record.process.filter(Started::is_alive) {
                Some(started) => tree::started(&mark, &started),
                None => tree::marked(&mark),
            };
            tree.kill().await;
            tree::marked(&probe_mark(&mark)).kill().await;
            self.records.remove(&path);
            gone.push(path);
        }
        gone
    }
}

/// The same file by name, also if a link in its path leads elsewhere today, or the same file by another name.
fn is_same(known: &Path, given: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    known == given || real(known).is_some_and(|known| real(given) == Some(known))
}

/// The name of this folder's supervisors, made up once.
fn instance(folder: &Path) -> Result<String, StateFolderError> {
    let path = folder.join("instance");
    if let Ok(text) = fs::read_to_string(&path)
        && !text.trim().is_empty()
    {
        return Ok(text.trim().to_owned());
    }
    let failed = |source| StateFolderError::Io {
        path: path.clone(),
        source,
    };
    let fresh = fs::read_to_string(RANDOM_UUID).map_err(failed)?;
    private::write(&path, fresh.as_bytes()).map_err(failed)?;
    Ok(fresh.trim().to_owned())
}
