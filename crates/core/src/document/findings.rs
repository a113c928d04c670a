//! What is wrong with a document: each finding with its place, and what would fix it. All of them in one run.

use serde::Serialize;

use crate::document::source::{Cause, ParseError, Place, Position, nearest};

/// Whether a document can be used in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document is refused.
    Error,
    /// The document works, but perhaps not as meant.
    Warning,
}

/// One thing that is wrong or doubtful.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Error or warning.
    pub severity: Severity,
    /// A stable name for the kind of finding.
    pub code: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The place as a JSON pointer.
    pub pointer: String,
    /// What is wrong, with the value.
    pub detail: String,
    /// What would fix it.
    pub remedy: String,
}

/// More findings than this help no reader; a last one says that there are more.
const FINDINGS_MAX: usize = 500;
/// Finding the nearest name takes time in the number of names: after so many, only the findings themselves are made.
const SUGGESTIONS_MAX: usize = 100;
/// How many names a suggestion is picked from.
const SUGGESTION_CANDIDATES_MAX: usize = 2_000;

/// The findings of one run, in the order they were made until [`Findings::finish`] sorts them.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    errors: usize,
    left_out: usize,
    suggested: usize,
}

impl Findings {
    /// Notes an error.
    pub fn error(&mut self, place: &Place, code: &'static str, detail: impl Into<String>, remedy: impl Into<String>) {
        self.push(Severity::Error, place, code, detail.into(), remedy.into());
    }

    /// Notes a warning.
    pub fn warning(&mut self, place: &Place, code: &'static str, detail: impl Into<String>, remedy: impl Into<String>) {
        self.push(Severity::Warning, place, code, detail.into(), remedy.into());
    }

    fn push(&mut self, severity: Severity, place: &Place, code: &'static str, detail: String, remedy: String) {
        self.errors += usize::from(severity == Severity::Error);
        if self.list.len() == FINDINGS_MAX {
            self.left_out += 1;
            return;
        }
        let Place { at, pointer } = place.clone();
        self.list.push(Finding {
            severity,
            code,
            line: at.line,
            column: at.column,
            pointer,
            detail,
            remedy,
        });
    }

    /// Takes in what another run found.
    pub fn adopt(&mut self, finding: Finding) {
        let Finding {
            severity,
            code,
            line,
            column,
            pointer,
            detail,
            remedy,
        } = finding;
        let at = Position { line, column };
        self.push(severity, &Place { at, pointer }, code, detail, remedy);
    }

    /// The candidate that was most likely meant by `word`.
    pub fn nearest<'c>(&mut self, word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
        self.suggested += 1;
        if self.suggested > SUGGESTIONS_MAX {
            return None;
        }
        nearest(word, candidates.into_iter().take(SUGGESTION_CANDIDATES_MAX))
    }

    /// Notes why a text could not be parsed.
    pub fn not_parsed(&mut self, error: ParseError) {
        let ParseError {
            at,
            cause,
            detail,
            remedy,
        } = error;
        let (code, default) = match cause {
            Cause::Syntax => ("not-parsed", "fix the text there"),
            Cause::TooLarge => ("definition-too-large", "split it into several machines"),
            Cause::TooDeep => ("too-deep", "nest less"),
            Cause::TooManyNodes => ("too-many-values", "split it into several machines"),
        };
        let place = Place {
            at,
            pointer: String::new(),
        };
        self.error(&place, code, detail, remedy.unwrap_or(default));
    }

    /// Whether any finding so far refuses the document.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether one of them is about the value at this pointer.
    pub fn has_errors_at(&self, pointer: &str) -> bool {
        let mut errors = self.list.iter().filter(|finding| finding.severity == Severity::Error);
        errors.any(|finding| finding.pointer == pointer)
    }

    /// How many of them do.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// All findings as they were made, for a document without positions.
    pub fn in_order(self) -> Vec<Finding> {
        self.list
    }

    /// All findings by place in the file.
    pub fn finish(mut self) -> Vec<Finding> {
        self.list
            .sort_by(|a, b| (a.line, a.column, a.severity, a.code).cmp(&(b.line, b.column, b.severity, b.code)));
        if self.left_out > 0 {
            self.list.push(Finding {
                severity: if self.errors > 0 {
                    Severity::Error
                } else {
                    Severity::Warning
                },
                code: "too-many-findings",
                line: Position::START.line,
                column: Position::START.column,
                pointer: String::new(),
                detail: format!("`{}` more findings are left out", self.left_out),
                remedy: "fix these first".to_owned(),
            });
        }
        self.list
    }
}
