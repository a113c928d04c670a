//! The API over real sockets, with a real engine behind it.

mod client;
mod codes;
mod edges;
mod faulty;
mod guarded;
mod hooks;
mod hostile;
mod lists;
mod migration;
mod once;
mod tools;
mod work;
mod world;
