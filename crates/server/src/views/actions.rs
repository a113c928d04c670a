//! Actions, the queue they wait in, and dead letters.

use sprag_engine::queue::{Depth, LineStatus, QueueStatus, TypeStatus};
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
