//! Executions, messages and applied machines.

use sprag_engine::command::{Applied, Sent};
use sprag_engine::view::{ExecutionView, LeaseView, Waiting, WaitingFor};
use sprag_wire as wire;

use super::IntoWire;

impl IntoWire for ExecutionView {
    type Wire = wire::Execution;

    fn into_wire(self) -> wire::Execution {
        let Self {
            id,
            key,
            machine,
            version,
            status,
            configuration,
            variables,
            tags,
            waiting,
            sequence,
            created_at,
            updated_at,
            output,
            failure,
        } = self;
        wire::Execution {
            id,
            key,
            machine,
            version,
            status: wire::ExecutionStatus::of(status),
            configuration,
            variables,
            tags,
            waiting: waiting.into_wire(),
            sequence,
            created_at,
            updated_at,
            output,
            failure,
        }
    }
}

impl IntoWire for Waiting {
    type Wire = wire::Waiting;

    fn into_wire(self) -> wire::Waiting {
        match self {
            Self::Running {
                attempt,
                since,
                node,
                node_until,
                lease,
            } => wire::Waiting::Running {
                attempt,
                since,
                node,
                node_until,
                lease: lease.into_wire(),
            },
            Self::Retrying {
                attempt,
                next_at,
                error,
            } => wire::Waiting::Retrying {
                attempt,
                next_at,
                error,
            },
            Self::Waiting {
                reason,
                object,
                since,
                until,
            } => wire::Waiting::Waiting {
                reason: reason.into_wire(),
                object,
                since,
                until,
            },
            Self::Done => wire::Waiting::Done,
        }
    }
}

impl IntoWire for WaitingFor {
    type Wire = wire::WaitingFor;

    fn into_wire(self) -> wire::WaitingFor {
        match self {
            Self::Timer => wire::WaitingFor::Timer,
            Self::Message => wire::WaitingFor::Message,
            Self::Permit => wire::WaitingFor::Permit,
            Self::Rate => wire::WaitingFor::Rate,
            Self::Runner => wire::WaitingFor::Runner,
            Self::Dependency => wire::WaitingFor::Dependency,
            Self::KillSwitch => wire::WaitingFor::KillSwitch,
            Self::Pause => wire::WaitingFor::Pause,
            Self::Circuit => wire::WaitingFor::Circuit,
            Self::Decision => wire::WaitingFor::Decision,
        }
    }
}

impl IntoWire for LeaseView {
    type Wire = wire::Lease;

    fn into_wire(self) -> wire::Lease {
        let Self { runner, until } = self;
        wire::Lease { runner, until }
    }
}

impl IntoWire for Sent {
    type Wire = wire::Sent;

    fn into_wire(self) -> wire::Sent {
        let Self {
            execution: _,
            handled,
            queued,
            configuration,
            sequence,
            accepts,
        } = self;
        wire::Sent {
            queued,
            handled,
            configuration,
            sequence,
            accepts,
        }
    }
}

impl IntoWire for Applied {
    type Wire = wire::Applied;

    fn into_wire(self) -> wire::Applied {
        let Self {
            id,
            version,
            created: _,
            same_as,
        } = self;
        wire::Applied {
            id,
            version,
            same_as_version: same_as,
        }
    }
}
