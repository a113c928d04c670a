//! How everything stands, in bounded counts and a few samples: what a person at 3 a.m. looks at first.
//!
//! The cost does not grow with what is stored: every count ends at a bound, every list at a few rows, and callers share an
//! answer for a second.

use std::sync::Arc;

use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::time::Timestamp;
use sprag_core::time::schedule::ON_TIME_MS;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{ExecutionQuery, OpenCounts, Reader};
use sprag_store::{Error, Page, ReadKind};
use sprag_wire::ScheduledAction;

use super::handle::ReadHandle;
use super::lookup::LookupHandle;
use super::timers::scheduled;
use crate::decide::convert;
use crate::lane::damaged;
use crate::requests::Refusal;

/// Each kind is counted up to here.
const COUNTED_MAX: usize = 10_000;
/// Samples of each kind.
const SAMPLES: usize = 5;
/// An answer is good for at least so long, in microseconds.
const GOOD_FOR_MICROS: u64 = 1_000_000;

/// How everything stands.
#[derive(Debug)]
pub struct Standing {
    /// How much is open.
    pub counts: OpenCounts,
    /// The newest executions whose last decision failed.
    pub failed: Vec<FailedExecution>,
    /// The plans that wait for a person, most urgent first.
    pub approvals: Vec<WaitingApproval>,
    /// Schedules with missed occurrences, those that waited longest first.
    pub missed: Vec<ScheduledAction>,
}

/// An execution whose last decision failed.
#[derive(Clone, Debug)]
pub struct FailedExecution {
    /// Which.
    pub id: ExecutionId,
    /// Its machine.
    pub machine: String,
    /// Why.
    pub failure: String,
    /// When it last changed.
    pub since: Timestamp,
}

/// A plan that waits for a person.
#[derive(Clone, Debug)]
pub struct WaitingApproval {
    /// Which.
    pub id: WorkflowId,
    /// What it is called.
    pub name: String,
    /// When it was proposed.
    pub since: Timestamp,
    /// When it expires.
    pub decide_by: Option<Timestamp>,
}

impl LookupHandle<'_> {
    /// How everything stands, at most about a second ago.
    pub async fn standing(&self) -> Result<Arc<Standing>, Refusal> {
        let (read, handle) = (self.0.read(), self.0.read().clone());
        let find = read.query(ReadKind::Scan, move |reader| standing(&handle, reader));
        let cache = &self.0.caches.standing;
        cache.get(|| self.0.micros(), GOOD_FOR_MICROS, find).await
    }
}

fn standing(handle: &ReadHandle, reader: &dyn Reader) -> Result<Standing, Error> {
    let counts = reader.open_counts(COUNTED_MAX)?;
    let approvals = reader.waiting_plans(&Page::first(SAMPLES))?.rows.into_iter();
    Ok(Standing {
        counts,
        failed: failed(reader)?,
        approvals: approvals
            .map(|plan| WaitingApproval {
                id: plan.id,
                name: plan.name,
                since: plan.updated_at,
                decide_by: plan.decide_by,
            })
            .collect(),
        missed: missed(handle, reader)?,
    })
}

fn failed(reader: &dyn Reader) -> Result<Vec<FailedExecution>, Error> {
    let query = ExecutionQuery {
        status: Some(ExecutionStatus::Failed),
        page: Page::first(SAMPLES),
        ..ExecutionQuery::default()
    };
    let rows = reader.executions(&query)?.rows.into_iter();
    rows.map(|row| {
        let state = convert::execution_of(row).map_err(|error| damaged(&error))?;
        Ok(FailedExecution {
            id: state.head.id,
            machine: state.head.machine.to_string(),
            failure: state.failure.unwrap_or_default(),
            since: state.head.updated_at,
        })
    })
    .collect()
}

/// The schedules whose occurrence is later than what counts as on time.
fn missed(handle: &ReadHandle, reader: &dyn Reader) -> Result<Vec<ScheduledAction>, Error> {
    let latest = handle.clock.now().as_millis().saturating_sub(ON_TIME_MS);
    let found = reader.schedules(&Page::first(SAMPLES))?.rows;
    let overdue = found.iter().filter(|timer| timer.due_at.as_millis() < latest);
    let shown = overdue.map(|timer| scheduled(handle, reader, timer));
    shown.filter_map(Result::transpose).collect()
}
