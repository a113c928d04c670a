//! What external runners are given.

use sprag_engine::leasing::{Beat, Finished, Leased};
use sprag_wire as wire;

use super::IntoWire;

impl IntoWire for Leased {
    type Wire = wire::LeasedAttempt;

    fn into_wire(self) -> wire::LeasedAttempt {
        let Self {
            id,
            number,
            action_id,
            kind,
            config,
            idempotency_key,
            deadline,
            lease_until,
            checkpoint,
        } = self;
        wire::LeasedAttempt {
            id,
            number,
            action_id,
            kind,
            config,
            idempotency_key,
            deadline,
            lease_until,
            checkpoint,
        }
    }
}

impl IntoWire for Beat {
    type Wire = wire::Heartbeat;

    fn into_wire(self) -> wire::Heartbeat {
        let Self {
            lease_until,
            cancel_requested,
        } = self;
        wire::Heartbeat {
            lease_until,
            cancel_requested,
        }
    }
}

impl IntoWire for Finished {
    type Wire = wire::Finished;

    fn into_wire(self) -> wire::Finished {
        let Self { id, outcome, status } = self;
        wire::Finished {
            id,
            outcome: outcome.into(),
            status: status.into(),
        }
    }
}
