//! `sprag load report`.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::json;
use sprag_agent::controller;

use super::show;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folders of finished runs
    #[arg(value_name = "DIR", required = true, num_args = 1..=4)]
    runs: Vec<PathBuf>,
    /// Also write an HTML report to this file
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Shows runs beside each other.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let mut runs = Vec::new();
    for folder in &arguments.runs {
        let run = controller::read(folder).map_err(|error| {
            let detail = format!("`{}` is not the folder of a finished run: {error}", folder.display());
            Failure::invalid(detail).note("give the `--output-dir` of a `sprag load run`")
        })?;
        runs.push(run);
    }
    if let Some(path) = &arguments.to {
        let page = controller::report(&runs);
        std::fs::write(path, page).with_context(|| format!("`{}` cannot be written", path.display()))?;
        output::note(&format!("report written to {}", path.display()));
    }
    let results: Vec<_> = runs.into_iter().map(|(result, _)| result).collect();
    match output {
        Output::Text => output::data(&show::comparison(&results))?,
        Output::Json => output::json(&json!({ "data": results }))?,
    }
    Ok(Exit::Done)
}
