//! One read of the process table for all callers that ask at the same time.
//!
//! Hundreds of trees may end at once, and one read opens a file or two for every process. Callers that ask during a
//! read share the next one, so an answer is never older than its question. A caller asks by drawing a [`Ticket`].
//! Callers that draw a ticket and then wait for a thread still share one read, however few threads there are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::table::{Identity, Status, environment, table};
use super::tree::Mark;

/// Marks begin so: nothing else of an environment is kept.
const PREFIX: &[u8] = b"SPRAG_";

/// What a look found.
#[derive(Debug, Default)]
pub struct Looked {
    /// Every process but this one and the first of all.
    pub table: Vec<Seen>,
}

/// A process that was there.
#[derive(Debug)]
pub struct Seen {
    /// What the table said of it.
    pub status: Status,
    /// Read on demand: most processes belong to no tree.
    marks: OnceLock<Option<Arc<Marks>>>,
    /// Whether a look found a mark among them.
    is_found: AtomicBool,
}

/// The variables of one process that may be marks, as `NAME=value`.
type Marks = Vec<Vec<u8>>;

#[derive(Default)]
struct Last {
    /// Questions up to this number are answered by it.
    covers: u64,
    looked: Arc<Looked>,
}

static ASKED: AtomicU64 = AtomicU64::new(0);
static LAST: Mutex<Option<Last>> = Mutex::new(None);

/// A question: what is true from now on.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

impl Ticket {
    /// Asks now.
    pub fn draw() -> Self {
        Self(ASKED.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// Looks at all processes, or shares a look that began after the question. It blocks for as long as a look takes.
pub fn look_for(Ticket(ticket): Ticket) -> Arc<Looked> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = last.as_ref().filter(|last| last.covers >= ticket) {
        return Arc::clone(&last.looked);
    }
    let covers = ASKED.load(Ordering::SeqCst);
    let before = last.take().map(|last| last.looked).unwrap_or_default();
    let looked = Arc::new(Looked::after(&before));
    *last = Some(Last {
        covers,
        looked: Arc::clone(&looked),
    });
    looked
}

impl Looked {
    fn after(before: &Self) -> Self {
        let known: BTreeMap<Identity, &Arc<Marks>> = before
            .table
            .iter()
            .filter(|seen| seen.is_found.load(Ordering::Relaxed))
            .filter_map(|seen| Some((seen.status.identity, seen.marks.get()?.as_ref()?)))
            .collect();
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let others = table()
            .into_iter()
            .filter(|status| ![own, 1].contains(&status.identity.pid));
        let seen = |status: Status| {
            let marks = OnceLock::new();
            // One that was found by its mark keeps it. Another may be on its way into its program, where it gets one: until
            // then it shows what its parent has.
            let found = known.get(&status.identity);
            if let Some(found) = found {
                let _ = marks.set(Some(Arc::clone(found)));
            }
            Seen {
                status,
                marks,
                is_found: AtomicBool::new(found.is_some()),
            }
        };
        Self {
            table: others.map(seen).collect(),
        }
    }
}

impl Seen {
    /// Whether it started with this mark.
    pub fn is_marked(&self, mark: &Mark) -> bool {
        let Mark { name, value } = mark;
        let is_it = |entry: &Vec<u8>| {
            let rest = entry.strip_prefix(name.as_bytes());
            rest.and_then(|rest| rest.strip_prefix(b"=")) == Some(value.as_bytes())
        };
        let marks = self.marks.get_or_init(|| read(self.status.identity));
        let is_marked = marks.as_ref().is_some_and(|marks| marks.iter().any(is_it));
        self.is_found.fetch_or(is_marked, Ordering::Relaxed);
        is_marked
    }
}

fn read(identity: Identity) -> Option<Arc<Marks>> {
    let found: Marks = environment(identity.pid)?
        .split(|&byte| byte == 0)
        .filter(|entry| entry.starts_with(PREFIX))
        .map(<[u8]>::to_vec)
        .collect();
    (!found.is_empty()).then(|| Arc::new(found))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A guard, far beyond what it takes.
    const LOOKS_MAX: usize = 10_000;

    fn marked(value: &str) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").env("SPRAG_LOOKED_AT", value).spawn().unwrap()
    }

    fn sees(pid: u32, value: &str) -> bool {
        let mark = Mark {
            name: "SPRAG_LOOKED_AT",
            value: value.to_owned(),
        };
        let is_it = |seen: &&Seen| u32::try_from(seen.status.identity.pid) == Ok(pid);
        look_for(Ticket::draw())
            .table
            .iter()
            .find(is_it)
            .is_some_and(|seen| seen.is_marked(&mark))
    }

    #[test]
    fn those_who_asked_before_a_look_began_share_it_and_others_do_not() {
        // Another test may look in between.
        let both = || [Ticket::draw(), Ticket::draw()].map(look_for);
        let shared = (0..LOOKS_MAX)
            .map(|_| both())
            .find(|[one, other]| Arc::ptr_eq(one, other));
        let looks = shared.unwrap();
        // A child that was started after the questions is not in their look, and in the next.
        let mut child = marked("later");
        let has = |looked: &Looked| {
            let is_it = |seen: &Seen| u32::try_from(seen.status.identity.pid) == Ok(child.id());
            looked.table.iter().any(is_it)
        };
        assert!(has(&look_for(Ticket::draw())));
        assert!(!has(&looks[0]));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_look_is_never_older_than_its_question_however_many_ask() {
        std::thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    for round in 0..5 {
                        let value = format!("{number}-{round}");
                        let mut child = marked(&value);
                        // `spawn` may return in the middle of `execve`, when there is no environment yet.
                        assert!((0..LOOKS_MAX).any(|_| sees(child.id(), &value)));
                        assert!(!sees(child.id(), "another"));
                        child.kill().unwrap();
                        child.wait().unwrap();
                        assert!(!sees(child.id(), &value));
                    }
                });
            }
        });
    }
}
