//! Agents perform a workload on many hosts, and a controller starts them at one instant.
//!
//! [`lifecycle`] decides what an agent does next, [`plan`] reads what it shall do, [`stats`] counts what it did: these three are
//! pure, and time is an argument. Around them, an [`agent`]'s one actor owns all that changes, and a [`controller`] merges what
//! agents report; in a server it is the runner of [`durable`] actions. Percentiles are always those of merged histograms.

pub mod agent;
pub mod controller;
pub mod durable;
pub mod lifecycle;
pub mod plan;
pub mod stats;
mod text;
pub mod time;
pub mod wire;
pub mod workload;
