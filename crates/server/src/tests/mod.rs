//! The API over real sockets, with a real engine behind it.

mod client;
mod codes;
mod edges;
mod faulty;
mod guarded;
mod hostile;
mod lists;
mod metrics;
mod streams;
mod tools;
mod work;
mod world;
