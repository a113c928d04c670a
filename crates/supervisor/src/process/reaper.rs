//! Orphans: processes that lost their parent become children of the supervisor, which must reap them.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};
use sprag_process::{Identity, table};
use tokio::time::sleep;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(15);
/// The starter of a process takes its status long before so many looks have seen it ended.
const LOOKS: u32 = 4;

/// Takes in orphans of this process's descendants from now on, and lays them to rest, for as long as it is polled.
pub async fn reap() {
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        tracing::warn!(%error, "orphaned processes go to the init process");
        return;
    }
    let mut seen = BTreeMap::new();
    loop {
        sleep(EVERY).await;
        let before = std::mem::take(&mut seen);
        if let Ok(now) = tokio::task::spawn_blocking(move || look(&before)).await {
            seen = now;
        }
    }
}

/// Counts for how many looks each ended child was seen, and reaps those whose status is not taken.
fn look(before: &BTreeMap<Identity, u32>) -> BTreeMap<Identity, u32> {
    let own = getpid().as_raw_nonzero().get();
    let mut seen = BTreeMap::new();
    for status in table() {
        if status.parent != own || !status.ended {
            continue;
        }
        let looks = before.get(&status.identity).map_or(1, |looks| looks + 1);
        if looks < LOOKS {
            seen.insert(status.identity, looks);
        } else if let Some(pid) = Pid::from_raw(status.identity.pid) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
    seen
}
