//! What people look up, from a reader of a database.

use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;

use super::reader::PooledReader;
use super::{actions, counts, executions, history, letters, machines, timers};
use crate::page::{Page, Paged};
use crate::records::{HistoryEntry, MachineVersion, Timer};
use crate::traits::{Error, GroupBounds, KeyHolder, LetterGroups, Lookup, OpenCounts, TimerPosition};

impl Lookup for PooledReader {
    fn machine_versions(&self, machine: &str, page: &Page<u32>) -> Result<Paged<MachineVersion, u32>, Error> {
        self.ask(&async |session| machines::newest_first(session, machine, page).await)
    }

    fn history_back(&self, id: ExecutionId, page: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error> {
        self.ask(&async |session| history::page_back(session, id, page).await)
    }

    fn letter_groups(&self, bounds: &GroupBounds) -> Result<LetterGroups, Error> {
        self.ask(&async |session| letters::groups(session, bounds).await)
    }

    fn keys_with_prefix(&self, prefix: &str, most: usize) -> Result<Vec<KeyHolder>, Error> {
        self.ask(&async |session| executions::keys_with_prefix(session, prefix, most).await)
    }

    fn timers_until(&self, until: Timestamp, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error> {
        self.ask(&async |session| timers::until(session, until, page).await)
    }

    fn open_counts(&self, most: usize) -> Result<OpenCounts, Error> {
        self.ask(&async |session| counts::open_counts(session, most).await)
    }

    fn actions_of_slot(&self, slot: Slot, up_to: ActionId, scan: usize) -> Result<Vec<ActionId>, Error> {
        self.ask(&async |session| actions::of_slot(session, slot, up_to, scan).await)
    }

    fn schedules(&self, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error> {
        self.ask(&async |session| timers::schedules(session, page).await)
    }
}
