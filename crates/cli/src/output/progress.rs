//! How far long work is: a moving line on a terminal, and a line now and then elsewhere. Always on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use super::note;

/// Elsewhere than on a terminal, lines come this many looks apart.
const PLAIN_EVERY: usize = 10;
/// Characters of the bar.
const WIDTH: usize = 20;
/// Characters of the part that moves.
const SLIDER: usize = 5;

/// Work under way, as it is shown.
pub(crate) struct Progress {
    is_terminal: bool,
    is_quiet: bool,
    round: usize,
    last: String,
}

impl Progress {
    /// Of work that people wait for: without a terminal it is said in plain lines.
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
            is_quiet: false,
            round: 0,
            last: String::new(),
        }
    }

    /// Of work whose end says everything: without a terminal nothing is said.
    pub(crate) fn quiet() -> Self {
        Self {
            is_quiet: true,
            ..Self::new()
        }
    }

    /// Says how far it is.
    pub(crate) fn show(&mut self, counts: &str) {
        self.say(counts, false);
        self.round += 1;
    }

    /// Says that it is over.
    pub(crate) fn end(&mut self, counts: &str) {
        self.say(counts, true);
    }

    fn say(&mut self, counts: &str, is_over: bool) {
        if self.is_terminal {
            draw(self.round, counts, is_over);
        } else if !self.is_quiet && counts != self.last && (is_over || self.round.is_multiple_of(PLAIN_EVERY)) {
            note(counts);
            counts.clone_into(&mut self.last);
        }
    }
}

/// Draws over the line that is there.
fn draw(round: usize, counts: &str, is_over: bool) {
    let end = if is_over { "\n" } else { "" };
    // A terminal that is gone is no reason to stop waiting.
    let _ = write!(io::stderr(), "\r[{}] {counts}\u{1b}[K{end}", bar(round, is_over));
}

/// How much there is is known only at the end, so until then the bar says no more than that it moves.
fn bar(round: usize, is_over: bool) -> String {
    if is_over {
        return "=".repeat(WIDTH);
    }
    let most = WIDTH - SLIDER;
    let step = round % (2 * most);
    let left = if step > most { 2 * most - step } else { step };
    format!("{}{}{}", " ".repeat(left), "=".repeat(SLIDER), " ".repeat(most - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_moves_there_and_back_and_is_full_at_the_end() {
        let bars: Vec<String> = (0..40).map(|round| bar(round, false)).collect();
        assert!(bars.iter().all(|bar| bar.len() == WIDTH));
        assert!(bars[0].starts_with('=') && bars[15].ends_with('='));
        assert!(bars.windows(2).all(|two| two[0] != two[1]));
        assert_eq!(bar(7, true), "=".repeat(WIDTH));
    }
}
