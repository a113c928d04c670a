//! Child processes: started with their output kept, stopped by their id, and what the kernel says of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::stopwatch::Stopwatch;

/// How long a process has to end after it was asked to.
const END_GRACE: Duration = Duration::from_secs(15);
/// How long a server has to become ready.
const READY_GUARD: Duration = Duration::from_mins(1);
/// How long to sleep between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Ticks of the processor accounting in `/proc`, on every Linux there is.
const TICKS_PER_SECOND: f64 = 100.0;

/// A child that ends with its owner.
pub(crate) struct Running {
    child: Child,
    end: Signal,
}

impl Running {
    /// Starts `command` with its output in `log`; `end` is the signal that asks it to stop.
    pub(crate) fn start(command: &mut Command, log: &Path, end: Signal) -> anyhow::Result<Self> {
        let output = File::create(log).with_context(|| format!("creating `{}`", log.display()))?;
        let program = command.get_program().to_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting `{}`", program.display()))?;
        Ok(Self { child, end })
    }

    /// Owns a child that was started otherwise.
    pub(crate) fn of(child: Child, end: Signal) -> Self {
        Self { child, end }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `ready` says so. Ends early when the process did.
    pub(crate) fn until(&mut self, mut ready: impl FnMut() -> bool) -> anyhow::Result<()> {
        let watch = Stopwatch::start();
        while !ready() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended before it was ready: {status}");
            }
            if watch.elapsed() > READY_GUARD {
                bail!("it was not ready in time");
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, self.end);
        }
        let watch = Stopwatch::start();
        while watch.elapsed() < END_GRACE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that nobody listens at now.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Mebibytes that a process has in memory.
pub(crate) fn resident_mib(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1_024.0)
}

/// Processor seconds that these processes and all below them have used up to now.
pub(crate) fn cpu_seconds(roots: &[u32]) -> f64 {
    let all = accounts();
    let mut wanted = roots.to_vec();
    let mut ticks = 0;
    while let Some(pid) = wanted.pop() {
        ticks += all.get(&pid).map_or(0, |account| account.ticks);
        wanted.extend(
            all.iter()
                .filter(|(_, account)| account.parent == pid)
                .map(|(child, _)| *child),
        );
    }
    f64::from(ticks) / TICKS_PER_SECOND
}

struct Account {
    parent: u32,
    ticks: u32,
}

fn accounts() -> BTreeMap<u32, Account> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, account(pid)?))).collect()
}

/// Fields of `/proc/<pid>/stat` after the name: the parent is the second, user and system time of the process and of
/// the children it has waited for are the twelfth to fifteenth.
fn account(pid: u32) -> Option<Account> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields
        .get(11..15)?
        .iter()
        .filter_map(|field| field.parse::<u32>().ok())
        .sum();
    Some(Account {
        parent: fields.get(1)?.parse().ok()?,
        ticks,
    })
}
