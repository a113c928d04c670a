//! Readers beside the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::super::Store;
use super::File;
use crate::conformance::fixtures::{execution, inserts};
use crate::page::Page;
use crate::page::ReadKind;
use crate::records::Execution;
use crate::traits::{CommitStore, ExecutionQuery, Mutation, Reader, Readers, Variables};

/// Reads by id that run at once.
const READERS: usize = ReadKind::Point.width();

#[test]
fn readers_in_many_threads_see_whole_commits_while_the_writer_writes() {
    const COMMITS: u64 = 300;
    let file = File::new();
    let Store { mut writer, readers } = file.store();
    let large = |number| Execution {
        sequence: 0,
        variables: vec![b'v'; 3_000],
        ..execution(number)
    };
    let mut executions: Vec<Execution> = (1..=5).map(large).collect();
    writer
        .commit(&[], &inserts(&executions.iter().collect::<Vec<_>>()))
        .unwrap();
    let written = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..READERS + 2 {
            scope.spawn(|| {
                let mut last = 0;
                while !written.load(Ordering::Relaxed) {
                    let found = readers.get().executions(&ExecutionQuery::default()).unwrap().rows;
                    let sequences: Vec<u64> = found.iter().map(|execution| execution.sequence).collect();
                    assert_eq!(sequences, [sequences[0]; 5], "all five change in one commit");
                    assert!(sequences[0] >= last, "what was seen stays");
                    last = sequences[0];
                }
            });
        }
        for sequence in 1..=COMMITS {
            let update = |execution: &mut Execution| {
                execution.sequence = sequence;
                Mutation::UpdateExecution {
                    execution: execution.clone(),
                    variables: Variables::Changed,
                }
            };
            let mutations: Vec<_> = executions.iter_mut().map(update).collect();
            writer.commit(&[], &mutations).unwrap();
        }
        written.store(true, Ordering::Relaxed);
    });
    assert_eq!(
        readers.get().execution(executions[0].id).unwrap().unwrap().sequence,
        COMMITS
    );
}

#[test]
fn a_reader_that_is_given_back_serves_the_next_who_waits() {
    let file = File::new();
    let Store { readers, .. } = file.store();
    let mut held: Vec<_> = (0..READERS).map(|_| readers.get()).collect();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| readers.get().machines(&Page::first(1)).unwrap().rows);
        drop(held.pop());
        assert_eq!(waiting.join().unwrap(), []);
    });
    assert_eq!(held.len(), READERS - 1);
}

#[test]
fn a_read_by_id_does_not_wait_for_scans() {
    let file = File::new();
    let Store { mut writer, readers } = file.store();
    let one = execution(1);
    writer.commit(&[], &inserts(&[&one])).unwrap();
    let scans: Vec<_> = (0..ReadKind::Scan.width())
        .map(|_| readers.reader(ReadKind::Scan).unwrap())
        .collect();
    let point = readers.reader(ReadKind::Point).unwrap();
    assert!(point.execution(one.id).unwrap().is_some());
    assert_eq!(scans.len(), ReadKind::Scan.width());
}
