//! The `PostgreSQL` backend against the suite, on a real server.

use sprag_tests::Postgres;

use super::{Address, Options, Store, open};
use crate::conformance::{self, Check, Subject};
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
    let groups: [&[Check]; 8] = [
        conformance::LANE,
        conformance::VALUES,
        conformance::JOBS,
        conformance::IDEMPOTENCY,
        conformance::QUEUES,
        conformance::CONTROL,
        conformance::DEAD_LETTERS,
        conformance::READER,
    ];
    for group in groups {
        conformance::run(group, Database::new)?;
    }
    Ok(())
}
