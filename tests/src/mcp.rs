//! MCP clients with the official SDKs, as child processes: they do what a test says, step by step.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take before it counts as hung.
const GUARD: Duration = Duration::from_mins(1);

/// An official SDK, from its registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// `@modelcontextprotocol/sdk`, which begins by `initialize`.
    Node,
    /// `mcp`, which speaks the protocol of 2026.
    Python,
}

/// A client that is connected.
pub struct McpClient {
    child: Child,
    stdin: ChildStdin,
    answers: mpsc::Receiver<String>,
    /// What the server said of itself.
    pub server: Value,
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

impl Sdk {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Node, Self::Python];

    /// The program that runs a script with this SDK. None, with a word about it, where the SDK is missing.
    pub fn program(self, script: &Path) -> Option<Command> {
        let (needed, mut command) = match self {
            Self::Node => {
                let sdk = root().join("target/tools/mcp-node/node_modules/@modelcontextprotocol/sdk");
                let mut command = Command::new("node");
                command.env("MCP_SDK", &sdk);
                (sdk, command)
            }
            Self::Python => {
                let python = root().join("target/tools/mcp-python/bin/python");
                let mut command = Command::new(&python);
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                (python, command)
            }
        };
        if !needed.exists() {
            println!("skipped: {} is missing; `make tools` installs it", needed.display());
            return None;
        }
        command.arg(script);
        Some(command)
    }
}

impl McpClient {
    /// Connects to `target`, or says why that failed: `{"command", "env"}` or `{"url", "token"}`.
    pub fn connect(sdk: Sdk, target: &Value) -> Option<Result<Self, String>> {
        let script = match sdk {
            Sdk::Node => "tests/clients/agent.mjs",
            Sdk::Python => "tests/clients/agent.py",
        };
        let mut command = sdk.program(&root().join(script))?;
        command
            .arg(target.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("the client does not start: {error}"));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout.expect("it is piped")).lines();
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut client = Self {
            child,
            stdin: stdin.expect("it is piped"),
            answers,
            server: Value::Null,
        };
        Some(client.answer().map(|server| {
            client.server = server;
            client
        }))
    }

    /// Has it do something.
    pub fn act(&mut self, act: &Value) -> Result<Value, String> {
        writeln!(self.stdin, "{act}").map_err(|error| error.to_string())?;
        self.answer()
    }

    /// Every tool, and in how many pages they came.
    pub fn tools(&mut self) -> (Vec<Value>, u64) {
        let listed = self
            .act(&json!({"act": "tools"}))
            .unwrap_or_else(|error| panic!("{error}"));
        let tools = listed["tools"].as_array().cloned().unwrap_or_default();
        (tools, listed["pages"].as_u64().unwrap_or_default())
    }

    /// The result of a call.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Result<Value, String> {
        self.act(&json!({"act": "call", "name": name, "arguments": arguments}))
    }

    fn answer(&mut self) -> Result<Value, String> {
        let line = self
            .answers
            .recv_timeout(GUARD)
            .unwrap_or_else(|error| panic!("the client says nothing: {error}"));
        let mut answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
