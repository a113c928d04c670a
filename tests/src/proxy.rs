//! A way to `PostgreSQL` that can be cut at the worst moment: after a commit was sent, before anybody hears of it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A running proxy; it takes no more connections once this process ends.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Commits whose connection is to be cut.
    armed: AtomicUsize,
    /// How many were.
    cut: AtomicUsize,
}

impl Proxy {
    /// Starts one that leads to a server.
    pub fn start(to: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, state) = (listener.local_addr()?, Arc::<State>::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that is down refuses: so does the way to it.
                if let Ok(server) = TcpStream::connect(to) {
                    let _ = join(client, server, &shared);
                }
            }
        });
        Ok(Self { address, state })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the connections of the next so many commits, each after all of it was sent.
    pub fn cut_after_commits(&self, commits: usize) {
        self.state.armed.fetch_add(commits, Ordering::SeqCst);
    }

    /// How many it cut so far.
    pub fn cuts(&self) -> usize {
        self.state.cut.load(Ordering::SeqCst)
    }
}

/// Carries bytes both ways until either side ends.
fn join(client: TcpStream, server: TcpStream, state: &Arc<State>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
        // What is said after the cut is read, so that the server is not disturbed by it, and heard by nobody.
        let _ = std::io::copy(&mut answers, &mut std::io::sink());
    });
    let state = Arc::clone(state);
    std::thread::spawn(move || {
        let _ = carry(&client, &server, &state);
        let _ = server.shutdown(Shutdown::Write);
    });
    Ok(())
}

fn carry(mut client: &TcpStream, mut server: &TcpStream, state: &State) -> std::io::Result<()> {
    let mut said = Said::default();
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = client.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        let has_commit = said.hear(&bytes[..read]);
        if has_commit && is_armed(state) {
            // First deaf, then sent: nothing that is said about it comes back.
            client.shutdown(Shutdown::Both)?;
            state.cut.fetch_add(1, Ordering::SeqCst);
            return server.write_all(&bytes[..read]);
        }
        server.write_all(&bytes[..read])?;
    }
}

fn is_armed(state: &State) -> bool {
    let less = |armed: usize| armed.checked_sub(1);
    state
        .armed
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

/// In the text of every statement that a lane commits with. One that stands alone is a transaction by itself.
const MARK: &[u8] = b"UPDATE lane SET number";

/// What a client said so far, as far as it is about commits.
#[derive(Default)]
struct Said {
    pending: Vec<u8>,
    has_started: bool,
    /// Statements by what the client calls them.
    statements: HashMap<Vec<u8>, Statement>,
    is_in_transaction: bool,
    is_under_way: bool,
}

#[derive(Clone, Copy)]
enum Statement {
    Begin,
    Commit,
    Mark,
}

impl Statement {
    fn of(sql: &[u8]) -> Option<Self> {
        match sql {
            b"BEGIN" => Some(Self::Begin),
            b"COMMIT" => Some(Self::Commit),
            _ => sql.windows(MARK.len()).any(|part| part == MARK).then_some(Self::Mark),
        }
    }
}

impl Said {
    /// Whether a commit was sent completely by now.
    fn hear(&mut self, bytes: &[u8]) -> bool {
        self.pending.extend_from_slice(bytes);
        let mut is_sent = false;
        while let Some((kind, body)) = self.message() {
            match kind {
                b'P' => {
                    let (name, rest) = text(&body);
                    if let Some(statement) = Statement::of(text(rest).0) {
                        self.statements.insert(name.to_vec(), statement);
                    }
                }
                b'B' => {
                    let (_, rest) = text(&body);
                    let statement = self.statements.get(text(rest).0).copied();
                    self.runs(statement);
                }
                b'S' => is_sent |= std::mem::take(&mut self.is_under_way),
                _ => {}
            }
        }
        is_sent
    }

    fn runs(&mut self, statement: Option<Statement>) {
        match statement {
            Some(Statement::Begin) => self.is_in_transaction = true,
            Some(Statement::Commit) => (self.is_in_transaction, self.is_under_way) = (false, true),
            Some(Statement::Mark) => self.is_under_way |= !self.is_in_transaction,
            None => {}
        }
    }

    /// The next message that is there completely. The first has no kind.
    fn message(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = usize::from(self.has_started);
        let length: [u8; 4] = self.pending.get(head..head + 4)?.try_into().ok()?;
        let end = head + usize::try_from(u32::from_be_bytes(length)).ok()?;
        let body = self.pending.get(head + 4..end)?.to_vec();
        let kind = if self.has_started { self.pending[0] } else { 0 };
        self.has_started = true;
        self.pending.drain(..end);
        Some((kind, body))
    }
}

/// A text up to its end, and what comes after it.
fn text(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: Option<u8>, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap_or(0).to_be_bytes();
        kind.into_iter().chain(length).chain(body.iter().copied()).collect()
    }

    fn prepared() -> Vec<u8> {
        [
            message(None, b"\0\x03\0\0user\0sprag\0\0"),
            message(Some(b'P'), b"s0\0BEGIN\0\0\0"),
            message(Some(b'S'), b""),
            message(Some(b'P'), b"s1\0COMMIT\0\0\0"),
            message(Some(b'S'), b""),
            message(Some(b'P'), b"s2\0WITH marked AS (UPDATE lane SET number = $5)\0\0\0"),
            message(Some(b'S'), b""),
        ]
        .concat()
    }

    fn run(name: &str) -> Vec<u8> {
        let bound = format!("\0{name}\0\0\0\0\0\0\0");
        [message(Some(b'B'), bound.as_bytes()), message(Some(b'S'), b"")].concat()
    }

    #[test]
    fn a_commit_is_known_by_its_statement_however_the_bytes_come() {
        let said = [prepared(), run("s0"), run("s2")].concat();
        let mut whole = Said::default();
        assert!(!whole.hear(&said));
        assert!(whole.hear(&run("s1")));
        assert!(!whole.hear(&message(Some(b'S'), b"")));
        let mut bytewise = Said::default();
        let heard = |byte: &u8| usize::from(bytewise.hear(&[*byte]));
        assert_eq!(said.iter().chain(&run("s1")).map(heard).sum::<usize>(), 1);
    }

    #[test]
    fn a_statement_that_stands_alone_is_a_commit() {
        let mut whole = Said::default();
        assert!(!whole.hear(&prepared()));
        assert!(whole.hear(&run("s2")));
        assert!(!whole.hear(&message(Some(b'S'), b"")));
    }
}
