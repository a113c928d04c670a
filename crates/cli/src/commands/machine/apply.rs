//! `sprag machine apply`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sprag_core::document::source::{self, Document, Format, Limits};
use sprag_wire::{Applied, Finding, Problem, Severity};

use super::findings::counted;
use super::templates;
use crate::client::{Once, Remote, Why};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output, plain};

/// The status of a version that is new.
const CREATED: u16 = 201;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The machine file, YAML or JSON. A folder `templates` beside it holds{n}its mail templates
    file: PathBuf,
    /// Apply only if this is the newest version; 0: none
    #[arg(long, value_name = "VERSION")]
    newest: Option<u32>,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Gives the machine to the server and says which version it is.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        file,
        newest,
        once,
        why,
        remote,
    } = arguments;
    let text = input::text(file)?;
    let format = input::format(file, &text);
    let client = remote.client()?;
    let document = source::parse(&text, format, &Limits::DEFINITION).ok();
    let filled = document
        .as_ref()
        .map(|written| filled(file, written))
        .transpose()?
        .flatten();
    let request = client
        .post(&["machines"])
        .once(once)
        .why(why)
        .matching(newest.map(u64::from));
    let answer = match (&filled, format) {
        (Some(definition), _) => request.json(definition),
        (None, Format::Json) => request.body("application/json", text),
        (None, _) => request.body("application/yaml", text),
    };
    let answer = answer.answer().await?;
    let moved = filled.as_ref().and(document.as_ref());
    if let Some(refusal) = refused(file, moved, &answer.document) {
        return Err(refusal.into());
    }
    let is_new = answer.status == CREATED;
    let mut applied = answer.success(&client)?;
    applied["created"] = json!(is_new);
    output.show(&applied, |applied| sentence(applied, is_new))?;
    Ok(Exit::Done)
}

/// Which version new executions use, and how it came about.
fn sentence(applied: &Applied, is_new: bool) -> String {
    let Applied {
        id,
        version,
        same_as_version,
    } = applied;
    let how = match (same_as_version, is_new) {
        (_, false) => "unchanged".to_owned(),
        (None, true) => "applied".to_owned(),
        (Some(earlier), true) => format!("applied, same as version {earlier}"),
    };
    format!("{id} version {version} {how}; new executions use version {version}\n")
}

/// The definition with the templates beside its file; none when there are none. Then the file goes as it is, and the
/// server speaks of the same lines.
fn filled(file: &Path, written: &Document) -> Result<Option<Value>, Failure> {
    let mut definition = written.value.clone();
    Ok(templates::fill(file, &mut definition)?.then_some(definition))
}

/// Everything the server's lint refused, at its place in the file: the server's, unless the text it got was another
/// than the file's, whose tree is `moved` then.
fn refused(file: &Path, moved: Option<&Document>, problem: &Value) -> Option<Failure> {
    let problem: Problem = output::read(problem.clone()).ok()?;
    let findings = problem.findings.into_iter();
    let errors: Vec<Finding> = findings.filter(|finding| finding.severity == Severity::Error).collect();
    if errors.is_empty() {
        return None;
    }
    let detail = format!("`{}` has {}", file.display(), counted(errors.len(), "error"));
    let failure = Failure::invalid(detail).code("definition-invalid");
    Some(errors.into_iter().fold(failure, |failure, error| {
        let Finding {
            severity: _,
            code,
            line,
            column,
            pointer,
            detail,
            remedy,
        } = error;
        let at = moved.map(|written| written.root().inside(&pointer).at);
        let (line, column) = at.map_or((line, column), |at| (at.line, at.column));
        failure.note(format!(
            "{}:{line}:{column}: error[{}]: {} ({})",
            file.display(),
            plain(&code),
            plain(&detail),
            plain(&remedy)
        ))
    }))
}
