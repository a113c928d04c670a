//! `sprag machine lint`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::ConfigProblem;
use sprag_core::clock::Manual;
use sprag_core::machine::{
    ConfigCheck, DefinitionLimits, Finding, LoadOptions, Loaded, RequiredPermissions, UnknownType,
};
use sprag_core::source::nearest;
use sprag_runners::Registry;

use super::findings::{self, counted, is_error};
use super::local;
use crate::config::{Environment, Given, Settings};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, plain};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Machine files, YAML or JSON; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Treat warnings like errors
    #[arg(long)]
    strict: bool,
    /// The server's configuration: which programs and addresses it allows [default: sprag.toml if it is there]
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
    let registry = Registry::standard(&settings.runners, Arc::new(Manual::default()), Arc::default())?;
    let mut all = Vec::new();
    for path in &arguments.files {
        all.push(Linted::of(path, &registry)?);
    }
    show(&all, output)?;
    let count = |wanted: fn(&Finding) -> bool| {
        all.iter()
            .flat_map(|linted| &linted.findings)
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

/// A file that was linted.
struct Linted<'a> {
    path: &'a Path,
    findings: Vec<Finding>,
    /// What its actions may reach; nothing is known of a file with errors.
    permissions: Vec<RequiredPermissions>,
}

impl<'a> Linted<'a> {
    fn of(path: &'a Path, registry: &Registry) -> Result<Self, Failure> {
        let options = LoadOptions {
            limits: DefinitionLimits::default(),
            runners: &Known(registry.clone()),
        };
        let Loaded { machine, findings } = local::loaded(path, &options)?;
        let permissions = machine.map_or_else(Vec::new, |machine| {
            machine.permissions(|kind, config| {
                let runner = registry.get(kind);
                runner.map_or_else(Vec::new, |runner| runner.permissions(kind, config))
            })
        });
        Ok(Self {
            path,
            findings,
            permissions,
        })
    }

    fn findings(&self) -> impl Iterator<Item = (&'a Path, &Finding)> {
        self.findings.iter().map(|finding| (self.path, finding))
    }
}

/// Findings are the data; in text, what actions may reach is said beside it.
fn show(all: &[Linted<'_>], output: Output) -> anyhow::Result<()> {
    let findings = all.iter().flat_map(Linted::findings);
    match output {
        Output::Json => {
            let documents: Vec<Value> = findings
                .map(|(path, finding)| findings::document(path, finding))
                .collect();
            let permissions: Vec<Value> = all.iter().flat_map(permissions).collect();
            let document = json!({"findings": documents, "permissions": permissions});
            output::data(&format!("{document:#}"))
        }
        Output::Text => {
            output::data(
                &findings
                    .map(|(path, finding)| findings::text(path, finding))
                    .collect::<String>(),
            )?;
            for linted in all {
                let sentences = linted.permissions.iter().filter_map(reach);
                sentences.for_each(|sentence| output::note(&format!("{}: {sentence}", linted.path.display())));
            }
            Ok(())
        }
    }
}

fn permissions(linted: &Linted<'_>) -> Vec<Value> {
    let file = linted.path.display().to_string();
    let of = |required: &RequiredPermissions| {
        let mut document = json!(required);
        document["file"] = json!(file);
        document
    };
    linted.permissions.iter().map(of).collect()
}

/// What one action may reach, if anything.
fn reach(required: &RequiredPermissions) -> Option<String> {
    let RequiredPermissions {
        action_id,
        kind,
        permissions,
    } = required;
    let reached: Vec<String> = permissions.iter().map(|one| plain(&one.to_string())).collect();
    (!reached.is_empty()).then(|| format!("action `{action_id}` ({kind}) may reach {}", reached.join(", ")))
}

/// The runners of a server with this configuration.
pub(crate) struct Known(pub(crate) Registry);

impl ConfigCheck for Known {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        match self.0.get(kind) {
            Some(runner) => Ok(runner.validate(kind, config)),
            None => Err(UnknownType {
                nearest: nearest(kind, self.0.types()).map(str::to_owned),
            }),
        }
    }
}
