//! Aligned columns of plain text, as wide as the terminal at the most.
//!
//! Widths are counted in cells of the terminal: `漢` takes two, an accent that follows its letter none.
//! A table that is too wide loses its optional columns first, in the order in which they were named, and then the ends of long
//! values. The first column, which holds the ids that other commands take, is never cut. `--wide` and a stdout that is no
//! terminal show everything.

use std::sync::atomic::{AtomicBool, Ordering};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::terminal::{Paint, columns, one_line as plain};

/// Values are cut after this many cells, so that one long value does not push the others off the screen.
const VALUE_CELLS_MAX: usize = 60;
/// No column is cut to fewer.
const VALUE_CELLS_MIN: usize = 8;
const GAP: &str = "  ";

/// Headings of columns whose words have colours.
const PAINTED: [&str; 4] = ["STATUS", "STATE", "OUTCOME", "RESULT"];

/// The words of statuses, by how good or bad they are.
const PAINTS: [(&[&str], Paint); 4] = [
    (
        &[
            "completed",
            "succeeded",
            "done",
            "effective",
            "running",
            "alive",
            "ok",
            "retried",
        ],
        Paint::Good,
    ),
    (
        &["failed", "dead", "degraded", "gone", "notDone", "unknown"],
        Paint::Bad,
    ),
    (
        &[
            "paused",
            "retrying",
            "queued",
            "scheduled",
            "arming",
            "unmatched",
            "starting",
            "stopping",
            "leaving",
            "pausing",
        ],
        Paint::Waiting,
    ),
    (
        &["cancelled", "archived", "skipped", "stopped", "released"],
        Paint::Over,
    ),
];

/// Whether tables may be wider than the terminal.
static WIDE: AtomicBool = AtomicBool::new(false);

/// Lets tables be as wide as they are.
pub(crate) fn be_wide() {
    WIDE.store(true, Ordering::Relaxed);
}

/// A table under way.
#[derive(Debug)]
pub(crate) struct Table {
    /// The headings first, if there are any.
    rows: Vec<Vec<String>>,
    has_headings: bool,
    optional: Vec<&'static str>,
}

impl Table {
    /// A table with a heading for each column.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()],
            has_headings: true,
            optional: Vec::new(),
        }
    }

    /// A table of names and values, without headings.
    pub(crate) fn bare() -> Self {
        Self {
            rows: Vec::new(),
            has_headings: false,
            optional: Vec::new(),
        }
    }

    /// With columns that a narrow terminal does without, the first one first.
    #[must_use]
    pub(crate) fn optional(mut self, headings: &[&'static str]) -> Self {
        self.optional = headings.to_vec();
        self
    }

    /// Adds a row, cut to fit.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let is_wide = WIDE.load(Ordering::Relaxed);
        let cell = |(column, cell): (usize, String)| match (column, is_wide) {
            (0, _) | (_, true) => plain(&cell),
            _ => cut(&plain(&cell), VALUE_CELLS_MAX),
        };
        self.rows.push(cells.into_iter().enumerate().map(cell).collect());
    }

    /// Adds a name and a value of any length.
    pub(crate) fn pair(&mut self, name: &str, value: impl AsRef<str>) {
        self.rows.push(vec![plain(name), plain(value.as_ref())]);
    }

    /// Whether there is nothing under the headings.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }

    /// The lines.
    pub(crate) fn text(&self) -> String {
        let most = columns().filter(|_| !WIDE.load(Ordering::Relaxed));
        self.within(most)
    }

    fn within(&self, most: Option<usize>) -> String {
        let mut rows = self.rows.clone();
        if let Some(most) = most.filter(|_| self.has_headings) {
            for heading in &self.optional {
                if width(&rows) <= most {
                    break;
                }
                drop_column(&mut rows, heading);
            }
            shrink(&mut rows, most);
        }
        let widths = widths(&rows);
        let painted = self.painted(&rows);
        let lines = rows.iter().enumerate().map(|(number, row)| {
            let is_heading = self.has_headings && number == 0;
            line(row, &widths, |column| {
                painted.contains(&column) && !is_heading && self.paints(row)
            })
        });
        lines.collect()
    }

    /// The columns whose words have colours: those with such a heading, or the values of a table without.
    fn painted(&self, rows: &[Vec<String>]) -> Vec<usize> {
        if !self.has_headings {
            return vec![1];
        }
        let headings = rows.first().into_iter().flatten().enumerate();
        let painted = headings.filter(|(_, heading)| PAINTED.contains(&heading.as_str()));
        painted.map(|(column, _)| column).collect()
    }

    /// Whether a row of a table without headings is about a status.
    fn paints(&self, row: &[String]) -> bool {
        self.has_headings || row.first().is_some_and(|name| name == "status" || name == "state")
    }
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    (0..columns).map(width).collect()
}

/// How wide the table is.
fn width(rows: &[Vec<String>]) -> usize {
    let widths = widths(rows);
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn drop_column(rows: &mut [Vec<String>], heading: &str) {
    let headings = rows.first().map(Vec::as_slice).unwrap_or_default();
    let Some(column) = headings.iter().position(|known| known == heading) else {
        return;
    };
    for row in rows {
        if column < row.len() {
            row.remove(column);
        }
    }
}

/// Cuts the widest column but the first, again and again, until the table fits or nothing more can be cut.
fn shrink(rows: &mut [Vec<String>], most: usize) {
    loop {
        let excess = width(rows).saturating_sub(most);
        let widest = widths(rows).into_iter().enumerate().skip(1);
        let widest = widest.max_by_key(|(column, width)| (*width, *column));
        let Some((column, widest)) = widest.filter(|(_, width)| excess > 0 && *width > VALUE_CELLS_MIN) else {
            return;
        };
        // Not below the next widest in one go would be fairer; few columns are long, and a short one says enough.
        let target = widest.saturating_sub(excess).max(VALUE_CELLS_MIN);
        for row in rows.iter_mut() {
            if let Some(cell) = row.get_mut(column) {
                *cell = cut(cell, target);
            }
        }
    }
}

fn line(row: &[String], widths: &[usize], is_painted: impl Fn(usize) -> bool) -> String {
    let mut line = String::new();
    let last = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
    for (column, (cell, width)) in row.iter().zip(widths).enumerate().take(last + 1) {
        if column > 0 {
            line.push_str(GAP);
        }
        match paint(cell).filter(|_| is_painted(column)) {
            Some(paint) => line.extend(
                [paint.mark()]
                    .into_iter()
                    .chain(cell.chars())
                    .chain([Paint::Plain.mark()]),
            ),
            None => line.push_str(cell),
        }
        let blanks = width.saturating_sub(cell.width());
        if column < last {
            line.extend(std::iter::repeat_n(' ', blanks));
        }
    }
    format!("{}\n", line.trim_end())
}

/// The colour of a status.
fn paint(word: &str) -> Option<Paint> {
    let found = PAINTS.iter().find(|(words, _)| words.contains(&word));
    found.map(|(_, paint)| *paint)
}

fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|character| {
        used += character.width().unwrap_or(0);
        used <= most
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_no_line_ends_in_blanks() {
        let mut table = Table::new(&["NAME", "COUNT", "AT"]);
        table.row(["käse".to_owned(), "running".to_owned(), String::new()]);
        table.row(["a-longer-name".to_owned(), "ok".to_owned(), "now".to_owned()]);
        assert_eq!(
            table.within(None),
            "NAME           COUNT    AT\nkäse           running\na-longer-name  ok       now\n"
        );
    }

    #[test]
    fn wide_characters_take_two_cells_and_combining_ones_none() {
        let mut table = Table::new(&["KEY", "STATUS"]);
        for key in ["漢字", "cafe\u{301}", "🎉", "abcd"] {
            table.row([key.to_owned(), "ok".to_owned()]);
        }
        let text = table.within(None);
        let statuses = text.lines().skip(1).map(|line| line.split("ok").next().unwrap_or(line));
        // Two cells of the gap behind the four of the widest key, and the mark of the colour, which takes none.
        let widths: Vec<usize> = statuses
            .map(|before| before.trim_end_matches(Paint::Good.mark()).width())
            .collect();
        assert_eq!(widths, [6, 6, 6, 6], "{text}");
    }

    #[test]
    fn a_wide_value_is_cut_to_cells() {
        let mut table = Table::new(&["ID", "KEY"]);
        table.row(["i".to_owned(), "漢".repeat(100)]);
        let cell = format!("i   {}…", "漢".repeat((VALUE_CELLS_MAX - 1) / 2));
        assert_eq!(table.within(None).lines().nth(1), Some(cell.as_str()));
        for most in [20, 21, 40] {
            let text = table.within(Some(most));
            assert!(text.lines().all(|line| line.width() <= most), "{most}: {text}");
        }
    }

    #[test]
    fn nothing_a_terminal_would_obey_is_shown() {
        let mut table = Table::bare();
        table.pair("key", "a\u{1b}[31mred\nb\u{9b}");
        assert_eq!(table.within(None), "key  a\\u001b[31mred\\nb\\u009b\n");
    }

    #[test]
    fn a_long_cell_is_cut_and_a_long_value_or_id_is_not() {
        let long = "x".repeat(100);
        let mut table = Table::new(&["ID", "A"]);
        table.row(["i".to_owned(), long.clone()]);
        let cell = format!("i   {}…", "x".repeat(VALUE_CELLS_MAX - 1));
        assert_eq!(table.within(None).lines().nth(1), Some(cell.as_str()));
        table.row([long.clone(), String::new()]);
        assert!(table.within(None).contains(&long));
        let mut table = Table::bare();
        table.pair("a", &long);
        assert!(table.within(Some(80)).contains(&long));
    }

    #[test]
    fn a_narrow_terminal_loses_optional_columns_first_and_never_an_id() {
        let id = "exe_01arz3ndektsv4rrffq69g5fav";
        let mut table = Table::new(&["ID", "KEY", "STATES", "UPDATED"]).optional(&["UPDATED", "STATES"]);
        table.row([id, &"k".repeat(30), "a.b.c", "2026-01-31 12:00:00Z"].map(str::to_owned));
        let at = |most| table.within(Some(most));
        assert!(at(100).contains("UPDATED") && at(100).contains("STATES"));
        assert!(!at(80).contains("UPDATED") && at(80).contains("STATES"), "{}", at(80));
        assert!(!at(66).contains("STATES"), "{}", at(66));
        for most in [100, 80, 66, 50] {
            let text = at(most);
            assert!(text.contains(id), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= most), "{most}: {text}");
        }
        assert!(at(50).contains('…'), "{}", at(50));
    }

    #[test]
    fn statuses_are_painted_and_names_are_not() {
        let mut table = Table::new(&["ID", "STATUS"]);
        table.row(["dead".to_owned(), "dead".to_owned()]);
        let painted = format!("dead  {}dead{}\n", Paint::Bad.mark(), Paint::Plain.mark());
        assert!(table.within(None).ends_with(&painted), "{:?}", table.within(None));
        let mut table = Table::bare();
        table.pair("key", "dead");
        table.pair("status", "dead");
        assert_eq!(table.within(None).matches(Paint::Bad.mark()).count(), 1);
    }
}
