//! Other nodes: which of them a request is for, and what they say to each other.

pub(crate) mod client;
pub(crate) mod forward;
pub(crate) mod hints;
pub(crate) mod owner;
pub(crate) mod peers;
pub(crate) mod polls;

pub use client::NodeClient;
pub use peers::HttpPeers;
