//! `sprag up --demo`: the examples at work in a small simulated world, so that there is always something to watch.
//!
//! Nothing of it is fake: machines, executions, messages and attempts are the product's own, on its own store. Only
//! what lies outside is simulated: the systems that actions call ([`world`]) and the people who send messages
//! ([`people`], whom the [`driver`] plays). Executions of the demo carry a tag; no others are touched.

mod driver;
mod machines;
mod people;
mod world;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use sprag_core::ids::ExecutionId;
use sprag_engine::Handle;
use tokio::task::JoinHandle;

use self::driver::Driver;
pub(super) use self::driver::NIGHTLY_KEY;
pub(super) use self::machines::NIGHTLY;

/// What machines of the demo may reach: the simulated world, and nothing that is not on this computer.
pub(super) const OUTBOUND: &str = "127.0.0.0/8";

/// A demo at work.
pub(super) struct Demo {
    /// Where the simulated systems answer.
    pub(super) world: SocketAddr,
    /// The execution that is always there.
    pub(super) nightly: ExecutionId,
    driver: JoinHandle<()>,
}

impl Demo {
    /// Applies the machines, starts the first executions, and lets the world turn.
    pub(super) async fn begin(handle: Handle, server: SocketAddr) -> anyhow::Result<Self> {
        let world = world::serve(server).await?;
        let versions = machines::apply(&handle, world).await?;
        let mut driver = Driver::new(handle, versions).await?;
        let nightly = driver.begin().await?;
        Ok(Self {
            world,
            nightly,
            driver: tokio::spawn(driver.run()),
        })
    }

    /// Starts and sends nothing more. The world continues to answer, so that attempts under way can end.
    pub(super) fn stop(&self) {
        self.driver.abort();
    }
}

/// The same demo tells the same story every time; another seed, another one.
const SEED: u64 = 7;

/// What chance has in store for `what` about `key`: always the same.
fn luck(key: &str, what: &str) -> u64 {
    let bytes = key.bytes().chain([0]).chain(what.bytes());
    bytes.fold(SEED, |hash, byte| {
        sprag_core::ids::scatter(hash.wrapping_add(u64::from(byte)).wrapping_add(1))
    })
}

/// The number that a key of the demo ends with.
fn number(key: &str) -> Option<u64> {
    key.rsplit_once('-')?.1.parse().ok()
}
