//! `sprag system`.

use sprag_core::ids::NodeId;
use sprag_wire::{Bounds, Cluster, Node, System};

use crate::client::{Remote, Why};
use crate::failure::Exit;
use crate::output::{Output, Table, dash, instant, span};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Accept the clock of the server; retention continues
    #[arg(long)]
    accept_clock: bool,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    remote: Remote,
}

/// Shows what the server is and how it runs.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let system = if arguments.accept_clock {
        client.put(&["system", "clock"]).why(&arguments.why).send().await?
    } else {
        client.get(&["system"]).send().await?
    };
    output.show(&system, text)?;
    Ok(Exit::Done)
}

/// What it is; then the nodes, where several share the store; its bounds last.
fn text(system: &System) -> String {
    let mut head = Table::bare();
    head.pair("version", system.version.as_ref());
    head.pair("store", &system.store);
    for note in &system.notes {
        head.pair("note", format!("{} ({})", note.text, note.code));
    }
    let bounds = bounds(&system.limits);
    let Some(cluster) = &system.cluster else {
        return format!("{}\n{bounds}", head.text());
    };
    head.pair("node", cluster.node.to_string());
    head.pair("last contact with the database", ago(cluster.lag));
    format!("{}\n{}\n{bounds}", nodes(cluster), head.text())
}

/// The bounds with their units.
fn bounds(bounds: &Bounds) -> String {
    let Bounds {
        body_bytes,
        definition_bytes,
        message_bytes,
        variables_bytes,
        json_depth,
        microsteps,
        inbox,
        history_page,
        list_page,
        wait,
    } = bounds;
    let bytes = |count: &usize| format!("{count} bytes");
    let mut table = Table::new(&["LIMIT", ""]);
    for (name, value) in [
        ("bodyBytes", bytes(body_bytes)),
        ("definitionBytes", bytes(definition_bytes)),
        ("messageBytes", bytes(message_bytes)),
        ("variablesBytes", bytes(variables_bytes)),
        ("jsonDepth", json_depth.to_string()),
        ("microsteps", microsteps.to_string()),
        ("inbox", inbox.to_string()),
        ("historyPage", history_page.to_string()),
        ("listPage", list_page.to_string()),
        ("wait", span(*wait)),
    ] {
        table.row([name.to_owned(), value]);
    }
    table.text()
}

fn ago(lag: u64) -> String {
    match lag / 1_000 {
        0 => "just now".to_owned(),
        seconds => format!("{seconds} s ago"),
    }
}

fn nodes(cluster: &Cluster) -> String {
    let mut table = Table::new(&[
        "NODE",
        "ADVERTISE",
        "VERSION",
        "STATE",
        "LEASE UNTIL",
        "SHARDS",
        "WHICH",
    ])
    .optional(&["LEASE UNTIL", "VERSION", "WHICH"]);
    for node in &cluster.nodes {
        table.row([
            node.id.to_string(),
            node.advertise.clone(),
            node.version.clone(),
            state(node).to_owned(),
            instant(node.lease_until),
            node.shards.to_string(),
            ranges(owned(cluster, Some(node.id))),
        ]);
    }
    let unowned = owned(cluster, None);
    if !unowned.is_empty() {
        let dash = || "-".to_owned();
        let count = unowned.len().to_string();
        table.row([
            "(none)".to_owned(),
            dash(),
            dash(),
            dash(),
            dash(),
            count,
            ranges(unowned),
        ]);
    }
    table.text()
}

/// Whether a node can be counted on.
fn state(node: &Node) -> &'static str {
    match (node.alive, node.leaving) {
        (true, true) => "leaving",
        (true, false) => "alive",
        (false, _) => "gone",
    }
}

/// The numbers of the shards that a node owns, or no node does.
fn owned(cluster: &Cluster, owner: Option<NodeId>) -> Vec<u32> {
    let shards = cluster.shards.iter().filter(|shard| shard.owner == owner);
    shards.map(|shard| shard.id).collect()
}

/// `0-20, 42`: there may be thousands.
fn ranges(mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts = ranges.into_iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    dash(Some(texts.collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn bounds() -> Value {
        json!({
            "bodyBytes": 7, "definitionBytes": 1, "messageBytes": 1, "variablesBytes": 1, "jsonDepth": 1,
            "microsteps": 1, "inbox": 3, "historyPage": 1, "listPage": 1, "wait": 60_000,
        })
    }

    #[test]
    fn a_server_alone_has_no_nodes_to_show() {
        let system = json!({"version": "1", "store": "sqlite:x", "notes": [], "limits": bounds()});
        let text = text(&from_value(system).unwrap());
        assert!(!text.contains("NODE"), "{text}");
        for line in ["inbox", "7 bytes", "1m"] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn nodes_come_first_with_their_shards_as_ranges_and_bounds_last() {
        let id = "nod_01arz3ndektsv4rrffq69g5fav";
        let node = json!({
            "id": id, "advertise": "http://a:1", "version": "1", "alive": true, "leaving": false,
            "joinedAt": "2026-11-16T04:00:00.000Z", "leaseUntil": "2026-11-16T04:04:27.123Z", "shards": 4,
        });
        let owners = [Some(id), Some(id), Some(id), None, Some(id)];
        let shards: Vec<Value> = (0..)
            .zip(owners)
            .map(|(id, owner)| json!({"id": id, "owner": owner, "epoch": 7}))
            .collect();
        let cluster = json!({"node": id, "lag": 18_045, "nodes": [node], "shards": shards});
        let system = json!({
            "version": "1", "store": "postgres", "notes": [], "limits": bounds(), "cluster": cluster,
        });
        let text = text(&from_value(system).unwrap());
        assert!(text.starts_with("NODE"), "{text}");
        for part in ["0-2, 4", "(none)", "2026-11-16 04:04:27Z", "18 s ago"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.find("18 s ago") < text.find("inbox"), "{text}");
    }
}
