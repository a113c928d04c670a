//! Bulk jobs.

use sprag_engine::jobs::{CanaryState, CanaryView, Counts, Expected, JobItemView, JobView, JobWaiting};
use sprag_wire as wire;

use super::IntoWire;

impl IntoWire for JobView {
    type Wire = wire::Job;

    fn into_wire(self) -> wire::Job {
        let Self {
            id,
            kind,
            status,
            filter,
            config,
            version,
            patch,
            reason,
            rate,
            canary,
            expected,
            note,
            counts,
            waiting,
            created_at,
            started_at,
            updated_at,
            finished_at,
        } = self;
        wire::Job {
            id,
            kind,
            status: wire::JobStatus::of(status),
            filter,
            config,
            version,
            patch,
            reason,
            rate,
            canary: canary.into_wire(),
            expected: expected.into_wire(),
            note,
            counts: counts.into_wire(),
            waiting: waiting.into_wire(),
            created_at,
            started_at,
            updated_at,
            finished_at,
        }
    }
}

impl IntoWire for CanaryView {
    type Wire = wire::Canary;

    fn into_wire(self) -> wire::Canary {
        let Self {
            size,
            retried,
            died,
            state,
        } = self;
        wire::Canary {
            size,
            retried,
            died,
            state: match state {
                CanaryState::Retrying => wire::CanaryState::Retrying,
                CanaryState::Waiting => wire::CanaryState::Waiting,
                CanaryState::Passed => wire::CanaryState::Passed,
                CanaryState::Failed => wire::CanaryState::Failed,
            },
        }
    }
}

impl IntoWire for Expected {
    type Wire = wire::Expected;

    fn into_wire(self) -> wire::Expected {
        let Self { count, more } = self;
        wire::Expected { count, more }
    }
}

impl IntoWire for Counts {
    type Wire = wire::JobCounts;

    fn into_wire(self) -> wire::JobCounts {
        let Self {
            matched,
            done,
            skipped,
            failed,
        } = self;
        wire::JobCounts {
            matched,
            done,
            skipped,
            failed,
        }
    }
}

impl IntoWire for JobWaiting {
    type Wire = wire::JobWaiting;

    fn into_wire(self) -> wire::JobWaiting {
        match self {
            Self::Running { since } => wire::JobWaiting::Running { since },
            Self::Waiting { reason, object, since } => wire::JobWaiting::Waiting { reason, object, since },
            Self::Done => wire::JobWaiting::Done,
        }
    }
}

impl IntoWire for JobItemView {
    type Wire = wire::JobItem;

    fn into_wire(self) -> wire::JobItem {
        let Self {
            number,
            action,
            result,
            detail,
        } = self;
        wire::JobItem {
            number,
            action,
            result: wire::JobResult::of(result),
            detail,
        }
    }
}
