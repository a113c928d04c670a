//! Watches a process until it ends, whether it is a child of the supervisor or not.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use serde::{Deserialize, Serialize};
use sprag_process::{Identity, Status};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

/// Between two looks at a process that cannot be waited for.
const POLL: Duration = Duration::from_millis(100);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Unknown: an earlier supervisor started it.
    Unknown,
}

impl Exit {
    /// Whether its work was done.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// In words.
    pub fn describe(self) -> String {
        match self {
            Self::Code(code) => format!("exited with code {code}"),
            Self::Signal(signal) => format!("was ended by signal {signal}"),
            Self::Unknown => "ended; how is unknown, since it was started before the supervisor was".to_owned(),
        }
    }
}

/// A handle that means one process, also when its id is used again.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) identity: Identity,
    handle: OwnedFd,
}

impl Watched {
    /// Takes hold of a process, if it is still the one that is meant.
    pub(super) fn new(identity: Identity) -> io::Result<Self> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let pid = Pid::from_raw(identity.pid).ok_or_else(gone)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        // Read after the handle was taken: from here on both mean the same process.
        let status = Status::read(identity.pid).ok_or_else(gone)?;
        if status.identity != identity {
            return Err(gone());
        }
        Ok(Self { identity, handle })
    }

    /// The child that was just started.
    pub(super) fn child(pid: u32) -> io::Result<Self> {
        let gone = || io::Error::other("the process table does not show it");
        let pid = i32::try_from(pid).map_err(|_| gone())?;
        // Its status was not taken yet, so its id is its own.
        let identity = Status::read(pid).ok_or_else(gone)?.identity;
        Self::new(identity)
    }

    /// Waits until it has ended. It stays in the table: until its status is taken, its id and its group's are not
    /// given to others.
    pub(super) async fn ended(self) -> Over {
        let Self { identity, handle } = self;
        let handle = match registered(handle) {
            Ok(handle) => {
                // The handle becomes readable when the process has ended, and stays so.
                let _ = handle.readable().await;
                handle.into_inner()
            }
            Err(handle) => poll(identity, handle).await,
        };
        Over { identity, handle }
    }
}

/// The handle among those that the runtime waits for, or the handle where there is no room for it.
#[expect(
    deprecated,
    reason = "sound for a descriptor that is owned: it stays open and the same for as long as it is registered; the \
              successor of this call is unsafe for the sake of other types"
)]
fn registered(handle: OwnedFd) -> Result<AsyncFd<OwnedFd>, OwnedFd> {
    AsyncFd::try_with_interest(handle, Interest::READABLE).map_err(|error| error.into_parts().0)
}

/// The same without the runtime's help: looks at the table until the process is not there or has ended.
async fn poll(identity: Identity, handle: OwnedFd) -> OwnedFd {
    while identity.is_alive() {
        sleep(POLL).await;
    }
    handle
}

/// A process that has ended.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) identity: Identity,
    handle: OwnedFd,
}

impl Over {
    /// How it ended. A child is laid to rest by it.
    pub(super) fn exit(self) -> Exit {
        status(&self.handle)
    }
}

fn status(handle: &OwnedFd) -> Exit {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let Ok(Some(status)) = waitid(WaitId::PidFd(handle.as_fd()), options) else {
        // Not a child of this process.
        return Exit::Unknown;
    };
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
