//! Says to the audit with which configuration the server has started, if the last one had another.
//!
//! The node that owns the control shard says it; the others have the same configuration, or will not be heard.

use std::sync::Arc;
use std::time::Duration;

use sprag_core::access::Caller;
use sprag_engine::requests::{Code, Configured};
use sprag_engine::{Asker, Handle};

/// How long to wait until the next try while no node decides, and how often to try.
const TRY_EVERY: Duration = Duration::from_millis(500);
const TRIES_MAX: usize = 60;

/// Says it once.
pub(super) async fn begin(engine: Handle, digest: String) {
    let asker = Asker {
        caller: Arc::new(Caller::local()),
        key: None,
    };
    for _ in 0..TRIES_MAX {
        let request = Configured { digest: digest.clone() };
        match engine.ask_once(request, &asker).await.answer {
            Err(refusal) if refusal.code == Code::ShardMoved => tokio::time::sleep(TRY_EVERY).await,
            Err(refusal) => return tracing::warn!(code = refusal.code.text(), "configuration not in the audit"),
            Ok(()) => return,
        }
    }
}
