//! `sprag service list`.

use sprag_core::time::Timestamp;
use sprag_wire::{Page, Worker};

use super::Supervisor;
use super::sentences::rule;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{self, Output, Table, instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Lists the services, parents before their children. As JSON it is one array.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = list::whole(&client, &["workers"]).await?;
    match output {
        Output::Json => output::json(&document["data"])?,
        Output::Text => list::show(output, &document, |document| text(document, output::now()))?,
    }
    Ok(Exit::Done)
}

fn text(page: &Page<Worker>, now: Timestamp) -> String {
    let headings = [
        "PATH",
        "STATE",
        "PID",
        "RESTARTS",
        "CIRCUIT",
        "OBSERVATION",
        "SINCE",
        "REASON",
    ];
    let mut table = Table::new(&headings).optional(&["OBSERVATION", "CIRCUIT", "SINCE", "RESTARTS"]);
    for worker in &page.data {
        table.row([
            worker.path.clone(),
            worker.state.clone(),
            worker.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            worker.restarts.to_string(),
            worker.circuit.clone(),
            worker.observation.clone(),
            instant(worker.since),
            why(worker),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!("{}{}", table.text(), rules(&page.data, now))
}

/// The rules that restart services, a sentence each.
fn rules(workers: &[Worker], now: Timestamp) -> String {
    let rules = workers.iter().flat_map(|worker| &worker.restarted_by);
    rules.flat_map(|known| [rule(known, now), "\n".to_owned()]).collect()
}

/// The path of a child of the supervisor or of a service.
pub(super) fn below(path: &str, child: &str) -> String {
    match path {
        "/" => child.to_owned(),
        path => format!("{path}/{child}"),
    }
}

/// What it waits for, or why it is where it is.
pub(super) fn why(worker: &Worker) -> String {
    match &worker.waiting {
        Some(waiting) => format!("{}; waits for {waiting}", worker.reason),
        None => worker.reason.clone(),
    }
}
