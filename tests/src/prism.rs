//! A vendor's own API description as a server that checks every request, and a relay that makes it fail at first.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// A running server and the relay before it.
pub struct Prism {
    child: Child,
    relay: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    /// Where a copy of the description is, if one was made.
    _folder: Option<tempfile::TempDir>,
}

/// Which names a request may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// As the vendor wrote it: those that are not known are passed over.
    AsWritten,
    /// Only those that are known.
    KnownOnly,
}

impl Prism {
    /// Serves the description of that name, from the folder that is shared beside the repository. The first requests
    /// are answered with these status codes, one each. None, with a word about it, where something is missing.
    pub fn start(description: &str, failures: &'static [u16]) -> Option<Self> {
        Self::serve(description, failures, Names::AsWritten)
    }

    /// The same, and a request with a name that the description does not have is refused.
    pub fn start_strict(description: &str, failures: &'static [u16]) -> Option<Self> {
        Self::serve(description, failures, Names::KnownOnly)
    }

    fn serve(description: &str, failures: &'static [u16], names: Names) -> Option<Self> {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let program = root.join("target/tools/prism/node_modules/.bin/prism");
        let description = [root.join("../shared/specs"), root.join("../../shared/specs")]
            .map(|folder| folder.join(description))
            .into_iter()
            .find(|file| file.exists());
        let Some(mut description) = description.filter(|_| program.exists()) else {
            println!("skipped: a vendor's description or `make tools` is missing");
            return None;
        };
        let mut folder = None;
        if names == Names::KnownOnly {
            let made = tempfile::tempdir().ok()?;
            description = strict(&description, made.path())?;
            folder = Some(made);
        }
        // Nobody else takes the port in between: the system hands them out in turn.
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let mut command = Command::new(program);
        command.arg("mock").arg(description);
        command.args(["-h", "127.0.0.1", "--errors", "-p", &port.to_string()]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .ok()?;
        let mut lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
        lines.find(|line| line.contains("Prism is listening"))?;
        // It continues printing: somebody must read, or it would wait.
        std::thread::spawn(move || lines.for_each(drop));
        let seen = Arc::default();
        let relay = relay(SocketAddr::from(([127, 0, 0, 1], port)), failures, Arc::clone(&seen))?;
        Some(Self {
            child,
            relay,
            seen,
            _folder: folder,
        })
    }

    /// Where the vendor seems to be.
    pub fn url(&self) -> String {
        format!("http://{}", self.relay)
    }

    /// The status of every answer given so far, in order.
    pub fn statuses(&self) -> Vec<u16> {
        let status = |line: &String| line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        self.answers().iter().filter_map(status).collect()
    }

    /// The first lines of the answers given so far, in order.
    pub fn answers(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A copy of a description whose objects take no other names than theirs.
fn strict(description: &Path, folder: &Path) -> Option<PathBuf> {
    let mut copy: Value = serde_json::from_slice(&std::fs::read(description).ok()?).ok()?;
    for definition in copy.get_mut("definitions")?.as_object_mut()?.values_mut() {
        if definition["type"] == "object" && definition.get("properties").is_some() {
            definition["additionalProperties"] = Value::Bool(false);
        }
    }
    let path = folder.join(description.file_name()?);
    std::fs::write(&path, copy.to_string()).ok()?;
    Some(path)
}

fn relay(to: SocketAddr, failures: &'static [u16], seen: Arc<Mutex<Vec<String>>>) -> Option<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let address = listener.local_addr().ok()?;
    let count = AtomicUsize::new(0);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let failure = failures.get(count.fetch_add(1, Ordering::SeqCst)).copied();
            if let Some(answer) = pass_on(stream, to, failure) {
                let line = answer.lines().next().unwrap_or_default().to_owned();
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        }
    });
    Some(address)
}

/// Passes one request on and its answer back, on connections that are closed then.
fn pass_on(stream: TcpStream, to: SocketAddr, failure: Option<u16>) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    if let Some(status) = failure {
        head.push_str("prefer: code=");
        head.push_str(&status.to_string());
        head.push_str("\r\n");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut vendor = TcpStream::connect(to).ok()?;
    vendor.write_all(head.as_bytes()).ok()?;
    vendor.write_all(b"connection: close\r\n\r\n").ok()?;
    vendor.write_all(&body).ok()?;
    let mut answer = Vec::new();
    vendor.read_to_end(&mut answer).ok()?;
    reader.get_mut().write_all(&answer).ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}
