//! `sprag`: the one binary. It wires the store, the engine, the runners and the server together, and speaks to a
//! running server.
//!
//! Data goes to stdout and everything else to stderr, so that every command can stand in a pipe.

mod client;
mod commands;
mod config;
mod failure;
mod input;
mod logging;
mod output;
mod telemetry;

use std::process::ExitCode;

use clap::Parser as _;

use crate::commands::Sprag;

fn main() -> ExitCode {
    let arguments = Sprag::parse();
    logging::start(arguments.logs());
    match arguments.run() {
        Ok(exit) => exit.into(),
        Err(error) => failure::report(&error).into(),
    }
}
