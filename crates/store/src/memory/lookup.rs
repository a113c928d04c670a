//! What people look up, in memory: every row is looked at.

use std::collections::BTreeMap;

use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::operation::WorkflowStatus;
use sprag_core::time::Timestamp;

use super::order::by_cursor;
use super::state::numbers_of;
use super::{DEAD, Memory, QUEUED, RETRYING, RUNNING, listed};
use crate::page::{Page, Paged};
use crate::records::{Action, ExecutionStatus, HistoryEntry, MachineVersion, Timer};
use crate::traits::{
    Counted, Error, GroupBounds, KeyHolder, LetterGroup, LetterGroups, Lookup, OpenCounts, TimerPosition, counted,
};

impl Lookup for Memory {
    fn machine_versions(
        &self,
        machine: &str,
        Page { after, limit }: &Page<u32>,
    ) -> Result<Paged<MachineVersion, u32>, Error> {
        let state = self.state();
        let versions = state.machines.values().rev().filter(|row| row.machine == machine);
        let older = versions.filter(|row| after.is_none_or(|after| row.version < after));
        listed(older, *limit, |row| row.version)
    }

    fn history_back(
        &self,
        id: ExecutionId,
        Page { after, limit }: &Page<u64>,
    ) -> Result<Paged<HistoryEntry, u64>, Error> {
        let state = self.state();
        let entries = state.history.range(numbers_of(id)).rev().map(|(_, entry)| entry);
        let earlier = entries.filter(|entry| after.is_none_or(|after| entry.sequence < after));
        listed(earlier, *limit, |entry| entry.sequence)
    }

    fn letter_groups(&self, bounds: &GroupBounds) -> Result<LetterGroups, Error> {
        let state = self.state();
        let mut groups: BTreeMap<&str, Vec<(Timestamp, &Action)>> = BTreeMap::new();
        for action in state.actions.values().filter(|action| action.status == DEAD) {
            if let (Some(print), Some(at)) = (&action.fingerprint, action.died_at) {
                groups.entry(print).or_default().push((at, action));
            }
        }
        let more = groups.len() > bounds.groups;
        let groups = groups.into_iter().take(bounds.groups);
        Ok(LetterGroups {
            groups: groups
                .filter_map(|(print, letters)| group(print, letters, bounds))
                .collect(),
            more,
        })
    }

    fn keys_with_prefix(&self, prefix: &str, most: usize) -> Result<Vec<KeyHolder>, Error> {
        let state = self.state();
        let holders = state.executions.values().filter_map(|row| {
            let key = row.key.as_ref().filter(|key| key.starts_with(prefix))?;
            Some(KeyHolder {
                key: key.clone(),
                execution: row.id,
                machine: row.machine.clone(),
                status: row.status,
            })
        });
        let mut holders: Vec<KeyHolder> = holders.collect();
        holders.sort_by(|one, other| (&one.key, one.execution).cmp(&(&other.key, other.execution)));
        holders.truncate(most);
        Ok(holders)
    }

    fn timers_until(&self, until: Timestamp, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error> {
        let state = self.state();
        let due = state.timers.values().filter(|timer| timer.due_at <= until).cloned();
        by_cursor(due, page, |timer| (timer.due_at, timer.key))
    }

    fn open_counts(&self, most: usize) -> Result<OpenCounts, Error> {
        let state = self.state();
        let executions = |status: ExecutionStatus| {
            let found = state.executions.values().filter(|row| row.status == status);
            count(found.count(), most)
        };
        let actions = |status: u8| {
            let found = state.actions.values().filter(|row| row.status == status);
            count(found.count(), most)
        };
        let approvals = state
            .plans
            .values()
            .filter(|plan| plan.status == WorkflowStatus::AwaitingApproval);
        Ok(OpenCounts {
            running: executions(ExecutionStatus::Running),
            paused: executions(ExecutionStatus::Paused),
            failed: executions(ExecutionStatus::Failed),
            queued: actions(QUEUED),
            oldest_queued: state.open_with(&[QUEUED]).map(|action| action.run_at).min(),
            attempts: actions(RUNNING),
            retrying: actions(RETRYING),
            dead: actions(DEAD),
            approvals: count(approvals.count(), most),
        })
    }

    fn actions_of_slot(&self, slot: Slot, up_to: ActionId, scan: usize) -> Result<Vec<ActionId>, Error> {
        let state = self.state();
        let walked = state.actions.range(..=up_to).rev().take(scan).map(|(id, _)| *id);
        Ok(walked.filter(|id| id.slot() == slot).collect())
    }

    fn schedules(&self, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error> {
        let state = self.state();
        let schedules = state.timers.values().filter(|timer| timer.schedule.is_some()).cloned();
        by_cursor(schedules, page, |timer| (timer.due_at, timer.key))
    }
}

fn group(fingerprint: &str, mut letters: Vec<(Timestamp, &Action)>, bounds: &GroupBounds) -> Option<LetterGroup> {
    letters.sort_by_key(|(at, action)| (*at, action.id));
    let ((first_at, _), (last_at, newest)) = (letters.first()?, letters.last()?);
    let recent = letters.iter().filter(|(at, _)| *at >= bounds.recent_since).count();
    Some(LetterGroup {
        fingerprint: fingerprint.to_owned(),
        all: count(letters.len(), bounds.counted),
        recent: count(recent, bounds.counted),
        first_at: *first_at,
        last_at: *last_at,
        sample: newest.id,
    })
}

fn count(found: usize, most: usize) -> Counted {
    counted(u64::try_from(found).unwrap_or(u64::MAX), most)
}
