//! Counts equal results in a row until they decide.

use serde::{Deserialize, Serialize};

/// What is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// Not enough answers yet.
    #[default]
    Unknown,
    /// Good.
    Good,
    /// Bad.
    Bad,
}

/// Answers, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// What is believed so far.
    pub(crate) verdict: Verdict,
    /// What the last bad answer was, until a good one comes.
    pub(crate) error: Option<String>,
    good: u32,
    bad: u32,
}

impl Tally {
    /// Counts an answer. It takes `successes` or `failures` in a row to change what is believed.
    pub(crate) fn note(&mut self, answer: Result<(), String>, successes: u32, failures: u32) {
        match answer {
            Ok(()) => {
                self.error = None;
                self.bad = 0;
                self.good = self.good.saturating_add(1).min(successes);
                if self.good >= successes {
                    self.verdict = Verdict::Good;
                }
            }
            Err(error) => {
                self.error = Some(error);
                self.good = 0;
                self.bad = self.bad.saturating_add(1).min(failures);
                if self.bad >= failures {
                    self.verdict = Verdict::Bad;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_as_many_answers_in_a_row_as_are_asked_for() {
        let mut tally = Tally::default();
        let bad = || Err("refused".to_owned());
        tally.note(Ok(()), 2, 3);
        assert_eq!(tally.verdict, Verdict::Unknown, "one of two");
        tally.note(Ok(()), 2, 3);
        assert_eq!(tally.verdict, Verdict::Good);
        for _ in 0..2 {
            tally.note(bad(), 2, 3);
        }
        tally.note(Ok(()), 2, 3);
        assert_eq!(
            tally.verdict,
            Verdict::Good,
            "two bad ones and a good one change nothing"
        );
        for _ in 0..3 {
            tally.note(bad(), 2, 3);
        }
        assert_eq!((tally.verdict, tally.error.as_deref()), (Verdict::Bad, Some("refused")));
        tally.note(Ok(()), 2, 3);
        assert_eq!(tally.verdict, Verdict::Bad, "one good one does not make it well");
    }
}
