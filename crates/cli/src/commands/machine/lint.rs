//! `sprag machine lint`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::{ConfigProblem, SecretRules};
use sprag_core::clock::Manual;
use sprag_core::machine::{ConfigCheck, DefinitionLimits, Finding, LoadOptions, Severity, UnknownType};
use sprag_core::source::nearest;
use sprag_runners::Registry;
use sprag_runners::secrets::Secrets;

use super::findings::{self, counted, is_error};
use super::local;
use crate::config::{Environment, Given, Settings};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Machine files, YAML or JSON; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Treat warnings like errors
    #[arg(long)]
    strict: bool,
    /// The server's configuration: what is not configured in it is an error then, not a warning [default: sprag.toml if it is there]
    #[arg(long, env = "SPRAG_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Shows all findings of all files.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let given = Given {
        config: arguments.config.as_deref(),
        ..Given::default()
    };
    let settings = Settings::load(&given, &Environment::process())?;
    // Nothing runs here, so nothing asks for the time or for a secret.
    let secrets = Arc::new(Secrets::judging(&settings.secrets)?);
    let registry = Registry::standard(&settings.runners, Arc::new(Manual::default()), secrets)?;
    // Whoever names a configuration says that it is the server's.
    let known = Known(registry);
    let check: Box<dyn ConfigCheck> = match arguments.config {
        Some(_) => Box::new(known),
        None => Box::new(Elsewhere(known)),
    };
    let mut all = Vec::new();
    for path in &arguments.files {
        all.push((path.as_path(), lint(path, check.as_ref())?));
    }
    show(&all, output)?;
    let count = |wanted: fn(&Finding) -> bool| {
        all.iter()
            .flat_map(|(_, found)| found)
            .filter(|found| wanted(found))
            .count()
    };
    let errors = count(is_error);
    let warnings = count(|finding| !is_error(finding));
    if output == Output::Text {
        let files = counted(all.len(), "file");
        output::note(&format!(
            "{files}: {}, {}",
            counted(errors, "error"),
            counted(warnings, "warning")
        ));
    }
    let is_refused = errors > 0 || (arguments.strict && warnings > 0);
    Ok(if is_refused { Exit::Invalid } else { Exit::Done })
}

fn lint(path: &Path, runners: &dyn ConfigCheck) -> Result<Vec<Finding>, Failure> {
    let options = LoadOptions {
        limits: DefinitionLimits::default(),
        runners,
    };
    Ok(local::loaded(path, &options)?.findings)
}

fn show(all: &[(&Path, Vec<Finding>)], output: Output) -> anyhow::Result<()> {
    let findings = all
        .iter()
        .flat_map(|(path, findings)| findings.iter().map(move |finding| (*path, finding)));
    match output {
        Output::Json => {
            let documents: Vec<Value> = findings
                .map(|(path, finding)| findings::document(path, finding))
                .collect();
            output::json(&json!({"findings": documents}))
        }
        Output::Text => output::data(
            &findings
                .map(|(path, finding)| findings::text(path, finding))
                .collect::<String>(),
        ),
    }
}

/// The runners of a server with this configuration.
pub(crate) struct Known(pub(crate) Registry);

impl SecretRules for Known {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        let runner = self.0.get(kind);
        runner.is_none_or(|runner| runner.takes_secret(kind, pointer))
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.0.allows_secret(machine, name)
    }
}

impl ConfigCheck for Known {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        match self.0.get(kind) {
            Some(runner) => Ok(runner.validate(kind, config)),
            None => Err(UnknownType {
                nearest: nearest(kind, self.0.types()).map(str::to_owned),
            }),
        }
    }

    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let runner = self.0.get(kind);
        runner.map_or_else(Vec::new, |runner| runner.warnings(kind, config))
    }
}

/// The same where the server's configuration may be elsewhere: what is not configured here may well be there.
struct Elsewhere(Known);

impl ConfigCheck for Elsewhere {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        self.0.check(kind, config)
    }

    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.0.warnings(kind, config)
    }

    fn unconfigured(&self) -> Severity {
        Severity::Warning
    }
}
