//! Programs in other languages that perform actions, with the real clients, as child processes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::wait;

/// Which client a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `clients/python`.
    Python,
    /// `clients/typescript`.
    TypeScript,
}

/// A running program.
pub struct Program {
    child: Child,
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

impl Language {
    /// What the program needs besides what is in this repository. None, with a word about it, where that is missing.
    pub fn prepare(self, folder: &Path) -> Option<PathBuf> {
        match self {
            Self::Python => {
                let found = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
                if !found.is_ok_and(|status| status.success()) {
                    println!("skipped: python3 is missing; `make tools` installs it");
                    return None;
                }
                Some(root().join("clients/python/src"))
            }
            Self::TypeScript => compiled(folder),
        }
    }

    /// The program of this name below `tests/clients`; `client` is what was prepared.
    pub fn script(self, name: &str, client: &Path) -> Command {
        let scripts = root().join("tests/clients").join(name);
        match self {
            Self::Python => {
                let mut command = Command::new("python3");
                command.arg(scripts.with_extension("py"));
                command.env("PYTHONPATH", client).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Self::TypeScript => {
                let mut command = Command::new("node");
                command.arg(scripts.with_extension("mjs")).env("SPRAG_RUNNER", client);
                command
            }
        }
    }
}

/// Checks and compiles the client with the real compiler.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let compiler = root().join("target/tools/typescript/node_modules/typescript/bin/tsc");
    if !compiler.exists() {
        println!("skipped: {} is missing; `make tools` installs it", compiler.display());
        return None;
    }
    let client = root().join("clients/typescript");
    let mut command = Command::new("node");
    command.arg(compiler).arg("-p").arg(client).arg("--outDir").arg(folder);
    let output = command.output().ok()?;
    assert!(
        output.status.success(),
        "the client does not compile: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).ok()?;
    Some(folder.join("index.js"))
}

impl Program {
    /// Starts a program that serves the type `work` as the runner of this name; `client` is what was prepared.
    pub fn start(language: Language, client: &Path, server: SocketAddr, name: &str) -> Self {
        let mut command = language.script("worker", client);
        command.arg(format!("http://{server}")).arg(name).stdin(Stdio::null());
        let child = command.spawn();
        Self {
            child: child.unwrap_or_else(|error| panic!("the program does not start: {error}")),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as an outage would.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, and waits until it has.
    pub fn terminate(mut self, guard: Duration) -> ExitStatus {
        if let Ok(pid) = i32::try_from(self.child.id())
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        wait::until("the program to end", guard, || self.child.try_wait().ok().flatten())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
