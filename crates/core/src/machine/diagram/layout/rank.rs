//! In which row each child stands: below everything that leads to it, the initial state first, final states last, and
//! no row wider than a screen.

use std::collections::BTreeSet;

/// What ranks depend on. Children are their places among their siblings.
pub(super) struct Ranking<'a> {
    /// How much of a row each child takes.
    pub(super) widths: &'a [i32],
    /// Lines that run down; they close no cycle.
    pub(super) links: &'a [(usize, usize)],
    pub(super) initial: Option<usize>,
    pub(super) is_final: &'a [bool],
    pub(super) width_max: i32,
}

impl Ranking<'_> {
    /// The row of every child.
    pub(super) fn rows(&self) -> Vec<usize> {
        let count = self.widths.len();
        let (mut above, mut below) = (vec![BTreeSet::new(); count], vec![BTreeSet::new(); count]);
        for &(upper, lower) in self.links {
            below[upper].insert(lower);
            above[lower].insert(upper);
        }
        let order = topological(&above, &below);
        let mut rows = vec![0; count];
        for &child in &order {
            rows[child] = lowest(&above[child], &rows);
        }
        for &child in order.iter().rev() {
            if above[child].is_empty() && self.initial != Some(child) {
                let next = below[child].iter().map(|&lower| rows[lower]).min();
                rows[child] = next.map_or(rows[child], |next| next.saturating_sub(1));
            }
        }
        self.spread(&above, &rows)
    }

    /// Moves down what does not fit its row, and what follows it; then the final states.
    fn spread(&self, above: &[BTreeSet<usize>], rows: &[usize]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&child| (self.is_final[child], rows[child], self.initial != Some(child), child));
        let mut taken: Vec<i32> = Vec::new();
        let mut spread = vec![0; rows.len()];
        let mut last = 0;
        for &child in order.iter().filter(|&&child| !self.is_final[child]) {
            let row = self.take(&mut taken, lowest(&above[child], &spread).max(rows[child]), child);
            spread[child] = row;
            last = last.max(row);
        }
        let finals = || order.iter().filter(|&&child| self.is_final[child]);
        let first = finals().map(|&child| lowest(&above[child], &spread)).max();
        let first = first.unwrap_or(0).max(last);
        for &child in finals() {
            spread[child] = self.take(&mut taken, first, child);
        }
        spread
    }

    /// The first row from `row` on with room for the child.
    fn take(&self, taken: &mut Vec<i32>, mut row: usize, child: usize) -> usize {
        let width = self.widths[child];
        loop {
            if taken.len() <= row {
                taken.resize(row + 1, 0);
            }
            if taken[row] == 0 || taken[row] + width <= self.width_max {
                taken[row] += width;
                return row;
            }
            row += 1;
        }
    }
}

fn lowest(above: &BTreeSet<usize>, rows: &[usize]) -> usize {
    above.iter().map(|&upper| rows[upper] + 1).max().unwrap_or(0)
}

fn topological(above: &[BTreeSet<usize>], below: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut open: Vec<usize> = above.iter().map(BTreeSet::len).collect();
    let mut order: Vec<usize> = (0..open.len()).filter(|&child| open[child] == 0).collect();
    let mut at = 0;
    while let Some(&child) = order.get(at) {
        for &lower in &below[child] {
            open[lower] -= 1;
            if open[lower] == 0 {
                order.push(lower);
            }
        }
        at += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finals_are_last_and_a_full_row_continues_in_the_next() {
        let ranking = Ranking {
            widths: &[10, 10, 10, 10, 10],
            links: &[(0, 1), (0, 2), (0, 3), (1, 4), (0, 4)],
            initial: Some(0),
            is_final: &[false, true, false, false, false],
            width_max: 20,
        };
        assert_eq!(ranking.rows(), [0, 2, 1, 1, 2]);
    }
}
