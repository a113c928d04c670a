//! A started program, from its first instruction to the end of its whole tree.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use sprag_core::action::runner::Control;
use sprag_process::{Identity, Status, Tree};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

use super::allow::SEARCH_PATH;
use super::checkpoint::mark;
use super::config::Config;
use super::output::Output;
use super::user::User;

/// The variable that marks every process of an attempt.
pub(super) const MARKER: &str = "SPRAG_ATTEMPT";
/// How long output is still read when the tree is gone. Its pipes are closed then, unless a process escaped.
const DRAIN: Duration = Duration::from_millis(500);

/// What to start.
pub(super) struct Program<'a> {
    pub(super) path: &'a Path,
    pub(super) marker: &'a str,
    pub(super) config: &'a Config,
    /// Who runs it; the server's own user if none is given.
    pub(super) user: Option<User>,
}

/// Why there is no process to finish.
#[derive(Debug)]
pub(super) enum StartError {
    /// Nothing was started.
    NotStarted(io::Error),
    /// Something was, and was killed since it could not be watched.
    Lost(io::Error),
}

/// How the first process ended.
#[derive(Debug)]
pub(super) enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// How is unknown.
    Lost(io::Error),
    /// By us, for lack of time.
    TimedOut,
    /// By us, on request.
    Cancelled,
}

/// What is left of a process.
pub(super) struct Finished {
    pub(super) end: ProcessEnd,
    pub(super) output: Output,
}

/// A running process. Dropping it kills its whole tree.
pub(super) struct Process {
    // Dropped in this order: while the child is not yet waited for, its id is still its own.
    tree: Guarded,
    child: Child,
    exits: Signal,
    root: Identity,
}

/// A tree that is killed when it is dropped before its end.
struct Guarded {
    tree: Tree,
    ended: bool,
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.ended {
            self.tree.kill_now();
        }
    }
}

impl Process {
    /// Starts the program.
    pub(super) fn start(program: &Program<'_>) -> Result<Self, StartError> {
        // Before the program starts, so that its exit cannot be missed.
        let exits = signal(SignalKind::child()).map_err(StartError::NotStarted)?;
        let child = command(program).spawn().map_err(StartError::NotStarted)?;
        Self::watch(program, child, exits).map_err(StartError::Lost)
    }

    fn watch(program: &Program<'_>, child: Child, exits: Signal) -> io::Result<Self> {
        let gone = || io::Error::other("the process table does not show it");
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).ok_or_else(gone)?;
        let root = Status::read(pid).ok_or_else(gone)?.identity;
        let tree = Guarded {
            tree: Tree::new(mark(program.marker), Some(root)),
            ended: false,
        };
        Ok(Self {
            tree,
            child,
            exits,
            root,
        })
    }

    /// Which process it is.
    pub(super) fn root(&self) -> Identity {
        self.root
    }

    /// Feeds and reads the process until it ends, its time is up or it is cancelled; then ends what is left of its
    /// tree.
    pub(super) async fn finish(mut self, config: &Config, time: Duration, control: &dyn Control) -> Finished {
        let mut output = Output::default();
        let stopped = self.supervise(config, time, control, &mut output).await;
        self.tree.ended = true;
        let end = self.reap(stopped).await;
        Finished { end, output }
    }

    /// Returns when no process of the tree is left and everything they wrote was read.
    async fn supervise(
        &mut self,
        config: &Config,
        time: Duration,
        control: &dyn Control,
        output: &mut Output,
    ) -> Stopped {
        let Self {
            tree,
            child,
            exits,
            root,
        } = self;
        let pump = pump(child, config.stdin.as_deref(), output);
        let supervised = async {
            let stopped = stop(exited(exits, *root), time, control).await;
            tree.tree.end(rustix::process::Signal::TERM, config.grace).await;
            stopped
        };
        tokio::pin!(pump, supervised);
        // A process that is asked to end may have much to say: it is read all the while.
        tokio::select! {
            stopped = &mut supervised => {
                let _ = timeout(DRAIN, pump).await;
                stopped
            }
            () = &mut pump => supervised.await,
        }
    }

    /// Takes the exit status. The process is only waited for now, so that its id was its own while its group was ended.
    async fn reap(&mut self, stopped: Stopped) -> ProcessEnd {
        use std::os::unix::process::ExitStatusExt;
        let late = || io::Error::from(io::ErrorKind::TimedOut);
        let status = timeout(DRAIN, self.child.wait()).await.unwrap_or_else(|_| Err(late()));
        match (stopped, status) {
            (Stopped::TimedOut, _) => ProcessEnd::TimedOut,
            (Stopped::Cancelled, _) => ProcessEnd::Cancelled,
            (Stopped::Exited, Err(error)) => ProcessEnd::Lost(error),
            (Stopped::Exited, Ok(status)) => match (status.code(), status.signal()) {
                (Some(code), _) => ProcessEnd::Exited(code),
                (None, signal) => ProcessEnd::Signalled(signal.unwrap_or(0)),
            },
        }
    }
}

/// Why a process is no longer waited for.
#[derive(Clone, Copy, Debug)]
enum Stopped {
    Exited,
    TimedOut,
    Cancelled,
}

async fn stop(exited: impl Future<Output = ()>, time: Duration, control: &dyn Control) -> Stopped {
    tokio::select! {
        biased;
        // An exit that is there wins over a deadline that came in the same instant.
        () = exited => Stopped::Exited,
        () = control.cancelled() => Stopped::Cancelled,
        () = sleep(time) => Stopped::TimedOut,
    }
}

/// Returns when the process has ended, and leaves it to be waited for: until then, its id and its group's are
/// not given to others.
async fn exited(exits: &mut Signal, root: Identity) {
    let Some(pid) = Pid::from_raw(root.pid) else { return };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), look), Ok(None)) {
        if exits.recv().await.is_none() {
            return;
        }
    }
}

fn command(program: &Program<'_>) -> Command {
    let Program {
        path,
        marker,
        config,
        user,
    } = program;
    let mut command = Command::new(path);
    command
        .args(&config.arguments)
        .env_clear()
        .env("PATH", SEARCH_PATH)
        .envs(config.variables.iter().map(|(name, value)| (name, value)))
        .env(MARKER, marker)
        .current_dir(&config.directory)
        .stdin(if config.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(User { uid, gid }) = user {
        // Where root changes to another user, this drops root's other groups too.
        command.uid(*uid).gid(*gid);
    }
    command
}

/// Writes the input and reads both outputs, side by side.
async fn pump(child: &mut Child, input: Option<&str>, output: &mut Output) {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let Output {
        stdout: out,
        stderr: err,
    } = output;
    tokio::join!(
        feed(stdin, input.unwrap_or_default()),
        async {
            if let Some(stdout) = stdout {
                out.read(stdout).await;
            }
        },
        async {
            if let Some(stderr) = stderr {
                err.read(stderr).await;
            }
        },
    );
}

/// A program need not read its input; then the pipe breaks, and that is all right.
async fn feed(stdin: Option<ChildStdin>, input: &str) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input.as_bytes()).await;
        let _ = stdin.shutdown().await;
    }
}
