//! The `SQLite` backend against the suite, and what only a file can do.

mod backups;
mod files;
mod keeping;
mod plans;
mod processes;
mod readers;
mod search;

use std::path::PathBuf;

use tempfile::TempDir;

use super::{Options, Store, open};
use crate::Memory;
use crate::conformance::{self, Subject};
use crate::traits::{Error, LaneStore, Reader};

pub(crate) struct File {
    directory: TempDir,
}

impl File {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("sprag.db")
    }

    fn store(&self) -> Store {
        open(&Options { path: self.path() }).unwrap()
    }
}

impl Subject for File {
    fn open(&self) -> (Box<dyn LaneStore>, Box<dyn Reader>) {
        let Store { writer, readers } = self.store();
        (Box::new(writer), Box::new(readers.get()))
    }
}

#[test]
fn it_serves_lanes() -> Result<(), Error> {
    conformance::run(conformance::LANE, File::new)
}

#[test]
fn it_keeps_values() -> Result<(), Error> {
    conformance::run(conformance::VALUES, File::new)
}

#[test]
fn it_keeps_texts_and_refuses_what_it_cannot_hold() -> Result<(), Error> {
    conformance::run(conformance::TEXTS, File::new)
}

#[test]
fn it_keeps_the_audit() -> Result<(), Error> {
    conformance::run(conformance::AUDIT, File::new)
}

#[test]
fn it_serves_jobs_and_searches() -> Result<(), Error> {
    conformance::run(conformance::JOBS, File::new)
}

#[test]
fn it_keeps_the_catalog_and_plans() -> Result<(), Error> {
    conformance::run(conformance::PLANS, File::new)
}

#[test]
fn it_keeps_answers_to_idempotency_keys() -> Result<(), Error> {
    conformance::run(conformance::IDEMPOTENCY, File::new)
}

#[test]
fn it_serves_queues() -> Result<(), Error> {
    conformance::run(conformance::QUEUES, File::new)
}

#[test]
fn it_keeps_facts_and_lets_old_executions_go() -> Result<(), Error> {
    conformance::run(conformance::CONTROL, File::new)
}

#[test]
fn dead_letters_are_found_and_counted_by_what_they_have_in_common() -> Result<(), Error> {
    conformance::run(conformance::DEAD_LETTERS, File::new)
}

#[test]
fn what_people_look_up_is_found_in_bounded_parts() -> Result<(), Error> {
    conformance::run(conformance::LOOKUP, File::new)
}

#[test]
fn it_serves_readers() -> Result<(), Error> {
    conformance::run(conformance::READER, File::new)
}

#[test]
fn a_refused_row_in_a_queue_fails_its_commit_alone() -> Result<(), Error> {
    conformance::run(conformance::REFUSALS, File::new)
}

#[test]
fn it_answers_like_memory() -> Result<(), Error> {
    let commits = 150;
    for seed in 1..=6 {
        let answers = conformance::differential(seed, commits, &Memory::default(), &File::new())?;
        println!("seed {seed}: {answers:?}");
        assert!(
            answers.written > commits / 3 && answers.refused > commits / 20,
            "seed {seed}: {answers:?}"
        );
    }
    Ok(())
}
