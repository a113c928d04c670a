//! What the tests share: a scripted HTTP server, an attempt to run, and a guard against hanging.

mod attempt;
mod server;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::Manual;
use sprag_core::time::Timestamp;
use tokio::time::timeout;

use crate::http::Client;
use crate::http::outbound::{Guard, Options};

pub(crate) use attempt::{Case, error, result};
pub(crate) use server::{Act, Received, Server, read, reply};

/// Engine time in tests: Sun, 06 Nov 1994 08:49:37 GMT.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(784_111_777_000);
/// Far longer than anything here takes: reaching it means that something hangs.
const HANG: Duration = Duration::from_mins(1);

/// Fails the test instead of hanging.
pub(crate) async fn bounded<T>(future: impl Future<Output = T>) -> T {
    timeout(HANG, future).await.expect("the test hangs")
}

/// Returns once `condition` holds.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    bounded(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A guard that lets tests reach their own servers.
pub(crate) fn loopback() -> Guard {
    Guard::new(&Options {
        allow: vec!["127.0.0.0/8".to_owned()],
    })
    .unwrap()
}

/// A client that may reach loopback.
pub(crate) fn client() -> Client {
    Client::new(loopback(), Arc::new(Manual::new(NOW))).unwrap()
}

/// Runs one test of this binary again in a process with more environment, which safe code cannot give itself.
/// Returns whether this is that process.
pub(crate) fn is_child(test: &str, environment: &[(&str, String)]) -> bool {
    const CHILD: &str = "TEST_RUNS_IN_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
