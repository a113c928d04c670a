//! The names that commands take, as a running server knows them.
//!
//! The server has [`LIMIT`] to answer. Names that a terminal would obey are left out, because a shell writes candidates as they
//! are; the scripts quote the rest.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use serde_json::Value;

use super::{typed, want_files};
use crate::client::{Client, Remote};
use crate::commands::{accepted_messages, supervisors};
use crate::failure::Failure;
use crate::output::plain;

/// How long all requests of one completion may take together.
const LIMIT: Duration = Duration::from_millis(250);
/// Rows that are asked for, the newest.
const ROWS: u32 = 200;
/// No longer name is offered.
const NAME_BYTES_MAX: usize = 1_024;

/// Kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Machines.
    Machines,
    /// Machines, or files that hold one.
    MachinesOrFiles,
    /// Executions: `MACHINE/KEY`, or the id of one without a key.
    Executions,
    /// States in which executions are.
    States,
    /// Actions by id.
    Actions,
    /// What machines call their actions.
    DefinedActions,
    /// Types of actions.
    Types,
    /// Dead letters by id.
    DeadLetters,
    /// Executions and actions.
    Explained,
    /// Jobs by id.
    Jobs,
    /// Kill switches by id.
    Switches,
    /// What a kill switch can hold.
    Scopes,
    /// Keys of limits.
    Limits,
    /// Tokens by id.
    Tokens,
    /// Services by path.
    Services,
    /// What the command's noun says: `exec`, `action`, `dlq` or `job`.
    OfNoun,
}

/// A name with a few words about it.
type Name = (String, String);

impl Names {
    /// Completes an argument with names of this kind.
    pub(crate) fn completer(self) -> ArgValueCompleter {
        ArgValueCompleter::new(move |current: &OsStr| self.candidates(current))
    }

    fn candidates(self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(current) = current.to_str() else {
            return Vec::new();
        };
        if self == Self::MachinesOrFiles {
            want_files();
        }
        within_limit(current, async |client| self.ask(&client, current).await)
    }

    /// What the command's noun says.
    fn resolved(self) -> Self {
        let noun = typed().iter().find_map(|word| match word.as_str() {
            "exec" => Some(Self::Executions),
            "action" => Some(Self::Actions),
            "dlq" => Some(Self::DeadLetters),
            "job" => Some(Self::Jobs),
            _ => None,
        });
        match self {
            Self::OfNoun => noun.unwrap_or(Self::Executions),
            other => other,
        }
    }

    async fn ask(self, client: &Client, current: &str) -> Result<Vec<Name>, Failure> {
        match self.resolved() {
            Self::Machines | Self::MachinesOrFiles => listed(client, "machines", &["id"], &["description"]).await,
            Self::Executions | Self::OfNoun => executions(client, current).await,
            Self::States => states(client).await,
            Self::Actions => listed(client, "actions", &["id"], &["machine", "actionId", "status"]).await,
            Self::DefinedActions => listed(client, "actions", &["actionId"], &["machine"]).await,
            Self::Types => listed(client, "actions", &["type"], &[]).await,
            Self::DeadLetters => listed(client, "dead-letters", &["id"], &["machine", "actionId"]).await,
            Self::Explained => {
                let mut all = executions(client, current).await?;
                all.extend(listed(client, "actions", &["id"], &["machine", "actionId", "status"]).await?);
                Ok(all)
            }
            Self::Jobs => listed(client, "jobs", &["id"], &["type", "status"]).await,
            Self::Switches => listed(client, "kill-switches", &["id"], &["scope", "reason"]).await,
            Self::Scopes => scopes(client).await,
            Self::Limits => listed(client, "limits", &["key"], &[]).await,
            Self::Tokens => listed(client, "tokens", &["id"], &["name"]).await,
            Self::Services => services().await,
        }
    }
}

/// Completes an argument with fixed words.
pub(crate) fn words(words: &'static [&'static str]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let current = current.to_string_lossy();
        let fitting = words.iter().filter(|word| word.starts_with(&*current));
        fitting.map(CompletionCandidate::new).collect()
    })
}

/// Completes the words of `exec send`: an execution, then what it accepts now.
pub(crate) fn send_words() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let before = typed().split_last().map_or(&[][..], |(_, before)| before);
        let addressed = option("--machine").zip(option("--key"));
        match (addressed, positionals(before, "send").as_slice()) {
            (Some((machine, key)), []) => messages(&format!("{machine}/{key}"), current),
            (None, []) => Names::Executions.candidates(current),
            (None, [execution]) => messages(execution, current),
            _ => Vec::new(),
        }
    })
}

/// What an execution accepts now.
fn messages(execution: &str, current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    within_limit(&current, async |client| {
        let id = client.execution_id(execution).await?;
        let accepted = accepted_messages(&client, &id).await?;
        Ok(accepted.into_iter().map(|name| (name, String::new())).collect())
    })
}

/// The value of an option on the command line.
fn option(name: &str) -> Option<String> {
    let words = typed();
    let apart = words.iter().position(|word| word == name);
    let apart = apart.and_then(|at| words.get(at + 1)).cloned();
    let joined = || {
        let joined = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        joined.map(str::to_owned)
    };
    apart.or_else(joined)
}

/// The words after `verb` that are neither options nor the values of options.
fn positionals<'w>(words: &'w [String], verb: &str) -> Vec<&'w str> {
    let mut words = words.iter().skip_while(|word| *word != verb).skip(1);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some("no-retry" | "wide") => {}
            Some(option) if option.contains('=') => {}
            Some(_) => drop(words.next()),
            None => found.push(word.as_str()),
        }
    }
    found
}

/// The names that a server gives within the limit and that begin with `current`; none if it does not.
fn within_limit(
    current: &str,
    ask: impl AsyncFnOnce(Client) -> Result<Vec<Name>, Failure>,
) -> Vec<CompletionCandidate> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Ok(runtime), Ok(client)) = (runtime, Remote::silent(option("--server")).client()) else {
        return Vec::new();
    };
    let found = runtime.block_on(async { tokio::time::timeout(LIMIT, ask(client)).await });
    // The look-up of a host name may take longer, and nothing waits for it.
    runtime.shutdown_background();
    let names = found.ok().and_then(Result::ok).unwrap_or_default();
    offered(names, current)
}

/// Each name once, in the order of the list, as far as it may be shown.
fn offered(names: Vec<Name>, current: &str) -> Vec<CompletionCandidate> {
    let mut seen = BTreeSet::new();
    let fitting = names.into_iter().filter(|(name, _)| {
        let is_shown = !name.is_empty() && name.len() <= NAME_BYTES_MAX && plain(name) == *name;
        is_shown && name.starts_with(current) && seen.insert(name.clone())
    });
    let candidates = fitting.map(|(name, about)| CompletionCandidate::new(name).help(Some(plain(&about).into())));
    candidates.collect()
}

async fn rows(client: &Client, list: &str, machine: Option<&str>) -> Result<Vec<Value>, Failure> {
    let request = client.get(&[list]).query("machine", machine);
    let request = match list {
        "kill-switches" | "limits" | "workers" => request,
        _ => request.query("limit", Some(ROWS)),
    };
    let mut page = request.send().await?;
    Ok(page["data"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// The rows of a list: the fields that make the name, and those that say what it is.
async fn listed(client: &Client, list: &str, name: &[&str], about: &[&str]) -> Result<Vec<Name>, Failure> {
    let rows = rows(client, list, None).await?;
    Ok(rows
        .iter()
        .map(|row| (joined(row, name, "/"), joined(row, about, " ")))
        .collect())
}

fn joined(row: &Value, fields: &[&str], between: &str) -> String {
    let texts = fields.iter().filter_map(|field| row[*field].as_str());
    texts.collect::<Vec<_>>().join(between)
}

/// The newest executions, of the machine that is typed already; machines to continue with where none fits.
async fn executions(client: &Client, current: &str) -> Result<Vec<Name>, Failure> {
    let machine = current.split_once('/').map(|(machine, _)| machine);
    let found = rows(client, "executions", machine).await?;
    let by_id = current.starts_with("exe_");
    let mut names: Vec<Name> = found.iter().map(|row| execution(row, by_id)).collect();
    if !names.iter().any(|(name, _)| name.starts_with(current)) && machine.is_none() {
        let machines = listed(client, "machines", &["id"], &["description"]).await?;
        names.extend(machines.into_iter().map(|(name, about)| (format!("{name}/"), about)));
    }
    Ok(names)
}

fn execution(row: &Value, by_id: bool) -> Name {
    let name = match row["key"].as_str().filter(|_| !by_id) {
        Some(_) => joined(row, &["machine", "key"], "/"),
        None => joined(row, &["id"], ""),
    };
    (name, joined(row, &["machine", "status"], " "))
}

async fn states(client: &Client) -> Result<Vec<Name>, Failure> {
    let machine = option("--machine");
    let rows = rows(client, "executions", machine.as_deref()).await?;
    let states = rows
        .iter()
        .flat_map(|row| row["configuration"].as_array().into_iter().flatten());
    let names: BTreeSet<String> = states.filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(names.into_iter().map(|name| (name, String::new())).collect())
}

/// `all`, `machine:NAME`, `type:TYPE` and `actionId:MACHINE/ACTION`.
async fn scopes(client: &Client) -> Result<Vec<Name>, Failure> {
    let machines = listed(client, "machines", &["id"], &["description"]).await?;
    let types = listed(client, "actions", &["type"], &[]).await?;
    let actions = listed(client, "actions", &["machine", "actionId"], &[]).await?;
    let prefixed = |prefix: &'static str, names: Vec<Name>| {
        let names = names.into_iter();
        names.map(move |(name, about)| (format!("{prefix}:{name}"), about))
    };
    let all = [("all".to_owned(), "everything".to_owned())];
    let scoped = prefixed("machine", machines).chain(prefixed("type", types));
    Ok(all
        .into_iter()
        .chain(scoped)
        .chain(prefixed("actionId", actions))
        .collect())
}

/// The services of the first supervisor that answers.
async fn services() -> Result<Vec<Name>, Failure> {
    let mut last = Ok(Vec::new());
    for server in supervisors(option("--server")) {
        let client = Remote::silent(Some(server)).client()?;
        last = listed(&client, "workers", &["path"], &["state"]).await;
        if last.as_ref().is_ok_and(|names| !names.is_empty()) {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_their_values_are_no_words_of_a_command() {
        let words = [
            "exec",
            "send",
            "--server",
            "http://a",
            "order/1",
            "--no-retry",
            "--id=7",
            "PAY",
        ]
        .map(str::to_owned);
        assert_eq!(positionals(&words, "send"), ["order/1", "PAY"]);
    }

    #[test]
    fn a_name_that_a_terminal_would_obey_is_not_offered() {
        let names =
            ["a", "a", "ab\u{1b}[2J", "a\nb", "a\u{202e}", "b", ""].map(|name| (name.to_owned(), String::new()));
        let offered = offered(names.to_vec(), "a");
        let values: Vec<&OsStr> = offered.iter().map(CompletionCandidate::get_value).collect();
        assert_eq!(values, ["a"]);
    }
}
