//! A connection that is made anew when it is lost, and the thread's way to it.
//!
//! A caller has a thread of its own and waits for the answer, so each link has a runtime of its own that runs only while
//! a caller asks: an answer wakes no other thread. Failed connections are retried less and less often; in between, callers
//! get an error at once.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::errors::chain;
use super::lanes::{self, CommitMark};
use super::server;
use super::session::Session;
use crate::page::ReadKind;
use crate::traits::Error;

/// How long an answer may take: longer than the server lets any statement run.
const ANSWER_MAX: Duration = Duration::from_secs(12);

/// How long after a connection that failed the next may be tried, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long connecting may take in all, with all that a new connection says first.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// What every session runs with: nothing runs for long, no transaction stays open, nothing is compiled for one use. A
/// client that is gone without a word is asked for after five seconds, so that what it locked is free again some time.
const SETTINGS: &str = "\
    -c statement_timeout=5000 -c idle_in_transaction_session_timeout=2000 -c jit=off \
    -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2";

/// What the sessions of lanes and of reads by id run with. Their statements look up keys: one plan serves them all, and it
/// uses the indexes although tables were small when it was made.
const KEYED_SETTINGS: &str = "\
    -c enable_seqscan=off -c enable_bitmapscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_hashagg=off \
    -c plan_cache_mode=force_generic_plan";

/// What a reader's session says first.
const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// Where links lead to.
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) allows_unsafe: bool,
}

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The writer of a lane.
    Lane,
    /// Reads of one kind.
    Reader(ReadKind),
    /// Heartbeats, and who owns what.
    Member,
    /// A look at the server, and its schema.
    Opening,
}

/// A link to the database.
pub(super) struct Link {
    target: Arc<Target>,
    role: Role,
    /// None only while the link is being dropped.
    runtime: Option<Runtime>,
    session: Option<Arc<Session>>,
    /// The lane's newest commit that is known to have landed.
    mark: Option<CommitMark>,
    pause: Pause,
}

impl Link {
    /// A link that is not connected yet.
    pub(super) fn new(target: Arc<Target>, role: Role) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|problem| Error::Failed {
            detail: format!("no runtime for a connection: {problem}"),
        })?;
        Ok(Self {
            target,
            role,
            runtime: Some(runtime),
            session: None,
            mark: None,
            pause: Pause::new(),
        })
    }

    /// Asks the database, on a new connection if there is none, and once more if the one at hand turns out to be lost.
    pub(super) fn ask<T>(&mut self, question: &impl AsyncFn(&Session) -> Result<T, Error>) -> Result<T, Error> {
        self.connect()?;
        match self.ask_once(question) {
            Err(Error::Away { .. }) => {
                self.connect()?;
                self.ask_once(question)
            }
            answer => answer,
        }
    }

    /// Asks on the connection at hand. One that is lost is let go.
    pub(super) fn ask_once<T>(&mut self, question: &impl AsyncFn(&Session) -> Result<T, Error>) -> Result<T, Error> {
        self.ask_and_look(question, Duration::ZERO)
    }

    /// The same, and looks for the answer for so long before it sleeps: to be woken takes a good part of the time that a small
    /// commit does.
    pub(super) fn ask_and_look<T>(
        &mut self,
        question: &impl AsyncFn(&Session) -> Result<T, Error>,
        patience: Duration,
    ) -> Result<T, Error> {
        let (Some(runtime), Some(session)) = (&self.runtime, &self.session) else {
            return Err(self.pause.away());
        };
        let until = self.pause.clock.elapsed() + patience;
        let is_patient = || self.pause.clock.elapsed() < until;
        let answer = looked_for(question(session), is_patient);
        let answer = runtime.block_on(in_time(answer));
        self.let_go(matches!(answer, Err(Error::Away { .. })));
        answer
    }

    /// Does what asks and waits by itself, on the connection at hand.
    pub(super) fn run<F: Future>(&self, work: impl FnOnce(Arc<Session>) -> F) -> Result<F::Output, Error> {
        match (&self.runtime, &self.session) {
            (Some(runtime), Some(session)) => Ok(runtime.block_on(work(Arc::clone(session)))),
            _ => Err(self.pause.away()),
        }
    }

    /// Lets the connection go if it is lost, or if its state is unknown.
    pub(super) fn let_go(&mut self, is_unknown: bool) {
        if is_unknown || self.session.as_ref().is_some_and(|session| session.is_over()) {
            self.session = None;
        }
    }

    /// The lane's newest commit that is known to have landed.
    pub(super) fn mark(&self) -> Result<CommitMark, Error> {
        self.mark.ok_or_else(|| self.pause.away())
    }

    /// A commit landed.
    pub(super) fn landed(&mut self, mark: CommitMark) {
        self.mark = Some(mark);
    }

    /// Monotonic time.
    pub(super) fn elapsed(&self) -> Duration {
        self.pause.clock.elapsed()
    }

    /// Waits until a connection may be tried again.
    pub(super) fn rest(&self) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(async { tokio::time::sleep(self.pause.left()).await });
        }
    }

    /// Connects, unless there is a connection, or one failed just now.
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        if self.session.is_some() {
            return Ok(());
        }
        let Some(runtime) = self.runtime.as_ref().filter(|_| self.pause.left().is_zero()) else {
            return Err(self.pause.away());
        };
        let (target, role, before) = (&self.target, self.role, self.mark);
        let connected = runtime.block_on(async {
            let connecting = async {
                let session = connected(target, role).await?;
                let mark = prepare(&session, target, role, before).await?;
                Ok((session, mark))
            };
            tokio::time::timeout(CONNECT_MAX, connecting).await.unwrap_or_else(|_| {
                Err(Error::Away {
                    detail: format!("no connection within {CONNECT_MAX:?}"),
                })
            })
        });
        let (session, mark) = connected.inspect_err(|problem| self.pause.failed(problem))?;
        self.pause.worked();
        self.session = Some(Arc::new(session));
        self.mark = mark;
        forgot(before, mark)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // This tells the server without waiting for its answer, which a thread of another runtime must not do.
        self.session = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An answer, or that there was none in time.
pub(super) async fn in_time<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_MAX, answer).await.unwrap_or_else(|_| {
        Err(Error::Away {
            detail: format!("no answer within {ANSWER_MAX:?}"),
        })
    })
}

/// Looks for an answer again and again for as long as there is patience, then waits for it.
async fn looked_for<T>(answer: impl Future<Output = T>, is_patient: impl Fn() -> bool) -> T {
    let mut answer = pin!(answer);
    while is_patient() {
        tokio::select! {
            biased;
            found = &mut answer => return found,
            () = tokio::task::yield_now() => {}
        }
    }
    answer.await
}

async fn connected(target: &Target, role: Role) -> Result<Session, Error> {
    // A server that does not let us in may do so later, when it has recovered or an administrator has fixed its rights.
    let config = configured(&target.config, role);
    let away = |problem: &tokio_postgres::Error| Error::Away {
        detail: refused(&config, problem),
    };
    // The connection ends when the session is dropped; what it says then, the session's questions say too.
    let client = if let Some(tls) = &target.tls {
        let (client, connection) = config.connect(tls.clone()).await.map_err(|problem| away(&problem))?;
        drop(tokio::spawn(connection));
        client
    } else {
        let (client, connection) = config.connect(NoTls).await.map_err(|problem| away(&problem))?;
        drop(tokio::spawn(connection));
        client
    };
    Ok(Session::new(client))
}

/// What a server said that does not let us in, with what would make it.
fn refused(config: &Config, problem: &tokio_postgres::Error) -> String {
    let said = chain(problem);
    let user = config.get_user().unwrap_or("USER");
    match problem.code() {
        Some(&SqlState::UNDEFINED_DATABASE) => {
            let database = config.get_dbname().unwrap_or(user);
            format!("{said} (create it: `createdb -O {user} {database}`)")
        }
        Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            format!("{said} (where there is no such user: `createuser {user}`)")
        }
        _ => said,
    }
}

/// The settings come after those of the URL, so they hold.
fn configured(config: &Config, role: Role) -> Config {
    let mut config = config.clone();
    let given = config.get_options().unwrap_or_default();
    let of_role = match role {
        Role::Lane | Role::Reader(ReadKind::Point) => KEYED_SETTINGS,
        Role::Reader(ReadKind::Scan) | Role::Member | Role::Opening => "",
    };
    let options = format!("{given} {SETTINGS} {of_role}");
    config.options(options.trim());
    config
}

/// What a new connection says first. A lane takes its row, so that nothing of an older connection can still land.
async fn prepare(
    session: &Session,
    target: &Target,
    role: Role,
    before: Option<CommitMark>,
) -> Result<Option<CommitMark>, Error> {
    match role {
        Role::Opening => Ok(None),
        Role::Reader(_) => {
            session.run(READ_ONLY).await?;
            Ok(None)
        }
        Role::Member => suitable(session, target).await.map(|()| None),
        Role::Lane => {
            suitable(session, target).await?;
            lanes::claim(session, before).await.map(Some)
        }
    }
}

/// After a failover the server may be another than the one that was looked at when the store was opened.
async fn suitable(session: &Session, target: &Target) -> Result<(), Error> {
    match server::unsuitable(session, target.allows_unsafe).await? {
        // It is promoted, or another takes its place.
        Some(reason @ server::Unsuitable::Standby) => Err(Error::Away {
            detail: reason.to_string(),
        }),
        Some(reason) => Err(Error::Failed {
            detail: reason.to_string(),
        }),
        None => Ok(()),
    }
}

/// A database that went back in time, as one does that took over without the last commits, must be read anew before
/// anything is decided: the caller learns once that it was unreachable.
fn forgot(before: Option<CommitMark>, now: Option<CommitMark>) -> Result<(), Error> {
    match (before, now) {
        (Some(before), Some(now)) if now.number < before.number => Err(Error::Away {
            detail: format!(
                "the database lost {} commits that it had confirmed",
                before.number - now.number
            ),
        }),
        _ => Ok(()),
    }
}

/// When a connection may be tried again, after some that failed.
struct Pause {
    clock: System,
    until: Duration,
    next: Duration,
    reason: String,
}

impl Pause {
    fn new() -> Self {
        Self {
            clock: System::start(Timestamp::from_millis(0)),
            until: Duration::ZERO,
            next: PAUSE_MIN,
            reason: String::new(),
        }
    }

    fn left(&self) -> Duration {
        self.until.saturating_sub(self.clock.elapsed())
    }

    fn worked(&mut self) {
        (self.until, self.next) = (Duration::ZERO, PAUSE_MIN);
    }

    fn failed(&mut self, problem: &Error) {
        self.until = self.clock.elapsed() + self.next;
        self.next = (self.next * 2).min(PAUSE_MAX);
        self.reason = match problem {
            Error::Away { detail } => detail.clone(),
            other => other.to_string(),
        };
    }

    /// The error for callers meanwhile.
    fn away(&self) -> Error {
        Error::Away {
            detail: self.reason.clone(),
        }
    }
}
