//! A supervisor as a child process: started as a user would, killed as an outage would.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::product::{address_in, binary};
use crate::wait;

/// How long a start may take before it counts as hung.
const START_GUARD: Duration = Duration::from_mins(1);

/// How a supervisor hears of another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// By its API.
    Asked,
    /// By SIGHUP.
    Signalled,
}

/// A running supervisor, with everything it has in a folder of its own.
pub struct Supervised {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Supervised {
    /// Writes the file of services and supervises it.
    pub fn start(folder: &Path, services: &str) -> Self {
        Self::start_with(folder, services, &[])
    }

    /// The same with variables in its environment; it reads `sprag.toml` of the folder if there is one.
    pub fn start_with(folder: &Path, services: &str, environment: &[(&str, &str)]) -> Self {
        let file = folder.join("services.yaml");
        std::fs::write(&file, services).expect("the file of services can be written");
        let mut child = Command::new(binary("sprag"))
            .args(["supervise", "--listen", "127.0.0.1:0", "--state"])
            .arg(folder.join("state.db"))
            .arg(&file)
            .envs(environment.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the supervisor can be started");
        let address = first_address(&mut child);
        Self {
            child,
            address,
            folder: folder.to_owned(),
        }
    }

    /// A client of its API.
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Everybody, as its API says.
    pub fn list(&self) -> Vec<Value> {
        let answer = self.client().get("/v1/workers").expect("the API answers");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body["data"].as_array().cloned().unwrap_or_default()
    }

    /// One of them.
    pub fn service(&self, path: &str) -> Value {
        let list = self.list();
        let found = list.iter().find(|worker| worker["path"] == path);
        found.cloned().unwrap_or_else(|| panic!("{path} is not in {list:#?}"))
    }

    /// Everything about one of them.
    pub fn explain(&self, path: &str) -> Value {
        let segment = path.replace('/', "%2F");
        let answer = self.client().get(&format!("/v1/workers/{segment}/explain"));
        answer.expect("the API answers").body
    }

    /// Waits until it is in a state.
    pub fn until(&self, path: &str, state: &str, guard: Duration) -> Value {
        wait::until(&format!("{path} to be {state}"), guard, || {
            let service = self.service(path);
            (service["state"] == state).then_some(service)
        })
    }

    /// Has something done to one of them.
    pub fn operate(&self, path: &str, verb: &str) {
        let segment = path.replace('/', "%2F");
        let answer = self
            .client()
            .post(&format!("/v1/workers/{segment}/{verb}"), &Value::Null);
        let answer = answer.expect("the API answers");
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// What a command of `sprag` says to people who ask it of this supervisor.
    pub fn command(&self, arguments: &[&str]) -> String {
        let output = Command::new(binary("sprag"))
            .args(arguments)
            .args(["--server", &format!("http://{}", self.address)])
            .output()
            .expect("the command can be started");
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// The log of a service.
    pub fn log(&self, path: &str) -> String {
        let file = self
            .folder
            .join("state.d/logs")
            .join(format!("{}.log", path.replace('/', "+")));
        std::fs::read_to_string(file).unwrap_or_default()
    }

    /// The processes of its services that have not ended, found without the code under test. In the middle of `execve` a
    /// process shows no environment: whoever expects one here waits for it.
    pub fn processes(&self) -> Vec<String> {
        let instance = std::fs::read_to_string(self.folder.join("state.d/instance")).unwrap_or_default();
        let wanted = format!("SPRAG_SERVICE={}/", instance.trim());
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let carries = environment
                .split(|&byte| byte == 0)
                .any(|variable| variable.starts_with(wanted.as_bytes()));
            if carries && !stat.contains(") Z ") {
                found.push(stat);
            }
        }
        found
    }

    /// Writes another file of services, and has it read.
    pub fn rewrite(&self, services: &str, how: Reload) -> Option<Value> {
        std::fs::write(self.folder.join("services.yaml"), services).expect("the file of services can be written");
        match how {
            Reload::Asked => {
                let answer = self.client().post("/v1/workers/reload", &Value::Null);
                Some(answer.expect("the API answers").body)
            }
            Reload::Signalled => {
                self.signal(rustix::process::Signal::HUP);
                None
            }
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Ok(pid) = i32::try_from(self.child.id())
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Ends it as an outage would; its services continue.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, and waits until it has.
    pub fn terminate(&mut self, guard: Duration) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        wait::until("the supervisor to end", guard, || self.child.try_wait().ok().flatten())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn first_address(child: &mut Child) -> SocketAddr {
    let stderr = child.stderr.take().expect("stderr is a pipe");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(address) = address_in(&line) {
                let _ = sender.send(Ok(address));
            }
            said.push_str(&line);
            said.push('\n');
        }
        let _ = sender.send(Err(said));
    });
    let said = receiver
        .recv_timeout(START_GUARD)
        .expect("the supervisor says something");
    said.unwrap_or_else(|said| panic!("the supervisor did not start:\n{said}"))
}
