//! `sprag system`.

use serde_json::Value;

use crate::client::Remote;
use crate::failure::Exit;
use crate::output::{Output, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Shows what the server is and how it runs.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let system = client.get(&["system"]).send().await?;
    output.show(&system, text)?;
    Ok(Exit::Done)
}

/// Every value with its name, those inside others behind a dot; then the nodes, where several share the store.
fn text(system: &Value) -> String {
    let mut table = Table::bare();
    for (name, value) in system.as_object().into_iter().flatten() {
        match value {
            Value::Object(members) => {
                for (member, value) in members.iter().filter(|(_, value)| !value.is_array()) {
                    table.pair(&format!("{name}.{member}"), shown(value));
                }
            }
            value => table.pair(name, shown(value)),
        }
    }
    let cluster = &system["cluster"];
    if cluster.is_null() {
        return table.text();
    }
    format!("{}\n{}\n{}", table.text(), nodes(cluster), shards(cluster))
}

fn nodes(cluster: &Value) -> String {
    let mut table = Table::new(&["NODE", "ADVERTISE", "VERSION", "STATE", "LEASE UNTIL", "SHARDS"]);
    for node in cluster["nodes"].as_array().into_iter().flatten() {
        let [id, advertise, version, until, shards] =
            ["id", "advertise", "version", "leaseUntil", "shards"].map(|field| shown(&node[field]));
        table.row([id, advertise, version, state(node).to_owned(), until, shards]);
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

fn shards(cluster: &Value) -> String {
    let mut table = Table::new(&["SHARD", "OWNER", "EPOCH"]);
    for shard in cluster["shards"].as_array().into_iter().flatten() {
        let owner = shard["owner"].as_str().unwrap_or("-").to_owned();
        table.row([shown(&shard["id"]), owner, shown(&shard["epoch"])]);
    }
    table.text()
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
        let text = text(&json!({"version": "1", "limits": {"inbox": 3}}));
        assert!(text.contains("limits.inbox") && !text.contains("NODE"), "{text}");
    }

    #[test]
    fn nodes_and_shards_are_tables() {
        let node = json!({
            "id": "nod_1", "advertise": "http://a:1", "version": "1", "alive": true, "leaseUntil": "soon", "shards": 1,
        });
        let shards = json!([{"id": 0, "owner": "nod_1", "epoch": 7}, {"id": 1, "owner": null, "epoch": 2}]);
        let cluster = json!({"node": "nod_1", "lag": 12, "nodes": [node], "shards": shards});
        let text = text(&json!({"version": "1", "cluster": cluster}));
        for part in ["cluster.lag", "http://a:1", "SHARD", "7", "-"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
