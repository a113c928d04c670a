//! Waiting for a job, and showing how far it is.

use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output::{self, Progress};

/// How often the server is asked.
const EVERY: Duration = Duration::from_millis(200);

/// The job once it is over, or paused: nothing more happens then by itself.
pub(crate) async fn follow(client: &Client, id: &str) -> Result<Value, Failure> {
    let mut progress = Progress::new();
    loop {
        let job = client.get(&["jobs", id]).send().await?;
        let counts = output::job_counts(&job);
        if job["status"] != "running" {
            progress.end(&counts);
            return Ok(job);
        }
        progress.show(&counts, None);
        tokio::time::sleep(EVERY).await;
    }
}

/// How a command ends that waited for a job: well only if all of it was done.
pub(crate) fn ended(job: &Value) -> Exit {
    let is_well = job["status"] == "completed" && job["counts"]["failed"] == 0;
    if is_well { Exit::Done } else { Exit::Failed }
}
