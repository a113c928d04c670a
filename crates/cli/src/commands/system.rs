//! `sprag system`.

use serde_json::Value;

use crate::client::Remote;
use crate::failure::Exit;
use crate::output::{Output, Table, instant, span};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Accept the server's clock, so that retention continues
    #[arg(long)]
    accept_clock: bool,
    #[command(flatten)]
    remote: Remote,
}

/// Shows what the server is and how it runs.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let system = if arguments.accept_clock {
        client.put(&["system", "clock"]).send().await?
    } else {
        client.get(&["system"]).send().await?
    };
    output.show(&system, text)?;
    Ok(Exit::Done)
}

/// What it is; then the nodes, where several share the store; its bounds last.
fn text(system: &Value) -> String {
    let mut head = Table::bare();
    for (name, value) in system.as_object().into_iter().flatten() {
        if !value.is_object() && !value.is_array() {
            head.pair(name, shown(value));
        }
    }
    for note in system["notes"].as_array().into_iter().flatten() {
        head.pair("note", format!("{} ({})", shown(&note["text"]), shown(&note["code"])));
    }
    let limits = system["limits"].as_object().into_iter().flatten();
    let mut bounds = Table::new(&["LIMIT", ""]);
    for (name, value) in limits {
        bounds.row([name.clone(), bound(name, value)]);
    }
    let cluster = &system["cluster"];
    if cluster.is_null() {
        return format!("{}\n{}", head.text(), bounds.text());
    }
    head.pair("node", shown(&cluster["node"]));
    head.pair(
        "heard from the database",
        ago(cluster["lag"].as_u64().unwrap_or_default()),
    );
    format!("{}\n{}\n{}", nodes(cluster), head.text(), bounds.text())
}

/// A bound with its unit.
fn bound(name: &str, value: &Value) -> String {
    let number = shown(value);
    match name {
        "wait" => value.as_u64().map_or(number, span),
        _ if name.ends_with("Bytes") => format!("{number} bytes"),
        _ => number,
    }
}

fn ago(lag: u64) -> String {
    match lag / 1_000 {
        0 => "just now".to_owned(),
        seconds => format!("{seconds} s ago"),
    }
}

fn nodes(cluster: &Value) -> String {
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
    for node in cluster["nodes"].as_array().into_iter().flatten() {
        let [id, advertise, version, shards] =
            ["id", "advertise", "version", "shards"].map(|field| shown(&node[field]));
        let which = ranges(cluster, &node["id"]);
        let until = instant(node, "leaseUntil");
        table.row([id, advertise, version, state(node).to_owned(), until, shards, which]);
    }
    let nobody = ranges(cluster, &Value::Null);
    if nobody != "-" {
        let dash = || "-".to_owned();
        let unowned = count(cluster, &Value::Null).to_string();
        table.row(["(nobody)".to_owned(), dash(), dash(), dash(), dash(), unowned, nobody]);
    }
    table.text()
}

/// Whether a node can be counted on.
fn state(node: &Value) -> &'static str {
    match (node["alive"].as_bool(), node["leaving"].as_bool()) {
        (Some(true), Some(true)) => "leaving",
        (Some(true), _) => "alive",
        _ => "gone",
    }
}

/// The numbers of the shards that a node owns, or nobody does.
fn owned<'a>(cluster: &'a Value, owner: &'a Value) -> impl Iterator<Item = u64> + 'a {
    let shards = cluster["shards"].as_array().into_iter().flatten();
    shards
        .filter(move |shard| shard["owner"] == *owner)
        .filter_map(|shard| shard["id"].as_u64())
}

fn count(cluster: &Value, owner: &Value) -> usize {
    owned(cluster, owner).count()
}

/// `0-20, 42`: there may be thousands.
fn ranges(cluster: &Value, owner: &Value) -> String {
    let mut numbers: Vec<u64> = owned(cluster, owner).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    if texts.is_empty() {
        "-".to_owned()
    } else {
        texts.join(", ")
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_alone_has_no_nodes_to_show() {
        let text = text(&json!({"version": "1", "limits": {"inbox": 3, "bodyBytes": 7, "wait": 60_000}}));
        assert!(!text.contains("NODE"), "{text}");
        for line in ["inbox", "7 bytes", "1m"] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn nodes_come_first_with_their_shards_as_ranges_and_bounds_last() {
        let node = json!({
            "id": "nod_1", "advertise": "http://a:1", "version": "1", "alive": true,
            "leaseUntil": "2026-11-16T04:04:27.123Z", "shards": 4,
        });
        let owners = ["nod_1", "nod_1", "nod_1", "-", "nod_1"];
        let shards: Vec<Value> = (0..)
            .zip(owners)
            .map(|(id, owner)| {
                let owner = (owner != "-").then_some(owner);
                json!({"id": id, "owner": owner, "epoch": 7})
            })
            .collect();
        let cluster = json!({"node": "nod_1", "lag": 18_045, "nodes": [node], "shards": shards});
        let text = text(&json!({"version": "1", "limits": {"inbox": 3}, "cluster": cluster}));
        assert!(text.starts_with("NODE"), "{text}");
        for part in ["0-2, 4", "(nobody)", "2026-11-16 04:04:27Z", "18 s ago"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.find("18 s ago") < text.find("inbox"), "{text}");
    }
}
