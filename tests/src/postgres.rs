//! A throw-away `PostgreSQL` with durable settings, for whoever tests against a real one.
//!
//! Server and folder belong to a shell that reads words from this process: it goes, with both, when the pipe closes, so
//! they are gone after a test that panics and after one that is killed. `PostgreSQL` refuses to run as root, so root
//! lends both to `nobody`.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Debian's `nobody`.
const NOBODY: u32 = 65_534;

/// How many ports are tried: another process may take one between the look and the start.
const PORTS_MAX: usize = 5;

/// Makes the cluster, then does what it is told, and cleans up when nobody is there any more to tell it anything.
const KEEPER: &str = r#"
bin=$1 folder=$2
"$bin/initdb" -D "$folder/data" --username=sprag --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync \
    --no-instructions >"$folder/initdb.log" 2>&1 && echo made || echo failed
while read -r word port; do
    case $word in
    start) "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -s start -o "-p $port $(cat "$folder/options")" ;;
    stop) "$bin/pg_ctl" -D "$folder/data" -w -s -m fast stop ;;
    crash) "$bin/pg_ctl" -D "$folder/data" -w -s -m immediate stop ;;
    demote) touch "$folder/data/standby.signal" ;;
    promote) "$bin/pg_ctl" -D "$folder/data" -w -s promote ;;
    esac </dev/null >>"$folder/keeper.log" 2>&1 && echo done || echo failed
done
"$bin/pg_ctl" -D "$folder/data" -s -m immediate stop >/dev/null 2>&1
rm -rf "$folder"
"#;

/// What every cluster runs with, whatever else it is given.
const OPTIONS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=on -c max_connections=60";

/// A running cluster. Gone, with its data, once this is dropped or the process ends.
pub struct Postgres {
    keeper: Mutex<Keeper>,
    folder: PathBuf,
    port: u16,
    databases: AtomicU32,
}

struct Keeper {
    process: Child,
    /// None only while the keeper is being sent away.
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Postgres {
    /// Whether a server is installed here.
    pub fn is_installed() -> bool {
        let found = programs().is_some();
        if !found {
            println!("skipped: PostgreSQL is missing; `make tools` installs it");
        }
        found
    }

    /// The one cluster of this process, for tests that need a database of their own and nothing more.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A cluster of the caller's own, to be stopped and started.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// The same with further settings, as `-c name=value`.
    pub fn start_with(options: &str) -> Self {
        let programs = programs().unwrap_or_else(|| panic!("PostgreSQL is not installed: run `make tools`"));
        let folder = tempfile::Builder::new().prefix("sprag-postgres-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no folder: {error}")).keep();
        std::fs::write(folder.join("options"), format!("{OPTIONS} {options}"))
            .unwrap_or_else(|error| panic!("no options: {error}"));
        let mut cluster = Self {
            keeper: Mutex::new(Keeper::of(&programs, &folder)),
            folder,
            port: 0,
            databases: AtomicU32::new(0),
        };
        for _ in 0..PORTS_MAX {
            cluster.port = free_port();
            if cluster.tell("start") {
                return cluster;
            }
        }
        panic!("the cluster does not start: {}", cluster.log());
    }

    /// Starts it again, where it was.
    pub fn restart(&self) {
        assert!(self.tell("start"), "the cluster does not start again: {}", self.log());
    }

    /// Ends it in order: sessions are cut, what was committed is on disk.
    pub fn stop(&self) {
        assert!(self.tell("stop"), "the cluster does not stop: {}", self.log());
    }

    /// Ends it as an outage would: it recovers when it starts again.
    pub fn crash(&self) {
        assert!(self.tell("crash"), "the cluster does not end: {}", self.log());
    }

    /// Makes it a standby, which takes no writes, until it is promoted.
    pub fn demote(&self) {
        self.stop();
        assert!(self.tell("demote"), "the cluster cannot be demoted: {}", self.log());
        self.restart();
    }

    /// Makes a standby take writes.
    pub fn promote(&self) {
        assert!(self.tell("promote"), "the cluster cannot be promoted: {}", self.log());
    }

    /// The process of the server, whose children do its work.
    pub fn server(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        file.lines().next()?.parse().ok()
    }

    /// Where it listens on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a fresh, empty database.
    pub fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The URL of a copy of a database that nobody has open; a session that is just ending is waited for.
    pub fn copy(&self, template: &str) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template}"));
        self.url(&name)
    }

    /// The URL of a database.
    pub fn url(&self, name: &str) -> String {
        format!("postgres://sprag@127.0.0.1:{}/{name}", self.port)
    }

    /// Runs a statement as an operator would, and gives what it printed: values alone, a row a line.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let mut command = Command::new(programs().unwrap_or_default().join("psql"));
        let output = command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement])
            .arg(self.url(database))
            .output()
            .unwrap_or_else(|error| panic!("psql does not run: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Every row of every table of a database, as text.
    pub fn rows(&self, database: &str) -> String {
        let tables = self.sql(
            database,
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
        );
        let queries = tables.lines().map(|table| {
            // Bytes are shown as what they spell.
            self.sql(
                database,
                &format!("SET bytea_output = escape; SELECT * FROM \"{table}\""),
            )
        });
        queries.collect()
    }

    fn tell(&self, word: &str) -> bool {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.tell(&format!("{word} {}\n", self.port))
    }

    fn log(&self) -> String {
        let names = ["initdb.log", "keeper.log", "log"];
        names
            .map(|name| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default())
            .concat()
    }
}

impl Keeper {
    fn of(programs: &Path, folder: &Path) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEPER, "keeper"])
            .args([programs, folder])
            .current_dir("/")
            // Whoever ends a test by its group leaves the keeper to clean up.
            .process_group(0)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY))
                .and_then(|()| std::fs::set_permissions(folder, Permissions::from_mode(0o755)))
                .unwrap_or_else(|error| panic!("{} cannot be lent: {error}", folder.display()));
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut process = command
            .spawn()
            .unwrap_or_else(|error| panic!("no shell for the cluster: {error}"));
        let (words, answers) = (process.stdin.take(), process.stdout.take());
        let mut keeper = Self {
            process,
            words,
            answers: BufReader::new(answers.unwrap_or_else(|| panic!("the shell has no stdout"))),
        };
        assert!(keeper.answered(), "initdb failed");
        keeper
    }

    fn tell(&mut self, line: &str) -> bool {
        let words = self.words.as_mut();
        words.is_some_and(|words| words.write_all(line.as_bytes()).is_ok()) && self.answered()
    }

    fn answered(&mut self) -> bool {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.is_ok() && matches!(line.trim_end(), "made" | "done")
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.words.take());
        let _ = self.process.wait();
    }
}

/// Where Debian puts the newest server.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.flatten().map(|entry| entry.path().join("bin"));
    folders
        .filter(|folder| folder.join("postgres").exists())
        .max_by_key(|folder| version(folder))
}

fn version(folder: &Path) -> u32 {
    let name = folder.parent().and_then(Path::file_name);
    name.and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.unwrap_or_else(|error| panic!("no port: {error}")).port()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_cluster_serves_stops_and_leaves_nothing_also_when_a_test_panics() {
        if !Postgres::is_installed() {
            return;
        }
        let mut folder = PathBuf::new();
        let failed = catch_unwind(AssertUnwindSafe(|| {
            let cluster = Postgres::start();
            folder.clone_from(&cluster.folder);
            let database = cluster.database();
            assert!(database.ends_with("/test0"), "{database}");
            cluster.sql("test0", "CREATE TABLE kept AS SELECT 7 AS number");
            cluster.crash();
            cluster.restart();
            assert_eq!(cluster.sql("test0", "SELECT number FROM kept"), "7");
            assert_eq!(cluster.sql("test0", "SHOW fsync"), "on");
            panic!("as a test would");
        }));
        let said = failed.unwrap_err();
        assert_eq!(said.downcast_ref(), Some(&"as a test would"));
        assert!(!folder.exists(), "{} is still there", folder.display());
    }
}
