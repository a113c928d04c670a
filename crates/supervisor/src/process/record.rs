//! The record of a service, which survives the death of its supervisor.
//!
//! One small file per service. The supervisor replaces it in one step and flushes it before it relies on it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sprag_core::time::Timestamp;
use sprag_process::{Identity, boot_id};
use sprag_store::private;

use super::budget::GaveUp;
use super::watch::Exit;

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ServiceRecord {
    /// The path of the service.
    pub path: String,
    /// Its process, from its start until its end was seen.
    pub process: Option<Started>,
    /// How the last process ended by itself.
    pub ended: Option<Ended>,
    /// When it failed, oldest first: as far back as the budget looks.
    pub failures: Vec<Timestamp>,
    /// Failures in a row, none of which came after a minute of health.
    pub streak: u32,
    /// How often it was started again.
    pub restarts: u64,
    /// Why no more starts are tried.
    pub gave_up: Option<GaveUp>,
}

/// A process that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    /// Which process.
    #[serde(flatten)]
    pub identity: Identity,
    /// Which boot of the machine: ids and start times mean something only in it.
    pub boot: Option<String>,
    /// When.
    pub at: Timestamp,
    /// What it was started from.
    pub digest: u64,
    /// How long the log was then.
    pub log_offset: u64,
    /// Its control group, where it has one.
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
}

/// The end of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    /// How.
    pub exit: Exit,
    /// When it was seen.
    pub at: Timestamp,
    /// What it was started from.
    pub digest: u64,
}

impl Started {
    /// Whether this very process still runs.
    pub(super) fn is_alive(&self) -> bool {
        self.boot == boot_id() && self.identity.is_alive()
    }
}

/// The folder of records.
#[derive(Clone, Debug)]
pub(super) struct ServiceRecords {
    folder: PathBuf,
}

impl ServiceRecords {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What is remembered of the service; nothing where there is nothing, or nothing that can be read.
    pub(super) fn load(&self, path: &str) -> ServiceRecord {
        let fresh = ServiceRecord {
            path: path.to_owned(),
            ..ServiceRecord::default()
        };
        let Ok(text) = fs::read_to_string(self.file(path)) else {
            return fresh;
        };
        serde_json::from_str(&text).unwrap_or_else(|error| {
            tracing::warn!(service = path, %error, "service record not readable, starting without it");
            fresh
        })
    }

    /// Remembers. Returns once it is on disk.
    pub(super) fn save(&self, record: &ServiceRecord) -> io::Result<()> {
        let path = self.file(&record.path);
        let fresh = path.with_extension("new");
        let mut file = private::create(&fresh)?;
        file.write_all(serde_json::to_string(record)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, &path)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Forgets a service that is gone.
    pub(super) fn remove(&self, path: &str) {
        let _ = fs::remove_file(self.file(path));
    }

    /// The paths of all services that are remembered.
    pub(super) fn paths(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<String> = entries
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_owned()))
            .map(|name| name.replace('+', "/"))
            .collect();
        paths.sort();
        paths
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.join(format!("{}.json", flat(path)))
    }
}

/// A path as a file name: names of services hold neither `/` nor `+`.
pub(super) fn flat(path: &str) -> String {
    path.replace('/', "+")
}

/// Where the log of a service is.
pub(super) fn log_file(folder: &Path, path: &str) -> PathBuf {
    folder.join(format!("{}.log", flat(path)))
}

/// Whose log that is.
pub(super) fn path_of_log(folder: &Path, log: &Path) -> Option<String> {
    let name = log.strip_prefix(folder).ok()?.to_str()?.strip_suffix(".log")?;
    Some(name.replace('+', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_and_what_is_broken_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let records = ServiceRecords::new(folder.path().to_owned());
        assert_eq!(records.load("a/b").path, "a/b");
        let mut record = records.load("a/b");
        record.failures = vec![Timestamp::from_millis(5)];
        record.ended = Some(Ended {
            exit: Exit::Signal(9),
            at: Timestamp::from_millis(7),
            digest: 3,
        });
        records.save(&record).unwrap();
        assert_eq!(records.load("a/b"), record);
        assert_eq!(records.paths(), ["a/b"]);
        fs::write(folder.path().join("c.json"), "{").unwrap();
        assert_eq!(
            records.load("c"),
            ServiceRecord {
                path: "c".to_owned(),
                ..ServiceRecord::default()
            }
        );
        records.remove("a/b");
        assert_eq!(records.load("a/b").failures, []);
    }
}
