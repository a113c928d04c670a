//! Whether a node can be reached where it says: others pass requests on to it there.

use std::time::Duration;

use sprag_engine::Handle;
use sprag_engine::lane::member::Whereabouts;
use sprag_server::NodeClient;

/// Before the first look: by then it has joined.
const AT_FIRST: Duration = Duration::from_secs(2);
/// Between two looks, until one finds it.
const AGAIN: Duration = Duration::from_secs(30);

/// Looks, until it finds itself, whether the node that answers at the address it advertises is this one; says in the log whenever
/// it is not. It serves all the same: a way there may come up after it.
pub(super) fn begin(handle: &Handle, nodes: Option<NodeClient>) {
    if let (Some(whereabouts), Some(nodes)) = (handle.whereabouts().cloned(), nodes) {
        tokio::spawn(watch(whereabouts, nodes));
    }
}

async fn watch(whereabouts: Whereabouts, nodes: NodeClient) {
    let mut was_lost = false;
    loop {
        tokio::time::sleep(if was_lost { AGAIN } else { AT_FIRST }).await;
        let Some(advertise) = advertised(&whereabouts) else {
            continue;
        };
        match look(&whereabouts, &nodes, &advertise).await {
            Err(why) => tracing::warn!(
                advertise,
                why,
                "advertised address unreachable; other nodes answer 503 for requests they forward here"
            ),
            Ok(()) if was_lost => return tracing::info!(advertise, "advertised address reachable again"),
            Ok(()) => return,
        }
        was_lost = true;
    }
}

/// Where this node says that it is reached, once it has said so.
fn advertised(whereabouts: &Whereabouts) -> Option<String> {
    let view = whereabouts.view()?;
    view.node(whereabouts.me()).map(|node| node.advertise.clone())
}

/// As another node would: by the same way, with the nodes' secret.
async fn look(whereabouts: &Whereabouts, nodes: &NodeClient, advertise: &str) -> Result<(), String> {
    let token = whereabouts.view().map(|view| view.token.clone()).unwrap_or_default();
    let me = whereabouts.me().to_string();
    match nodes.identity(advertise, &token).await? {
        Some(node) if node == me => Ok(()),
        Some(node) => Err(format!(
            "node `{node}` answers at this address, but this node is `{me}`"
        )),
        None => Err("the program at this address is not a node of this database".to_owned()),
    }
}
