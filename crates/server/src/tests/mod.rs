//! The API over real sockets, with a real engine behind it.

mod bad_input;
mod client;
mod codes;
mod contract;
mod dead_letters;
mod divergence;
mod edges;
mod etags;
mod faulty;
mod filters;
mod guarded;
mod health;
mod hooks;
mod hostile;
mod jobs;
mod lists;
mod metrics;
mod migration;
mod once;
mod operate;
mod pages;
mod posts;
mod streams;
mod tools;
mod work;
mod world;
