//! The product as a child process: started as a user would, killed as an outage would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;

use crate::client::Client;
use crate::{store, wait};

/// How long a start may take before it counts as hung.
const START_GUARD: Duration = Duration::from_mins(1);

/// What is kept of a server's log.
const LOG_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A program of this workspace, beside the test that runs.
pub fn binary(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().unwrap_or_default();
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let program = folder.join(name);
    assert!(
        program.exists(),
        "{} is not built: run `make binary`",
        program.display()
    );
    program
}

/// Where servers of databases listen, by the path that each stands for.
static PLACES: Mutex<BTreeMap<PathBuf, SocketAddr>> = Mutex::new(BTreeMap::new());

/// Anywhere on loopback.
const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Where the server of a path listens. One on a database that is started again takes the place of the one before it,
/// which it is known by: nobody else can listen there. One on a file may listen anywhere.
fn place(store: &Path) -> SocketAddr {
    if !store::url(store).starts_with("postgres") {
        return ANYWHERE;
    }
    // Chosen before it starts: one that dies before it says where it listens has its place too.
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    *places.entry(store.to_owned()).or_insert_with(free_address)
}

/// An address at which nobody listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind(ANYWHERE);
    let address = listener.and_then(|listener| listener.local_addr());
    address.unwrap_or_else(|error| panic!("no address is free: {error}"))
}

/// A running server.
pub struct Product {
    child: Child,
    address: SocketAddr,
    log: Log,
}

/// What a server printed so far.
type Log = Arc<Mutex<String>>;

impl Product {
    /// Starts `sprag up` on the database at `store`, listening where the system likes.
    pub fn start(store: &Path, environment: &[(&str, &str)]) -> Self {
        Self::try_start(store, environment).unwrap_or_else(|line| panic!("the server did not start: {line}"))
    }

    /// The same, giving what it printed last when it ends instead of starting.
    pub fn try_start(store: &Path, environment: &[(&str, &str)]) -> Result<Self, String> {
        Self::start_node(&store::url(store), place(store), environment)
    }

    /// Starts `sprag up` on the store that a URL names.
    pub fn start_on(url: &str, environment: &[(&str, &str)]) -> Result<Self, String> {
        Self::start_node(url, ANYWHERE, environment)
    }

    /// The same at a certain address.
    pub fn start_node(url: &str, listen: SocketAddr, environment: &[(&str, &str)]) -> Result<Self, String> {
        let mut command = Command::new(binary("sprag"));
        command
            .args(["up", "--listen", &listen.to_string(), "--store", url])
            .env("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8")
            .envs(environment.iter().copied());
        Self::spawn(command)
    }

    /// Starts it at a certain address: after one that listened there has ended.
    pub fn start_at(store: &Path, listen: SocketAddr, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(binary("sprag"));
        command
            .args(["up", "--listen", &listen.to_string(), "--store"])
            .arg(store::url(store))
            .envs(environment.iter().copied());
        Self::spawn(command).unwrap_or_else(|line| panic!("the server did not start again: {line}"))
    }

    /// Starts `sprag up` with a configuration file.
    pub fn start_with(store: &Path, config: &Path, environment: &[(&str, &str)]) -> Result<Self, String> {
        let mut command = Command::new(binary("sprag"));
        command
            .args(["up", "--listen", &place(store).to_string(), "--store"])
            .arg(store::url(store))
            .arg("--config")
            .arg(config)
            .envs(environment.iter().copied());
        Self::spawn(command)
    }

    /// Starts `sprag up --services` in a folder of its own, with everything it remembers there.
    pub fn start_supervising(folder: &Path, services: &Path, environment: &[(&str, &str)]) -> Self {
        let store = folder.join("sprag.db");
        let mut command = Command::new(binary("sprag"));
        command
            .args(["up", "--listen", &place(&store).to_string(), "--store"])
            .arg(store::url(&store))
            .arg("--services")
            .arg(services)
            .env("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8")
            .envs(environment.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null());
        Self::spawn(command).unwrap_or_else(|line| panic!("the server did not start: {line}"))
    }

    /// Starts `sprag up --demo` as it comes; its passing store lies below `folder`.
    pub fn start_demo(folder: &Path) -> Self {
        let mut command = Command::new(binary("sprag"));
        command
            .args(["up", "--demo", "--listen", "127.0.0.1:0"])
            .env("TMPDIR", folder)
            .current_dir(folder);
        Self::spawn(command).unwrap_or_else(|line| panic!("the demo did not start: {line}"))
    }

    /// Starts a server by a command of the caller's own.
    pub fn start_by(command: Command) -> Result<Self, String> {
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Result<Self, String> {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let log = Log::default();
        let address = first_address(&mut child, &log);
        match address {
            Ok(address) => Ok(Self { child, address, log }),
            Err(line) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(line)
            }
        }
    }

    /// What it printed so far, up to a bound.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first token of an administrator, which it prints when it asks for tokens and there is none.
    pub fn first_token(&self) -> String {
        wait::until("the first token", START_GUARD, || {
            let log = self.log();
            let (_, rest) = log.split_once("shown only now: ")?;
            rest.split_once('\n').map(|(token, _)| token.trim().to_owned())
        })
    }

    /// A client of this server.
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its memory in bytes, as the system counts what is resident.
    pub fn resident_bytes(&self) -> u64 {
        self.status_bytes("VmRSS:")
    }

    /// The most memory it ever had, counted the same way.
    pub fn peak_bytes(&self) -> u64 {
        self.status_bytes("VmHWM:")
    }

    fn status_bytes(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.unwrap_or_default() * 1024
    }

    /// Starts it and waits until it says that it is ready; how long that took.
    pub fn start_until_ready(store: &Path, environment: &[(&str, &str)]) -> (Self, Duration) {
        let watch = System::start(Timestamp::from_millis(0));
        let product = Self::start(store, environment);
        let mut client = product.client();
        wait::until("the server to be ready", START_GUARD, || {
            let answer = client.get("/readyz").ok()?;
            (answer.status == 200).then_some(())
        });
        let took = watch.elapsed();
        (product, took)
    }

    /// Ends it as an outage would.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Makes it stand still, wherever it is.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it continue as if nothing had happened.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok();
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks it to end, and waits until it has.
    pub fn terminate(mut self, guard: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        wait::until("the server to end", guard, || self.child.try_wait().ok().flatten())
    }

    /// Waits until it has ended by itself.
    pub fn ended(mut self, guard: Duration) -> ExitStatus {
        wait::until("the server to end by itself", guard, || {
            self.child.try_wait().ok().flatten()
        })
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the address from the line that says where it listens; keeps reading, so that the pipe never fills.
fn first_address(child: &mut Child, log: &Log) -> Result<SocketAddr, String> {
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let (sender, receiver) = mpsc::channel();
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        let mut last = String::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(address) = address_in(&line) {
                let _ = sender.send(Ok(address));
            }
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() < LOG_BYTES_MAX {
                log.push_str(&line);
                log.push('\n');
            }
            last = line;
        }
        let _ = sender.send(Err(last));
    });
    receiver
        .recv_timeout(START_GUARD)
        .unwrap_or_else(|_| Err("it printed no address".to_owned()))
}

pub(crate) fn address_in(line: &str) -> Option<SocketAddr> {
    let after = |scheme| line.split_once(scheme).map(|(_, rest)| rest);
    let rest = after("http://").or_else(|| after("https://"))?;
    let end = rest.find(|character: char| !(character.is_ascii_digit() || ".:[]".contains(character)));
    rest[..end.unwrap_or(rest.len())].parse().ok()
}
