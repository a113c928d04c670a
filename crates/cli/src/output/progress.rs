//! How far long work is: a bar that is drawn over itself on stderr, and only where that is a terminal. Elsewhere nothing is
//! said: what came of the work is data, and comes at its end.

use super::terminal;

/// Characters of the bar.
const WIDTH: usize = 20;
/// Characters of the part that moves while the total is unknown.
const SLIDER: usize = 5;

/// How much of how much is done.
pub(crate) type Share = (u64, u64);

/// Work under way, as it is shown.
pub(crate) struct Progress {
    is_terminal: bool,
    round: usize,
}

impl Progress {
    /// Of work that begins.
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: terminal::errors_to_terminal(),
            round: 0,
        }
    }

    /// Says how far it is; `share` where that is known.
    pub(crate) fn show(&mut self, words: &str, share: Option<Share>) {
        self.draw(&bar(self.round, share), words, "");
        self.round = self.round.wrapping_add(1);
    }

    /// Says that it is over.
    pub(crate) fn end(&mut self, words: &str) {
        self.draw(&"=".repeat(WIDTH), words, "\n");
    }

    /// Draws over the line that is there.
    fn draw(&self, bar: &str, words: &str, end: &str) {
        if self.is_terminal {
            terminal::overwrite(&format!("[{bar}] {words}"), end);
        }
    }
}

/// As full as the work is done. Where the total is unknown, it shows only that something moves.
fn bar(round: usize, share: Option<Share>) -> String {
    if let Some((done, all)) = share {
        let width = u64::try_from(WIDTH).unwrap_or_default();
        let full = done.min(all).saturating_mul(width).checked_div(all).unwrap_or(width);
        let full = usize::try_from(full).unwrap_or(WIDTH);
        return format!("{}{}", "=".repeat(full), " ".repeat(WIDTH.saturating_sub(full)));
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
    fn where_nobody_knows_how_much_there_is_the_bar_moves_there_and_back() {
        let bars: Vec<String> = (0..40).map(|round| bar(round, None)).collect();
        assert!(bars.iter().all(|bar| bar.len() == WIDTH));
        assert!(bars[0].starts_with('=') && bars[15].ends_with('='));
        assert!(bars.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn the_bar_is_as_full_as_the_work_is_done() {
        for (share, full) in [((0, 7), 0), ((1, 2), 10), ((7, 7), 20), ((9, 7), 20), ((0, 0), 20)] {
            let bar = bar(3, Some(share));
            assert_eq!((bar.len(), bar.matches('=').count()), (WIDTH, full), "{share:?}");
        }
    }
}
