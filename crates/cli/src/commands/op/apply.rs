//! `sprag op apply`.

use std::path::PathBuf;

use sprag_core::document::source::Format;
use sprag_wire::{AppliedDocument, Finding, Page, Problem, Severity, Workflow};

use crate::client::{Once, Remote};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output, plain};

/// The status of documents that wait for approval.
const ACCEPTED: u16 = 202;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The catalog file, YAML or JSON
    file: PathBuf,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Gives the documents to the server, and says which versions they are.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { file, once, remote } = arguments;
    let text = input::text(file)?;
    let media = match input::format(file, &text) {
        Format::Json => "application/json",
        _ => "application/yaml",
    };
    let client = remote.client()?;
    let answer = client
        .post(&["operations"])
        .once(once)
        .body(media, text)
        .answer()
        .await?;
    if let Some(refusal) = refused(arguments, &answer.document) {
        return Err(refusal.into());
    }
    let is_waiting = answer.status == ACCEPTED;
    let document = answer.success(&client)?;
    if is_waiting {
        output.show(&document, |workflow: &Workflow| output::workflow(workflow))?;
        if let (Output::Text, Some(id)) = (output, document["id"].as_str()) {
            output::note(&format!(
                "nothing is applied until another principal approves: sprag workflow show {id}"
            ));
        }
        return Ok(Exit::Done);
    }
    output.show(&document, sentences)?;
    Ok(Exit::Done)
}

fn sentences(applied: &Page<AppliedDocument>) -> String {
    let sentence = |document: &AppliedDocument| {
        let how = if document.created { "applied" } else { "unchanged" };
        format!(
            "{} {} version {} {how}\n",
            document.kind,
            plain(&document.id),
            document.version
        )
    };
    applied.data.iter().map(sentence).collect()
}

/// Everything that the server refused, at its place in the file.
fn refused(arguments: &Arguments, problem: &serde_json::Value) -> Option<Failure> {
    let problem: Problem = output::read(problem.clone()).ok()?;
    let findings = problem.findings.into_iter();
    let errors: Vec<Finding> = findings.filter(|finding| finding.severity == Severity::Error).collect();
    if errors.is_empty() {
        return None;
    }
    let file = arguments.file.display();
    let failure = Failure::invalid(format!("`{file}` has errors")).code("definition-invalid");
    Some(errors.into_iter().fold(failure, |failure, error| {
        failure.note(format!(
            "{file}:{}:{}: error[{}]: {} ({})",
            error.line,
            error.column,
            plain(&error.code),
            plain(&error.detail),
            plain(&error.remedy)
        ))
    }))
}
