//! `sprag`: the one binary. It wires the store, the engine, the runners and the server together, and speaks to a
//! running server.
//!
//! Data goes to stdout and everything else to stderr, so that every command can stand in a pipe.

mod client;
mod commands;
mod completion;
mod config;
mod failure;
mod input;
mod logging;
mod output;
mod panics;
mod privacy;
mod telemetry;

use std::process::ExitCode;

use clap::Parser as _;
use mimalloc::MiMalloc;

use crate::commands::Sprag;
use crate::output::Output;

/// What a lane decides is made on one thread and dropped on another, which the system's allocator is slow at: with this one
/// a step costs a sixth less. It is built without huge pages, with which a server held a third more at
/// rest and two thirds more under load.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments = match Sprag::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::usage(&error, Output::of_arguments(std::env::args_os())).into(),
    };
    let output = arguments.output();
    logging::start(arguments.logs());
    panics::start();
    match arguments.run() {
        Ok(exit) => exit.into(),
        Err(error) => failure::report(&error, output).into(),
    }
}
