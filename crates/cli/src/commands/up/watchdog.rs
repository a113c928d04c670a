//! The end in all cases: a thread that depends on no other.

use std::time::Duration;

use crate::failure::Exit;

/// A process that was asked to stop is gone after this.
const GONE_WITHIN: Duration = Duration::from_millis(9_500);

/// Ends the process if it is still there when its time is up, whatever its other threads do.
pub(super) fn start() {
    let thread = std::thread::Builder::new().name("watchdog".to_owned()).spawn(|| {
        std::thread::sleep(GONE_WITHIN);
        tracing::error!("shutdown timed out, exiting; the next start settles running actions");
        std::process::exit(Exit::Failed.code().into());
    });
    if let Err(error) = thread {
        tracing::warn!(%error, "watchdog not started; shutdown may take longer");
    }
}
