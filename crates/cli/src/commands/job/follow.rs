//! Waiting for a job, and showing how far it is.

use std::time::Duration;

use serde_json::Value;
use sprag_wire::{Job, JobStatus};

use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output::{self, Progress};

/// How often the server is asked.
const EVERY: Duration = Duration::from_millis(200);

/// The job once it is over, or paused: nothing more happens then by itself.
pub(crate) async fn follow(client: &Client, id: &str) -> Result<Value, Failure> {
    let mut progress = Progress::new();
    loop {
        let document = client.get(&["jobs", id]).send().await?;
        let job: Job = output::read(document.clone())?;
        let counts = output::job_counts(&job);
        if job.status != JobStatus::Running {
            progress.end(&counts);
            return Ok(document);
        }
        progress.show(&counts, None);
        tokio::time::sleep(EVERY).await;
    }
}

/// How a command ends that waited for a job: well only if all of it was done.
pub(crate) fn ended(job: Value) -> Result<Exit, Failure> {
    let job: Job = output::read(job)?;
    let is_well = job.status == JobStatus::Completed && job.counts.failed == 0;
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}
