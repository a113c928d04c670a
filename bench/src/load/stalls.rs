//! A server that knows the true latencies: one queue, a fixed time for each request, and a stall now and then.
//!
//! It notes when it has answered each request. The plan says when each request was meant to be sent; so the true latencies follow
//! without a load generator's word.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use crate::http::{self, Connection};
use crate::process::Running;
use crate::target::own_server;

/// The time of one request: the server can answer 2,000 a second.
const SERVICE: Duration = Duration::from_micros(500);
/// From one stall to the next.
const STALL_EVERY: Duration = Duration::from_secs(2);
/// How long it answers nothing.
const STALL: Duration = Duration::from_millis(150);
/// 90 % of what it can answer.
pub(crate) const RATE: u32 = 1_800;

/// The server as a child.
pub(crate) struct Stalling {
    pub(crate) address: SocketAddr,
    /// Owned so that it ends with this.
    _running: Running,
    _folder: TempDir,
}

impl Stalling {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (running, address) = own_server(&["serve-stalls"], folder.path())?;
        Ok(Self {
            address,
            _running: running,
            _folder: folder,
        })
    }

    /// When it answered each request, in microseconds since 1970.
    pub(crate) fn answered(&self) -> anyhow::Result<Vec<u64>> {
        let answer = http::call(self.address, "POST", "/answered", None)?;
        let list = answer.as_array().context("the server gave no times")?;
        Ok(list.iter().filter_map(Value::as_u64).collect())
    }
}

/// The queue: when the last request in it is answered.
#[derive(Default)]
struct Queue {
    free_at: u64,
    answered: Vec<u64>,
}

/// The clock, and the wall clock at its start.
struct Time {
    clock: System,
    base: u64,
    started: u64,
}

impl Time {
    /// Microseconds since 1970.
    fn now(&self) -> u64 {
        self.base + self.clock.micros().saturating_sub(self.started)
    }
}

/// Answers until it is stopped.
pub(crate) fn serve() -> anyhow::Result<()> {
    let clock = System::start(Timestamp::default());
    let wall = u64::try_from(clock.wall().as_millis())?;
    let time = Arc::new(Time {
        base: wall * 1_000,
        started: clock.micros(),
        clock,
    });
    let queue: Arc<Mutex<Queue>> = Arc::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(answer_all(stream, Arc::clone(&queue), Arc::clone(&time)));
        }
    })
}

async fn answer_all(stream: TcpStream, queue: Arc<Mutex<Queue>>, time: Arc<Time>) -> anyhow::Result<()> {
    let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let mut connection = Connection::over(stream)?;
    while let Some(request) = connection.receive().await? {
        if request.first.starts_with("POST") {
            let answered = json!(locked().answered).to_string();
            connection.send(&answer(&answered)).await?;
            continue;
        }
        let due = {
            let mut queue = locked();
            queue.free_at = after_stall(queue.free_at.max(time.now())) + micros(SERVICE);
            queue.free_at
        };
        tokio::time::sleep(Duration::from_micros(due.saturating_sub(time.now()))).await;
        connection.send(&answer("true")).await?;
        let now = time.now();
        locked().answered.push(now);
    }
    Ok(())
}

/// The first instant from then on at which the server works.
fn after_stall(at: u64) -> u64 {
    let into = at % micros(STALL_EVERY);
    at + micros(STALL).saturating_sub(into)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn answer(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}
