//! Which files a store has open, and whether their names still lead to them.
//!
//! A file that was deleted, renamed or replaced stays open under no name: commits to it are durable and lost all the same. A file
//! with a second name is as bad, because `SQLite` finds the write-ahead log by name.

use std::io;
use std::path::{Path, PathBuf};

use super::backup::beside;

/// The files that `SQLite` keeps beside a database that is open.
const LOGS: [&str; 2] = ["-wal", "-shm"];

/// One file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// What a name leads to.
struct Named {
    identity: Identity,
    names: u64,
}

/// The files of an open database.
#[derive(Debug)]
pub(super) struct Files {
    database: PathBuf,
    opened: Vec<(PathBuf, Identity)>,
}

impl Files {
    /// The files of the database at `path`. Its logs must be there by now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let logs = LOGS.iter().map(|ending| beside(path, ending));
        let names = std::iter::once(path.to_owned()).chain(logs);
        let opened = names.map(|name| named(&name).map(|found| (name, found.identity)));
        Ok(Self {
            database: path.to_owned(),
            opened: opened.collect::<io::Result<_>>()?,
        })
    }

    /// Says what is wrong if a name leads elsewhere by now, or the database has another name too. A disk that does not answer
    /// proves nothing.
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, opened) in &self.opened {
            let shown = name.display();
            match named(name) {
                Ok(found) if found.identity != *opened => {
                    return Err(format!("`{shown}` was replaced by another file while it was open"));
                }
                Ok(found) if *name == self.database && found.names > 1 => return Err(linked(name, found.names)),
                Err(problem) if is_missing(&problem) => {
                    return Err(format!("`{shown}` was deleted or renamed while it was open"));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// How many names the file at `path` has, if it is there.
pub(super) fn names(path: &Path) -> io::Result<u64> {
    match named(path) {
        Ok(found) => Ok(found.names),
        Err(problem) if is_missing(&problem) => Ok(0),
        Err(problem) => Err(problem),
    }
}

/// What is wrong with a file that has several names.
pub(super) fn linked(path: &Path, names: u64) -> String {
    format!(
        "`{}` has {names} names (hard links), and the write-ahead log is found by name",
        path.display()
    )
}

fn is_missing(problem: &io::Error) -> bool {
    matches!(problem.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
fn named(path: &Path) -> io::Result<Named> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(path)?;
    Ok(Named {
        identity: Identity {
            device: found.dev(),
            inode: found.ino(),
        },
        names: found.nlink(),
    })
}

/// Elsewhere an open file keeps its name, and its links cannot be counted.
#[cfg(not(unix))]
fn named(path: &Path) -> io::Result<Named> {
    std::fs::metadata(path)?;
    Ok(Named {
        identity: Identity { device: 0, inode: 0 },
        names: 1,
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn open() -> (tempfile::TempDir, PathBuf, Files) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sprag.db");
        for ending in ["", "-wal", "-shm"] {
            fs::write(beside(&path, ending), "x").unwrap();
        }
        let files = Files::of(&path).unwrap();
        assert_eq!(files.check(), Ok(()));
        (folder, path, files)
    }

    fn refused(files: &Files, part: &str) {
        let told = files.check().unwrap_err();
        assert!(told.contains(part), "{told}");
    }

    #[test]
    fn a_deleted_or_renamed_file_is_noticed() {
        for ending in ["", "-wal", "-shm"] {
            let (_folder, path, files) = open();
            let name = beside(&path, ending);
            fs::rename(&name, beside(&path, "-elsewhere")).unwrap();
            refused(&files, "was deleted or renamed");
            fs::rename(beside(&path, "-elsewhere"), &name).unwrap();
            assert_eq!(files.check(), Ok(()), "it is back");
        }
    }

    #[test]
    fn a_replaced_file_is_noticed() {
        for ending in ["", "-wal", "-shm"] {
            let (_folder, path, files) = open();
            fs::write(beside(&path, "-new"), "y").unwrap();
            fs::rename(beside(&path, "-new"), beside(&path, ending)).unwrap();
            refused(&files, "was replaced");
        }
    }

    #[test]
    fn a_moved_folder_is_noticed() {
        let (folder, path, files) = open();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::rename(path.parent().unwrap(), elsewhere.path().join("moved")).unwrap();
        refused(&files, "was deleted or renamed");
        drop(folder);
    }

    #[test]
    fn a_second_name_is_noticed() {
        let (_folder, path, files) = open();
        assert_eq!(names(&path).unwrap(), 1);
        fs::hard_link(&path, beside(&path, "-other")).unwrap();
        refused(&files, "has 2 names");
        assert_eq!(names(&path).unwrap(), 2);
    }
}
