//! Actions, the queue they wait in, and dead letters.

use sprag_engine::queue::{Depth, LineStatus, QueueStatus, TypeStatus};
use sprag_engine::{CaseFile, Others, SentRequest};
use sprag_wire as wire;

use super::IntoWire;

impl IntoWire for QueueStatus {
    type Wire = wire::Queue;

    fn into_wire(self) -> wire::Queue {
        let Self { lines, types, held } = self;
        wire::Queue {
            data: lines.into_wire(),
            next_cursor: None,
            types: types.into_wire(),
            held: held.into_wire(),
        }
    }
}

impl IntoWire for Depth {
    type Wire = wire::QueueDepth;

    fn into_wire(self) -> wire::QueueDepth {
        let Self {
            ready,
            oldest_ready_at,
            oldest_age,
        } = self;
        wire::QueueDepth {
            ready,
            oldest_ready_at,
            oldest_age,
        }
    }
}

impl IntoWire for LineStatus {
    type Wire = wire::QueueLine;

    fn into_wire(self) -> wire::QueueLine {
        let Self {
            kind,
            runner,
            limits,
            destination,
            depth,
            running,
            waiting,
        } = self;
        wire::QueueLine {
            kind,
            runner,
            limits,
            destination,
            depth: depth.into_wire(),
            running,
            waiting,
        }
    }
}

impl IntoWire for TypeStatus {
    type Wire = wire::QueuedType;

    fn into_wire(self) -> wire::QueuedType {
        let Self {
            kind,
            depth,
            running,
            started_last_minute,
        } = self;
        wire::QueuedType {
            kind,
            depth: depth.into_wire(),
            running,
            started_last_minute,
        }
    }
}

impl IntoWire for CaseFile {
    type Wire = wire::CaseFile;

    fn into_wire(self) -> wire::CaseFile {
        let Self {
            action,
            failure_reason,
            total_attempts,
            last_attempt_at,
            request,
            others,
            recoverable,
            manual_review_required,
            suggested_fix,
            fix_patch,
        } = self;
        wire::CaseFile {
            action,
            failure_reason,
            total_attempts,
            last_attempt_at,
            request: request.into_wire(),
            others: others.into_wire(),
            recoverable,
            manual_review_required,
            suggested_fix,
            fix_patch,
        }
    }
}

impl IntoWire for SentRequest {
    type Wire = wire::SentRequest;

    fn into_wire(self) -> wire::SentRequest {
        let Self {
            config,
            secrets,
            destination,
            timeout,
            retry_policy,
        } = self;
        wire::SentRequest {
            config,
            secrets,
            destination,
            timeout,
            retry_policy,
        }
    }
}

impl IntoWire for Others {
    type Wire = wire::Others;

    fn into_wire(self) -> wire::Others {
        let Self { count, more } = self;
        wire::Others { count, more }
    }
}
