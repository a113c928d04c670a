//! Whether a node can be reached where it says: others pass requests on to it there.

use std::time::Duration;

use sprag_engine::Handle;
use sprag_engine::lane::member::Whereabouts;

use crate::client::Remote;

/// Before the first look: by then it has joined.
const AT_FIRST: Duration = Duration::from_secs(2);
/// Between two looks, until one finds it.
const AGAIN: Duration = Duration::from_secs(30);

/// Looks, until it finds itself, whether the node that answers at the address it advertises is this one; says in the log whenever
/// it is not. It serves all the same: a way there may come up after it.
pub(super) fn begin(handle: &Handle) {
    if let Some(whereabouts) = handle.whereabouts().cloned() {
        tokio::spawn(watch(whereabouts));
    }
}

async fn watch(whereabouts: Whereabouts) {
    let mut was_lost = false;
    loop {
        tokio::time::sleep(if was_lost { AGAIN } else { AT_FIRST }).await;
        let Some(advertise) = advertised(&whereabouts) else {
            continue;
        };
        match look(&whereabouts, &advertise).await {
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

async fn look(whereabouts: &Whereabouts, advertise: &str) -> Result<(), String> {
    let client = Remote::at(advertise.to_owned(), None).client();
    let client = client.map_err(|failure| failure.to_string())?;
    let answer = client.get(&["system"]).send().await;
    let system = answer.map_err(|failure| failure.to_string())?;
    let me = whereabouts.me().to_string();
    match system["cluster"]["node"].as_str() {
        Some(node) if node == me => Ok(()),
        Some(node) => Err(format!(
            "node `{node}` answers at this address, but this node is `{me}`"
        )),
        None => Err("the program at this address is not a node of this database".to_owned()),
    }
}
