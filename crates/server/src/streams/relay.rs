//! Hints of other nodes, and of workers.
//!
//! A node listens to the others only while a client listens to it, over one stream per node, so looking costs a node nothing
//! as long as no client looks. What a node passes on is bounded and merged like what any reader gets; a stream that breaks off means that
//! hints were missed, and readers learn that they lag.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use sprag_engine::RecordKind;
use sprag_supervisor::store::{Cursor, PAGE_MAX, Page};
use sprag_wire::Hinted;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::filter::heard;
use super::hub::{Hint, Missed};
use crate::app::App;
use crate::nodes::hints;

/// How often a relay looks which nodes are alive, what workers did, and whether a client still listens.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The longest line that another node may send.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Listens to other nodes and to workers from now on, unless a task does already.
pub(super) fn ensure(app: &App) {
    let hub = app.streams.hub();
    if !hub.is_relayed.swap(true, Ordering::AcqRel) {
        tokio::spawn(relay(app.clone()));
    }
}

/// Until no client listens.
async fn relay(app: App) {
    let mut streams: BTreeMap<String, JoinSet<()>> = BTreeMap::new();
    let mut workers = None;
    loop {
        let hub = app.streams.hub();
        if app.is_closing() || !hub.has_far_listeners() {
            hub.is_relayed.store(false, Ordering::Release);
            // A client that came just now saw that a task was there.
            if app.is_closing() || !hub.has_far_listeners() || hub.is_relayed.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        let live = hints::others(&app);
        streams.retain(|node, stream| live.contains(node) && stream.try_join_next().is_none());
        for node in live {
            streams.entry(node.clone()).or_insert_with(|| {
                let mut stream = JoinSet::new();
                stream.spawn(follow(app.clone(), node));
                stream
            });
        }
        look_at_workers(&app, &mut workers);
        tokio::select! {
            biased;
            () = app.closed() => {}
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

/// Passes on what another node says, until its stream breaks off.
async fn follow(app: App, node: String) {
    let hub = Arc::clone(app.streams.hub());
    match hints::open(&app, &node).await {
        Ok(mut stream) => {
            let mut rest = Vec::new();
            while let Some(Ok(piece)) = stream.next().await {
                rest.extend_from_slice(&piece);
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    pass_on(&app, &line);
                }
                if rest.len() > LINE_BYTES_MAX {
                    break;
                }
            }
        }
        Err(error) => tracing::debug!(%error, node, "no hints from another node"),
    }
    hub.tell_theirs(&Err(Missed));
}

fn pass_on(app: &App, line: &[u8]) {
    let hub = app.streams.hub();
    if line.starts_with(b"event: lagged") {
        hub.tell_theirs(&Err(Missed));
    }
    let Some(data) = line.strip_prefix(b"data: ") else {
        return;
    };
    // The data of `lagged` is no hint.
    if let Some(hint) = serde_json::from_slice::<Hinted>(data).ok().as_ref().and_then(heard) {
        hub.tell_theirs(&Ok(hint));
    }
}

/// Hints at the workers of this node that changed since it last looked.
fn look_at_workers(app: &App, since: &mut Option<Cursor>) {
    let Some(workers) = app.workers.get() else { return };
    let Some(after) = since.take() else {
        *since = Some(cursor_of(&workers.store.changes(None, 1)));
        return;
    };
    let hub = app.streams.hub();
    match workers.store.changes(Some(after), PAGE_MAX) {
        Page::Deltas { deltas, cursor, .. } => {
            for delta in deltas {
                hub.tell_own(&Hint::Record(RecordKind::Worker, delta.worker));
            }
            *since = Some(cursor);
        }
        Page::Everything { cursor, .. } => {
            hub.tell_theirs(&Err(Missed));
            *since = Some(cursor);
        }
    }
}

fn cursor_of(page: &Page) -> Cursor {
    match page {
        Page::Deltas { cursor, .. } | Page::Everything { cursor, .. } => *cursor,
    }
}
