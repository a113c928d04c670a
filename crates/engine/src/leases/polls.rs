//! Programs that wait for work: runners that exist only while a program asks.
//!
//! A program asks for a while and for so many attempts at most. An action that is for it takes a place; once its attempt
//! is durable it is granted, and when everything that took a place in a poll is granted or given back, the poll is over.
//! One that nothing came for ends with its time. An attempt that would make the answer too large does not begin: its action
//! stays in the queue for the next poll.

use std::collections::BTreeMap;

use sprag_core::action::Route;
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;
use tokio::sync::oneshot;

use super::{ANSWER_BYTES_MAX, Grant, LeaseAnswer, Poll, Wants};
use crate::decide::AttemptJob;
use crate::queue::{Dispatcher, Lack};
use crate::read::view::{Waiting, WaitingFor};
use crate::requests::Replied;

/// How many different things that were asked for are remembered, to explain why no program asks.
const ASKED_MAX: usize = 1_000;

/// One poll of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PollId(u64);

/// A program that waits.
#[derive(Debug)]
struct Waiter {
    poll: Poll,
    until: Timestamp,
    /// Where the answer goes; not there until the request that asked is committed.
    reply: Option<oneshot::Sender<Replied<LeaseAnswer>>>,
    /// Places that were taken and not granted yet.
    taken: usize,
    /// About how large the answer is, with everything that took a place.
    bytes: usize,
    /// Something did not fit into the answer any more.
    is_full: bool,
    /// What is durable and not handed over yet.
    granted: Vec<AttemptJob>,
}

impl Waiter {
    fn has_room(&self) -> bool {
        self.taken + self.granted.len() < self.poll.max && !self.is_full && !self.has_gone()
    }

    /// No program waits for the answer any more.
    fn has_gone(&self) -> bool {
        self.reply.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    /// Whether nothing more is to come: `unread` is work that may be there and has yet to be read.
    fn is_over(&self, unread: &[&Route], now: Timestamp) -> bool {
        let may_come = || unread.iter().any(|route| self.poll.wants.takes(route));
        let is_late = self.until <= now && !may_come();
        self.taken == 0 && (!self.granted.is_empty() || is_late || self.has_gone())
    }
}

/// The place of an attempt in an answer.
#[derive(Clone, Copy, Debug)]
struct Place {
    poll: PollId,
    /// About how many bytes it takes there; none until that is known.
    bytes: usize,
}

/// Everybody who waits.
#[derive(Debug)]
pub(crate) struct Polls {
    waiting: BTreeMap<PollId, Waiter>,
    drawn: u64,
    taken: BTreeMap<AttemptId, Place>,
    /// When a program last asked for what.
    asked: BTreeMap<Wants, Timestamp>,
    /// Since when this process can know.
    began: Timestamp,
}

impl Polls {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            waiting: BTreeMap::new(),
            drawn: 0,
            taken: BTreeMap::new(),
            asked: BTreeMap::new(),
            began: now,
        }
    }

    /// A program asks, from now on.
    pub(crate) fn add(&mut self, poll: &Poll, now: Timestamp) -> PollId {
        self.drawn += 1;
        let id = PollId(self.drawn);
        self.note_asked(poll.wants.clone(), now);
        let waiter = Waiter {
            poll: poll.clone(),
            until: now.plus(poll.wait_millis),
            reply: None,
            taken: 0,
            bytes: 0,
            is_full: false,
            granted: Vec::new(),
        };
        self.waiting.insert(id, waiter);
        id
    }

    /// The request that asked is committed: its answer goes there.
    pub(crate) fn hold(&mut self, id: PollId, reply: Option<oneshot::Sender<Replied<LeaseAnswer>>>) {
        match (self.waiting.get_mut(&id), reply) {
            (Some(waiter), Some(reply)) => waiter.reply = Some(reply),
            _ => {
                self.waiting.remove(&id);
            }
        }
    }

    /// A program that takes such work and has room: of several, the one with the least.
    pub(crate) fn find(&self, route: &Route) -> Option<PollId> {
        let takes = |(_, waiter): &(&PollId, &Waiter)| waiter.has_room() && waiter.poll.wants.takes(route);
        let found = self.waiting.iter().filter(takes);
        let least = found.min_by_key(|(id, waiter)| (waiter.taken + waiter.granted.len(), **id));
        least.map(|(&id, _)| id)
    }

    /// An attempt takes a place.
    pub(crate) fn take(&mut self, id: Option<PollId>, attempt: AttemptId) {
        if let Some(id) = id
            && let Some(waiter) = self.waiting.get_mut(&id)
        {
            waiter.taken += 1;
            self.taken.insert(attempt, Place { poll: id, bytes: 0 });
        }
    }

    /// Whether an attempt of so many bytes fits into the answer in which it took a place. The first one always does. Once
    /// one does not, the answer takes nothing more.
    pub(crate) fn fits(&mut self, attempt: AttemptId, bytes: usize) -> bool {
        let Some(place) = self.taken.get_mut(&attempt) else {
            return true;
        };
        let Some(waiter) = self.waiting.get_mut(&place.poll) else {
            return true;
        };
        let (before, after) = (waiter.bytes, waiter.bytes.saturating_add(bytes));
        waiter.is_full |= before > 0 && after > ANSWER_BYTES_MAX;
        if !waiter.is_full {
            (waiter.bytes, place.bytes) = (after, bytes);
        }
        !waiter.is_full
    }

    /// Whose place the attempt took, if they are still there.
    pub(crate) fn taken_from(&self, attempt: AttemptId) -> Option<PollId> {
        let Place { poll, .. } = self.taken.get(&attempt)?;
        let waiter = self.waiting.get(poll)?;
        (!waiter.has_gone()).then_some(*poll)
    }

    /// On which terms a program holds the attempt: which one, and the milliseconds of each lease.
    pub(crate) fn terms(&self, attempt: AttemptId) -> Option<(Option<String>, u64)> {
        let waiter = self.waiting.get(&self.taken.get(&attempt)?.poll)?;
        Some((waiter.poll.wants.runner.clone(), waiter.poll.lease_millis))
    }

    /// The attempt does not begin: its place is free again.
    pub(crate) fn give_back(&mut self, attempt: AttemptId) {
        if let Some(Place { poll, bytes }) = self.taken.remove(&attempt)
            && let Some(waiter) = self.waiting.get_mut(&poll)
        {
            waiter.taken = waiter.taken.saturating_sub(1);
            waiter.bytes = waiter.bytes.saturating_sub(bytes);
        }
    }

    /// The attempt is durable: it is whose place it took.
    pub(crate) fn grant(&mut self, job: AttemptJob) {
        if let Some(Place { poll, .. }) = self.taken.remove(&job.attempt.attempt)
            && let Some(waiter) = self.waiting.get_mut(&poll)
        {
            waiter.taken = waiter.taken.saturating_sub(1);
            waiter.granted.push(job);
        }
    }

    /// The attempt ended before it was handed over: no program is given it any more.
    pub(crate) fn withdraw(&mut self, attempt: AttemptId) {
        for waiter in self.waiting.values_mut() {
            waiter.granted.retain(|job| job.attempt.attempt != attempt);
        }
    }

    /// Takes out those whose poll is over, with what is theirs.
    fn over(&mut self, unread: &[&Route], now: Timestamp) -> Vec<Grant> {
        let over = self.waiting.iter().filter(|(_, waiter)| waiter.is_over(unread, now));
        let over: Vec<PollId> = over.map(|(&id, _)| id).collect();
        let mut grants = Vec::with_capacity(over.len());
        for id in over {
            let Some(waiter) = self.waiting.remove(&id) else {
                continue;
            };
            self.note_asked(waiter.poll.wants, now);
            grants.extend(waiter.reply.map(|reply| Grant {
                jobs: waiter.granted,
                reply,
            }));
        }
        grants
    }

    /// When the next poll is over that nothing came for.
    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        let waiting = self.waiting.values().filter(|waiter| waiter.taken == 0);
        waiting.map(|waiter| waiter.until).min()
    }

    /// The batch was not written: what took a place in it did not begin, and the callers in it were told.
    pub(crate) fn forget(&mut self) {
        self.taken.clear();
        self.waiting.retain(|_, waiter| waiter.reply.is_some());
        for waiter in self.waiting.values_mut() {
            waiter.taken = 0;
            if waiter.granted.is_empty() {
                (waiter.bytes, waiter.is_full) = (0, false);
            }
        }
    }

    /// Nothing more starts. Programs that wait are told that the engine goes down.
    pub(crate) fn close(&mut self) {
        self.waiting.retain(|_, waiter| !waiter.granted.is_empty());
    }

    fn note_asked(&mut self, wants: Wants, now: Timestamp) {
        self.asked.insert(wants, now);
        if self.asked.len() > ASKED_MAX {
            let oldest = self.asked.iter().min_by_key(|(_, at)| **at);
            if let Some(oldest) = oldest.map(|(wants, _)| wants.clone()) {
                self.asked.remove(&oldest);
            }
        }
    }

    /// When a program last asked for such work, as far as this process knows.
    fn last_asked(&self, route: &Route) -> Timestamp {
        let asked = self.asked.iter().filter(|(wants, _)| wants.takes(route));
        asked.map(|(_, at)| *at).max().unwrap_or(self.began)
    }
}

/// Takes out the polls that are over, with the attempts that they got.
pub(crate) fn over(queue: &mut Dispatcher, now: Timestamp) -> Vec<Grant> {
    if queue.polls.waiting.is_empty() {
        return Vec::new();
    }
    let hungry = queue.hungry.iter().filter_map(|name| queue.lines.get(name));
    let unread: Vec<&Route> = hungry.filter_map(|line| line.route.as_ref()).collect();
    queue.polls.over(&unread, now)
}

/// A runner asks for work: queues that waited for that are looked at again.
pub(crate) fn asked(queue: &mut Dispatcher, wants: &Wants) {
    let absent = queue.parked.range(Lack::Runner(Route::default())..);
    let is_wanted = |lack: &&Lack| matches!(lack, Lack::Runner(route) if wants.takes(route));
    let freed: Vec<Lack> = absent.map(|(lack, _)| lack).filter(is_wanted).cloned().collect();
    for lack in freed {
        queue.unpark(&lack);
    }
}

/// No runner asks for such work, since the last one that did.
pub(crate) fn waiting_for_runner(queue: &Dispatcher, route: &Route) -> Waiting {
    Waiting::Waiting {
        reason: WaitingFor::Runner,
        object: route.runner.clone(),
        since: queue.polls.last_asked(route),
        until: None,
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::ids::Slot;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn attempt(number: u64) -> AttemptId {
        AttemptId::compose(at(0), Slot(0), number)
    }

    fn poll(runner: &str, max: usize) -> Poll {
        Poll {
            wants: Wants {
                runner: Some(runner.to_owned()),
                kinds: vec!["render".to_owned()],
                tags: Vec::new(),
            },
            max,
            wait_millis: 1_000,
            lease_millis: 60_000,
        }
    }

    fn route(runner: &str) -> Route {
        Route::new(runner, "render", &[])
    }

    fn asking(polls: &mut Polls, poll: &Poll) -> (PollId, oneshot::Receiver<Replied<LeaseAnswer>>) {
        let (reply, answer) = oneshot::channel();
        let id = polls.add(poll, at(0));
        polls.hold(id, Some(reply));
        (id, answer)
    }

    #[test]
    fn work_goes_to_whoever_has_least_and_to_nobody_beyond_their_most() {
        let mut polls = Polls::new(at(0));
        let (one, _first) = asking(&mut polls, &poll("gpu", 2));
        let (two, _second) = asking(&mut polls, &poll("gpu", 1));
        for (number, expected) in [(1, Some(one)), (2, Some(two)), (3, Some(one)), (4, None)] {
            let found = polls.find(&route("gpu"));
            assert_eq!(found, expected, "{number}");
            polls.take(found, attempt(number));
        }
        polls.give_back(attempt(2));
        assert_eq!(polls.find(&route("gpu")), Some(two));
        assert_eq!(polls.find(&route("cpu")), None);
    }

    #[test]
    fn an_attempt_that_does_not_fit_into_an_answer_goes_to_the_next_poll() {
        const HALF: usize = ANSWER_BYTES_MAX / 2;
        let mut polls = Polls::new(at(0));
        let (one, _first) = asking(&mut polls, &poll("gpu", 10));
        for number in 1..=3 {
            assert_eq!(polls.find(&route("gpu")), Some(one));
            polls.take(Some(one), attempt(number));
        }
        assert!(polls.fits(attempt(1), HALF) && polls.fits(attempt(2), HALF));
        assert!(!polls.fits(attempt(3), 1));
        polls.give_back(attempt(3));
        assert_eq!(polls.find(&route("gpu")), None, "a full answer takes nothing more");
        let (two, _second) = asking(&mut polls, &poll("gpu", 10));
        polls.take(Some(two), attempt(3));
        assert!(
            polls.fits(attempt(3), 10 * ANSWER_BYTES_MAX),
            "one that is too large by itself goes alone"
        );
        polls.take(Some(two), attempt(4));
        assert!(!polls.fits(attempt(4), 1));
    }

    #[test]
    fn somebody_who_has_gone_is_given_nothing_and_forgotten() {
        let mut polls = Polls::new(at(0));
        let (id, answer) = asking(&mut polls, &poll("gpu", 1));
        polls.take(Some(id), attempt(1));
        drop(answer);
        assert_eq!(polls.taken_from(attempt(1)), None);
        polls.give_back(attempt(1));
        assert_eq!(polls.find(&route("gpu")), None);
        assert_eq!((polls.over(&[], at(1)).len(), polls.waiting.len()), (1, 0));
    }

    #[test]
    fn a_poll_that_nothing_came_for_ends_with_its_time_and_is_remembered() {
        let mut polls = Polls::new(at(0));
        let (_, _answer) = asking(&mut polls, &poll("gpu", 1));
        assert!(polls.over(&[], at(999)).is_empty());
        assert_eq!(polls.next_end(), Some(at(1_000)));
        assert!(
            polls.over(&[&route("gpu")], at(1_000)).is_empty(),
            "something may be there for it"
        );
        let over = polls.over(&[&route("cpu")], at(1_000));
        assert!(over.len() == 1 && over.iter().all(|grant| grant.jobs.is_empty()));
        assert_eq!(polls.last_asked(&route("gpu")), at(1_000));
        assert_eq!(polls.last_asked(&route("cpu")), at(0));
    }

    #[test]
    fn what_was_asked_for_long_ago_makes_room() {
        let mut polls = Polls::new(at(0));
        for number in 0..=ASKED_MAX {
            polls.note_asked(
                poll(&number.to_string(), 1).wants,
                at(1 + i64::try_from(number).unwrap()),
            );
        }
        assert_eq!(polls.asked.len(), ASKED_MAX);
        assert_eq!(polls.last_asked(&route("0")), at(0), "nobody knows any more");
        assert_eq!(polls.last_asked(&route("1")), at(2));
    }
}
