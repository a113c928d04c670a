//! All processes of a service, and their end.
//!
//! A process belongs to the tree if it carries the service's mark in its environment, is in the first process's group or
//! in the service's control group (where there is one), or descends from one that does. The mark finds those that left group and parent behind, also after the supervisor
//! itself was killed; what escapes is a process that left all three.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::time::{Instant, sleep};

use super::MARK;
use super::cgroup;
use super::record::Started;
use super::table::{self, Identity, Status};

/// Between two looks at the process table.
const POLL: Duration = Duration::from_millis(20);
/// How long killed processes may take to disappear: one in an uninterruptible call ends only when the call does.
const KILL: Duration = Duration::from_secs(5);
/// Rounds of killing without a pause; each finds what was started during the one before.
const ROUNDS_MAX: usize = 64;
/// Looks that must find nothing before the tree counts as gone: in the middle of `execve` a process shows no
/// environment.
const CLEAN_LOOKS: usize = 2;

/// The processes of one service.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    mark: String,
    root: Option<Identity>,
    cgroup: Option<PathBuf>,
    /// Seen before: a process whose parent ended meanwhile still belongs to the tree.
    known: BTreeSet<Identity>,
}

/// How a stop went.
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
    /// The tree of the service with this mark; `root` is its first process, where that is known.
    pub(super) fn new(mark: &str, root: Option<Identity>) -> Self {
        Self {
            mark: mark.to_owned(),
            root,
            cgroup: None,
            known: BTreeSet::new(),
        }
    }

    /// The tree of a process that was started; what is in its control group belongs to it too.
    pub(super) fn of(mark: &str, started: &Started) -> Self {
        Self {
            cgroup: started.cgroup.clone(),
            ..Self::new(mark, Some(started.identity))
        }
    }

    /// Ends every process: `signal`, and after `grace` SIGKILL. Returns when none is left, or nothing more helps.
    pub(super) async fn end(&mut self, signal: Signal, grace: Duration) -> Stopped {
        let asked = self.on_thread(move |tree| tree.ask(signal)).await;
        if asked == 0 || self.gone_within(grace, |tree| tree.watch().len()).await {
            return Stopped::Gracefully;
        }
        if self.kill().await {
            Stopped::Forced
        } else {
            Stopped::Survived
        }
    }

    /// Ends every process at once. Returns whether none is left.
    pub(super) async fn kill(&mut self) -> bool {
        let gone = self.gone_within(KILL, Self::kill_now).await;
        if !gone {
            tracing::error!(service = %self.mark, "processes of a service could not be killed");
        }
        gone
    }

    /// Kills everything that is found, all of it stopped before the first is killed, so that none can start another
    /// that loses its parent. Returns how many there were.
    fn kill_now(&mut self) -> usize {
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let mut members = self.watch();
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

    /// Asks every process to end: the group in one call, and whoever left it. Returns how many there were.
    fn ask(&mut self, signal: Signal) -> usize {
        let members = self.watch();
        let table = table::table();
        let group = self.group(&table);
        if let Some(pid) = group.and_then(Pid::from_raw) {
            // An error means that nobody is left in it.
            let _ = kill_process_group(pid, signal);
        }
        let in_group = |member: &&Identity| {
            let status = table.iter().find(|status| status.identity == **member);
            status.is_some_and(|status| Some(status.group) == group)
        };
        for member in members.iter().filter(|member| !in_group(member)) {
            member.signal(signal);
        }
        members.len()
    }

    /// Looks, with whatever else `look` does, until it finds nothing or the time is up.
    async fn gone_within(&mut self, time: Duration, look: fn(&mut Self) -> usize) -> bool {
        let deadline = Instant::now() + time;
        let mut clean = 0;
        loop {
            let seen = self.on_thread(look).await;
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

    /// Looks on a thread that may block: the process table can be long.
    async fn on_thread(&mut self, look: impl FnOnce(&mut Self) -> usize + Send + 'static) -> usize {
        let mut tree = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let seen = look(&mut tree);
            (tree, seen)
        });
        let Ok((tree, seen)) = looked.await else { return 0 };
        *self = tree;
        seen
    }

    /// Every process of the tree that has not ended. They are remembered; those that ended are laid to rest.
    fn watch(&mut self) -> Vec<Identity> {
        let table = candidates();
        let members = self.members(&table);
        for status in table.iter().filter(|status| members.contains(&status.identity)) {
            self.known.insert(status.identity);
            if status.ended {
                self.bury(status);
            }
        }
        let alive = table
            .iter()
            .filter(|status| members.contains(&status.identity) && !status.ended);
        alive.map(|status| status.identity).collect()
    }

    /// Takes the exit status of an orphan that came to this process because it is a subreaper. The first process is
    /// left to whoever waits for its status.
    fn bury(&self, status: &Status) {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        if status.parent != own || Some(status.identity) == self.root {
            return;
        }
        if let Some(pid) = Pid::from_raw(status.identity.pid) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    fn members(&self, table: &[Status]) -> BTreeSet<Identity> {
        let group = self.group(table);
        let caught: Vec<i32> = self.cgroup.as_deref().map(cgroup::members).unwrap_or_default();
        let mut members: BTreeSet<i32> = table
            .iter()
            .filter(|status| {
                Some(status.identity) == self.root
                    || self.known.contains(&status.identity)
                    || Some(status.group) == group
                    || caught.contains(&status.identity.pid)
                    || table::variable(status.identity.pid, MARK).as_deref() == Some(&self.mark)
            })
            .map(|status| status.identity.pid)
            .collect();
        add_descendants(&mut members, table);
        let of_tree = table.iter().filter(|status| members.contains(&status.identity.pid));
        of_tree.map(|status| status.identity).collect()
    }

    /// The group of the first process, while somebody who is known is in it: afterwards the number may mean another.
    fn group(&self, table: &[Status]) -> Option<i32> {
        let root = self.root?;
        let is_known = |identity: &Identity| *identity == root || self.known.contains(identity);
        table
            .iter()
            .any(|status| status.group == root.pid && is_known(&status.identity))
            .then_some(root.pid)
    }
}

/// What can be a member: never this process, nor the first of all.
fn candidates() -> Vec<Status> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut table = table::table();
    table.retain(|status| ![own, 1].contains(&status.identity.pid));
    table
}

fn add_descendants(members: &mut BTreeSet<i32>, table: &[Status]) {
    loop {
        let before = members.len();
        let children = table.iter().filter(|status| members.contains(&status.parent));
        members.extend(children.map(|status| status.identity.pid).collect::<Vec<_>>());
        if members.len() == before {
            return;
        }
    }
}

/// The first process of a service, without knowing its id: the oldest that leads a group and carries the mark, or has
/// the service's log as its output. Some programs overwrite their environment, which is why the log counts too.
pub(super) fn find(mark: &str, log: &Path) -> Option<Identity> {
    let log = log.canonicalize().ok();
    let is_of_service = |status: &&Status| {
        let pid = status.identity.pid;
        let output = std::fs::read_link(format!("/proc/{pid}/fd/1")).ok();
        table::variable(pid, MARK).as_deref() == Some(mark) || (log.is_some() && output == log)
    };
    let table = table::table();
    let leads = table
        .iter()
        .filter(|status| !status.ended && status.group == status.identity.pid);
    let found = leads.filter(is_of_service).min_by_key(|status| status.identity.start);
    found.map(|status| status.identity)
}
