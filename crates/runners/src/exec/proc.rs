//! What the kernel tells about processes: `/proc`.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The most bytes of an environment that are searched; the kernel's own bound for one string is smaller.
const ENVIRONMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A process that cannot be mistaken for another: ids are used again, start times with them are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) pid: i32,
    /// Clock ticks since the machine started (field 22 of `stat`).
    pub(super) start: u64,
}

/// A line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) identity: Identity,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// It has ended and only waits for its parent to look.
    pub(super) ended: bool,
}

impl Status {
    /// Reads the status of one process.
    pub(super) fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The program's name stands in parentheses and may itself hold parentheses and spaces.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            identity: Identity {
                pid,
                start: fields.get(19)?.parse().ok()?,
            },
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            // A process whose first thread has ended while others run also shows `Z`.
            ended: matches!(*fields.first()?, "Z" | "X" | "x") && matches!(*fields.get(17)?, "0" | "1"),
        })
    }
}

/// Every process there is.
pub(super) fn table() -> Vec<Status> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Status::read)
        .collect()
}

/// Whether the environment that the process started with holds `variable`, as `NAME=value`.
pub(super) fn has_variable(pid: i32, variable: &str) -> bool {
    use std::io::Read;
    let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let mut environment = Vec::new();
    let read = file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment);
    read.is_ok()
        && environment
            .split(|&byte| byte == 0)
            .any(|entry| entry == variable.as_bytes())
}

/// Signals the process, and no other that may have its id by now.
pub(super) fn signal(identity: Identity, signal: Signal) {
    let Some(pid) = Pid::from_raw(identity.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    // The handle keeps meaning one process; now it is known which.
    if Status::read(identity.pid).is_some_and(|status| status.identity == identity) {
        // It may have ended meanwhile, which is what was wanted.
        let _ = pidfd_send_signal(handle, signal);
    }
}

/// Differs from one start of the machine to the next.
pub(super) fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) R 9 (b)) S 3 4 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1 2";
        let status = Status::parse(7, stat).unwrap();
        assert_eq!(status.identity, Identity { pid: 7, start: 123_456 });
        assert_eq!((status.parent, status.group, status.ended), (3, 4, false));
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(table().iter().any(|status| status.identity.pid == own && !status.ended));
    }

    #[test]
    fn a_process_with_a_reused_id_is_not_signalled() {
        let own = Status::read(i32::try_from(std::process::id()).unwrap())
            .unwrap()
            .identity;
        signal(
            Identity {
                start: own.start + 1,
                ..own
            },
            Signal::KILL,
        );
    }
}
