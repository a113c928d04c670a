//! Machines in files, and machines that are named either way.

use std::path::Path;

use sprag_core::document::source::{self, Limits};
use sprag_core::machine::{LoadOptions, Loaded, Machine, load_document, load_stored, load_text};

use super::{findings, templates};
use crate::client::Client;
use crate::failure::Failure;
use crate::input;

/// Everything there is to say about a file, with the mail templates that stand beside it.
pub(super) fn loaded(path: &Path, options: &LoadOptions<'_>) -> Result<Loaded, Failure> {
    let text = input::text(path)?;
    let format = input::format(path, &text);
    let Ok(mut document) = source::parse(&text, format, &Limits::DEFINITION) else {
        return Ok(load_text(&text, format, options));
    };
    templates::fill(path, &mut document.value)?;
    Ok(load_document(&document, options))
}

/// The machine of a file, for tools that only step through it: what its runners would say does not matter.
pub(in crate::commands) fn load(path: &Path) -> Result<Machine, Failure> {
    let Loaded { machine, findings } = loaded(path, &LoadOptions::default())?;
    machine.ok_or_else(|| {
        let errors: Vec<_> = findings.iter().filter(|finding| findings::is_error(finding)).collect();
        let count = findings::counted(errors.len(), "error");
        let failure = Failure::invalid(format!("`{}` has {count}", path.display())).code("definition-invalid");
        errors.into_iter().fold(failure, |failure, error| {
            failure.note(findings::text(path, error).trim_end())
        })
    })
}

/// The machine of a file, or one that the server keeps: `NAME`, or `NAME@VERSION`.
pub(super) async fn load_either(named: &str, client: &Client) -> Result<Machine, Failure> {
    if is_file(named) {
        return load(Path::new(named));
    }
    let (name, version) = match named.rsplit_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (named, None),
    };
    let request = match version {
        Some(version) => client.get(&["machines", name, "versions", version]),
        None => client.get(&["machines", name]),
    };
    let document = request.send().await?;
    load_stored(&document["definition"]).map_err(|error| Failure::new(error.to_string()))
}

/// Whether a machine is named by its file: a name has neither a slash nor the ending of a file.
fn is_file(named: &str) -> bool {
    let ending = [".yaml", ".yml", ".json"].iter().any(|ending| named.ends_with(ending));
    named == "-" || named.contains('/') || ending || Path::new(named).is_file()
}
