//! A small stream processor: reads the passing of time, writes it to a broker, and tells about itself over HTTP.
//!
//! It connects once, when it starts. A connection that is cut later stays cut, and the process goes on as if nothing
//! had happened: the fault that a supervisor sees only by comparing what its services say.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};

/// Between two entries of the stream.
const EVERY: Duration = Duration::from_millis(100);
/// How long the broker may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long one who asks may take.
const ASK: Duration = Duration::from_secs(2);
/// The most lines of a question.
const QUESTION_LINES_MAX: usize = 100;
/// The entries that the broker keeps.
const ENTRIES_MAX: &str = "1000";

/// What the processor tells about itself.
#[derive(Default)]
struct Stats {
    connections: AtomicU64,
    written: AtomicU64,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(broker), Some(stats_at)) = (after(&arguments, "--to"), after(&arguments, "--stats")) else {
        bail!("usage: pipeline --to ADDRESS --stats ADDRESS");
    };
    let stats = Arc::new(Stats::default());
    let listener = TcpListener::bind(stats_at).with_context(|| format!("cannot listen on {stats_at}"))?;
    let told = Arc::clone(&stats);
    thread::spawn(move || tell(&listener, &told));
    let mut output = Output::connect(broker).with_context(|| format!("cannot reach the broker at {broker}"))?;
    stats.connections.store(1, Ordering::SeqCst);
    println!("connected to {broker}");
    loop {
        thread::sleep(EVERY);
        if let Err(error) = output.write() {
            println!("the connection to {broker} is gone: {error:#}");
            stats.connections.store(0, Ordering::SeqCst);
            // The fault: nobody connects again, and nobody ends.
            loop {
                thread::park();
            }
        }
        stats.written.fetch_add(1, Ordering::SeqCst);
    }
}

/// What stands behind a flag.
fn after<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    let position = arguments.iter().position(|argument| argument == flag)?;
    arguments.get(position + 1).map(String::as_str)
}

/// A connection to the broker.
struct Output {
    stream: BufReader<TcpStream>,
}

impl Output {
    fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Adds an entry to the stream, and reads that it was taken.
    fn write(&mut self) -> anyhow::Result<()> {
        let words = ["XADD", "ticks", "MAXLEN", "~", ENTRIES_MAX, "*", "from", "pipeline"];
        let bodies: Vec<String> = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()))
            .collect();
        let request = format!("*{}\r\n{}", words.len(), bodies.concat());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let head = self.line()?;
        if head.starts_with('$') {
            self.line()?;
            return Ok(());
        }
        bail!("the broker answers `{}`", head.trim())
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the broker hung up");
        }
        Ok(line)
    }
}

/// Answers everybody who asks with what there is to tell.
fn tell(listener: &TcpListener, stats: &Stats) {
    for stream in listener.incoming().flatten() {
        // Who hangs up gets no answer.
        let _ = answer(stream, stats);
    }
}

fn answer(stream: TcpStream, stats: &Stats) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(ASK))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(64 * 1024));
    for _ in 0..QUESTION_LINES_MAX {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
    }
    let body = format!(
        "{{\"outputConnections\": {}, \"written\": {}}}",
        stats.connections.load(Ordering::SeqCst),
        stats.written.load(Ordering::SeqCst)
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let mut stream = stream;
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
    Ok(())
}
