//! What an operator should know about a server that works all the same.

use sprag_wire::Note;

use super::handle::ReadHandle;
use crate::effects::board::ClockView;

/// A log that a reader holds is worth a note from this size on.
const HELD_BYTES_MIN: u64 = 64 * 1024 * 1024;

impl ReadHandle {
    /// What an operator should know.
    pub fn notes(&self) -> Vec<Note> {
        let clock = self.board.clock.view(self.clock.now(), self.clock.wall());
        let held = held(self.readers.held_bytes());
        clock_notes(clock).into_iter().chain(held).collect()
    }

    /// How many bytes of the store's log a reader keeps from being copied back.
    pub fn held_bytes(&self) -> u64 {
        self.readers.held_bytes()
    }
}

fn clock_notes(clock: ClockView) -> Vec<Note> {
    let ClockView {
        behind_store,
        ahead_of_wall,
        jumped,
    } = clock;
    let behind = behind_store.map(|millis| Note {
        code: "clock-behind".into(),
        text: format!(
            "the clock is {} behind the newest record in the store: an earlier process had a clock that was ahead, or this one is \
             behind; if this clock is right, run `sprag system --accept-clock`",
            span(millis)
        ),
    });
    let ahead = ahead_of_wall.map(|millis| Note {
        code: "clock-ahead".into(),
        text: format!(
            "the system clock went back by {} while the server was running, and the server's time did not; restart \
             the server so that it follows",
            span(millis)
        ),
    });
    let jumped = jumped.map(|millis| Note {
        code: "retention-waits".into(),
        text: format!(
            "the clock is {} ahead of the last known time, so retention deletes nothing; if this clock is right, run \
             `sprag system --accept-clock`",
            span(millis)
        ),
    });
    [behind, ahead, jumped].into_iter().flatten().collect()
}

fn held(bytes: u64) -> Option<Note> {
    (bytes >= HELD_BYTES_MIN).then(|| Note {
        code: "log-held".into(),
        text: format!(
            "a reader keeps {} MiB of the write-ahead log from being copied into the database, and the log grows; close other \
             programs that have the database open",
            bytes / (1024 * 1024)
        ),
    })
}

/// `3d 4h`, `1h 30m`, `2m`.
fn span(millis: u64) -> String {
    let minutes = millis / 60_000;
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_right_needs_no_note() {
        assert_eq!(clock_notes(ClockView::default()), []);
        assert_eq!(held(HELD_BYTES_MIN - 1), None);
    }

    #[test]
    fn notes_say_how_far_and_what_to_do() {
        let notes = clock_notes(ClockView {
            behind_store: Some(90 * 60_000),
            ahead_of_wall: Some(2 * 60_000),
            jumped: Some(76 * 60 * 60_000),
        });
        let parts = [("1h 30m", "accept-clock"), ("2m", "restart"), ("3d 4h", "accept-clock")];
        assert_eq!(notes.len(), parts.len());
        for (note, (far, remedy)) in notes.iter().zip(parts) {
            assert!(note.text.contains(far) && note.text.contains(remedy), "{note:?}");
        }
    }
}
