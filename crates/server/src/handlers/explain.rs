//! Why an execution does not move, with what only the dispatcher knows about its actions.

use serde::Serialize;
use sprag_core::action::{ActionError, Status};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::json;
use sprag_engine::command::Refusal;
use sprag_engine::view::{ActionView, ExecutionView, Waiting};
use sprag_engine::{Diagnosis, Handle};
use sprag_store::PAGE_BYTES_MAX;
use sprag_store::traits::ActionQuery;

/// Open actions that are explained, per status; fewer where they take more bytes than a page holds.
const EXPLAINED_MAX: usize = 20;

/// What the explanation takes besides its actions, at most.
const FRAME_BYTES: usize = 8 << 10;

/// An execution with what holds it, each of its open actions and its dead letters.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Explanation {
    id: ExecutionId,
    status: &'static str,
    waiting: Waiting,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    actions: Vec<ExplainedAction>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainedAction {
    id: ActionId,
    action_id: String,
    #[serde(rename = "type")]
    kind: String,
    status: Status,
    waiting: Waiting,
    /// Why its last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<ActionError>,
    /// What would settle a dead letter.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    diagnosis: Option<Diagnosis>,
}

/// Explains an execution, its open actions and its dead letters.
pub(super) async fn explain(engine: &Handle, id: ExecutionId) -> Result<Explanation, Refusal> {
    let ExecutionView {
        status,
        mut waiting,
        failure,
        ..
    } = engine.execution(id).await?;
    let (mut actions, mut bytes) = (Vec::new(), FRAME_BYTES);
    let told = |status: &Status| status.is_open() || *status == Status::Dead;
    for open in Status::ALL.into_iter().filter(told) {
        let query = ActionQuery {
            execution: Some(id),
            status: Some(open.number()),
            limit: EXPLAINED_MAX,
            ..ActionQuery::default()
        };
        for view in engine.actions(query).await? {
            let diagnosis = match open {
                Status::Dead => Some(engine.diagnosis(view.id).await?),
                _ => None,
            };
            let action = ExplainedAction::of(explained(engine, view).await, diagnosis);
            bytes = bytes.saturating_add(json::size(&action));
            if bytes > PAGE_BYTES_MAX && !actions.is_empty() {
                break;
            }
            actions.push(action);
        }
    }
    // The store knows only that a queued action waits for a permit; the dispatcher knows what really holds it.
    if waiting.is_for_permit()
        && let Some(queued) = actions.iter().find(|action| action.status == Status::Queued)
    {
        waiting = queued.waiting.clone();
    }
    Ok(Explanation {
        id,
        status,
        waiting,
        failure,
        actions,
    })
}

/// An execution with what its owner knows, while one of its actions is queued.
pub(super) async fn refined(engine: &Handle, mut view: ExecutionView) -> Result<ExecutionView, Refusal> {
    if view.waiting.is_for_permit() {
        let query = ActionQuery {
            execution: Some(view.id),
            status: Some(Status::Queued.number()),
            limit: 1,
            ..ActionQuery::default()
        };
        if let Some(queued) = engine.actions(query).await?.into_iter().next() {
            view.waiting = explained(engine, queued).await.waiting;
        }
    }
    Ok(view)
}

/// An action with what its owner knows, while it is queued. Whatever keeps the owner from saying it (too much to do, going
/// down, the action deleted meanwhile), what was read is still what it was.
pub(super) async fn explained(engine: &Handle, view: ActionView) -> ActionView {
    if view.status != Status::Queued {
        return view;
    }
    engine.explain_action(view.id).await.unwrap_or(view)
}

impl ExplainedAction {
    fn of(view: ActionView, diagnosis: Option<Diagnosis>) -> Self {
        let ActionView {
            id,
            action_id,
            kind,
            status,
            waiting,
            last_error,
            ..
        } = view;
        Self {
            id,
            action_id,
            kind,
            status,
            waiting,
            last_error,
            diagnosis,
        }
    }
}
