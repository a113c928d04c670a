//! Rigs for whole-product tests: the real binary as a child process, an effect ledger beside it, a small HTTP client.
//!
//! Everything a rig starts it stops, by its own process id, also when a test fails.

pub mod accounts;
mod certificates;
pub mod chain;
mod client;
mod crowd;
mod damage;
mod ledger;
mod mailbox;
pub mod mcp;
pub mod neighbour;
pub mod oauth;
mod postgres;
mod prism;
mod product;
pub mod program;
mod proxy;
mod site;
pub mod store;
mod stream;
mod supervised;
pub mod wait;

pub use accounts::Accounts;
pub use certificates::{Authority, Certified, Valid, certificate_at, client_trusting, write_authorities};
pub use chain::Chain;
pub use client::{Answer, Client};
pub use crowd::Crowd;
pub use damage::{Damage, DamagingProxy};
pub use ledger::{Arrival, Ledger};
pub use mailbox::{Delivered, Mailbox};
pub use neighbour::Neighbour;
pub use oauth::OAuth;
pub use postgres::Postgres;
pub use prism::Prism;
pub use product::{Product, binary};
pub use proxy::Proxy;
pub use site::{Reply, Site, Visit};
pub use stream::{Event, Stream};
pub use supervised::{Reload, Supervised};
