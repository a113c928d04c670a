//! Sprag: the release binary on a fresh file, for every measurement anew.

mod load;
mod nodes;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use sprag_core::time::Timestamp;
use sprag_tests::Postgres;
use tempfile::TempDir;

use super::postgres::{Database, Done, cluster};
use super::{Contender, Task, rated, spread};
use crate::figures::{Figure, Figures};
use crate::flood::Flood;
use crate::http::Endpoint;
use crate::prefill;
use crate::process::{Running, cpu_seconds, free_address, resident_mib};
use crate::stopwatch::{Stopwatch, millis};
use crate::supervision::processes::Crew;
use crate::supervision::{crowd, ticks};
use crate::work::{IN_FLIGHT, TIMERS_SPREAD, Work};
use crate::{embedded, http, steps};

pub(super) use load::USERS;

/// How long a timer sleeps: longer than all of them take to start.
const SLEEP: Duration = Duration::from_secs(6);
/// Idle is measured this long after the last work.
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// As many as a list gives at once.
const PAGE: usize = 1_000;
/// How long to sleep between two looks at what is still running.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Actions in a row in W2.
const STEPS: u32 = 5;

/// Who may call the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callers {
    Everybody,
    WithToken,
}

/// The binary, and the files that were prefilled for it.
pub(super) struct Sprag {
    binary: PathBuf,
    callers: Callers,
    closed: Option<prefill::File>,
    queued: Option<prefill::File>,
    backlog: Option<Database>,
}

/// A running server.
struct Server {
    running: Running,
    /// What works for it in a database.
    database: Option<u32>,
    endpoint: Endpoint,
    /// Owned so that it is removed after the server has ended.
    _folder: TempDir,
}

impl Contender for Sprag {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        match task.work {
            Work::W1 | Work::Empty => self.rate(None, &one("one", &noop()), task.count),
            Work::Embedded => Ok(Figures::from([(
                Figure::Rate,
                embedded::executions_per_second(task.count)?,
            )])),
            Work::W2 => self.steps(None, task.count),
            Work::W3 => self.one_at_a_time(None, task.count),
            Work::W4 => self.timers(task.count),
            Work::W5 => self.cold(),
            Work::W6 => Ok(Figures::from([(Figure::Rate, steps::steps_per_second(task.count)?)])),
            Work::Webhook => self.webhooks(task),
            Work::Closed | Work::Queued => self.grown(task),
            Work::PgW1 | Work::PgEmpty => {
                Self::on_database(task.count, |url| self.rate(Some(url), &one("one", &noop()), task.count))
            }
            Work::PgW2 => Self::on_database(task.count, |url| self.steps(Some(url), task.count)),
            Work::PgW3 => Self::on_database(task.count, |url| self.one_at_a_time(Some(url), task.count)),
            Work::PgThree => Self::on_database(task.count, |url| self.three_nodes(url, task.count)),
            Work::PgQueued => self.deep(task),
            Work::Ticks10 | Work::Ticks1000 | Work::Ticks10000 | Work::Ticks100000 => ticks::figures(task.count),
            Work::Crowd => crowd::figures(task.count),
            Work::Processes => self.supervise(task.count),
            Work::LoadHttp => load::http(&self.binary, task.count),
            Work::LoadPaced => load::paced(&self.binary, task.count),
            Work::LoadStart => load::start(&self.binary, task.count),
        }
    }
}

impl Sprag {
    pub(super) fn new(callers: Callers) -> anyhow::Result<Self> {
        let binary = std::env::current_exe()?.with_file_name("sprag");
        ensure!(binary.exists(), "`{}` is not built: run `make bench`", binary.display());
        Ok(Self {
            binary,
            callers,
            closed: None,
            queued: None,
            backlog: None,
        })
    }

    /// A supervisor of so many processes, each with a probe.
    fn supervise(&self, count: u64) -> anyhow::Result<Figures> {
        let crew = Crew::new(count)?;
        let services: Result<serde_json::Map<String, Value>, anyhow::Error> = crew
            .ports
            .iter()
            .map(|port| {
                let service =
                    json!({ "command": Crew::program(*port)?, "ready": { "tcp": format!("127.0.0.1:{port}") } });
                Ok((format!("p{port}"), service))
            })
            .collect();
        let file = crew.folder.path().join("services.json");
        std::fs::write(&file, json!({ "services": services? }).to_string())?;
        let address = free_address()?;
        let mut command = Command::new(&self.binary);
        command.args(["supervise", "--listen", &address.to_string()]).arg(&file);
        crew.measure(&mut command, || {
            let list = http::call(address, "GET", "/v1/workers", None);
            let workers = list.ok().and_then(|list| list["data"].as_array().cloned());
            workers.is_some_and(|workers| {
                workers.len() == crew.ports.len() && workers.iter().all(|worker| worker["state"] == "running")
            })
        })
    }

    /// Starts it on the store that a URL names, or on a file of its own.
    fn start(&self, store: Option<&str>) -> anyhow::Result<Server> {
        let folder = tempfile::tempdir()?;
        let address = free_address()?;
        let own = of_file(&folder.path().join("sprag.db"));
        let store = store.unwrap_or(&own);
        let database = store.starts_with("postgres:").then(cluster).transpose()?;
        let mut command = Command::new(&self.binary);
        command
            .args(["up", "--listen", &address.to_string(), "--store", store])
            .env("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8")
            .current_dir(folder.path());
        let token = folder.path().join("token");
        if self.callers == Callers::WithToken {
            command.args(["--auth", "token", "--admin-token-file"]).arg(&token);
            // One token sends everything: its own limit is not what is measured.
            command.env("SPRAG_AUTH_REQUESTS_PER_SECOND", "1000000");
        }
        let mut running = Running::start(&mut command, &folder.path().join("log"), Signal::TERM)?;
        running.until(|| std::net::TcpStream::connect(address).is_ok())?;
        let token = match self.callers {
            Callers::Everybody => None,
            Callers::WithToken => {
                running.until(|| std::fs::read_to_string(&token).is_ok_and(|text| text.ends_with('\n')))?;
                Some(std::fs::read_to_string(&token)?.trim().to_owned())
            }
        };
        Ok(Server {
            running,
            database: database.and_then(Postgres::server),
            endpoint: Endpoint { address, token },
            _folder: folder,
        })
    }

    /// Executions per second of a machine, from the first request until all have completed.
    fn rate(&self, store: Option<&str>, machine: &Value, count: u64) -> anyhow::Result<Figures> {
        let server = self.start(store)?;
        let request = server.apply(machine)?;
        let before = server.completed(machine)?;
        let cpu = server.cpu_seconds();
        let watch = Stopwatch::start();
        Flood::of(server.endpoint.address, count, IN_FLIGHT, request).send()?;
        server.settled(machine)?;
        let rate = watch.rate(count);
        let cpu = server.cpu_seconds() - cpu;
        server.verify(machine, before + count)?;
        Ok(rated(rate, cpu, count))
    }

    /// Steps per second of a machine with five in a row.
    fn steps(&self, store: Option<&str>, count: u64) -> anyhow::Result<Figures> {
        let mut figures = self.rate(store, &five(), count)?;
        figures.entry(Figure::Rate).and_modify(|rate| *rate *= f64::from(STEPS));
        Ok(figures)
    }

    fn one_at_a_time(&self, store: Option<&str>, count: u64) -> anyhow::Result<Figures> {
        let server = self.start(store)?;
        let machine = one("one", &noop());
        server.apply(&machine)?;
        let body = json!({ "machine": "one" });
        let request = http::request(server.endpoint.clone(), "POST", "/v1/executions?wait=30s", Some(&body));
        let latencies = Flood::of(server.endpoint.address, count, 1, request).send()?;
        server.verify(&machine, count)?;
        spread(latencies)
    }

    /// How late the action behind each timer had ended, after the timer's due time.
    fn timers(&self, count: u64) -> anyhow::Result<Figures> {
        let server = self.start(None)?;
        let machine = sleeper();
        let request = server.apply(&machine)?;
        let mut flood = Flood::of(server.endpoint.address, count, IN_FLIGHT, request);
        flood.pace = TIMERS_SPREAD / u32::try_from(count)?;
        flood.send()?;
        server.settled(&machine)?;
        server.verify(&machine, count)?;
        let created: std::collections::BTreeMap<String, i64> = server
            .list("/v1/executions?machine=sleeper")?
            .iter()
            .filter_map(|execution| Some((execution["id"].as_str()?.to_owned(), instant(&execution["createdAt"])?)))
            .collect();
        let actions = server.list("/v1/actions?machine=sleeper")?;
        let late = actions
            .iter()
            .map(|action| late(action, &created).context("an action without its end"));
        spread(late.collect::<anyhow::Result<_>>()?)
    }

    fn cold(&self) -> anyhow::Result<Figures> {
        let watch = Stopwatch::start();
        let server = self.start(None)?;
        let machine = one("one", &noop());
        server.apply(&machine)?;
        let body = json!({ "machine": "one" });
        let answer = http::call(server.endpoint.clone(), "POST", "/v1/executions?wait=30s", Some(&body))?;
        let start = millis(watch.elapsed());
        ensure!(answer["status"] == "completed", "the first execution is {answer}");
        std::thread::sleep(IDLE_AFTER);
        let idle = resident_mib(server.running.id()).context("no memory was read")?;
        Ok(Figures::from([
            (Figure::Start, start),
            (Figure::Idle, idle),
            (Figure::Size, megabytes(&self.binary)?),
        ]))
    }

    fn webhooks(&self, task: &Task<'_>) -> anyhow::Result<Figures> {
        let before = task.target.calls()?;
        let action = json!({ "type": "webhook", "config": { "url": task.target.url(), "body": "{}" } });
        let figures = self.rate(None, &one("hook", &action), task.count)?;
        let calls = task.target.calls()? - before;
        ensure!(calls == task.count, "{calls} calls of {}", task.count);
        Ok(figures)
    }

    fn grown(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        let slot = if task.work == Work::Closed {
            &mut self.closed
        } else {
            &mut self.queued
        };
        if slot.is_none() {
            *slot = Some(prefill::file(task.work, task.scale.prefilled(task.work))?);
        }
        let file = if task.work == Work::Closed {
            &self.closed
        } else {
            &self.queued
        };
        let store = file.as_ref().map(|file| of_file(&file.path));
        // A machine of its own, so that what completes now is told from what was there.
        self.rate(store.as_deref(), &one("grown", &noop()), task.count)
    }

    /// Does a work in a fresh database, and adds what the database did for it.
    fn on_database(count: u64, work: impl FnOnce(&str) -> anyhow::Result<Figures>) -> anyhow::Result<Figures> {
        let database = Database::new()?;
        let done = Done::now()?;
        let mut figures = work(&database.url)?;
        figures.extend(done.since(count)?);
        Ok(figures)
    }

    /// W1 beside many queued actions, in a database that was filled once.
    fn deep(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        if self.backlog.is_none() {
            let database = Database::new()?;
            prefill::database(&database.url, task.scale.prefilled(task.work))?;
            // As it would be after a while.
            cluster()?.sql(database.name(), "VACUUM ANALYZE");
            self.backlog = Some(database);
        }
        let url = self.backlog.as_ref().map(|database| database.url.as_str());
        self.rate(url, &one("grown", &noop()), task.count)
    }
}

impl Server {
    fn cpu_seconds(&self) -> f64 {
        let roots: Vec<u32> = self.database.into_iter().chain([self.running.id()]).collect();
        cpu_seconds(&roots)
    }

    /// Applies a machine; the request that starts an execution of it.
    fn apply(&self, machine: &Value) -> anyhow::Result<Vec<u8>> {
        http::call(self.endpoint.clone(), "POST", "/v1/machines", Some(machine))?;
        Ok(self.start_request(machine))
    }

    fn start_request(&self, machine: &Value) -> Vec<u8> {
        let body = json!({ "machine": machine["id"] });
        http::request(self.endpoint.clone(), "POST", "/v1/executions", Some(&body))
    }

    /// Waits until none of the machine's executions is running.
    fn settled(&self, machine: &Value) -> anyhow::Result<()> {
        let path = format!("/v1/executions?{}&status=running&limit=1", of(machine));
        loop {
            let running = http::call(self.endpoint.clone(), "GET", &path, None)?;
            if running["data"].as_array().is_some_and(Vec::is_empty) {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn verify(&self, machine: &Value, count: u64) -> anyhow::Result<()> {
        let completed = self.completed(machine)?;
        ensure!(completed == count, "{completed} completed of {count}");
        Ok(())
    }

    fn completed(&self, machine: &Value) -> anyhow::Result<u64> {
        let list = self.list(&format!("/v1/executions?{}&status=completed", of(machine)))?;
        Ok(list.len().try_into()?)
    }

    /// All pages of a list.
    fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let mut page = http::call(
                self.endpoint.clone(),
                "GET",
                &format!("{path}&limit={PAGE}{cursor}"),
                None,
            )?;
            let data = page["data"].take();
            let Value::Array(data) = data else {
                anyhow::bail!("no list at {path}")
            };
            all.extend(data);
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(all),
            }
        }
    }
}

fn of_file(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

fn of(machine: &Value) -> String {
    format!("machine={}", machine["id"].as_str().unwrap_or_default())
}

fn noop() -> Value {
    json!({ "type": "noop", "config": {} })
}

/// A machine with one action.
fn one(id: &str, action: &Value) -> Value {
    let mut action = action.clone();
    action["actionId"] = json!("work");
    action["triggerState"] = json!("a");
    json!({
        "id": id,
        "initial": "a",
        "states": { "a": { "on": { "done.work": "b" } }, "b": { "type": "final" } },
        "actions": [action],
    })
}

/// Five actions, one after another, each of a state of its own.
fn five() -> Value {
    let mut states = serde_json::Map::new();
    let mut actions = Vec::new();
    for step in 1..=STEPS {
        let next = format!("s{}", step + 1);
        states.insert(format!("s{step}"), json!({ "on": { format!("done.a{step}"): next } }));
        actions.push(json!({
            "actionId": format!("a{step}"), "type": "noop", "triggerState": format!("s{step}"), "config": {},
        }));
    }
    states.insert(format!("s{}", STEPS + 1), json!({ "type": "final" }));
    json!({ "id": "five", "initial": "s1", "states": states, "actions": actions })
}

/// A timer, and an action when it is due.
fn sleeper() -> Value {
    let after = SLEEP.as_millis().to_string();
    json!({
        "id": "sleeper",
        "initial": "asleep",
        "states": {
            "asleep": { "after": { after: "awake" } },
            "awake": { "on": { "done.work": "done" } },
            "done": { "type": "final" },
        },
        "actions": [{ "actionId": "work", "type": "noop", "triggerState": "awake", "config": {} }],
    })
}

/// Milliseconds from the timer's due time until the action's attempt had ended.
fn late(action: &Value, created: &std::collections::BTreeMap<String, i64>) -> Option<f64> {
    let entered = created.get(action["executionId"].as_str()?)?;
    let due = entered + i64::try_from(SLEEP.as_millis()).ok()?;
    let ended = instant(&action["attempts"][0]["endTime"])?;
    i32::try_from(ended - due).ok().map(f64::from)
}

fn instant(value: &Value) -> Option<i64> {
    serde_json::from_value::<Timestamp>(value.clone())
        .ok()
        .map(Timestamp::as_millis)
}

/// The size of a file.
pub(super) fn megabytes(file: &Path) -> anyhow::Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "no program is larger than 2^52 bytes")]
    let bytes = std::fs::metadata(file)?.len() as f64;
    Ok(bytes / 1_000_000.0)
}
