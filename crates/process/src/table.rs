//! What the kernel reports about processes in `/proc`.

use std::fs;
use std::io::Read as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// The most bytes of an environment that are searched.
const ENVIRONMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A process that cannot be mistaken for another: ids are used again, start times with them are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its id.
    pub pid: i32,
    /// Clock ticks since the machine started (field 22 of `stat`).
    pub start: u64,
}

/// A line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Which process.
    pub identity: Identity,
    /// The id of its parent.
    pub parent: i32,
    /// The id of its group.
    pub group: i32,
    /// It has ended and only waits for its parent to look.
    pub ended: bool,
}

impl Status {
    /// Reads the status of one process.
    pub fn read(pid: i32) -> Option<Self> {
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

impl Identity {
    /// Whether this very process is there and has not ended.
    pub fn is_alive(self) -> bool {
        Status::read(self.pid).is_some_and(|status| status.identity == self && !status.ended)
    }

    /// Signals the process, and no other that may have its id by now.
    pub fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        // The handle keeps meaning one process; now it is known which.
        if Status::read(self.pid).is_some_and(|status| status.identity == self) {
            // It may have ended meanwhile, which is what was wanted.
            let _ = pidfd_send_signal(handle, signal);
        }
    }
}

/// Every process there is.
pub fn table() -> Vec<Status> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Status::read)
        .collect()
}

/// The environment that the process started with, as the kernel shows it: entries that end with a NUL.
pub(crate) fn environment(pid: i32) -> Option<Vec<u8>> {
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut environment = Vec::new();
    file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment).ok()?;
    Some(environment)
}

/// The value of a variable in the environment that the process started with.
pub fn variable(pid: i32, name: &str) -> Option<String> {
    let environment = environment(pid)?;
    let entry = environment
        .split(|&byte| byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(entry.to_vec()).ok()
}

/// Differs from one start of the machine to the next.
pub fn boot_id() -> Option<String> {
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
    fn a_process_with_a_reused_id_is_neither_alive_nor_signalled() {
        let own = Status::read(i32::try_from(std::process::id()).unwrap())
            .unwrap()
            .identity;
        let other = Identity {
            start: own.start + 1,
            ..own
        };
        assert!(own.is_alive());
        assert!(!other.is_alive());
        other.signal(Signal::KILL);
    }
}
