//! What people look up, from a reader of a file.

use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;

use super::reader::ReadConnection;
use super::{actions, counts, executions, history, letters, machines, timers};
use crate::page::{Page, Paged};
use crate::records::{HistoryEntry, MachineVersion, Timer};
use crate::traits::{Error, GroupBounds, KeyHolder, LetterGroups, Lookup, OpenCounts, TimerPosition};

impl Lookup for ReadConnection {
    fn machine_versions(&self, machine: &str, page: &Page<u32>) -> Result<Paged<MachineVersion, u32>, Error> {
        self.read(|connection| machines::versions(connection, machine, page))
    }

    fn history_back(&self, id: ExecutionId, page: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error> {
        self.read(|connection| history::page_back(connection, id, page))
    }

    fn letter_groups(&self, bounds: &GroupBounds) -> Result<LetterGroups, Error> {
        self.read(|connection| letters::groups(connection, bounds))
    }

    fn keys_with_prefix(&self, prefix: &str, most: usize) -> Result<Vec<KeyHolder>, Error> {
        self.read(|connection| executions::keys_with_prefix(connection, prefix, most))
    }

    fn timers_until(&self, until: Timestamp, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error> {
        self.read(|connection| timers::due(connection, until, page))
    }

    fn open_counts(&self, most: usize) -> Result<OpenCounts, Error> {
        self.read(|connection| counts::open_counts(connection, most))
    }

    fn actions_of_slot(&self, slot: Slot, up_to: ActionId, scan: usize) -> Result<Vec<ActionId>, Error> {
        self.read(|connection| actions::of_slot(connection, slot, up_to, scan))
    }

    fn schedules(&self, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error> {
        self.read(|connection| timers::schedules(connection, page))
    }
}
