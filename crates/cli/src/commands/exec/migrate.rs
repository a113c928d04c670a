//! `sprag exec migrate`.

use serde_json::{Map, Value, json};
use sprag_wire::{Execution, MigrationCheck, Page};

use crate::client::{Client, Once, Remote, Why};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, Progress};

/// Executions that are asked for at once.
const PAGE: u32 = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The executions: their ids or MACHINE/KEY
    #[arg(required_unless_present = "filter", value_name = "ID", add = Names::Executions.completer())]
    ids: Vec<String>,
    /// Migrate all open executions that match
    #[arg(long, conflicts_with = "ids")]
    filter: Option<String>,
    /// Version to migrate to [default: the newest]
    #[arg(long)]
    version: Option<u32>,
    /// Map a renamed state; repeatable
    #[arg(long = "state", value_name = "OLD=NEW")]
    states: Vec<String>,
    /// Report changes and divergences; change nothing
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Moves executions and shows them, or shows what that would do. One that cannot be moved is a failure; so is, in a
/// check, one that the other version would have led elsewhere.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let body = body(arguments)?;
    let ids = match &arguments.filter {
        Some(filter) => open(&client, filter).await?,
        None => named(&client, &arguments.ids).await?,
    };
    match (&arguments.filter, ids.as_slice()) {
        (None, [id]) => one(arguments, &client, id, &body, output).await,
        _ => many(arguments, &client, &ids, &body, output).await,
    }
}

async fn named(client: &Client, names: &[String]) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        ids.push(client.execution_id(name).await?);
    }
    Ok(ids)
}

fn body(arguments: &Arguments) -> Result<Value, Failure> {
    let mut body = Map::new();
    if let Some(version) = arguments.version {
        body.insert("version".to_owned(), json!(version));
    }
    let states = arguments.states.iter();
    let renamed: Map<String, Value> = states.map(|pair| renamed(pair)).collect::<Result<_, _>>()?;
    if !renamed.is_empty() {
        body.insert("states".to_owned(), Value::Object(renamed));
    }
    if arguments.check {
        body.insert("check".to_owned(), json!(true));
    }
    Ok(Value::Object(body))
}

fn renamed(pair: &str) -> Result<(String, Value), Failure> {
    match pair.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), json!(new))),
        _ => Err(Failure::invalid(format!("`{pair}` is not OLD=NEW")).note("as in `waiting.first=waiting`")),
    }
}

async fn one(arguments: &Arguments, client: &Client, id: &str, body: &Value, output: Output) -> anyhow::Result<Exit> {
    let request = client.post(&["executions", id, "migrate"]).json(body);
    let document = request.once(&arguments.once).why(&arguments.why).send().await?;
    if !arguments.check {
        output.show(&document, output::execution)?;
        return Ok(Exit::Done);
    }
    output.show(&document, output::migration)?;
    Ok(if is_well(&document)? { Exit::Done } else { Exit::Failed })
}

/// Whether a check has nothing against the move.
fn is_well(check: &Value) -> Result<bool, Failure> {
    let check: MigrationCheck = output::read(check.clone())?;
    Ok(check.possible && check.divergence.is_none())
}

/// Each for itself: one that is refused holds up no other.
async fn many(
    arguments: &Arguments,
    client: &Client,
    ids: &[String],
    body: &Value,
    output: Output,
) -> anyhow::Result<Exit> {
    let mut progress = Progress::new();
    let (mut rows, mut failed, all) = (Vec::new(), 0_usize, ids.len());
    for (done, id) in (0_u64..).zip(ids) {
        let share = u64::try_from(all).ok().map(|all| (done, all));
        progress.show(&format!("{done} of {all} executions, {failed} failed"), share);
        let request = client.post(&["executions", id, "migrate"]).json(body);
        let answer = request.once(&arguments.once).why(&arguments.why).answer().await?;
        let is_done = answer.status < 300;
        let is_good = is_done && (!arguments.check || is_well(&answer.document)?);
        failed += usize::from(!is_good);
        let what = match (is_done, arguments.check) {
            (false, _) => "problem",
            (true, true) => "check",
            (true, false) => "execution",
        };
        rows.push(json!({"id": id, what: answer.document}));
    }
    progress.end(&format!("{all} of {all} executions, {failed} failed"));
    let document = json!({"data": rows, "nextCursor": null});
    output.show(&document, output::migrations)?;
    if ids.is_empty() {
        output::note("no open execution matches the filter");
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// The ids of all open executions that meet a filter.
async fn open(client: &Client, filter: &str) -> Result<Vec<String>, Failure> {
    let (mut ids, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = client
            .get(&["executions"])
            .query("filter", Some(filter))
            .query("limit", Some(PAGE))
            .query("cursor", cursor.as_ref())
            .send()
            .await?;
        let page: Page<Execution> = output::read(page)?;
        let open = page.data.iter().filter(|execution| execution.is_open());
        ids.extend(open.map(|execution| execution.id.to_string()));
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(ids),
        }
    }
}
