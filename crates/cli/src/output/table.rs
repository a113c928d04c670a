//! Aligned columns of plain text.

/// Values are cut after this many characters, so that one long value does not push the others off the screen.
const CELL_CHARACTERS_MAX: usize = 60;
const GAP: &str = "  ";

/// A table under way.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a heading for each column.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()],
        }
    }

    /// A table of names and values, without headings.
    pub(crate) fn bare() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds a row, cut to fit.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| cut(&plain(&cell))).collect());
    }

    /// Adds a name and a value of any length.
    pub(crate) fn pair(&mut self, name: &str, value: impl AsRef<str>) {
        self.rows.push(vec![name.to_owned(), plain(value.as_ref())]);
    }

    /// Whether there is nothing under the headings.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }

    /// The lines.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        self.rows.iter().map(|row| line(row, &widths)).collect()
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        if !line.is_empty() {
            line.push_str(GAP);
        }
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
    }
    format!("{}\n", line.trim_end())
}

/// Text without anything a terminal would obey: keys and payloads come from outside.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    plain
}

fn cut(text: &str) -> String {
    if text.chars().count() <= CELL_CHARACTERS_MAX {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(CELL_CHARACTERS_MAX - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters_and_no_line_ends_in_blanks() {
        let mut table = Table::new(&["NAME", "STATUS", "AT"]);
        table.row(["käse".to_owned(), "running".to_owned(), String::new()]);
        table.row(["a-longer-name".to_owned(), "ok".to_owned(), "now".to_owned()]);
        assert_eq!(
            table.text(),
            "NAME           STATUS   AT\nkäse           running\na-longer-name  ok       now\n"
        );
    }

    #[test]
    fn nothing_a_terminal_would_obey_is_shown() {
        let mut table = Table::bare();
        table.pair("key", "a\u{1b}[31mred\nb\u{9b}");
        assert_eq!(table.text(), "key  a\\u{1b}[31mred\\nb\\u{9b}\n");
    }

    #[test]
    fn a_long_cell_is_cut_and_a_long_value_is_not() {
        let long = "x".repeat(100);
        let mut table = Table::new(&["A"]);
        table.row([long.clone()]);
        assert!(
            table
                .text()
                .lines()
                .all(|line| line.chars().count() <= CELL_CHARACTERS_MAX)
        );
        table.pair("a", &long);
        assert!(table.text().contains(&long));
    }
}
