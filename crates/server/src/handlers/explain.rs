//! Why an execution does not move, with what only the dispatcher knows about its actions.

use sprag_core::action::Status;
use sprag_core::document::json;
use sprag_core::ids::ExecutionId;
use sprag_engine::requests::{Explain, Refusal};
use sprag_engine::{Diagnosis, Handle};
use sprag_store::traits::ActionQuery;
use sprag_store::{PAGE_BYTES_MAX, Page};
use sprag_wire as wire;

/// Open actions that are explained, per status; fewer where they take more bytes than a page holds.
const EXPLAINED_MAX: usize = 20;

/// What the explanation takes besides its actions, at most.
const FRAME_BYTES: usize = 8 << 10;

/// Explains an execution, its open actions and its dead letters.
pub(super) async fn explain(engine: &Handle, id: ExecutionId) -> Result<wire::Explanation, Refusal> {
    let wire::Execution {
        status,
        mut waiting,
        failure,
        ..
    } = engine.read().execution(id).await?;
    let (mut actions, mut bytes): (Vec<wire::ExplainedAction>, _) = (Vec::new(), FRAME_BYTES);
    let told = |status: &Status| status.is_open() || *status == Status::Dead;
    for open in Status::ALL.into_iter().filter(told) {
        let query = ActionQuery {
            execution: Some(id),
            status: Some(open.number()),
            page: Page::first(EXPLAINED_MAX),
            ..ActionQuery::default()
        };
        for view in engine.read().actions(query).await? {
            let diagnosis = match open {
                Status::Dead => Some(engine.read().diagnosis(view.id).await?),
                _ => None,
            };
            let action = diagnosed(explained(engine, view).await, diagnosis);
            bytes = bytes.saturating_add(json::size(&action));
            if bytes > PAGE_BYTES_MAX && !actions.is_empty() {
                break;
            }
            actions.push(action);
        }
    }
    // The store knows only that a queued action waits for a permit; the dispatcher knows what really holds it.
    if waiting.is_for_permit()
        && let Some(queued) = actions
            .iter()
            .find(|action| action.status == wire::ActionStatus::Queued)
    {
        waiting = queued.waiting.clone();
    }
    Ok(wire::Explanation {
        id,
        status,
        waiting,
        failure,
        actions,
    })
}

/// An execution with what its owner knows, while one of its actions is queued.
pub(super) async fn refined(engine: &Handle, mut view: wire::Execution) -> Result<wire::Execution, Refusal> {
    if view.waiting.is_for_permit() {
        let query = ActionQuery {
            execution: Some(view.id),
            status: Some(Status::Queued.number()),
            page: Page::first(1),
            ..ActionQuery::default()
        };
        if let Some(queued) = engine.read().actions(query).await?.into_iter().next() {
            view.waiting = explained(engine, queued).await.waiting;
        }
    }
    Ok(view)
}

/// An action with what its owner knows, while it is queued. Whatever keeps the owner from saying it (too much to do, going
/// down, the action deleted meanwhile), what was read is still what it was.
pub(super) async fn explained(engine: &Handle, view: wire::Action) -> wire::Action {
    if view.status != wire::ActionStatus::Queued {
        return view;
    }
    engine.ask(Explain(view.id)).await.map_or(view, |explained| *explained)
}

/// An action with what would settle it, where it is a dead letter.
fn diagnosed(view: wire::Action, diagnosis: Option<Diagnosis>) -> wire::ExplainedAction {
    let wire::Action {
        id,
        action_id,
        kind,
        status,
        waiting,
        last_error,
        ..
    } = view;
    let (mut recoverable, mut manual_review_required, mut suggested_fix) = (None, None, None);
    let mut patch = Vec::new();
    if let Some(diagnosis) = diagnosis {
        recoverable = Some(diagnosis.recoverable);
        manual_review_required = Some(diagnosis.manual_review_required);
        suggested_fix = Some(diagnosis.suggested_fix);
        patch = diagnosis.fix_patch;
    }
    wire::ExplainedAction {
        id,
        action_id,
        kind,
        status,
        waiting,
        last_error,
        recoverable,
        manual_review_required,
        suggested_fix,
        fix_patch: patch,
    }
}
