//! Real processes: started until each of them answers, and stopped until none is left.
//!
//! Every process listens on a port of its own. A supervisor counts as started when all of them answer and it says itself
//! that all run, which for Sprag means that its own probes found them ready.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::figures::{Figure, Figures};
use crate::process::{Running, resident_mib};
use crate::stopwatch::{Stopwatch, millis};

/// Memory is measured so long after the last process answered.
const IDLE_AFTER: Duration = Duration::from_secs(2);

/// A supervisor of so many listening processes.
pub(crate) struct Crew {
    /// Where everything of it is.
    pub(crate) folder: TempDir,
    /// Where each process listens.
    pub(crate) ports: Vec<u16>,
}

impl Crew {
    /// A folder, and ports that nobody listens on now.
    pub(crate) fn new(count: u64) -> anyhow::Result<Self> {
        let listeners: Result<Vec<TcpListener>, _> = (0..count)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect();
        let ports: Result<Vec<u16>, std::io::Error> = listeners?
            .iter()
            .map(|listener| Ok(listener.local_addr()?.port()))
            .collect();
        Ok(Self {
            folder: tempfile::tempdir()?,
            ports: ports?,
        })
    }

    /// The program that listens, with its arguments.
    pub(crate) fn program(port: u16) -> anyhow::Result<[String; 3]> {
        let own = std::env::current_exe()?;
        let own = own.to_str().context("the path of this program is no text")?;
        Ok([own.to_owned(), "listen".to_owned(), port.to_string()])
    }

    fn answer(&self) -> bool {
        let connects = |port: &u16| TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, *port))).is_ok();
        self.ports.iter().all(connects)
    }

    /// Measures a supervisor from its start to its end. `is_up` is its own word that everybody runs.
    pub(crate) fn measure(&self, command: &mut Command, mut is_up: impl FnMut() -> bool) -> anyhow::Result<Figures> {
        let watch = Stopwatch::start();
        let log = self.folder.path().join("supervisor.log");
        let mut running = Running::start(command.current_dir(self.folder.path()), &log, Signal::TERM)?;
        running
            .until(|| is_up() && self.answer())
            .with_context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        let started = millis(watch.elapsed());
        std::thread::sleep(IDLE_AFTER);
        let memory = resident_mib(running.id()).context("no memory was read")?;
        let watch = Stopwatch::start();
        drop(running);
        let stopped = millis(watch.elapsed());
        let is_left = |port: &&u16| TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, **port))).is_ok();
        let left = self.ports.iter().filter(is_left).count();
        ensure!(left == 0, "{left} processes were left");
        Ok(Figures::from([
            (Figure::StartAll, started),
            (Figure::StopAll, stopped),
            (Figure::Idle, memory),
        ]))
    }
}

/// What is supervised: takes connections until it is asked to end.
pub(crate) fn listen(port: u16) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    loop {
        drop(listener.accept()?);
    }
}
