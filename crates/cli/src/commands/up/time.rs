//! The wall clock, followed when it jumps ahead. Nodes that share a database keep to the database's time instead: their
//! clock follows that with every heartbeat, and looks at the wall no more.

use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::System;

const EVERY: Duration = Duration::from_secs(1);

/// Adopts a wall clock that went ahead of engine time, for as long as it is polled. A wall clock that went back is left
/// alone: engine time never runs backwards.
pub(super) async fn follow(clock: Arc<System>) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        if let Some(jump) = clock.adopt_wall() {
            tracing::warn!(
                code = "clock-jumped",
                millis = jump.millis,
                "wall clock jumped ahead, engine time follows"
            );
        }
    }
}
