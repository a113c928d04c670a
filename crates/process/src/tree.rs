//! All processes that belong together, and their end.
//!
//! A process belongs to the tree if it carries the tree's mark in its environment, is in the first process's group or in
//! the tree's control group (where there is one), or descends from one that does. The mark finds those that left group
//! and parent behind, also after their starter was killed; what escapes is a process that left all of them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::time::{Instant, sleep};

use super::cgroup;
use super::look::{Looked, Seen, Ticket, look_for};
use super::table::{Identity, Status};

/// Between two looks at the process table.
const POLL: Duration = Duration::from_millis(10);
/// How long killed processes may take to disappear: one in an uninterruptible call ends only when the call does.
const KILL: Duration = Duration::from_secs(5);
/// Rounds of killing without a pause; each finds what was started during the one before.
const ROUNDS_MAX: usize = 64;
/// Looks that must find nothing before the tree counts as gone: in the middle of `execve` a process shows no
/// environment.
const CLEAN_LOOKS: usize = 2;

/// A variable that everything of a tree has in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name, which begins with `SPRAG_`.
    pub name: &'static str,
    /// Its value, which no other tree has.
    pub value: String,
}

/// Processes that belong together.
#[derive(Clone, Debug)]
pub struct Tree {
    mark: Mark,
    root: Option<Identity>,
    cgroup: Option<PathBuf>,
    /// Seen before: a process whose parent ended meanwhile still belongs to the tree.
    known: BTreeSet<Identity>,
}

/// How an end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Everything ended when it was asked to.
    Gracefully,
    /// Something had to be killed.
    Forced,
    /// Something could not even be killed.
    Survived,
}

impl Tree {
    /// The tree with this mark; `root` is its first process, where that is known.
    pub fn new(mark: Mark, root: Option<Identity>) -> Self {
        Self {
            mark,
            root,
            cgroup: None,
            known: BTreeSet::new(),
        }
    }

    /// The same, with everything that is in a control group.
    #[must_use]
    pub fn within(self, cgroup: Option<PathBuf>) -> Self {
        Self { cgroup, ..self }
    }

    /// Ends every process: `signal`, and after `grace` SIGKILL. Returns when none is left, or nothing more helps.
    pub async fn end(&mut self, signal: Signal, grace: Duration) -> Stopped {
        let asked = self.on_thread(move |tree, ticket| tree.ask(ticket, signal)).await;
        let watch = |tree: &mut Self, ticket| tree.watch(ticket).len();
        if asked == 0 || self.gone_within(grace, watch).await {
            return Stopped::Gracefully;
        }
        if self.kill().await {
            Stopped::Forced
        } else {
            Stopped::Survived
        }
    }

    /// Ends every process at once. Returns whether none is left.
    pub async fn kill(&mut self) -> bool {
        let gone = self.gone_within(KILL, Self::kill_for).await;
        if !gone {
            tracing::error!(mark = %self.mark.value, "process tree not killed");
        }
        gone
    }

    /// Kills everything that is found without waiting until it is gone, for those who cannot wait. All of it is stopped
    /// before the first is killed, so that none can start another that loses its parent. Returns how many there were.
    pub fn kill_now(&mut self) -> usize {
        self.kill_for(Ticket::draw())
    }

    fn kill_for(&mut self, mut ticket: Ticket) -> usize {
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let mut members = self.watch(ticket);
            ticket = Ticket::draw();
            members.retain(|member| stopped.insert(*member));
            if members.is_empty() {
                break;
            }
            for member in &members {
                member.signal(Signal::STOP);
            }
        }
        for member in &stopped {
            member.signal(Signal::KILL);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup::kill(cgroup);
        }
        stopped.len()
    }

    /// Asks every process to end: the group in one call, and those that left it. Returns how many there were.
    fn ask(&mut self, ticket: Ticket, signal: Signal) -> usize {
        let looked = look_for(ticket);
        let members = self.alive(&looked);
        let group = self.group(&looked.table);
        if let Some(pid) = group.and_then(Pid::from_raw) {
            // An error means that the group is empty.
            let _ = kill_process_group(pid, signal);
        }
        let in_group = |member: &&Identity| {
            let seen = looked.table.iter().find(|seen| seen.status.identity == **member);
            seen.is_some_and(|seen| Some(seen.status.group) == group)
        };
        for member in members.iter().filter(|member| !in_group(member)) {
            member.signal(signal);
        }
        members.len()
    }

    /// Repeats `step` until it finds nothing or the time is up.
    async fn gone_within(&mut self, time: Duration, step: fn(&mut Self, Ticket) -> usize) -> bool {
        let deadline = Instant::now() + time;
        let mut clean = 0;
        loop {
            let seen = self.on_thread(step).await;
            clean = if seen == 0 { clean + 1 } else { 0 };
            if clean == CLEAN_LOOKS {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL).await;
        }
    }

    /// Looks on a thread that may block: the process table can be long. The ticket is drawn here, so callers that wait
    /// for a thread meanwhile share the look.
    async fn on_thread(&mut self, step: impl FnOnce(&mut Self, Ticket) -> usize + Send + 'static) -> usize {
        let (mut tree, ticket) = (self.clone(), Ticket::draw());
        let looked = tokio::task::spawn_blocking(move || {
            let seen = step(&mut tree, ticket);
            (tree, seen)
        });
        let Ok((tree, seen)) = looked.await else { return 0 };
        *self = tree;
        seen
    }

    /// Every process of the tree that has not ended.
    fn watch(&mut self, ticket: Ticket) -> Vec<Identity> {
        self.alive(&look_for(ticket))
    }

    /// The same of a look. They are remembered; those that ended are laid to rest.
    fn alive(&mut self, looked: &Looked) -> Vec<Identity> {
        let members = self.members(looked);
        let all = || looked.table.iter().map(|seen| &seen.status);
        let of_tree = || all().filter(|status| members.contains(&status.identity));
        for status in of_tree() {
            self.known.insert(status.identity);
            if status.ended {
                self.bury(status);
            }
        }
        let alive = of_tree().filter(|status| !status.ended);
        alive.map(|status| status.identity).collect()
    }

    /// Takes the exit status of an orphan that came to this process because it is a subreaper. The first process is
    /// left to the task that waits for its status.
    fn bury(&self, status: &Status) {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        if status.parent != own || Some(status.identity) == self.root {
            return;
        }
        if let Some(pid) = Pid::from_raw(status.identity.pid) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    fn members(&self, looked: &Looked) -> BTreeSet<Identity> {
        let table = &looked.table;
        let group = self.group(table);
        let caught: Vec<i32> = self.cgroup.as_deref().map(cgroup::members).unwrap_or_default();
        // No process of the tree is older than its first.
        let oldest = self.root.map_or(0, |root| root.start);
        let mut members: BTreeSet<i32> = table
            .iter()
            .filter(|seen| {
                let Status {
                    identity, group: of, ..
                } = seen.status;
                Some(identity) == self.root
                    || self.known.contains(&identity)
                    || Some(of) == group
                    || caught.contains(&identity.pid)
                    || (identity.start >= oldest && seen.is_marked(&self.mark))
            })
            .map(|seen| seen.status.identity.pid)
            .collect();
        add_descendants(&mut members, table);
        let identities = table.iter().map(|seen| seen.status.identity);
        identities.filter(|identity| members.contains(&identity.pid)).collect()
    }

    /// The group of the first process, while a known process is in it: afterwards the number may mean another group.
    fn group(&self, table: &[Seen]) -> Option<i32> {
        let root = self.root?;
        let is_known = |identity: &Identity| *identity == root || self.known.contains(identity);
        table
            .iter()
            .any(|seen| seen.status.group == root.pid && is_known(&seen.status.identity))
            .then_some(root.pid)
    }
}

fn add_descendants(members: &mut BTreeSet<i32>, table: &[Seen]) {
    if members.is_empty() {
        return;
    }
    loop {
        let before = members.len();
        let children = table.iter().filter(|seen| members.contains(&seen.status.parent));
        members.extend(children.map(|seen| seen.status.identity.pid).collect::<Vec<_>>());
        if members.len() == before {
            return;
        }
    }
}
