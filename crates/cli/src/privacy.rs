//! Keeps the memory and the environment of a server to itself.
//!
//! A server's environment may hold secrets (`SPRAG_SECRET_…`), and the programs that it starts may run as the same user.
//! Such a process could read `/proc/PID/environ` or attach to the server as a debugger. The kernel refuses both to
//! everybody but root once a process says that it must not be dumped. Programs that the server starts are not affected:
//! `execve` sets the attribute again.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Closes this process to others of the same user. There will be no core dump of it either.
pub(crate) fn start() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "environment readable by other processes of this user");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_be_dumped() {
        start();
        assert_eq!(rustix::process::dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
    }
}
