//! Which way the lines between the children of a state run: down, or back up where they would close a cycle.
//!
//! Lines between different cycles run down. Within a cycle the order of the document decides, which is how people read
//! their file and which an edit elsewhere does not change; a depth-first search decides where it needs fewer lines up.

use std::collections::{BTreeMap, BTreeSet};

/// The children as numbers, and whom each one's lines lead to.
pub(super) struct Cycles {
    /// The number of the cycle that a child is part of.
    component: Vec<usize>,
    /// The order within its cycle.
    order: Vec<usize>,
    initial: Option<usize>,
}

impl Cycles {
    /// Decides for `count` children, of which `initial` is entered first. `links` may repeat.
    pub(super) fn of(count: usize, initial: Option<usize>, links: &[(usize, usize)]) -> Self {
        let mut next: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        for &(from, to) in links {
            if from != to {
                next[from].insert(to);
            }
        }
        let document = start_with(initial, (0..count).collect());
        let search = Search::run(&next, &document);
        let position = |order: &[usize]| {
            let mut positions = vec![0; count];
            for (position, &child) in order.iter().enumerate() {
                positions[child] = position;
            }
            positions
        };
        let written = position(&document);
        let found = position(&search.order());
        let mut better: BTreeMap<usize, i64> = BTreeMap::new();
        for &(from, to) in links {
            if from != to && search.component[from] == search.component[to] {
                let up = |order: &[usize]| i64::from(order[to] < order[from]);
                *better.entry(search.component[from]).or_default() += up(&written) - up(&found);
            }
        }
        let by_search = |child: usize| better.get(&search.component[child]).is_some_and(|&saved| saved > 0);
        let order = (0..count)
            .map(|child| if by_search(child) { found[child] } else { written[child] })
            .collect();
        Self {
            component: search.component,
            order,
            initial,
        }
    }

    /// Whether a line from one child to another runs down.
    pub(super) fn runs_down(&self, from: usize, to: usize) -> bool {
        // Nothing is above the initial child.
        let is_initial = |child: usize| self.initial == Some(child);
        let is_free = self.component[from] != self.component[to] || self.order[from] < self.order[to];
        is_initial(from) || (!is_initial(to) && is_free)
    }
}

fn start_with(initial: Option<usize>, mut order: Vec<usize>) -> Vec<usize> {
    if let Some(initial) = initial {
        order.retain(|&child| child != initial);
        order.insert(0, initial);
    }
    order
}

/// Tarjan's search for cycles, without recursion; it also gives the order of a depth-first search.
struct Search {
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    component: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    finished: Vec<usize>,
    components: usize,
    counter: usize,
}

impl Search {
    fn run(next: &[BTreeSet<usize>], starts: &[usize]) -> Self {
        let count = next.len();
        let mut search = Self {
            index: vec![None; count],
            low: vec![0; count],
            component: vec![0; count],
            open: Vec::new(),
            is_open: vec![false; count],
            finished: Vec::new(),
            components: 0,
            counter: 0,
        };
        for &start in starts {
            if search.index[start].is_none() {
                search.visit(next, start);
            }
        }
        search
    }

    fn visit(&mut self, next: &[BTreeSet<usize>], start: usize) {
        let mut way = vec![(start, next[start].iter())];
        self.enter(start);
        while let Some((at, rest)) = way.last_mut() {
            let at = *at;
            let Some(&to) = rest.next() else {
                way.pop();
                if let Some((around, _)) = way.last() {
                    self.low[*around] = self.low[*around].min(self.low[at]);
                }
                self.leave(at);
                continue;
            };
            match self.index[to] {
                None => {
                    self.enter(to);
                    way.push((to, next[to].iter()));
                }
                Some(index) if self.is_open[to] => self.low[at] = self.low[at].min(index),
                Some(_) => {}
            }
        }
    }

    fn enter(&mut self, child: usize) {
        self.index[child] = Some(self.counter);
        self.low[child] = self.counter;
        self.counter += 1;
        self.open.push(child);
        self.is_open[child] = true;
    }

    fn leave(&mut self, child: usize) {
        self.finished.push(child);
        if self.index[child] != Some(self.low[child]) {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.is_open[member] = false;
            self.component[member] = self.components;
            if member == child {
                break;
            }
        }
        self.components += 1;
    }

    /// The children so that lines that close no cycle lead forwards.
    fn order(&self) -> Vec<usize> {
        self.finished.iter().rev().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_outside_of_cycles_run_down_whatever_the_document_says() {
        let cycles = Cycles::of(3, Some(2), &[(2, 1), (1, 0), (2, 0)]);
        assert!(cycles.runs_down(2, 1) && cycles.runs_down(1, 0) && cycles.runs_down(2, 0));
    }

    #[test]
    fn nothing_is_above_the_initial_child() {
        let cycles = Cycles::of(2, Some(1), &[(0, 1)]);
        assert!(!cycles.runs_down(0, 1) && cycles.runs_down(1, 0));
    }

    #[test]
    fn within_a_cycle_the_document_decides_unless_a_search_needs_fewer_lines_up() {
        let cycles = Cycles::of(3, Some(0), &[(0, 1), (1, 2), (2, 0)]);
        assert!(cycles.runs_down(0, 1) && cycles.runs_down(1, 2) && !cycles.runs_down(2, 0));
        let backwards = Cycles::of(4, Some(0), &[(0, 3), (3, 2), (2, 1), (1, 0)]);
        assert!(backwards.runs_down(3, 2) && backwards.runs_down(2, 1) && !backwards.runs_down(1, 0));
    }
}
