//! Who stands left of whom in each layer, so that few lines cross.
//!
//! Sweeps down and up sort each layer by the mean place of its neighbours; what is equal keeps its order, which begins
//! as in the document. The best order seen wins. Then neighbours change places as long as that saves crossings.

use super::graph::{ElementKind, Graph, Meets, Neighbours};

/// How often all layers are sorted, and how many links that may be in all.
const SWEEPS_MAX: usize = 16;
const WORK_MAX: usize = 400_000;
/// How often neighbours change places, in graphs of so many links.
const EXCHANGES_MAX: usize = 8;
const EXCHANGED_LINKS_MAX: usize = 1_500;
/// How finely places within an item count.
const SCALE: i64 = 1_000;

/// Orders every layer.
pub(super) fn order(graph: &mut Graph) {
    let neighbours = graph.neighbours();
    let mut sorter = Sorter::new(graph, neighbours);
    sorter.run();
    let layers = std::mem::take(&mut sorter.best);
    graph.layers = layers;
}

struct Sorter<'a> {
    graph: &'a Graph,
    neighbours: Neighbours,
    layers: Vec<Vec<usize>>,
    /// By item: its place in its layer.
    places: Vec<i64>,
    best: Vec<Vec<usize>>,
}

impl<'a> Sorter<'a> {
    fn new(graph: &'a Graph, neighbours: Neighbours) -> Self {
        let mut sorter = Self {
            graph,
            neighbours,
            layers: graph.layers.clone(),
            places: vec![0; graph.items.len()],
            best: graph.layers.clone(),
        };
        for layer in 0..sorter.layers.len() {
            sorter.number(layer);
        }
        sorter
    }

    fn run(&mut self) {
        let work = self.graph.links.len().max(1);
        let sweeps = (WORK_MAX / work).clamp(2, SWEEPS_MAX);
        let mut fewest = usize::MAX;
        for sweep in 0..sweeps {
            self.sweep(sweep % 2 == 0);
            let crossings = self.crossings();
            if crossings < fewest {
                fewest = crossings;
                self.best.clone_from(&self.layers);
            }
            if crossings == 0 {
                break;
            }
        }
        self.layers.clone_from(&self.best);
        for layer in 0..self.layers.len() {
            self.number(layer);
        }
        if work <= EXCHANGED_LINKS_MAX && fewest > 0 {
            self.exchange();
            self.best.clone_from(&self.layers);
        }
    }

    fn sweep(&mut self, down: bool) {
        let count = self.layers.len();
        for step in 0..count {
            let layer = if down { step } else { count - 1 - step };
            self.sort(layer, down);
        }
    }

    fn sort(&mut self, layer: usize, down: bool) {
        let beside = if down { layer.checked_sub(1) } else { Some(layer + 1) };
        let beside = beside.and_then(|beside| self.layers.get(beside)).map_or(1, Vec::len);
        let own = self.layers[layer].len().max(1);
        let stretch = |place: i64| place * as_i64(beside) / as_i64(own);
        let mut keyed: Vec<(u8, i64, usize)> = Vec::with_capacity(own);
        for &item in &self.layers[layer] {
            let kind = self.graph.items[item].kind;
            let group = u8::from(kind != ElementKind::Header);
            let key = if self.graph.is_ordered && matches!(kind, ElementKind::State(_)) {
                stretch(self.places[item] * SCALE)
            } else {
                self.mean(item, down)
                    .unwrap_or_else(|| stretch(self.places[item] * SCALE))
            };
            keyed.push((group, key, item));
        }
        keyed.sort_by_key(|&(group, key, _)| (group, key));
        self.layers[layer] = keyed.into_iter().map(|(_, _, item)| item).collect();
        self.number(layer);
    }

    /// The mean place of its neighbours on one side.
    fn mean(&self, item: usize, down: bool) -> Option<i64> {
        let links = if down {
            &self.neighbours.above[item]
        } else {
            &self.neighbours.below[item]
        };
        let places: i64 = links.iter().map(|&link| self.end(link, down)).sum();
        (!links.is_empty()).then(|| places / as_i64(links.len()))
    }

    /// Where the other end of a link is: the place of its item, and where on the item.
    fn end(&self, link: usize, upper: bool) -> i64 {
        let link = &self.graph.links[link];
        let (item, meets) = if upper {
            (link.upper, link.leaves)
        } else {
            (link.lower, link.arrives)
        };
        let width = i64::from(self.graph.items[item].width.max(1));
        let within = match meets {
            Meets::At(offset) => i64::from(offset) * (SCALE - 1) / width,
            Meets::Anywhere => SCALE / 2,
        };
        self.places[item] * SCALE + within.clamp(0, SCALE - 1)
    }

    fn number(&mut self, layer: usize) {
        for (place, &item) in self.layers[layer].iter().enumerate() {
            self.places[item] = as_i64(place);
        }
    }

    fn crossings(&self) -> usize {
        let by_layer = self.layers.iter().map(|layer| {
            let links = layer.iter().flat_map(|&item| &self.neighbours.below[item]);
            inversions(
                links
                    .map(|&link| (self.end(link, true), self.end(link, false)))
                    .collect(),
            )
        });
        by_layer.sum()
    }

    fn exchange(&mut self) {
        for _ in 0..EXCHANGES_MAX {
            let mut changed = false;
            for layer in 0..self.layers.len() {
                for place in 1..self.layers[layer].len() {
                    changed |= self.exchange_at(layer, place);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn exchange_at(&mut self, layer: usize, place: usize) -> bool {
        let (left, right) = (self.layers[layer][place - 1], self.layers[layer][place]);
        let kind = |item: usize| self.graph.items[item].kind;
        let are_states = matches!(
            (kind(left), kind(right)),
            (ElementKind::State(_), ElementKind::State(_))
        );
        if kind(left) == ElementKind::Header || (self.graph.is_ordered && are_states) {
            return false;
        }
        if self.between(left, right) <= self.between(right, left) {
            return false;
        }
        self.layers[layer].swap(place - 1, place);
        self.number(layer);
        true
    }

    /// How many lines of two neighbours cross if the first one is on the left.
    fn between(&self, left: usize, right: usize) -> usize {
        let side = |links: &[Vec<usize>], upper: bool| {
            let ends = |item: usize| links[item].iter().map(move |&link| self.end(link, upper));
            ends(left)
                .map(|one| ends(right).filter(|&other| other < one).count())
                .sum::<usize>()
        };
        side(&self.neighbours.above, true) + side(&self.neighbours.below, false)
    }
}

/// How many pairs are in a different order by their first and their second part.
fn inversions(mut pairs: Vec<(i64, i64)>) -> usize {
    pairs.sort_unstable();
    let mut seconds: Vec<i64> = pairs.iter().map(|pair| pair.1).collect();
    seconds.sort_unstable();
    seconds.dedup();
    let mut counts = vec![0_usize; seconds.len() + 1];
    let mut crossings = 0;
    for (seen, &(_, second)) in pairs.iter().enumerate() {
        let rank = seconds.partition_point(|&other| other < second) + 1;
        let mut not_after = 0;
        let mut at = rank;
        while at > 0 {
            not_after += counts[at];
            at &= at - 1;
        }
        crossings += seen - not_after;
        let mut at = rank;
        while at < counts.len() {
            counts[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    crossings
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_from_one_place_never_cross_and_others_do() {
        assert_eq!(inversions(vec![(1, 2), (1, 1)]), 0);
        assert_eq!(inversions(vec![(1, 2), (2, 1)]), 1);
        assert_eq!(inversions(vec![(1, 3), (2, 2), (3, 1)]), 3);
        assert_eq!(inversions(vec![(1, 1), (2, 1)]), 0);
    }
}
