//! The real binary, as people use it: what it prints where, how it ends, and what a server keeps.

#![cfg(test)]

mod action_tests;
mod commands;
mod completions;
mod configuration;
mod dead_letters;
mod examples;
#[cfg(feature = "failpoints")]
mod failpoints;
mod harness;
mod lint;
mod lists;
mod once;
mod operate;
mod retry;
mod shows;
mod shutdown;
mod simulate;
mod store;
mod terminal;
mod tools;
mod watch;
