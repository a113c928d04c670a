//! A web server that every load generator meets alike: nginx with one worker. It counts the requests.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{Running, cpu_seconds, free_address};

/// Where Debian puts it, which is not on every path.
const PROGRAM: &str = "/usr/sbin/nginx";

/// The server, on a port of its own.
pub(crate) struct Nginx {
    pub(crate) address: SocketAddr,
    running: Running,
    /// Owned so that it is removed after nginx has ended.
    _folder: TempDir,
}

impl Nginx {
    pub(crate) fn start() -> anyhow::Result<Self> {
        ensure!(
            Path::new(PROGRAM).exists(),
            "`{PROGRAM}` is missing: run peers/install.sh"
        );
        let folder = tempfile::tempdir()?;
        let address = free_address()?;
        let path = folder.path();
        std::fs::write(path.join("nginx.conf"), configuration(address))?;
        let mut command = Command::new(PROGRAM);
        command.arg("-p").arg(path).args(["-c", "nginx.conf", "-e", "stderr"]);
        let mut running = Running::start(&mut command, &path.join("log"), Signal::TERM)?;
        running.until(|| std::net::TcpStream::connect(address).is_ok())?;
        Ok(Self {
            address,
            running,
            _folder: folder,
        })
    }

    /// What it used of the processors so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        cpu_seconds(&[self.running.id()])
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The requests so far, without those for the count itself.
    pub(crate) fn requests(&self) -> anyhow::Result<u64> {
        let text = status(self.address)?;
        // The third line: accepted connections, handled ones, and requests.
        let counts = text.lines().nth(2).context("nginx gave no count")?;
        let requests = counts
            .split_whitespace()
            .nth(2)
            .and_then(|count| count.parse::<u64>().ok());
        requests.with_context(|| format!("no count in `{counts}`"))
    }
}

fn configuration(address: SocketAddr) -> String {
    format!(
        "worker_processes 1;\ndaemon off;\npid nginx.pid;\nerror_log stderr;\nevents {{ worker_connections 4096; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path t; proxy_temp_path t;\n\
         fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;\n\
         server {{ listen {address} backlog=4096; location / {{ return 200 \"ok\\n\"; }}\n\
         location /requests {{ stub_status; }} }} }}\n"
    )
}

fn status(address: SocketAddr) -> anyhow::Result<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(b"GET /requests HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text.split_once("\r\n\r\n").context("nginx gave no answer")?;
    Ok(body.to_owned())
}
