//! All processes of an attempt, and their end.
//!
//! A process belongs to the tree if it carries the attempt's marker in its environment, is in the first process's
//! group, or descends from one that does. The marker finds those that left group and parent behind; what escapes is
//! a process that left all three.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::checkpoint::Checkpoint;
use super::proc::{self, Identity, Status};
use super::process::MARKER;

/// Between two looks at the process table.
const POLL: Duration = Duration::from_millis(10);
/// How long killed processes may take to disappear: one in an uninterruptible call ends only when the call does.
const KILL: Duration = Duration::from_secs(5);
/// Rounds of killing without a pause; each finds what was started during the one before.
const ROUNDS_MAX: usize = 64;
/// Looks that must find nothing before the tree counts as gone: in the middle of `execve` a process shows no
/// environment.
const CLEAN_LOOKS: usize = 2;

/// The processes of one attempt.
#[derive(Clone)]
pub(super) struct Tree {
    marker: String,
    root: Option<Identity>,
    /// Seen before: a process whose parent was ended meanwhile still belongs to the tree.
    known: BTreeSet<Identity>,
}

impl Tree {
    /// The tree below a process that was just started.
    pub(super) fn new(marker: &str, root: Identity) -> Self {
        Self {
            marker: marker.to_owned(),
            root: Some(root),
            known: BTreeSet::new(),
        }
    }

    /// What is left of the tree of an earlier attempt.
    pub(super) fn survivors(checkpoint: Checkpoint) -> Self {
        let Checkpoint { marker, root } = checkpoint;
        Self {
            marker,
            root,
            known: BTreeSet::new(),
        }
    }

    /// Ends every process: SIGTERM, and after `grace` SIGKILL. Returns when none is left.
    pub(super) async fn end(&mut self, grace: Duration) {
        let asked = self.on_thread(Self::terminate).await;
        if asked > 0 && !self.gone_within(grace, |tree| tree.watch().len()).await {
            self.kill().await;
        }
    }

    /// Ends every process at once. Returns when none is left.
    pub(super) async fn kill(&mut self) {
        if !self.gone_within(KILL, Self::kill_now).await {
            tracing::error!(attempt = %self.marker, "processes of an attempt could not be killed");
        }
    }

    /// Ends every process at once, without waiting until they are gone: for those who cannot wait. Returns how many
    /// there were. All are stopped before one is killed, so that none can start another that loses its parent.
    pub(super) fn kill_now(&mut self) -> usize {
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let mut members = self.watch();
            members.retain(|member| stopped.insert(*member));
            if members.is_empty() {
                break;
            }
            signal(&members, Signal::STOP);
        }
        signal(&stopped, Signal::KILL);
        stopped.len()
    }

    /// Asks every process to end. Returns how many there were.
    fn terminate(&mut self) -> usize {
        let members = self.watch();
        signal(&members, Signal::TERM);
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
    async fn on_thread(&mut self, look: fn(&mut Self) -> usize) -> usize {
        let mut tree = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let seen = look(&mut tree);
            (tree, seen)
        });
        let Ok((tree, seen)) = looked.await else { return 0 };
        *self = tree;
        seen
    }

    /// Every process of the tree that has not ended. They are remembered.
    fn watch(&mut self) -> Vec<Identity> {
        let members = self.members();
        self.known.extend(&members);
        members
    }

    fn members(&self) -> Vec<Identity> {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let oldest = self.root.map_or(0, |root| root.start);
        let mut table = proc::table();
        table.retain(|status| status.identity.start >= oldest && ![own, 1].contains(&status.identity.pid));
        let variable = format!("{MARKER}={}", self.marker);
        let group = self.group(&table);
        let mut members: BTreeSet<i32> = table
            .iter()
            .filter(|status| {
                self.known.contains(&status.identity)
                    || Some(status.group) == group
                    || proc::has_variable(status.identity.pid, &variable)
            })
            .map(|status| status.identity.pid)
            .collect();
        add_descendants(&mut members, &table);
        let alive = table
            .into_iter()
            .filter(|status| members.contains(&status.identity.pid) && !status.ended);
        alive.map(|status| status.identity).collect()
    }

    /// The group of the first process, while that process holds its id: afterwards the number may mean another group.
    fn group(&self, table: &[Status]) -> Option<i32> {
        let root = self.root?;
        table.iter().any(|status| status.identity == root).then_some(root.pid)
    }
}

fn add_descendants(members: &mut BTreeSet<i32>, table: &[Status]) {
    loop {
        let before = members.len();
        members.extend(
            table
                .iter()
                .filter(|status| members.contains(&status.parent))
                .map(|status| status.identity.pid)
                .collect::<Vec<_>>(),
        );
        if members.len() == before {
            return;
        }
    }
}

fn signal<'a>(members: impl IntoIterator<Item = &'a Identity>, with: Signal) {
    for member in members {
        proc::signal(*member, with);
    }
}
