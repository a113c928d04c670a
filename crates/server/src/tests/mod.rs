//! The API over real sockets, with a real engine behind it.

mod client;
mod codes;
mod contract;
mod edges;
mod faulty;
mod guarded;
mod hostile;
mod lists;
mod operate;
mod pages;
mod tools;
mod work;
mod world;
