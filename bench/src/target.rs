//! What webhooks call: a server that answers at once and counts. `GET` gives the count.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::http::{self, Connection};
use crate::process::Running;

/// The server as a child.
pub(crate) struct Target {
    /// Owned so that it ends with the target.
    _running: Running,
    pub(crate) address: SocketAddr,
}

impl Target {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (running, address) = own_server(&["serve-target"], &std::env::temp_dir())?;
        Ok(Self {
            _running: running,
            address,
        })
    }

    /// How many calls have come in so far.
    pub(crate) fn calls(&self) -> anyhow::Result<u64> {
        let answer = http::call(self.address, "GET", "/", None)?;
        answer["calls"].as_u64().context("the target gave no count")
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// Starts one of this program's own servers in a folder; it prints its address as its first line.
pub(crate) fn own_server(arguments: &[&str], folder: &Path) -> anyhow::Result<(Running, SocketAddr)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take();
    let running = Running::of(child, Signal::TERM);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output.context("no output")?), &mut line)?;
    let address = line
        .trim()
        .parse()
        .with_context(|| format!("`{}` did not start", arguments.join(" ")))?;
    Ok((running, address))
}

/// Answers until it is stopped.
pub(crate) fn serve() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{}", listener.local_addr()?);
        let calls = Arc::new(AtomicU64::new(0));
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(answer_all(stream, Arc::clone(&calls)));
        }
    })
}

async fn answer_all(stream: TcpStream, calls: Arc<AtomicU64>) -> anyhow::Result<()> {
    let mut connection = Connection::over(stream)?;
    while let Some(request) = connection.receive().await? {
        let body = if request.first.starts_with("GET") {
            json!({ "calls": calls.load(Ordering::Relaxed) })
        } else {
            calls.fetch_add(1, Ordering::Relaxed);
            Value::Bool(true)
        };
        connection.send(&answer(&body)).await?;
    }
    Ok(())
}

fn answer(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}
