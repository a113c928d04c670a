//! Opens log files without following a symlink: neither the file nor the two folders above it may be one.
//!
//! Otherwise, a user who can write to the log folder could make the supervisor append to, truncate or show any file
//! that the supervisor can reach. This module also refuses files that are not regular: opening a named pipe would
//! block.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fcntl_setfl, fstat, open, openat, renameat, statat};
use rustix::io::Errno;

/// What a log is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// To be read.
    Read,
    /// To be read and truncated.
    Rotate,
    /// To be written at its end; created where it is not there.
    Append,
    /// To be written from its beginning; created where it is not there.
    Create,
}

/// The folder of a log, held open: a folder that replaces it meanwhile is not used.
pub(super) struct Folder {
    folder: OwnedFd,
    path: PathBuf,
}

impl Access {
    const fn flags(self) -> OFlags {
        match self {
            Self::Read => OFlags::RDONLY,
            Self::Rotate => OFlags::RDWR,
            Self::Append => OFlags::WRONLY.union(OFlags::APPEND).union(OFlags::CREATE),
            Self::Create => OFlags::WRONLY.union(OFlags::TRUNC).union(OFlags::CREATE),
        }
    }
}

impl Folder {
    /// The folder of a log, and the log's name in it.
    pub(super) fn of(log: &Path) -> io::Result<(Self, OsString)> {
        let (Some(path), Some(name)) = (log.parent(), log.file_name()) else {
            return Err(io::Error::other(format!("`{}` names no file", log.display())));
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match (path.parent(), path.file_name()) {
            (Some(above), Some(folder)) => {
                let opened = open(above, flags, Mode::empty()).map_err(|error| refusal(above, error))?;
                openat(&opened, folder, flags, Mode::empty())
            }
            _ => open(path, flags, Mode::empty()),
        };
        let folder = Self {
            folder: folder.map_err(|error| refusal(path, error))?,
            path: path.to_owned(),
        };
        Ok((folder, name.to_owned()))
    }

    /// Opens a file of the folder. Only its owner may use one that is new.
    pub(super) fn open(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let flags = access.flags() | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = || self.path.join(name);
        let mode = Mode::from_raw_mode(0o600);
        let file = openat(&self.folder, name, flags, mode).map_err(|error| refusal(&path(), error))?;
        let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
        if kind != FileType::RegularFile {
            return Err(irregular(&path()));
        }
        // It was only there so that a pipe does not block.
        fcntl_setfl(&file, access.flags().intersection(OFlags::APPEND))?;
        Ok(File::from(file))
    }

    /// Says why a file of the folder could not be opened for writing; one that is not there could be.
    pub(super) fn check(&self, name: &OsStr) -> io::Result<()> {
        let path = || self.path.join(name);
        match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(seen) => match FileType::from_raw_mode(seen.st_mode) {
                FileType::RegularFile => Ok(()),
                FileType::Symlink => Err(symlink(&path())),
                _ => Err(irregular(&path())),
            },
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(refusal(&path(), error)),
        }
    }

    /// Gives a file of the folder another name.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.folder, from, &self.folder, to)?)
    }
}

/// Opens a log.
pub(super) fn open_log(log: &Path, access: Access) -> io::Result<File> {
    let (folder, name) = Folder::of(log)?;
    folder.open(&name, access)
}

/// Why a log could not be opened for writing.
pub(super) fn check_log(log: &Path) -> io::Result<()> {
    let (folder, name) = Folder::of(log)?;
    folder.check(&name)
}

/// What the system refused, in words where it was because of a symlink.
fn refusal(path: &Path, error: Errno) -> io::Error {
    let is_symlink = || path.symlink_metadata().is_ok_and(|seen| seen.file_type().is_symlink());
    match error {
        Errno::LOOP | Errno::NOTDIR if is_symlink() => symlink(path),
        Errno::NXIO => irregular(path),
        other => other.into(),
    }
}

fn symlink(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!(
        "`{path}` is a symlink, and logs of services never follow one; remove it"
    ))
}

fn irregular(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!("`{path}` is not a regular file; remove it"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder of logs with a log in it, and a file that must stay.
    fn set() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        std::fs::create_dir(&logs).unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let log = logs.join("web.log");
        (folder, log, victim)
    }

    #[test]
    fn a_log_that_is_a_symlink_is_refused_however_it_is_opened() {
        let (_folder, log, victim) = set();
        symlink(&victim, &log).unwrap();
        for access in [Access::Read, Access::Rotate, Access::Append, Access::Create] {
            let refused = open_log(&log, access).unwrap_err().to_string();
            assert!(refused.contains("web.log` is a symlink"), "{access:?}: {refused}");
        }
        assert!(check_log(&log).is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn a_folder_that_is_a_symlink_is_refused() {
        let (folder, log, _) = set();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::remove_dir(log.parent().unwrap()).unwrap();
        symlink(&elsewhere, log.parent().unwrap()).unwrap();
        let refused = open_log(&log, Access::Append).unwrap_err().to_string();
        assert!(refused.contains("logs` is a symlink"), "{refused}");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_blocking() {
        let (_folder, log, _) = set();
        std::fs::create_dir(&log).unwrap();
        assert!(open_log(&log, Access::Append).is_err());
        assert!(check_log(&log).is_err());
    }

    #[test]
    fn a_plain_log_is_created_and_appended_to() {
        use std::io::Write as _;
        let (_folder, log, _) = set();
        check_log(&log).unwrap();
        for text in ["one\n", "two\n"] {
            let mut file = open_log(&log, Access::Append).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one\ntwo\n");
    }
}
