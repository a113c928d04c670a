//! `[agents]`: how the server reaches the agents of load tests.

use std::path::PathBuf;

use sprag_agent::durable::Options;

use super::layers::{Layers, Problem};

const SECTION: &str = "agents";

/// The options of these layers.
pub(super) fn of(layers: &Layers) -> Options {
    let file = |name| layers.text(SECTION, name).map(PathBuf::from);
    Options {
        ca: file("ca"),
        certificate: file("certificate"),
        key: file("key"),
        token: layers.text(SECTION, "token").map(str::to_owned),
        results: file("results"),
    }
}

/// What is wrong with them.
pub(super) fn problem(layers: &Layers, options: &Options) -> Option<Problem> {
    let error = options.check().err()?;
    Some(Problem {
        place: layers.place(SECTION, error.key())?,
        code: "wrong-value",
        detail: error.to_string(),
        remedy: error.remedy(),
    })
}
