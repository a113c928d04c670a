//! The search box: whatever id, key or name people have.
//!
//! An id tells its kind, so each text is looked up where it can be, by key or along an index. Exact hits come first, then what
//! begins with the text. Every look-up is bounded.

use std::str::FromStr;

use sprag_core::ids::{ActionId, AttemptId, ExecutionId, JobId, SwitchId, TokenId, WorkflowId};
use sprag_store::page::Page;
use sprag_store::records::{Action, CatalogKind, Execution};
use sprag_store::traits::{ActionQuery, ExecutionQuery, PlanQuery, Reader};
use sprag_store::{Error, ReadKind};
use sprag_wire::{HitKind, SearchHit};

use super::lookup::LookupHandle;
use super::view::execution_status;
use crate::decide::convert;
use crate::jobs::{Job, JobView};
use crate::lane::damaged;
use crate::requests::Refusal;

/// Hits of one kind.
const HITS_MAX: usize = 10;
/// Actions whose ids are looked at to find the one of an attempt.
const ATTEMPT_SCAN: usize = 50_000;
/// Actions that are read to find the one of an attempt.
const CANDIDATES_MAX: usize = 50;
/// Characters of an id behind its prefix.
const ID_CHARACTERS: usize = 26;

impl LookupHandle<'_> {
    /// What a text may mean: exact hits first, at most [`HITS_MAX`] of each kind.
    pub async fn search(&self, text: String) -> Result<Vec<SearchHit>, Refusal> {
        let switches = self.found_switches(&text);
        let mut hits = self
            .0
            .read()
            .query(ReadKind::Point, move |reader| {
                let mut hits = executions(reader, &text)?;
                hits.extend(actions(reader, &text)?);
                hits.extend(attempt(reader, &text)?);
                hits.extend(workflows(reader, &text)?);
                hits.extend(jobs(reader, &text)?);
                hits.extend(keys(reader, &text)?);
                hits.extend(machines(reader, &text)?);
                hits.extend(operations(reader, &text)?);
                Ok(hits)
            })
            .await?;
        hits.extend(switches);
        hits.sort_by_key(|hit| !hit.exact);
        Ok(hits)
    }

    /// The tokens that a text may mean. Only administrators may see them.
    pub fn found_tokens(&self, text: &str) -> Vec<SearchHit> {
        let Some(ids) = IdRange::<TokenId>::of(text, TokenId::PREFIX) else {
            return Vec::new();
        };
        let tokens = self.0.read().board.tokens();
        let found = tokens.all().filter(|token| ids.holds(token.view.id)).take(HITS_MAX);
        found
            .map(|token| hit(HitKind::Token, &token.view.id, token.view.name.clone(), ids.is_exact()))
            .collect()
    }

    fn found_switches(self, text: &str) -> Vec<SearchHit> {
        let Some(ids) = IdRange::<SwitchId>::of(text, SwitchId::PREFIX) else {
            return Vec::new();
        };
        let switches = self.0.read().board.switches();
        let found = switches.all().filter(|switch| ids.holds(switch.id)).take(HITS_MAX);
        found
            .map(|switch| hit(HitKind::Switch, &switch.id, switch.scope.to_string(), ids.is_exact()))
            .collect()
    }
}

/// The ids that begin with a text.
struct IdRange<I> {
    first: I,
    last: I,
}

impl<I: FromStr + Copy + Ord> IdRange<I> {
    /// None unless the text is the beginning of an id with this prefix, at least a character longer than the prefix.
    fn of(text: &str, prefix: &str) -> Option<Self> {
        let digits = text.strip_prefix(prefix).filter(|digits| !digits.is_empty())?;
        let missing = ID_CHARACTERS.checked_sub(digits.len())?;
        let filled = |digit: &str| format!("{text}{}", digit.repeat(missing)).parse().ok();
        Some(Self {
            first: filled("0")?,
            last: filled("z")?,
        })
    }

    fn holds(&self, id: I) -> bool {
        (self.first..=self.last).contains(&id)
    }

    fn is_exact(&self) -> bool {
        self.first == self.last
    }
}

fn hit(kind: HitKind, id: &(impl ToString + ?Sized), title: String, exact: bool) -> SearchHit {
    SearchHit {
        kind,
        id: id.to_string(),
        title,
        exact,
        parent: None,
        status: None,
        machine: None,
    }
}

fn executions(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let Some(ids) = IdRange::of(text, ExecutionId::PREFIX) else {
        return Ok(Vec::new());
    };
    let rows = if ids.is_exact() {
        reader.execution(ids.first)?.into_iter().collect()
    } else {
        let query = ExecutionQuery {
            page: Page::new(ids.last.next(), HITS_MAX),
            ..ExecutionQuery::default()
        };
        reader.executions(&query)?.rows
    };
    let found = rows.into_iter().filter(|row| ids.holds(row.id));
    let shown = |row: Execution| SearchHit {
        status: Some(execution_status(row.status).word().to_owned()),
        machine: Some(row.machine.clone()),
        ..hit(
            HitKind::Execution,
            &row.id,
            row.key
                .map_or_else(|| row.machine.clone(), |key| format!("{} {key}", row.machine)),
            ids.is_exact(),
        )
    };
    Ok(found.map(shown).collect())
}

fn actions(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let Some(ids) = IdRange::of(text, ActionId::PREFIX) else {
        return Ok(Vec::new());
    };
    let rows = if ids.is_exact() {
        reader.action(ids.first)?.into_iter().collect()
    } else {
        let query = ActionQuery {
            page: Page::new(ids.last.next(), HITS_MAX),
            ..ActionQuery::default()
        };
        reader.actions(&query)?.rows
    };
    let found = rows.into_iter().filter(|row| ids.holds(row.id));
    found.map(|row| action_hit(row, ids.is_exact())).collect()
}

fn action_hit(row: Action, exact: bool) -> Result<SearchHit, Error> {
    let action = convert::action_from(row).map_err(|error| damaged(&error))?;
    let is_dead = action.status == sprag_core::action::Status::Dead;
    let kind = if is_dead { HitKind::DeadLetter } else { HitKind::Action };
    let title = format!("{} of {}", action.action_id, action.origin.machine);
    Ok(SearchHit {
        parent: Some(action.origin.execution.to_string()),
        status: Some(action.status.word().to_owned()),
        machine: Some(action.origin.machine),
        ..hit(kind, &action.id, title, exact)
    })
}

/// The action of an attempt. Both have the same slot, and an attempt begins after its action was triggered: it is looked for
/// among the newest actions up to then.
fn attempt(reader: &dyn Reader, text: &str) -> Result<Option<SearchHit>, Error> {
    let Ok(attempt) = text.parse::<AttemptId>() else {
        return Ok(None);
    };
    let up_to = ActionId::compose(attempt.at(), attempt.slot(), u64::MAX);
    let candidates = reader.actions_of_slot(attempt.slot(), up_to, ATTEMPT_SCAN)?;
    for id in candidates.into_iter().take(CANDIDATES_MAX) {
        let Some(row) = reader.action(id)? else { continue };
        let action = convert::action_from(row).map_err(|error| damaged(&error))?;
        if action.body.attempts.iter().any(|made| made.id == attempt) {
            let title = format!("attempt of {} of {}", action.action_id, action.origin.machine);
            return Ok(Some(SearchHit {
                parent: Some(action.id.to_string()),
                machine: Some(action.origin.machine),
                ..hit(HitKind::Attempt, &attempt, title, true)
            }));
        }
    }
    Ok(None)
}

fn workflows(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let Some(ids) = IdRange::of(text, WorkflowId::PREFIX) else {
        return Ok(Vec::new());
    };
    let rows = if ids.is_exact() {
        reader.plan(ids.first)?.into_iter().collect()
    } else {
        let query = PlanQuery {
            page: Page::new(ids.last.next(), HITS_MAX),
            ..PlanQuery::default()
        };
        reader.plans(&query)?.rows
    };
    let found = rows.into_iter().filter(|row| ids.holds(row.id));
    Ok(found
        .map(|row| SearchHit {
            status: Some(row.status.word().to_owned()),
            ..hit(HitKind::Workflow, &row.id, row.name, ids.is_exact())
        })
        .collect())
}

fn jobs(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let Some(ids) = IdRange::of(text, JobId::PREFIX) else {
        return Ok(Vec::new());
    };
    let rows = if ids.is_exact() {
        reader.job(ids.first)?.into_iter().collect()
    } else {
        reader.jobs(&Page::new(ids.last.next(), HITS_MAX))?.rows
    };
    let found = rows.into_iter().filter(|row| ids.holds(row.id));
    found
        .map(|row| {
            let view = JobView::from(&Job::from_row(row)?);
            Ok(SearchHit {
                status: Some(view.status.word().to_owned()),
                ..hit(
                    HitKind::Job,
                    &view.id,
                    format!("{} {}", view.kind, view.filter),
                    ids.is_exact(),
                )
            })
        })
        .collect()
}

fn keys(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let found = reader.keys_with_prefix(text, HITS_MAX)?.into_iter();
    Ok(found
        .map(|holder| SearchHit {
            parent: Some(holder.execution.to_string()),
            status: Some(execution_status(holder.status).word().to_owned()),
            machine: Some(holder.machine.clone()),
            ..hit(
                HitKind::Key,
                &holder.key,
                format!("{} {}", holder.machine, holder.key),
                holder.key == text,
            )
        })
        .collect())
}

fn machines(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let mut hits = Vec::new();
    // The newest version tells whether a machine has this very name.
    if reader.machine(text, None)?.is_some() {
        hits.push(hit(HitKind::Machine, text, text.to_owned(), true));
    }
    let later = reader.machines(&Page::new(Some(text.to_owned()), HITS_MAX))?;
    let begin = later.rows.into_iter().filter(|row| row.machine.starts_with(text));
    hits.extend(begin.map(|row| hit(HitKind::Machine, &row.machine, row.machine.clone(), false)));
    Ok(hits)
}

fn operations(reader: &dyn Reader, text: &str) -> Result<Vec<SearchHit>, Error> {
    let kind = CatalogKind::Operation;
    let mut hits = Vec::new();
    if reader.catalog_version(kind, text, None)?.is_some() {
        hits.push(hit(HitKind::Operation, text, text.to_owned(), true));
    }
    let later = reader.catalog(kind, &Page::new(Some(text.to_owned()), HITS_MAX))?;
    let begin = later.rows.into_iter().filter(|row| row.name.starts_with(text));
    hits.extend(begin.map(|row| hit(HitKind::Operation, &row.name, row.name.clone(), false)));
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_a_range_of_ids() {
        let whole = ExecutionId::from_bytes([0x5a; 16]);
        let text = whole.to_string();
        for length in 5..=text.len() {
            let range = IdRange::<ExecutionId>::of(&text[..length], "exe_").unwrap();
            assert!(range.holds(whole), "{length}");
            assert_eq!(range.is_exact(), length == text.len());
        }
        for wrong in ["exe_", "exe_!", "act_0", &format!("{text}0"), "exe_z"] {
            assert!(IdRange::<ExecutionId>::of(wrong, "exe_").is_none(), "{wrong}");
        }
    }
}
