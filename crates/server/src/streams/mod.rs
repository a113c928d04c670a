//! Live streams: Server-Sent Events that follow one execution or one load test, or hint at everything that changes.
//!
//! Three things always hold. Hints wake and the store decides: what a stream says it has read after the hint, so
//! nothing is said that is not durable and no entry of a history is left out or said twice. A reader that does not read
//! costs a bounded amount of memory, because nothing is prepared before it is asked for. And streams end when the server
//! goes down: a follower reconnects with the last id it has.

mod execution;
pub(crate) mod filter;
mod hints;
mod hub;
mod load;
mod log;
mod relay;
mod sse;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use sprag_engine::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use self::execution::Following;
use self::filter::Filter;
pub(crate) use self::hints::Hinting;
use self::hub::{Hub, Interest, Listener};
pub(crate) use self::load::FollowingLoad;
pub(crate) use self::log::{LogFollowing, LogStart};
use crate::problem::{Code, Problem};

/// The default limit on streams: far fewer than connections, so that there is always room for
/// requests.
pub const STREAMS_MAX: usize = 512;
/// How often a stream without news says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The streams of one server.
pub(crate) struct Streams {
    hub: Arc<Hub>,
    places: Arc<Semaphore>,
    most: usize,
}

impl Streams {
    /// At most so many.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            hub: Arc::default(),
            places: Arc::new(Semaphore::new(most)),
            most,
        }
    }

    /// What fans hints out.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.most.saturating_sub(self.places.available_permits())
    }

    /// How often a reader began to lag.
    pub(crate) fn lagged(&self) -> &Counter {
        &self.hub.lagged
    }

    /// A place among the streams.
    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            let detail = format!("{} streams are already open; close one, or try again later", self.most);
            Problem::new(Code::TooManyStreams, detail)
        })
    }

    /// Listens from now on: whatever changes after this is heard, or it is heard that something was missed.
    fn listen(&self, engine: &Handle, interest: Interest, filter: Filter) -> Result<Listener, Problem> {
        let place = self.place()?;
        Ok(Listener::new(&self.hub, engine, (interest, filter), place))
    }
}
