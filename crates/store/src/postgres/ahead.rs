//! Commits that are sent ahead: before it is known what became of the one before.
//!
//! The server goes from one to the next without waiting for this process, which may be long in coming where processors are
//! few. Commits are sent in order on one connection, and each writes only if the lane's mark is that of the one before it
//! (see `lanes.rs`): what follows a commit that was not written is not written either.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::commit;
use super::lanes::{self, CommitMark};
use super::link::in_time;
use super::session::Session;
use crate::records::checks;
use crate::traits::{Commit, Error, Fence, Mutation, Queue};

/// Commits that are under way at most: the one that the server is about, and the one that it finds next.
const AHEAD_MAX: usize = 2;

/// Commits under way on one connection.
pub(super) struct Ahead<'a> {
    session: Arc<Session>,
    shards: u32,
    /// Of the newest commit that landed.
    newest: CommitMark,
    sent: VecDeque<Sent>,
    queue: &'a mut dyn Queue,
}

/// What is left of them when there is nothing more to do, or no connection.
pub(super) struct Left {
    /// Of the newest commit that landed.
    pub(super) newest: CommitMark,
    /// Those whose result is unknown, oldest first.
    pub(super) unknown: Vec<(Arc<Commit>, CommitMark)>,
}

/// A commit that was sent.
struct Sent {
    commit: Arc<Commit>,
    mark: CommitMark,
    answer: Pin<Box<dyn Future<Output = Result<(), Error>>>>,
    result: Option<Result<(), Error>>,
    /// Whether its statements are on their way, so that another's may come after them.
    is_out: Rc<Cell<bool>>,
}

/// What happens next.
enum Event {
    /// The oldest was answered.
    Answered(Result<(), Error>),
    /// Another one came.
    Came(Commit),
}

impl<'a> Ahead<'a> {
    /// Commits follow `newest` on a connection to a database with so many shards.
    pub(super) fn new(session: Arc<Session>, shards: u32, newest: CommitMark, queue: &'a mut dyn Queue) -> Self {
        Self {
            session,
            shards,
            newest,
            sent: VecDeque::new(),
            queue,
        }
    }

    /// Commits what waits, from `first` on, and tells what became of it, until nothing is left or a result is unknown.
    pub(super) async fn run(mut self, first: Commit) -> Left {
        self.send(first);
        while !self.sent.is_empty() {
            match poll_fn(|context| self.poll(context)).await {
                Event::Came(commit) => self.send(commit),
                Event::Answered(Err(Error::Away { .. })) => break,
                Event::Answered(result) => self.answered(result).await,
            }
        }
        let unknown = self.sent.into_iter().map(|sent| (sent.commit, sent.mark));
        Left {
            newest: self.newest,
            unknown: unknown.collect(),
        }
    }

    fn send(&mut self, commit: Commit) {
        let before = self.sent.back().map_or(self.newest, |sent| sent.mark);
        let session = Arc::clone(&self.session);
        self.sent
            .push_back(Sent::new(session, commit, before.next(), self.shards));
    }

    /// Sends what was not yet, looks for answers, and for more to send.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        for sent in &mut self.sent {
            sent.poll(context);
        }
        if let Some(result) = self.sent.front_mut().and_then(|oldest| oldest.result.take()) {
            return Poll::Ready(Event::Answered(result));
        }
        if self.sent.len() < AHEAD_MAX && self.sent.iter().all(|sent| sent.is_out.get()) {
            // None that will ever come is none to wait for.
            if let Poll::Ready(Some(commit)) = self.queue.poll_next(context) {
                return Poll::Ready(Event::Came(commit));
            }
        }
        Poll::Pending
    }

    /// The oldest landed, or was refused for certain. With it was whatever follows it; the server says so in its turn.
    async fn answered(&mut self, result: Result<(), Error>) {
        let Some(Sent { mark, .. }) = self.sent.pop_front() else {
            return;
        };
        if result.is_ok() {
            self.newest = mark;
            return self.queue.tell(result);
        }
        self.queue.tell(result);
        for follower in std::mem::take(&mut self.sent) {
            let result = match follower.result {
                Some(result) => result,
                None => follower.answer.await,
            };
            self.queue.tell(result);
        }
    }
}

impl Sent {
    fn new(session: Arc<Session>, commit: Commit, mark: CommitMark, shards: u32) -> Self {
        let (commit, is_out) = (Arc::new(commit), Rc::new(Cell::new(false)));
        let (of, out) = (Arc::clone(&commit), Rc::clone(&is_out));
        let answer =
            async move { commit_once(&session, &of.fences, &of.mutations, mark, shards, || out.set(true)).await };
        Self {
            commit,
            mark,
            answer: Box::pin(in_time(answer)),
            result: None,
            is_out,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) {
        if self.result.is_none()
            && let Poll::Ready(result) = self.answer.as_mut().poll(context)
        {
            self.result = Some(result);
        }
    }
}

/// Commits on a connection. Whatever is sent after `is_out` was called comes after it.
pub(super) async fn commit_once(
    session: &Session,
    fences: &[Fence],
    mutations: &[Mutation],
    mark: CommitMark,
    shards: u32,
    is_out: impl FnOnce(),
) -> Result<(), Error> {
    mutations.iter().try_for_each(checks::check)?;
    let fence = lanes::fence(fences, mark)?;
    let calls = session.calls(commit::stages(fence, mutations, shards)?).await?;
    is_out();
    session.run_calls(&calls).await
}
