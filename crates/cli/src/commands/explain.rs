//! `sprag explain ID`: why something is not moving, and what would free it.

use std::fmt::Write as _;

use sprag_core::action::ActionError;
use sprag_core::machine::load_stored;
use sprag_wire::{
    Action, ActionStatus, CaseFile, Execution, ExecutionStatus, ExplainedAction, Explanation, Machine, Waiting,
};

use crate::client::{Client, Remote};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, Reason, Subject, now, plain, reason};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The execution (its id or MACHINE/KEY), or the id of an action
    #[arg(add = Names::Explained.completer())]
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// Explains whatever the id is of.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, remote } = arguments;
    match id.split_once('_').filter(|_| !id.contains('/')) {
        Some(("exe", _)) => execution(&remote.client()?, id, output).await,
        Some(("act", _)) => action(&remote.client()?, id, output).await,
        _ if id.contains('/') => {
            let client = remote.client()?;
            let id = client.execution_id(id).await?;
            execution(&client, &id, output).await
        }
        _ => {
            let failure = Failure::invalid(format!("`{id}` is not the id of an execution or action"));
            Err(failure
                .note("give the id of an execution (exe_…) or an action (act_…), or MACHINE/KEY of an execution")
                .into())
        }
    }
}

/// Explains an execution and its open actions.
pub(crate) async fn execution(client: &Client, id: &str, output: Output) -> anyhow::Result<Exit> {
    let explained = client.get(&["executions", id, "explain"]).send().await?;
    if output == Output::Json {
        output::json(&explained)?;
        return Ok(Exit::Done);
    }
    let shown: Explanation = output::shown(&explained)?;
    let answers = if shown.status == ExecutionStatus::Running {
        accepted_messages(client, id).await?
    } else {
        Vec::new()
    };
    output::data(&text(&shown, id, &answers))?;
    Ok(Exit::Done)
}

async fn action(client: &Client, id: &str, output: Output) -> anyhow::Result<Exit> {
    let explained = client.get(&["actions", id]).send().await?;
    let shown: Action = output::read(explained.clone())?;
    if shown.status == ActionStatus::Dead {
        let file = client.get(&["dead-letters", id]).send().await?;
        output.show(&file, |file: &CaseFile| dead_letter(&Letter::from(file), id))?;
    } else {
        output.show(&explained, |action: &Action| {
            action_text(&action.action_id, &action.status, &action.waiting, id)
        })?;
    }
    Ok(Exit::Done)
}

/// The messages that the active states of an execution accept.
pub(crate) async fn accepted_messages(client: &Client, id: &str) -> Result<Vec<String>, Failure> {
    let execution: Execution = output::read(client.get(&["executions", id]).send().await?)?;
    let path = [
        "machines",
        &execution.machine,
        "versions",
        &execution.version.to_string(),
    ];
    let kept: Machine = output::read(client.get(&path).send().await?)?;
    let paths = execution.configuration.iter().map(String::as_str);
    // Even if the definition cannot be read, the rest of the explanation is still true.
    Ok(load_stored(&kept.definition)
        .map(|machine| machine.accepted_messages(paths))
        .unwrap_or_default())
}

fn text(explained: &Explanation, id: &str, answers: &[String]) -> String {
    let status = &explained.status;
    if explained.waiting == Waiting::Done {
        return format!("{id} has ended: it is {status}.\n");
    }
    let Reason { what, freed_by } = reason(&explained.waiting, Subject::Execution(id), now());
    let mut text = format!("{id} is {status}: {what}.\n");
    if let Some(failure) = &explained.failure {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "Why: {}.", plain(failure));
    }
    let _ = writeln!(text, "What would free it: {freed_by}.");
    if !answers.is_empty() {
        let _ = writeln!(text, "Its states answer to: {}.", plain(&answers.join(", ")));
    }
    for action in &explained.actions {
        let id = action.id.to_string();
        let shown = match action.status {
            ActionStatus::Dead => dead_letter(&Letter::from(action), &id),
            _ => action_text(&action.action_id, &action.status, &action.waiting, &id),
        };
        let _ = write!(text, "\n{shown}");
    }
    text
}

fn action_text(name: &str, status: &ActionStatus, waiting: &Waiting, id: &str) -> String {
    if *waiting == Waiting::Done {
        return format!("{name} ({id}) has ended: it is {status}.\n");
    }
    let Reason { what, freed_by } = reason(waiting, Subject::Action(id), now());
    format!("{name} ({id}) is {status}: {what}.\nWhat would free it: {freed_by}.\n")
}

/// What is said about a dead letter.
struct Letter<'a> {
    name: &'a str,
    error: Option<&'a ActionError>,
    fix: Option<&'a str>,
    needs_review: bool,
    has_patch: bool,
}

impl<'a> From<&'a CaseFile> for Letter<'a> {
    fn from(file: &'a CaseFile) -> Self {
        Self {
            name: &file.action.action_id,
            error: file.action.last_error.as_ref(),
            fix: file.suggested_fix.as_deref(),
            needs_review: file.manual_review_required,
            has_patch: !file.fix_patch.is_empty(),
        }
    }
}

impl<'a> From<&'a ExplainedAction> for Letter<'a> {
    fn from(action: &'a ExplainedAction) -> Self {
        Self {
            name: &action.action_id,
            error: action.last_error.as_ref(),
            fix: action.suggested_fix.as_ref().and_then(Option::as_deref),
            needs_review: action.manual_review_required == Some(true),
            has_patch: !action.fix_patch.is_empty(),
        }
    }
}

/// Why it died, what would fix it, and the commands that settle it.
fn dead_letter(letter: &Letter<'_>, id: &str) -> String {
    let why = match letter.error {
        Some(error) if !error.message.is_empty() => format!("{}: {}", error.kind, plain(&error.message)),
        Some(error) => error.kind.clone(),
        None => "-".to_owned(),
    };
    let name = letter.name;
    let mut text = format!("{name} ({id}) is a dead letter: {}.\n", why.trim_end_matches('.'));
    if let Some(fix) = letter.fix {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "Suggested fix: {}.", plain(fix).trim_end_matches('.'));
    }
    if letter.needs_review {
        text.push_str(
            "Check the other system before you retry: the effect may have happened, or a retry cannot help.\n",
        );
    }
    let apply = if letter.has_patch {
        format!("`sprag dlq retry {id} --apply-fix` applies the fix and retries it, ")
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "What you can do: {apply}`sprag dlq retry {id}` retries it unchanged, `sprag dlq archive {id}` archives it."
    );
    text
}
