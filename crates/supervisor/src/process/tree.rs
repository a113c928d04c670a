//! The processes of a service: by its mark, its log, and the record of its start.

use std::path::Path;

use sprag_process::{Identity, Mark, Seen, Ticket, Tree, look_for};

use super::MARK;
use super::record::Started;

/// The mark of a service, as its processes carry it.
pub(super) fn mark(value: &str) -> Mark {
    Mark {
        name: MARK,
        value: value.to_owned(),
    }
}

/// Everything that carries a service's mark, also what an earlier supervisor started.
pub(super) fn marked(value: &str) -> Tree {
    Tree::new(mark(value), None)
}

/// The tree of a process that was started; what is in its control group belongs to it too.
pub(super) fn started(value: &str, started: &Started) -> Tree {
    Tree::new(mark(value), Some(started.identity)).within(started.cgroup.clone())
}

/// The first process of a service, without knowing its id: the oldest that leads a group and carries the mark, or has
/// the service's log as its output. Some programs overwrite their environment, which is why the log counts too.
pub(super) fn find(mark: &str, log: &Path, asked: Ticket) -> Option<Identity> {
    let log = log.canonicalize().ok();
    let mark = self::mark(mark);
    let is_of_service = |seen: &&Seen| {
        let output = || std::fs::read_link(format!("/proc/{}/fd/1", seen.status.identity.pid)).ok();
        seen.is_marked(&mark) || (log.is_some() && output() == log)
    };
    let looked = look_for(asked);
    let leads = looked
        .table
        .iter()
        .filter(|seen| !seen.status.ended && seen.status.group == seen.status.identity.pid);
    let found = leads
        .filter(is_of_service)
        .min_by_key(|seen| seen.status.identity.start);
    found.map(|seen| seen.status.identity)
}
