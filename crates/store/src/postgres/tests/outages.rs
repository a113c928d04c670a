//! Servers that go and come back, and connections that are cut at the worst moment.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use sprag_tests::{Postgres, wait};

use super::super::{Store, open};
use super::options;
use crate::conformance::fixtures::{SHARD, execution};
use crate::traits::{CommitStore, Error, Fence, LaneReads, Mutation, Reader};

/// A hang guard: what is waited for takes a second or two.
const GUARD: Duration = Duration::from_mins(1);

/// What the wire does next.
pub(super) const PASS: u8 = 0;
/// It loses what the client sends, and ends.
pub(super) const LOSE_REQUEST: u8 = 1;
/// It lets a commit through, and ends before its answer.
pub(super) const LOSE_ANSWER: u8 = 2;
/// It keeps the end of what the client sends, and forgets the client; the server hears no more and no end.
const LOSE_COMMIT: u8 = 3;

/// What a server says when a transaction is over.
const READY: &[u8] = b"Z\0\0\0\x05I";

/// A wire to the server that can be told to fail. Every connection that it cuts is the last that fails.
pub(super) struct Wire {
    address: SocketAddr,
    mood: Arc<AtomicU8>,
}

impl Wire {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mood = Arc::new(AtomicU8::new(PASS));
        let shared = Arc::clone(&mood);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let (to, from) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let mood = Arc::clone(&shared);
                std::thread::spawn(move || requests(from, to, &mood));
                let mood = Arc::clone(&shared);
                std::thread::spawn(move || answers(server, client, &mood));
            }
        });
        Self { address, mood }
    }

    /// A wire to a new database of the cluster, and the database's URL by that wire.
    pub(super) fn to_database() -> (Self, String) {
        let cluster = Postgres::shared();
        let wire = Self::to(([127, 0, 0, 1], cluster.port()).into());
        let url = cluster.database();
        let url = url.replace(&format!(":{}/", cluster.port()), &format!(":{}/", wire.address.port()));
        (wire, url)
    }

    pub(super) fn is_now(&self, mood: u8) {
        self.mood.store(mood, Ordering::SeqCst);
    }

    pub(super) fn mood(&self) -> u8 {
        self.mood.load(Ordering::SeqCst)
    }
}

fn end(one: &TcpStream, other: &TcpStream) {
    for side in [one, other] {
        let _ = side.shutdown(Shutdown::Both);
    }
}

fn requests(mut client: TcpStream, mut server: TcpStream, mood: &AtomicU8) {
    let mut bytes = vec![0; 65_536];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        let mut sent = &bytes[..read];
        match mood.load(Ordering::SeqCst) {
            LOSE_REQUEST => {
                mood.store(PASS, Ordering::SeqCst);
                return end(&client, &server);
            }
            LOSE_COMMIT => {
                mood.store(PASS, Ordering::SeqCst);
                sent = &sent[..sent.len() - 10];
                server.write_all(sent).unwrap();
                let _ = client.shutdown(Shutdown::Both);
                // The server's side stays open until the server ends it.
                let _ = server.read_to_end(&mut Vec::new());
                return;
            }
            _ => {}
        }
        if server.write_all(sent).is_err() {
            break;
        }
    }
    end(&client, &server);
}

fn answers(mut server: TcpStream, mut client: TcpStream, mood: &AtomicU8) {
    let mut bytes = vec![0; 65_536];
    let mut swallowed = Vec::new();
    while let Ok(read @ 1..) = server.read(&mut bytes) {
        if mood.load(Ordering::SeqCst) == LOSE_ANSWER {
            swallowed.extend_from_slice(&bytes[..read]);
            if swallowed.windows(READY.len()).any(|said| said == READY) {
                mood.store(PASS, Ordering::SeqCst);
                break;
            }
        } else if client.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    end(&client, &server);
}

struct Opened {
    store: Store,
    fence: Fence,
    next: u64,
}

impl Opened {
    fn at(url: &str) -> Self {
        let mut store = open(&options(url, 1)).unwrap();
        let fence = store.writer.acquire(SHARD).unwrap();
        Self { store, fence, next: 0 }
    }

    /// Commits one more execution. If it landed before, doing so again would be refused.
    fn commit(&mut self) -> Result<(), Error> {
        let mutation = Mutation::InsertExecution(execution(self.next));
        self.store.writer.commit(&[self.fence], &[mutation])?;
        self.next += 1;
        Ok(())
    }

    fn is_stored(&self, number: u64) -> Result<bool, Error> {
        Ok(self.store.readers.get().execution(execution(number).id)?.is_some())
    }
}

#[test]
fn a_commit_whose_connection_is_cut_lands_once_wherever_it_is_cut() {
    if !Postgres::is_installed() {
        return;
    }
    let (wire, url) = Wire::to_database();
    let mut opened = Opened::at(&url);
    opened.commit().unwrap();
    for mood in [LOSE_REQUEST, LOSE_ANSWER, LOSE_COMMIT, LOSE_ANSWER, LOSE_REQUEST] {
        wire.is_now(mood);
        opened.commit().unwrap();
        assert_eq!(wire.mood(), PASS, "the wire was cut");
        assert!(opened.is_stored(opened.next - 1).unwrap());
    }
    opened.commit().unwrap();
    assert!((0..opened.next).all(|number| opened.is_stored(number).unwrap()));
}

#[test]
fn a_column_that_a_newer_program_adds_disturbs_none_that_runs() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::shared();
    let url = cluster.database();
    let mut opened = Opened::at(&url);
    let name = url.rsplit('/').next().unwrap();
    let many = |first: u64| [first, first + 1].map(|number| Mutation::InsertExecution(execution(number)));
    opened.commit().unwrap();
    opened.store.writer.commit(&[opened.fence], &many(1)).unwrap();
    for table in ["execution", "action", "history"] {
        cluster.sql(name, &format!("ALTER TABLE {table} ADD COLUMN note text"));
    }
    opened.next = 3;
    opened.commit().unwrap();
    opened.store.writer.commit(&[opened.fence], &many(4)).unwrap();
    assert!((0..6).all(|number| opened.is_stored(number).unwrap()));
}

#[test]
fn a_server_that_restarts_is_found_again() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::start();
    let mut opened = Opened::at(&cluster.database());
    opened.commit().unwrap();
    assert!(opened.is_stored(0).unwrap());
    cluster.stop();
    cluster.restart();
    opened.commit().unwrap();
    assert!(opened.is_stored(1).unwrap());
    cluster.crash();
    assert!(matches!(opened.commit(), Err(Error::Away { .. })));
    assert!(matches!(opened.store.writer.queues(SHARD), Err(Error::Away { .. })));
    assert!(matches!(opened.is_stored(0), Err(Error::Away { .. })));
    cluster.restart();
    wait::until("the server to be found again", GUARD, || match opened.commit() {
        Err(Error::Away { .. }) => None,
        result => Some(result),
    })
    .unwrap();
    assert!((0..3).all(|number| opened.is_stored(number).unwrap()));
    assert!(!opened.is_stored(3).unwrap());
}

#[test]
fn a_standby_is_read_not_written_and_not_opened_until_it_is_promoted() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::start();
    let url = cluster.database();
    let mut opened = Opened::at(&url);
    opened.commit().unwrap();
    cluster.demote();
    wait::until("the standby to be noticed", GUARD, || match opened.commit() {
        Err(Error::Away { detail }) => detail.contains("is a standby").then_some(()),
        result => panic!("a standby was written: {result:?}"),
    });
    assert!(opened.is_stored(0).unwrap(), "it can be read");
    let refused = open(&options(&format!("{url}?unsafe=allow"), 1)).err().unwrap();
    assert_eq!(refused.code(), "database-standby");
    cluster.promote();
    wait::until("the promotion to be noticed", GUARD, || opened.commit().ok());
    assert!(opened.is_stored(1).unwrap());
}

#[test]
fn commits_that_the_server_lost_are_noticed_before_anything_is_decided() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::start();
    let url = cluster.database();
    let name = url.rsplit('/').next().unwrap();
    let mut opened = Opened::at(&url);
    opened.commit().unwrap();
    opened.commit().unwrap();
    // As after a failover to a server that had not heard of the last commit.
    cluster.sql(name, "UPDATE lane SET number = number - 1");
    cluster.stop();
    cluster.restart();
    wait::until("the loss to be noticed", GUARD, || {
        match opened.store.writer.queues(SHARD) {
            Err(Error::Away { detail }) => detail.contains("lost 1 commits").then_some(()),
            result => panic!("it was not noticed: {result:?}"),
        }
    });
    opened.commit().unwrap();
}
