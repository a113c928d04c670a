//! The ceiling: a bare writer thread with group commit and the rows of a one-action execution, and no engine.

use std::sync::mpsc::{Receiver, Sender, channel};

use rusqlite::{Connection, params};
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;

const JOBS: u64 = 100_000;
const IN_FLIGHT: u64 = 100;

/// One durable write of a job: its start, or its end.
struct Write {
    job: u64,
    ends: bool,
}

pub(crate) fn jobs_per_second() -> f64 {
    let Ok(folder) = tempfile::tempdir() else { return 0.0 };
    let Ok(mut connection) = Connection::open(folder.path().join("probe.db")) else {
        return 0.0;
    };
    if prepare(&connection).is_err() {
        return 0.0;
    }
    let (sender, receiver) = channel();
    let (done_sender, done) = channel();
    let writer = std::thread::spawn(move || write(&mut connection, &receiver, &done_sender));
    let clock = System::start(Timestamp::from_millis(0));
    let before = clock.now();
    drive(&sender, &done);
    let elapsed = clock.now().since(before);
    drop(sender);
    let _ = writer.join();
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
    let rate = JOBS as f64 * 1_000.0 / elapsed as f64;
    rate
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE execution (id BLOB PRIMARY KEY, body BLOB) WITHOUT ROWID;
         CREATE TABLE action (id BLOB PRIMARY KEY, body BLOB) WITHOUT ROWID;
         CREATE TABLE history (id BLOB, sequence INTEGER, body BLOB, PRIMARY KEY (id, sequence)) WITHOUT ROWID;",
    )
}

/// Keeps so many jobs in flight; each waits for two commits.
fn drive(sender: &Sender<Write>, done: &Receiver<Write>) {
    let mut started = 0;
    while started < IN_FLIGHT.min(JOBS) {
        let _ = sender.send(Write {
            job: started,
            ends: false,
        });
        started += 1;
    }
    let mut ended = 0;
    while ended < JOBS {
        let Ok(write) = done.recv() else { return };
        if write.ends {
            ended += 1;
            if started < JOBS {
                let _ = sender.send(Write {
                    job: started,
                    ends: false,
                });
                started += 1;
            }
        } else {
            let _ = sender.send(Write {
                job: write.job,
                ends: true,
            });
        }
    }
}

fn write(connection: &mut Connection, receiver: &Receiver<Write>, done: &Sender<Write>) -> rusqlite::Result<()> {
    let body = [b'x'; 200];
    while let Ok(first) = receiver.recv() {
        let mut batch = vec![first];
        batch.extend(receiver.try_iter().take(1_023));
        let transaction = connection.transaction()?;
        for Write { job, ends } in &batch {
            let id = u128::from(*job).to_be_bytes();
            let sequence = 1 + i64::from(*ends);
            let verb = if *ends { "REPLACE" } else { "INSERT" };
            for table in ["execution", "action"] {
                let sql = format!("{verb} INTO {table} VALUES (?1, ?2)");
                transaction.prepare_cached(&sql)?.execute(params![id, body])?;
            }
            transaction
                .prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3)")?
                .execute(params![id, sequence, body])?;
        }
        transaction.commit()?;
        for write in batch {
            let _ = done.send(write);
        }
    }
    Ok(())
}
