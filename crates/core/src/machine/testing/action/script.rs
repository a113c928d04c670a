//! Which entry of a mock comes next.
//!
//! Entries with `to` answer only requests whose URL begins so, and before all others. Of those that may answer, the
//! first that is not used up does; when all are, the last one repeats.

use super::mock::{Mock, Reply, Scripted};

/// The entries of a mock, and how often each was used.
#[derive(Clone, Debug)]
pub struct Script {
    entries: Vec<(Mock, u32)>,
}

/// An entry that was used.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken<T> {
    /// Which, from 1 in the order of the file.
    pub number: usize,
    /// How long it takes, in milliseconds.
    pub delay: u64,
    /// What it does.
    pub what: T,
}

/// Why a request got no scripted reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// No entry is for this address.
    #[error("no entry of the mock answers `{0}`: add one without `to`, or one whose `to` fits")]
    Address(String),
    /// The entry that is next ends whole attempts.
    #[error("entry {0} of the mock ends a whole attempt, and a request came in the middle of one: give it a `status`")]
    Ending(usize),
}

impl Script {
    /// A script of these entries.
    pub fn new(entries: Vec<Mock>) -> Self {
        Self {
            entries: entries.into_iter().map(|mock| (mock, 0)).collect(),
        }
    }

    /// The outcome of a whole attempt, if that is what comes next.
    pub fn ending(&mut self) -> Option<Taken<super::mock::Ending>> {
        let position = self.next_of(|mock| mock.to.is_none())?;
        let (Mock { scripted, .. }, _) = self.entries.get(position)?;
        let Scripted::Ending(what) = scripted.clone() else {
            return None;
        };
        self.take(position, what)
    }

    /// Whether a request to any address would be answered.
    pub fn has_replies(&self) -> bool {
        let next = self
            .next_of(|mock| mock.to.is_none())
            .and_then(|next| self.entries.get(next));
        let is_reply = |mock: &Mock| matches!(mock.scripted, Scripted::Reply(_));
        next.is_some_and(|(mock, _)| is_reply(mock)) || self.entries.iter().any(|(mock, _)| mock.to.is_some())
    }

    /// The reply to a request for `url`.
    pub fn reply(&mut self, url: &str) -> Result<Taken<Reply>, NoReply> {
        let addressed = self.next_of(|mock| mock.to.as_deref().is_some_and(|to| url.starts_with(to)));
        let position = addressed.or_else(|| self.next_of(|mock| mock.to.is_none()));
        let unanswered = || NoReply::Address(url.to_owned());
        let position = position.ok_or_else(unanswered)?;
        let scripted = self.entries.get(position).map(|(mock, _)| mock.scripted.clone());
        match scripted {
            Some(Scripted::Reply(what)) => self.take(position, what).ok_or_else(unanswered),
            _ => Err(NoReply::Ending(position + 1)),
        }
    }

    /// The entry without `to` that nobody asked for yet, if there is one.
    pub(super) fn unused(&self) -> Option<(usize, &Mock)> {
        let mut entries = self.entries.iter().enumerate();
        entries
            .find(|(_, (mock, used))| mock.to.is_none() && *used < mock.repeat)
            .map(|(position, (mock, _))| (position + 1, mock))
    }

    /// All entries with their numbers, and how often each was used.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, &Mock, u32)> {
        let entries = self.entries.iter().enumerate();
        entries.map(|(position, (mock, used))| (position + 1, mock, *used))
    }

    fn next_of(&self, may: impl Fn(&Mock) -> bool) -> Option<usize> {
        let able = self.entries.iter().enumerate().filter(|(_, (mock, _))| may(mock));
        let mut last = None;
        for (position, (mock, used)) in able {
            if *used < mock.repeat {
                return Some(position);
            }
            last = Some(position);
        }
        last
    }

    fn take<T>(&mut self, position: usize, what: T) -> Option<Taken<T>> {
        let (mock, used) = self.entries.get_mut(position)?;
        *used = used.saturating_add(1);
        Some(Taken {
            number: position + 1,
            delay: mock.delay,
            what,
        })
    }
}
