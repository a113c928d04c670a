//! What engine time keeps to: the wall clock of a server alone, the database's clock of nodes that share one.

use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::{Clock as _, System};
use sprag_core::ids::NodeId;
use sprag_store::nodes::{Beat, Claimed, Nodes, View};
use sprag_store::{Error, Fence, ShardId};

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
                "the wall clock jumped ahead; engine time follows"
            );
        }
    }
}

/// The way to other nodes, which brings the database's time along: every heartbeat keeps the clock to it.
pub(super) struct Kept<N> {
    nodes: N,
    clock: Arc<System>,
    /// The database's clock is behind, and that was said.
    is_behind: bool,
}

impl<N: Nodes> Kept<N> {
    pub(super) fn new(nodes: N, clock: Arc<System>) -> Self {
        Self {
            nodes,
            clock,
            is_behind: false,
        }
    }
}

impl<N: Nodes> Nodes for Kept<N> {
    fn heartbeat(&mut self, beat: &Beat) -> Result<View, Error> {
        let asked = self.clock.now();
        let view = self.nodes.heartbeat(beat)?;
        let jump = self.clock.follow(view.now, asked);
        match jump {
            Some(jump) if jump.millis > 0 => tracing::warn!(
                code = "clock-jumped",
                millis = jump.millis,
                "the database's clock is ahead; engine time follows"
            ),
            Some(jump) if !self.is_behind => tracing::warn!(
                code = "clock-jumped",
                millis = jump.millis,
                "the database's clock went back; engine time goes on, because it never runs backwards"
            ),
            _ => {}
        }
        self.is_behind = jump.is_some_and(|jump| jump.millis < 0);
        Ok(view)
    }

    fn claim(&mut self, node: NodeId, shards: &[ShardId]) -> Result<Vec<Claimed>, Error> {
        self.nodes.claim(node, shards)
    }

    fn release(&mut self, node: NodeId, fences: &[Fence]) -> Result<(), Error> {
        self.nodes.release(node, fences)
    }

    fn leave(&mut self, node: NodeId) -> Result<(), Error> {
        self.nodes.leave(node)
    }
}
