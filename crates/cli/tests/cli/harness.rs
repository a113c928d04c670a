//! Runs the binary in a directory of its own, and servers that end with their test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sprag_tests::wait::until;
use tempfile::TempDir;

const SPRAG: &str = env!("CARGO_BIN_EXE_sprag");
/// How long a condition is waited for: a hang guard, not a measure of anything.
const GUARD: Duration = Duration::from_mins(1);

/// Waits until `look` finds something.
pub(crate) fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until(what, GUARD, look)
}

/// How a command ended and what it printed.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// What was printed as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same, after the command did what it was asked.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// The same, after the command ended with that code and said this on stderr.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, said: &str) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(said), "{self:?}");
        self
    }
}

/// A directory in which commands run.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The binary with these arguments, here, without anything of the tester's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(SPRAG);
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Another program, the same way.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.directory.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"SPRAG_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        run(&mut self.command(arguments))
    }

    /// Starts a server here, with these variables, and waits until it listens.
    pub(crate) fn up(&self, variables: &[(&str, &str)]) -> Server<'_> {
        self.up_at("127.0.0.1:0", variables)
    }

    /// The same, listening there.
    pub(crate) fn up_at(&self, listen: &str, variables: &[(&str, &str)]) -> Server<'_> {
        let log = self.path(&format!(
            "log-{}",
            std::fs::read_dir(self.directory.path()).unwrap().count()
        ));
        let mut command = self.command(&["up", "--listen", listen]);
        command.envs(variables.iter().copied());
        command.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let address = eventually("the server listens", || {
            let text = std::fs::read_to_string(&log).unwrap();
            assert!(child.try_wait().unwrap().is_none(), "the server ended: {text}");
            address(&text)
        });
        Server {
            place: self,
            child,
            address,
            log,
        }
    }
}

pub(crate) fn run(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The address in a log, once its line is whole.
fn address(log: &str) -> Option<String> {
    let mut lines = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.find_map(|line| {
        serde_json::from_str::<Value>(line).ok()?["address"]
            .as_str()
            .map(str::to_owned)
    })
}

/// A server that ends with its test.
pub(crate) struct Server<'p> {
    place: &'p Place,
    child: Child,
    pub(crate) address: String,
    log: PathBuf,
}

impl Server<'_> {
    /// Runs a command that speaks to this server.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        run(self.place.command(arguments).env("SPRAG_SERVER", &self.address))
    }

    /// The same, as JSON, after it did what it was asked.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--output", "json"]].concat()).ok().json()
    }

    /// Applies a machine.
    pub(crate) fn apply(&self, definition: &str) {
        let path = self.place.write("machine.yaml", definition);
        self.run(&["machine", "apply", path.to_str().unwrap()]).ok();
    }

    /// What the server logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        eventually("the server ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder of the repository's examples.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}
