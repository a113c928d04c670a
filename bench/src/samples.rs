//! Real records, taken from an engine that ran: what the probe writes, and what files are prefilled with.

use anyhow::Context;
use serde_json::Value;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;
use sprag_engine::requests::Cancel;
use sprag_engine::requests::Start;
use sprag_store::Page;
use sprag_store::records::{Action, Execution, HistoryEntry, MachineVersion};
use sprag_store::traits::{ActionQuery, Mutation};

use crate::embedded::{Embedded, ONE};

/// One action that waits for its turn for ever: the first of them takes the hour's permit.
const PARKED: &str = "{id: parked, initial: a, states: {a: {on: {done.work: b}}, b: {type: final}}, \
    actions: [{actionId: work, type: noop, triggerState: a, config: {}, limits: [{rate: {count: 1, per: 1h}}]}]}";

/// Ends with a dead letter behind it.
const MARKED: &str = "{id: marked, initial: a, states: {a: {on: {failed.give_up: b}}, b: {type: final}}, \
    actions: [{actionId: give_up, type: fail, triggerState: a, config: {type: temporary_failure}, \
    retryPolicy: {maxAttempts: 1}}]}";
/// Never ends by itself.
const ENDLESS: &str = "{id: endless, initial: a, states: {a: {}}, \
    actions: [{actionId: work, type: noop, triggerState: a, config: {}}]}";

/// The bytes of the rows of a one-action execution.
pub(crate) struct Rows {
    pub(crate) execution: Vec<u8>,
    pub(crate) action: Vec<u8>,
    /// The first entry of its history.
    pub(crate) first: Vec<u8>,
    /// The last one.
    pub(crate) last: Vec<u8>,
}

/// One execution with everything that belongs to it.
pub(crate) struct Sample {
    pub(crate) machine: MachineVersion,
    execution: Execution,
    action: Action,
    history: Vec<HistoryEntry>,
    pub(crate) rows: Rows,
    /// As the API shows it.
    pub(crate) view: Value,
}

/// How a sample is brought about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It completes by itself.
    Completes,
    /// It is cancelled once its action has ended.
    Cancelled,
    /// It waits.
    Waits,
}

/// An execution of W1 that has completed.
pub(crate) fn closed() -> anyhow::Result<Sample> {
    taken("one", ONE, End::Completes)
}

/// An execution whose action is queued.
pub(crate) fn queued() -> anyhow::Result<Sample> {
    taken("parked", PARKED, End::Waits)
}

/// An execution that has completed although its action is dead; it has a key and tags.
pub(crate) fn marked() -> anyhow::Result<Sample> {
    taken("marked", MARKED, End::Completes)
}

/// An execution that was cancelled.
pub(crate) fn cancelled() -> anyhow::Result<Sample> {
    taken("endless", ENDLESS, End::Cancelled)
}

/// Runs two executions and takes the second, which finds no permit where there is only one.
fn taken(name: &str, machine: &str, end: End) -> anyhow::Result<Sample> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let embedded = Embedded::start(&folder.path().join("sample.db"), machine).await?;
        let mut second = None;
        for number in 0..2 {
            let start = Start {
                machine: name.to_owned(),
                key: (name == "marked").then(|| format!("key-{number}")),
                tags: if name == "marked" {
                    vec!["tag".to_owned()]
                } else {
                    Vec::new()
                },
                ..Start::default()
            };
            let started = embedded.handle().start(start).await;
            let id = started.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?.id;
            if end == End::Cancelled {
                embedded.action_ended().await?;
                let cancelled = embedded.handle().ask(Cancel(id)).await;
                cancelled.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
            }
            second = Some(id);
        }
        if end == End::Completes {
            embedded.settled().await?;
        }
        let sample = read(&embedded, name, second.context("no execution was started")?).await;
        embedded.stop().await;
        sample
    })
}

async fn read(embedded: &Embedded, name: &str, id: ExecutionId) -> anyhow::Result<Sample> {
    let (machine, execution, action, history) = {
        let reader = embedded.readers.reader(sprag_store::ReadKind::Point)?;
        let execution = reader.execution(id)?.context("no execution")?;
        let of = ActionQuery {
            execution: Some(id),
            page: Page::first(1),
            ..ActionQuery::default()
        };
        let action = reader.actions(&of)?.rows.pop().context("no action")?;
        let machine = reader.machine(name, None)?.context("no machine")?;
        (machine, execution, action, reader.history(id, &Page::first(10))?.rows)
    };
    let view = embedded.handle().read().execution(id).await;
    let view = view.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
    Ok(Sample {
        rows: rows(&execution, &action, &history),
        view: serde_json::to_value(view)?,
        machine,
        execution,
        action,
        history,
    })
}

/// What the store writes of each record beside its id: text, bodies, and eight bytes for each number.
fn rows(execution: &Execution, action: &Action, history: &[HistoryEntry]) -> Rows {
    let entry = |entry: Option<&HistoryEntry>| entry.map(|entry| entry.body.clone()).unwrap_or_default();
    Rows {
        execution: [
            execution.machine.as_bytes(),
            &execution.body,
            &execution.variables,
            &[0; 40],
        ]
        .concat(),
        action: [
            action.execution.to_bytes().as_slice(),
            action.machine.as_bytes(),
            action.action_id.as_bytes(),
            action.kind.as_bytes(),
            action.line.as_bytes(),
            &action.body,
            &[0; 32],
        ]
        .concat(),
        first: entry(history.first()),
        last: entry(history.last()),
    }
}

/// What is different about a copy of a sample.
pub(crate) struct Fresh {
    pub(crate) execution: ExecutionId,
    pub(crate) action: ActionId,
    /// When it was started; everything else happened as much later as in the sample.
    pub(crate) at: Timestamp,
    pub(crate) key: Option<String>,
    pub(crate) tags: Vec<String>,
}

impl Sample {
    /// The same execution under other ids and at another time, as it is inserted.
    pub(crate) fn under(&self, fresh: Fresh) -> Vec<Mutation> {
        let Fresh {
            execution,
            action,
            at,
            key,
            tags,
        } = fresh;
        let names = [
            (self.execution.id.to_string(), execution.to_string()),
            (self.action.id.to_string(), action.to_string()),
        ];
        let renamed = |body: &[u8]| renamed(body, &names);
        let began = self.execution.created_at;
        let moved = |then: Timestamp| at.plus(then.since(began));
        let mut mutations = vec![
            Mutation::InsertExecution(Execution {
                id: execution,
                key,
                tags: tags.clone(),
                created_at: at,
                updated_at: moved(self.execution.updated_at),
                body: renamed(&self.execution.body),
                variables: renamed(&self.execution.variables),
                ..self.execution.clone()
            }),
            Mutation::InsertAction(Action {
                id: action,
                execution,
                tags,
                run_at: moved(self.action.run_at),
                created_at: moved(self.action.created_at),
                body: renamed(&self.action.body),
                ..self.action.clone()
            }),
        ];
        mutations.extend(self.history.iter().map(|entry| {
            Mutation::AppendHistory(HistoryEntry {
                execution,
                at: moved(entry.at),
                body: renamed(&entry.body),
                ..entry.clone()
            })
        }));
        mutations
    }
}

/// Ids inside a body are text.
fn renamed(body: &[u8], names: &[(String, String)]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(body).into_owned();
    for (from, to) in names {
        if text.contains(from) {
            text = text.replace(from, to);
        }
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use sprag_core::action::Status;
    use sprag_core::ids::Slot;
    use sprag_core::time::Timestamp;
    use sprag_store::records::ExecutionStatus;

    use super::*;

    #[test]
    fn what_fills_a_file_of_closed_executions_has_completed() {
        let sample = closed().unwrap();
        assert_eq!(sample.execution.status, ExecutionStatus::Completed);
        assert_eq!(sample.action.status, Status::Succeeded as u8);
        assert!(sample.history.len() >= 2);
    }

    #[test]
    fn what_fills_a_file_of_queued_actions_waits_for_its_turn() {
        let sample = queued().unwrap();
        assert_eq!(sample.execution.status, ExecutionStatus::Running);
        assert_eq!(sample.action.status, Status::Queued as u8);
    }

    #[test]
    fn what_is_mixed_in_is_closed_with_a_dead_letter_or_cancelled() {
        let (marked, cancelled) = (marked().unwrap(), cancelled().unwrap());
        assert_eq!(marked.execution.status, ExecutionStatus::Completed);
        assert_eq!(marked.action.status, Status::Dead as u8);
        assert_eq!(marked.action.error_kind.as_deref(), Some("temporary_failure"));
        assert_eq!(cancelled.execution.status, ExecutionStatus::Cancelled);
    }

    #[test]
    fn an_execution_under_other_ids_mentions_its_own_nowhere() {
        let sample = closed().unwrap();
        let at = Timestamp::from_millis(1);
        let copy = sample.under(Fresh {
            execution: ExecutionId::compose(at, Slot(0), 1),
            action: ActionId::compose(at, Slot(0), 1),
            at,
            key: None,
            tags: Vec::new(),
        });
        let text = format!("{copy:?}");
        let bytes = |id: String| format!("{:?}", id.as_bytes()).trim_matches(['[', ']']).to_owned();
        assert!(!text.contains(&bytes(sample.execution.id.to_string())));
        assert!(!text.contains(&bytes(sample.action.id.to_string())));
    }
}
