//! The `PostgreSQL` backend against the suite, on a real server, and what only a server can do.

mod ahead;
mod nodes;
mod opening;
mod outages;
mod plans;
mod shards;

use sprag_tests::Postgres;

use super::{Address, Options, Store, open};
use crate::Memory;
use crate::conformance::{self, Check, Subject};
use crate::sqlite::tests::File;
use crate::traits::{Error, LaneStore, Reader};

/// A database of its own on the cluster of this process. One shard, as the suite wants it.
struct Database {
    options: Options,
}

impl Database {
    fn new() -> Self {
        Self::with_shards(1)
    }

    fn with_shards(shards: u32) -> Self {
        Self {
            options: options(&Postgres::shared().database(), shards),
        }
    }

    fn store(&self) -> Store {
        open(&self.options).unwrap()
    }

    /// What the cluster calls it.
    fn name(&self) -> String {
        let address = self.options.address.to_string();
        address.rsplit('/').next().unwrap().to_owned()
    }

    /// How many rows a table has.
    fn count(&self, table: &str) -> u64 {
        let counted = Postgres::shared().sql(&self.name(), &format!("SELECT count(*) FROM {table}"));
        counted.parse().unwrap()
    }

    /// Ends every connection to it.
    fn cut(&self) {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        Postgres::shared().sql(&self.name(), cut);
    }
}

fn options(url: &str, shards: u32) -> Options {
    Options {
        address: url.parse::<Address>().unwrap(),
        shards,
    }
}

impl Subject for Database {
    fn open(&self) -> (Box<dyn LaneStore>, Box<dyn Reader>) {
        let Store { writer, readers, .. } = self.store();
        (Box::new(writer), Box::new(readers.get()))
    }
}

#[test]
fn it_passes_the_suite() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let groups: [&[Check]; 13] = [
        conformance::LANE,
        conformance::VALUES,
        conformance::TEXTS,
        conformance::JOBS,
        conformance::AUDIT,
        conformance::PLANS,
        conformance::IDEMPOTENCY,
        conformance::QUEUES,
        conformance::CONTROL,
        conformance::DEAD_LETTERS,
        conformance::LOOKUP,
        conformance::READER,
        conformance::REFUSALS,
    ];
    for group in groups {
        conformance::run(group, Database::new)?;
    }
    Ok(())
}

#[test]
fn it_answers_like_a_file_and_like_memory() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let commits = 120;
    for seed in 1..=4 {
        let answers = conformance::differential(seed, commits, &File::new(), &Database::new())?;
        assert_eq!(
            answers,
            conformance::differential(seed, commits, &Memory::default(), &Database::new())?,
            "seed {seed}"
        );
        assert!(
            answers.written > commits / 3 && answers.refused > commits / 20,
            "seed {seed}: {answers:?}"
        );
    }
    Ok(())
}
