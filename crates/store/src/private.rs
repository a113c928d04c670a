//! Files and folders that only their owner may use. Ones that exist keep their mode.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Who else may use a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// Others may read it.
    pub readable: bool,
    /// Others may write it.
    pub writable: bool,
}

/// How a file is opened that is private if it is new.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// An empty file to write to.
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// A file of the caller's own, in place of one of that name. Unlike [`create`] it follows no symlink, waits for no pipe and takes over no
/// mode: others may have put something there.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(problem),
        Ok(()) | Err(_) => {}
    }
    options().write(true).create_new(true).open(path)
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// A folder, with those above it that are missing.
pub fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Who else may use the file at `path`. None where that is unknown.
pub fn exposure(path: &Path) -> Exposure {
    let mode = mode(path);
    Exposure {
        readable: mode & 0o044 != 0,
        writable: mode & 0o022 != 0,
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).map_or(0, |found| found.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Path) -> u32 {
    0
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_that_is_created_anew_is_private_although_another_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let (file, victim) = (directory.path().join("file"), directory.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &file).unwrap();
        create_anew(&file).unwrap().write_all(b"x").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        create_anew(&file).unwrap();
        assert_eq!(mode(&file) & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
    }

    #[test]
    fn what_is_new_is_private_and_what_is_there_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a").join("b");
        folder(&inner).unwrap();
        for made in [directory.path().join("a"), inner.clone()] {
            assert_eq!(mode(&made) & 0o777, 0o700);
        }
        let file = inner.join("file");
        write(&file, b"x").unwrap();
        assert_eq!(mode(&file) & 0o777, 0o600);
        assert_eq!(
            exposure(&file),
            Exposure {
                readable: false,
                writable: false
            }
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o664)).unwrap();
        write(&file, b"y").unwrap();
        assert_eq!(
            exposure(&file),
            Exposure {
                readable: true,
                writable: true
            }
        );
    }
}
