//! Readers beside the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::super::{READERS_MAX, Store};
use super::File;
use crate::conformance::fixtures::{execution, inserts};
use crate::records::Execution;
use crate::traits::{ExecutionQuery, LaneStore, Mutation, Reader, Variables};

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
        for _ in 0..READERS_MAX + 2 {
            scope.spawn(|| {
                let mut last = 0;
                while !written.load(Ordering::Relaxed) {
                    let query = ExecutionQuery {
                        limit: 9,
                        ..ExecutionQuery::default()
                    };
                    let found = readers.get().executions(&query).unwrap();
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
    let mut held: Vec<_> = (0..READERS_MAX).map(|_| readers.get()).collect();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| readers.get().machines().unwrap());
        drop(held.pop());
        assert_eq!(waiting.join().unwrap(), []);
    });
    assert_eq!(held.len(), READERS_MAX - 1);
}
