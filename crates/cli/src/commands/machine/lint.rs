//! `sprag machine lint`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_agent::durable::Loads;
use sprag_core::action::{ConfigProblem, SecretRules};
use sprag_core::clock::Manual;
use sprag_core::document::{Finding, Severity};
use sprag_core::machine::{ConfigCheck, DefinitionLimits, LoadOptions, Loaded, RequiredPermissions, UnknownType};
use sprag_runners::Registry;
use sprag_runners::secrets::Secrets;

use super::findings::{self, counted, is_error};
use super::local;
use crate::commands::registry;
use crate::config::ConfigFile;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, plain};

const CONFIG_HELP: &str = "Configuration of the server. If you set it, a provider\nthat it does not define is an error, not a warning\n[default: SPRAG_CONFIG, or sprag.toml]";

#[derive(Debug, clap::Args)]
#[command(mut_arg("config", |arg| arg.help(CONFIG_HELP)))]
pub(crate) struct Arguments {
    /// Machine files, YAML or JSON; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    config: ConfigFile,
}

/// Shows all findings of all files.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let settings = arguments.config.load()?;
    // Nothing runs here, so nothing asks for the time or for a secret.
    let secrets = Arc::new(Secrets::judging(&settings.secrets)?);
    let options = (&settings.runners, &settings.agents);
    let registry = registry(options, Loads::default(), Arc::new(Manual::default()), secrets)?;
    // A configuration that was named is the server's.
    let check: Box<dyn ConfigCheck> = match arguments.config.path() {
        Some(_) => Box::new(registry.clone()),
        None => Box::new(Elsewhere(registry.clone())),
    };
    let mut all = Vec::new();
    for path in &arguments.files {
        all.push(Linted::of(path, check.as_ref(), &registry)?);
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
    fn of(path: &'a Path, check: &dyn ConfigCheck, registry: &Registry) -> Result<Self, Failure> {
        let options = LoadOptions {
            limits: DefinitionLimits::default(),
            runners: check,
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
            output::json(&document)
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

/// Runners of a server whose configuration may be elsewhere: what is not configured here may well be there.
struct Elsewhere(Registry);

impl SecretRules for Elsewhere {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        self.0.takes_secret(kind, pointer)
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.0.allows_secret(machine, name)
    }
}

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
