//! The lock file that refuses a second process.
//!
//! The operating system holds the lock for the open file, so it goes with the process however that ends; the file
//! itself stays and means nothing. `SQLite`'s own locks would let two processes write in turns.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;

/// Held for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the database at `path`.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(lock_path(path))
            .map_err(|problem| OpenError::from_system(path, problem))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(problem)) => Err(OpenError::from_system(path, problem)),
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    PathBuf::from(name)
}
