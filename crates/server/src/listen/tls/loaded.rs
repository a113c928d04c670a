//! What was made of files, made again when they change.
//!
//! A look costs a `stat` of each file. Files are read again once they stand still from one look to the next, so that a
//! certificate and a key that are replaced one after the other are read together. What cannot be used is reported once,
//! and what was in use stays.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use super::files::Error;

/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How something is made of the files.
type Make<C> = Box<dyn Fn() -> Result<C, Error> + Send + Sync>;

/// What was made of files.
pub(crate) struct Loaded<C> {
    /// What the log calls it.
    name: &'static str,
    files: Vec<PathBuf>,
    make: Make<C>,
    current: RwLock<Arc<C>>,
    seen: Mutex<Seen>,
}

/// The files at the last look, and when they were read.
struct Seen {
    last: Vec<Option<Stamp>>,
    read: Vec<Option<Stamp>>,
}

/// What changes with a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl From<Metadata> for Stamp {
    fn from(found: Metadata) -> Self {
        Self {
            inode: found.ino(),
            bytes: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

impl<C> Loaded<C> {
    /// Makes it of the files as they are.
    pub(crate) fn new(
        name: &'static str,
        files: Vec<PathBuf>,
        make: impl Fn() -> Result<C, Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        // Before they are read: a change meanwhile is seen at the next look.
        let stamps = stamps(&files);
        Ok(Self {
            name,
            files,
            current: RwLock::new(Arc::new(make()?)),
            make: Box::new(make),
            seen: Mutex::new(Seen {
                last: stamps.clone(),
                read: stamps,
            }),
        })
    }

    /// What is in use.
    pub(crate) fn current(&self) -> Arc<C> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Something that looks at its files.
pub(crate) trait Look: Send + Sync {
    /// Reads them again if they changed and stand still.
    fn look(&self);
}

impl<C: Send + Sync> Look for Loaded<C> {
    fn look(&self) {
        let now = stamps(&self.files);
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let stands = now == seen.last;
            seen.last.clone_from(&now);
            if !stands || now == seen.read {
                return;
            }
            seen.read = now;
        }
        match (self.make)() {
            Ok(made) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
                tracing::info!(files = self.name, "changed files read; new connections use them");
            }
            Err(error) => tracing::error!(
                files = self.name,
                %error,
                "changed files cannot be used; the previous ones stay in use"
            ),
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |file: &PathBuf| Path::metadata(file).ok().map(Stamp::from);
    files.iter().map(stamp).collect()
}

/// Looks again and again, until it is dropped.
pub(crate) async fn watch(all: Vec<Arc<dyn Look>>) {
    if all.is_empty() {
        return std::future::pending().await;
    }
    let all = Arc::new(all);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let all = Arc::clone(&all);
        // A file system may take its time.
        let looked = tokio::task::spawn_blocking(move || all.iter().for_each(|one| one.look())).await;
        if let Err(error) = looked {
            tracing::error!(%error, "certificates not looked at");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(file: &Path) -> Result<u32, Error> {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.parse().map_err(|_| Error::Setup(format!("`{text}` is no number")))
    }

    #[test]
    fn changed_files_are_read_once_they_stand_still_and_broken_ones_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        std::fs::write(&file, "1").unwrap();
        let path = file.clone();
        let loaded = Loaded::new("numbers", vec![file.clone()], move || number(&path)).unwrap();
        let after_looks = |looks: u32| {
            (0..looks).for_each(|_| loaded.look());
            *loaded.current()
        };
        assert_eq!(after_looks(2), 1);
        std::fs::write(&file, "22").unwrap();
        assert_eq!(after_looks(1), 1, "it may still change");
        assert_eq!(after_looks(1), 22);
        std::fs::write(&file, "broken").unwrap();
        assert_eq!(after_looks(2), 22);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(after_looks(3), 22);
        std::fs::write(&file, "333").unwrap();
        assert_eq!(after_looks(2), 333);
        assert!(Loaded::new("none", Vec::new(), || Err::<u32, _>(Error::Setup(String::new()))).is_err());
    }
}
