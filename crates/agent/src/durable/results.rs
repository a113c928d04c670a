//! The folder of results: one folder for each attempt, with its time series, result and report. Bounded.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sprag_core::ids::ActionId;

/// Attempts whose files are kept.
pub(super) const KEPT_MAX: usize = 50;

/// The folder of an attempt.
pub(super) fn folder(results: &Path, action: ActionId, number: u32) -> PathBuf {
    results.join(format!("{action}-{number}"))
}

/// Deletes the oldest attempts beyond the bound. Ids of actions sort by time.
pub(super) fn prune(results: &Path) -> io::Result<()> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(results)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Nothing else that a person keeps there is touched.
        if name.starts_with(ActionId::PREFIX) && path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    let surplus = folders.len().saturating_sub(KEPT_MAX);
    folders[..surplus].iter().try_for_each(fs::remove_dir_all)
}
