//! What only whole processes and real filesystems show: locks, kills, full and failing disks.
//!
//! A test starts itself again as a child: on a disk of its own, under a limit, or to be killed. Where the system does
//! not allow a disk of its own, the test says so and passes.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::{Options, Store, open};
use crate::conformance::fixtures::{entry, execution};
use crate::page::{Page, PageLimit};
use crate::records::HistoryEntry;
use crate::traits::{CommitStore, Error, Mutation, Reader};

/// Where the tests of this file are, as the test program names them.
const MODULE: &str = "sqlite::tests::processes";

/// Names the directory of the database to a child; absent in the parent.
const DIRECTORY: &str = "SPRAG_STORE_TEST_DIRECTORY";

fn options(directory: &Path) -> Options {
    let path = directory.join("sprag.db");
    Options { path }
}

fn append(sequence: u64, size: usize) -> Mutation {
    let body = vec![b'x'; size];
    let entry = entry(&execution(1), sequence);
    Mutation::AppendHistory(HistoryEntry { body, ..entry })
}

/// How many entries are stored. They are dense, so this is the last sequence too.
fn stored(store: &Store) -> u64 {
    let reader = store.readers.get();
    let all = Page::first(PageLimit {
        rows: usize::MAX,
        bytes: usize::MAX,
    });
    let entries = reader.history(execution(1).id, &all).unwrap().rows;
    u64::try_from(entries.len()).unwrap()
}

/// Commits entries until one fails; the number of the last that was committed, and why the next was not.
fn commit_until_failure(store: &mut Store, size: usize) -> (u64, Error) {
    for sequence in 1.. {
        if let Err(problem) = store.writer.commit(&[], &[append(sequence, size)]) {
            return (sequence - 1, problem);
        }
    }
    unreachable!("the disk is not endless")
}

/// This test as a process of its own, started by `launcher`.
fn child(test: &str, directory: &Path, launcher: &[&str]) -> Command {
    let program = env::current_exe().unwrap().into_os_string();
    let mut words = launcher.iter().map(OsString::from).chain([program]);
    let mut command = Command::new(words.next().unwrap());
    let test = format!("{MODULE}::{test}");
    command.args(words).args(["--exact", &test, "--nocapture"]);
    command.env(DIRECTORY, directory);
    command
}

/// What a child printed, which must have run its test and passed.
fn told(mut child: Command) -> String {
    let output = child.output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    told
}

/// The directory, in a child, where it is a disk of that size; in the parent, runs the child and returns nothing.
fn on_small_disk(test: &str, size: &str) -> Option<PathBuf> {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return Some(PathBuf::from(directory));
    }
    let allowed = Command::new("unshare").args(["--mount", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        println!("skipped: this system does not let the test mount a disk of its own");
        return None;
    }
    let script = format!("mount -t tmpfs -o size={size} sprag \"${DIRECTORY}\" && exec \"$@\"");
    let launcher = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    let directory = tempfile::tempdir().unwrap();
    told(child(test, directory.path(), &launcher));
    None
}

/// The whole story of a disk that fills up and is freed again.
fn fill_up_and_free(directory: &Path, size: usize) {
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![0; 1024 * 1024]).unwrap();
    let mut store = open(&options(directory)).unwrap();
    let (last, problem) = commit_until_failure(&mut store, size);
    assert!(matches!(problem, Error::Full), "{problem:?}");
    assert!(last > 10, "there was room for {last} only");
    assert_eq!(stored(&store), last, "what was acknowledged is there, and nothing else");
    for _ in 0..3 {
        let result = store.writer.commit(&[], &[append(last + 1, size)]);
        assert!(matches!(result, Err(Error::Full)), "{result:?}");
    }

    fs::remove_file(&ballast).unwrap();
    store.writer.commit(&[], &[append(last + 1, size)]).unwrap();
    drop(store);
    assert_eq!(stored(&open(&options(directory)).unwrap()), last + 1);
}

#[test]
fn a_full_disk_refuses_commits_and_loses_nothing() {
    let name = "a_full_disk_refuses_commits_and_loses_nothing";
    if let Some(directory) = on_small_disk(name, "4m") {
        fill_up_and_free(&directory, 20_000);
    }
}

#[test]
fn a_disk_that_fills_up_after_the_log_was_copied_back_loses_nothing() {
    let name = "a_disk_that_fills_up_after_the_log_was_copied_back_loses_nothing";
    if let Some(directory) = on_small_disk(name, "160m") {
        fill_up_and_free(&directory, 200_000);
        let file = fs::metadata(directory.join("sprag.db")).unwrap().len();
        assert!(file > 4 * 1024 * 1024, "the log was copied back");
    }
}

#[test]
fn there_must_be_room_to_open() {
    if let Some(directory) = on_small_disk("there_must_be_room_to_open", "64k") {
        assert_eq!(open(&options(&directory)).unwrap_err().code(), "disk-full");
    }
}

fn remount(directory: &Path, mode: &str) {
    let mut command = Command::new("mount");
    command.args(["-o", &format!("remount,{mode}")]).arg(directory);
    assert!(command.status().unwrap().success());
}

#[test]
fn a_read_only_disk_is_refused_until_it_can_be_written_again() {
    let name = "a_read_only_disk_is_refused_until_it_can_be_written_again";
    if let Some(directory) = on_small_disk(name, "4m") {
        let mut store = open(&options(&directory)).unwrap();
        store.writer.commit(&[], &[append(1, 10)]).unwrap();
        drop(store);
        remount(&directory, "ro");
        assert_eq!(open(&options(&directory)).unwrap_err().code(), "not-writable");
        remount(&directory, "rw");
        assert_eq!(stored(&open(&options(&directory)).unwrap()), 1);
    }
}

/// A file that may not grow any further fails with another error than a full disk does, one that leaves in doubt what
/// is on disk.
#[test]
fn a_failing_disk_is_told_from_a_full_one_and_loses_nothing() {
    let name = "a_failing_disk_is_told_from_a_full_one_and_loses_nothing";
    if let Some(directory) = env::var_os(DIRECTORY) {
        let mut store = open(&options(Path::new(&directory))).unwrap();
        let (last, problem) = commit_until_failure(&mut store, 20_000);
        assert!(matches!(problem, Error::Disk { .. }), "{problem:?}");
        println!("committed {last}");
        return;
    }
    let launcher = ["sh", "-c", "trap '' XFSZ; ulimit -f 4096; exec \"$@\"", "sh"];
    let directory = tempfile::tempdir().unwrap();
    let told = told(child(name, directory.path(), &launcher));
    let last = told.lines().find_map(committed).unwrap();
    let found = stored(&open(&options(directory.path())).unwrap());
    let acknowledged = last > 10 && (last..=last + 1).contains(&found);
    assert!(acknowledged, "committed {last}, found {found}");
}

/// The number in a line that a child prints after a commit. The name of the test may stand before it.
fn committed(line: &str) -> Option<u64> {
    let (_, number) = line.split_once("committed ")?;
    number.parse().ok()
}

#[test]
fn a_killed_process_loses_nothing_and_frees_the_lock() {
    let name = "a_killed_process_loses_nothing_and_frees_the_lock";
    if let Some(directory) = env::var_os(DIRECTORY) {
        let mut store = open(&options(Path::new(&directory))).unwrap();
        for sequence in stored(&store) + 1.. {
            store.writer.commit(&[], &[append(sequence, 500)]).unwrap();
            println!("committed {sequence}");
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path());
    let mut last = 0;
    for _ in 0..3 {
        let mut child = child(name, directory.path(), &[])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut commits = lines.map_while(Result::ok).filter_map(|line| committed(&line));
        last = commits.nth(100).unwrap();
        assert_eq!(open(&options).unwrap_err().code(), "store-locked", "the child has it");
        child.kill().unwrap();
        child.wait().unwrap();
        last = commits.last().unwrap_or(last);
        let found = stored(&open(&options).unwrap());
        assert!((last..=last + 1).contains(&found), "committed {last}, found {found}");
    }
    assert!(last > 300);
}
