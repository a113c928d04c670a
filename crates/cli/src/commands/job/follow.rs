//! Waiting for a job: a moving line on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::failure::Failure;
use crate::output;

/// How often the server is asked.
const EVERY: Duration = Duration::from_millis(200);
/// Plain lines come this many questions apart.
const PLAIN_EVERY: usize = 10;
/// Characters of the bar.
const WIDTH: usize = 20;
/// Characters of the part that moves.
const SLIDER: usize = 5;

/// The job once it is over, or paused: nothing more happens then by itself.
pub(crate) async fn follow(client: &Client, id: &str) -> Result<Value, Failure> {
    let is_terminal = io::stderr().is_terminal();
    let (mut last, mut round) = (String::new(), 0_usize);
    loop {
        let job = client.get(&["jobs", id]).send().await?;
        let is_over = job["status"] != "running";
        let counts = output::job_counts(&job);
        if is_terminal {
            draw(round, &counts, is_over);
        } else if counts != last && (is_over || round.is_multiple_of(PLAIN_EVERY)) {
            output::note(&counts);
            last = counts;
        }
        if is_over {
            return Ok(job);
        }
        tokio::time::sleep(EVERY).await;
        round += 1;
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
