//! Logs go to stderr: readable on a terminal and beside other plain lines, one JSON object a line otherwise.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::output;

/// The variable that says what is logged: `debug`, or `info,sprag_runners=debug`.
const VARIABLE: &str = "SPRAG_LOG";

/// How much a command logs unless the environment says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logs {
    /// A server: what happens.
    Server,
    /// A supervisor that writes plain lines of its own: what happens, in lines of the same kind.
    Lines,
    /// Everything else: what is wrong.
    Command,
}

/// Starts logging.
pub(crate) fn start(logs: Logs) {
    let default = match logs {
        Logs::Server | Logs::Lines => LevelFilter::INFO,
        Logs::Command => LevelFilter::WARN,
    };
    let asked = std::env::var(VARIABLE).ok();
    let parsed = asked.as_deref().map(str::parse::<Targets>);
    let is_wrong = matches!(parsed, Some(Err(_)));
    let targets = parsed
        .and_then(Result::ok)
        .unwrap_or_else(|| Targets::new().with_default(default));
    let registry = tracing_subscriber::registry().with(targets);
    let is_terminal = output::errors_to_terminal();
    if is_terminal || logs == Logs::Lines {
        let lines = fmt::layer().compact().with_writer(output::log).with_target(false);
        registry.with(lines.with_ansi(is_terminal)).init();
    } else {
        registry
            .with(fmt::layer().json().flatten_event(true).with_writer(output::log))
            .init();
    }
    if is_wrong {
        tracing::warn!(
            variable = VARIABLE,
            "log filter not readable, ignored; write `debug` or `sprag_engine=debug`"
        );
    }
}
