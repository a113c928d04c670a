//! Messages and applied machines.

use sprag_engine::command::{Applied, Sent};
use sprag_wire as wire;

use super::IntoWire;

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
