//! How actions have been doing: figures over a window, what failed and why, and what an operator could change.
//!
//! Everything is computed from the stored actions when it is asked for, so it holds across restarts, cannot drift from
//! what happened, and costs nothing between two calls. A window is of the instants at which actions were triggered. Up to
//! [`LOOKED_AT_MAX`] actions are all looked at; of more, the newest of each of many even slices of the window are, and
//! the report says so.

mod advice;
mod figures;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};
use sprag_core::ids::ActionId;
use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::traits::{Reader, SCAN_MAX, Search};
use sprag_store::{Error, Page, ReadKind};
use sprag_wire::{self as wire, Basis, HealthReport, OfAction, OfType};

use self::tally::Tally;
use super::handle::ReadHandle;
use crate::decide::convert;
use crate::lane::damaged;
use crate::requests::Refusal;
use sprag_core::words;

/// The most actions that a report looks at.
pub const LOOKED_AT_MAX: usize = 20_000;
/// The slices of a window that holds more.
const SLICES: usize = 50;
/// The most action ids that a report tells apart; the rest is counted among their type and the whole.
const ACTIONS_MAX: usize = 500;

words! {
    /// Which window.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Window as word {
        /// The last 15 minutes.
        QuarterHour => "15m",
        /// The last hour.
        #[default]
        Hour => "1h",
        /// The last 24 hours.
        Day => "24h",
        /// The last seven days.
        Week => "7d",
    }
}

impl Window {
    /// As the report names it.
    fn shown(self) -> wire::Window {
        match self {
            Self::QuarterHour => wire::Window::QuarterHour,
            Self::Hour => wire::Window::Hour,
            Self::Day => wire::Window::Day,
            Self::Week => wire::Window::Week,
        }
    }

    fn millis(self) -> u64 {
        const MINUTE: u64 = 60_000;
        match self {
            Self::QuarterHour => 15 * MINUTE,
            Self::Hour => 60 * MINUTE,
            Self::Day => 24 * 60 * MINUTE,
            Self::Week => 7 * 24 * 60 * MINUTE,
        }
    }
}

/// What is told apart: the machine's name, what it calls the action, and its type.
type Key = (String, String, String);

/// What was found in a window.
#[derive(Default)]
struct Found {
    all: Tally,
    by_type: BTreeMap<String, Tally>,
    by_action: BTreeMap<Key, Tally>,
    machines: BTreeMap<(String, u32), Arc<Machine>>,
    looked_at: u64,
}

impl ReadHandle {
    /// How actions have been doing: those of one name, or all.
    pub async fn health(&self, action_id: Option<String>, window: Window) -> Result<HealthReport, Refusal> {
        let handle = self.clone();
        let to = self.clock.now();
        let from = Timestamp::from_millis(to.as_millis().saturating_sub_unsigned(window.millis()));
        let named = action_id.clone();
        let (found, sampled) = self
            .query(ReadKind::Scan, move |reader| {
                gather(&handle, reader, named.as_deref(), (from, to))
            })
            .await?;
        Ok(report(action_id, window, (from, to), found, sampled))
    }
}

fn gather(
    handle: &ReadHandle,
    reader: &dyn Reader,
    action_id: Option<&str>,
    (from, to): (Timestamp, Timestamp),
) -> Result<(Found, bool), Error> {
    let whole = within(action_id, from, to);
    let mut found = Found::default();
    let counted = reader.count_actions(&whole, LOOKED_AT_MAX.saturating_add(1))?;
    let sampled = usize::try_from(counted.count).unwrap_or(usize::MAX) > LOOKED_AT_MAX;
    if !sampled {
        found.look(handle, reader, &whole, LOOKED_AT_MAX)?;
        return Ok((found, false));
    }
    let span = to.since(from) / u64::try_from(SLICES).unwrap_or(1);
    for slice in 0..SLICES {
        let start = from.plus(span.saturating_mul(u64::try_from(slice).unwrap_or(0)));
        let end = if slice + 1 == SLICES { to } else { start.plus(span) };
        found.look(handle, reader, &within(action_id, start, end), LOOKED_AT_MAX / SLICES)?;
    }
    Ok((found, true))
}

/// The actions of a name that were triggered after one instant, up to and including another.
fn within(action_id: Option<&str>, after: Timestamp, to: Timestamp) -> Condition {
    let at = |relation, at: Timestamp| {
        Condition::Is(Comparison {
            field: Field::CreatedAt,
            relation,
            constants: vec![Constant::Number(at.as_millis())],
        })
    };
    let window = at(Relation::Greater, after).and(at(Relation::LessOrEqual, to));
    match action_id {
        Some(name) => window.and(Condition::text(Field::ActionId, name)),
        None => window,
    }
}

impl Found {
    /// Counts the newest actions that meet a condition, up to a bound.
    fn look(
        &mut self,
        handle: &ReadHandle,
        reader: &dyn Reader,
        condition: &Condition,
        most: usize,
    ) -> Result<(), Error> {
        let mut left = most;
        let mut before: Option<ActionId> = None;
        while left > 0 {
            let page = reader.find_actions(&Search {
                condition: condition.clone(),
                page: Page::new(before, left.min(SCAN_MAX)),
                scan: SCAN_MAX,
            })?;
            left = left.saturating_sub(page.rows.len());
            for row in page.rows {
                let action = convert::action_from(row).map_err(|error| damaged(&error))?;
                let machine = self.machine(handle, reader, &action.origin.machine, action.origin.version)?;
                self.count(&action, &machine);
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn machine(
        &mut self,
        handle: &ReadHandle,
        reader: &dyn Reader,
        name: &str,
        version: u32,
    ) -> Result<Arc<Machine>, Error> {
        let key = (name.to_owned(), version);
        if let Some(known) = self.machines.get(&key) {
            return Ok(Arc::clone(known));
        }
        let machine = handle.version(reader, name, version)?;
        self.machines.insert(key, Arc::clone(&machine));
        Ok(machine)
    }

    fn count(&mut self, action: &sprag_core::action::Action, machine: &Machine) {
        let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
        self.looked_at += 1;
        self.all.count(action, definition);
        self.by_type
            .entry(action.kind.clone())
            .or_default()
            .count(action, definition);
        let key = (
            action.origin.machine.clone(),
            action.action_id.clone(),
            action.kind.clone(),
        );
        if self.by_action.contains_key(&key) || self.by_action.len() < ACTIONS_MAX {
            self.by_action.entry(key).or_default().count(action, definition);
        }
    }
}

fn report(
    action_id: Option<String>,
    window: Window,
    (from, to): (Timestamp, Timestamp),
    mut found: Found,
    sampled: bool,
) -> HealthReport {
    let recommendations = advice::all(&mut found);
    let failure_reasons = found.all.failure_reasons();
    let by_type = found.by_type.into_iter();
    let by_action = found.by_action.into_iter();
    HealthReport {
        action_id,
        window: window.shown(),
        from,
        to,
        is_empty: found.looked_at == 0,
        basis: Basis {
            actions: found.looked_at,
            sampled,
        },
        figures: found.all.figures(),
        by_type: by_type
            .map(|(kind, mut tally)| OfType {
                kind,
                figures: tally.figures(),
            })
            .collect(),
        by_action: by_action
            .map(|((machine, action_id, kind), mut tally)| OfAction {
                machine,
                action_id,
                kind,
                figures: tally.figures(),
            })
            .collect(),
        failure_reasons,
        recommendations,
    }
}

#[cfg(test)]
mod tests;
