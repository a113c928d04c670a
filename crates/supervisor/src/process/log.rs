//! Log files: reads them from the end, and rotates them by copying and truncating.
//!
//! The service keeps the file open and appends to it, so the supervisor never renames it. Output between the last
//! copied byte and the truncation is lost; the gap is only one call long.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::path::Path;

use super::logfile::{Access, Folder, open_log};
use crate::services::LogPolicy;

/// What is copied at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// What is read from the end of a file to find its last lines: escaped as JSON, where a byte may take six, it fits into 4 MiB.
const TAIL_BYTES_MAX: u64 = 512 * 1024;
/// The most lines a reader gets at once.
pub const TAIL_LINES_MAX: usize = 10_000;
/// The most bytes a reader that follows gets at once.
const FOLLOW_BYTES_MAX: u64 = 256 * 1024;

/// How far a reader of a log is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// What was read, as text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Where to go on.
    pub offset: u64,
}

/// The last `lines` lines of a log. A file that is not there has none.
pub fn tail(path: &Path, lines: usize) -> io::Result<Tail> {
    let Some((mut file, length)) = open(path)? else {
        return Ok(Tail::default());
    };
    let begin = length.saturating_sub(TAIL_BYTES_MAX);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(length - begin).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let wanted = lines.min(TAIL_LINES_MAX);
    let mut kept: Vec<&str> = text.split_inclusive('\n').rev().take(wanted).collect();
    kept.reverse();
    Ok(Tail {
        text: kept.concat(),
        offset: begin + u64::try_from(bytes.len()).unwrap_or(0),
    })
}

/// What was written since `offset`. A file that became shorter was rotated: it is read from its beginning.
pub fn follow(path: &Path, offset: u64) -> io::Result<Tail> {
    let Some((mut file, length)) = open(path)? else {
        return Ok(Tail::default());
    };
    let begin = if length < offset { 0 } else { offset };
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(FOLLOW_BYTES_MAX).read_to_end(&mut bytes)?;
    // A character that is cut in two waits for its rest.
    let cut = incomplete(&bytes);
    bytes.truncate(bytes.len() - cut);
    Ok(Tail {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        offset: begin + u64::try_from(bytes.len()).unwrap_or(0),
    })
}

fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    match open_log(path, Access::Read) {
        Ok(file) => {
            let length = file.metadata()?.len();
            Ok(Some((file, length)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many bytes at the end begin a character without finishing it.
fn incomplete(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}

/// Rotates a log that is larger than it may be. Returns whether it was.
pub(super) fn rotate(path: &Path, policy: LogPolicy) -> io::Result<bool> {
    let LogPolicy { max_size, keep } = policy;
    let Some((_, length)) = open(path)? else {
        return Ok(false);
    };
    if length <= max_size {
        return Ok(false);
    }
    let (folder, name) = Folder::of(path)?;
    // Read and truncated through one and the same opening, so that both are the same file.
    let mut log = folder.open(&name, Access::Rotate)?;
    if keep > 0 {
        for number in 1..=keep {
            folder.check(&numbered(&name, number))?;
        }
        shift(&folder, &name, keep);
        let mut copy = folder.open(&numbered(&name, 1), Access::Create)?;
        copy_all(&mut log, &mut copy)?;
        copy.sync_all()?;
        // What came while the copy went to disk.
        copy_all(&mut log, &mut copy)?;
    }
    log.set_len(0)?;
    Ok(true)
}

fn copy_all(source: &mut File, copy: &mut File) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = source.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        copy.write_all(chunk.get(..count).unwrap_or_default())?;
    }
}

/// Moves every older file one number up; the oldest goes.
fn shift(folder: &Folder, name: &OsStr, keep: u32) {
    for number in (1..keep).rev() {
        // One that is not there moves nowhere.
        let _ = folder.rename(&numbered(name, number), &numbered(name, number + 1));
    }
}

/// `broker.log.1`
fn numbered(name: &OsStr, number: u32) -> OsString {
    let mut name = name.to_owned();
    name.push(format!(".{number}"));
    name
}

/// The length of a log now: what a service writes from here on is its own.
pub(super) fn length(path: &Path) -> u64 {
    open(path).ok().flatten().map_or(0, |(_, length)| length)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;

    use super::*;

    fn older(path: &Path, number: u32) -> PathBuf {
        path.with_file_name(numbered(path.file_name().unwrap(), number))
    }

    #[test]
    fn an_older_log_that_is_a_symlink_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("a.log"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        for keep in [1, 3] {
            append(&path, "a line that is too long\n");
            std::os::unix::fs::symlink(&victim, older(&path, 1)).unwrap();
            let policy = LogPolicy { max_size: 10, keep };
            let refused = rotate(&path, policy).unwrap_err().to_string();
            assert!(refused.contains("a.log.1` is a symlink"), "{refused}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
            assert!(length(&path) > 10, "nothing is lost");
            fs::remove_file(older(&path, 1)).unwrap();
        }
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_last_lines_come_first_and_then_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        assert_eq!(tail(&path, 3).unwrap(), Tail::default());
        append(&path, "one\ntwo\nthree\n");
        let read = tail(&path, 2).unwrap();
        assert_eq!((read.text.as_str(), read.offset), ("two\nthree\n", 14));
        append(&path, "four\nhalf a ");
        let read = follow(&path, read.offset).unwrap();
        assert_eq!(read.text, "four\nhalf a ");
    }

    #[test]
    fn a_character_in_two_pieces_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        fs::write(&path, [b'a', 0xc3]).unwrap();
        let read = follow(&path, 0).unwrap();
        assert_eq!((read.text.as_str(), read.offset), ("a", 1));
        fs::write(&path, [b'a', 0xc3, 0xbc]).unwrap();
        assert_eq!(follow(&path, read.offset).unwrap().text, "ü");
    }

    #[test]
    fn a_large_log_is_copied_and_truncated_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let policy = LogPolicy { max_size: 10, keep: 2 };
        let mut writer = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        writer.write_all(b"short").unwrap();
        assert!(!rotate(&path, policy).unwrap());
        let mut seen = Vec::new();
        for round in 0..4 {
            writer.write_all(format!("round {round} is long\n").as_bytes()).unwrap();
            assert!(rotate(&path, policy).unwrap());
            assert_eq!(length(&path), 0, "the writer goes on at the beginning");
            seen.push(fs::read_to_string(older(&path, 1)).unwrap());
        }
        assert_eq!(seen[3], "round 3 is long\n");
        assert_eq!(fs::read_to_string(older(&path, 2)).unwrap(), "round 2 is long\n");
        assert!(!older(&path, 3).exists(), "no more than is kept");
        writer.write_all(b"after").unwrap();
        assert_eq!(follow(&path, 500).unwrap().text, "after", "one who follows starts anew");
    }
}
