//! From the legs of a level to its graph: in which layer everything stands, and what a long leg passes.
//!
//! Layer 0 has the header and the upper ports, row `r` of the children is layer `2 r + 2`, lower ports are last. Labels
//! stand in the odd layers. Layers without anything are dropped.

use super::graph::{Element, ElementKind, Graph, Link, Meets};
use super::wiring::Leg;

/// So many passed layers are drawn as lines between the boxes. The longest legs beyond it run right of everything.
const PASSES_MAX: usize = 20_000;
/// Among how many layers the label of a long leg looks for room.
const LABEL_LAYERS_MAX: usize = 12;
/// How much fuller a layer must be so that a label moves one row further from its source.
const LABEL_DISTANCE: i32 = 60;
/// The room of a line that passes.
const PASS_WIDTH: i32 = 2;
/// The layer right below the only row of regions.
const REGION_LABELS: usize = 3;
/// So many long legs have lanes of their own.
const LANES_MAX: usize = 200;

/// A leg with what the graph needs to know of it.
pub(super) struct RoutedLeg {
    pub(super) leg: Leg,
    /// The children at its ends, as their places among their siblings, with where it meets them.
    pub(super) upper: Option<(usize, Meets)>,
    pub(super) lower: Option<(usize, Meets)>,
    /// The room of its label.
    pub(super) label: (i32, i32),
}

/// A leg in the graph: what it passes from above to below, and the links between.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) items: Vec<usize>,
    pub(super) links: Vec<usize>,
    /// The item of its label.
    pub(super) label: Option<usize>,
}

/// Builds a graph.
pub(super) struct GraphBuilder<'a> {
    graph: Graph,
    rows: &'a [usize],
    /// The items of the children.
    states: Vec<usize>,
    /// The layer of the lower ports.
    bottom: usize,
    /// The width of the labels in each layer.
    loads: Vec<i32>,
    lanes: usize,
}

impl<'a> GraphBuilder<'a> {
    /// Starts with the header and the children. `sizes` are items in any layer.
    pub(super) fn new(header: (i32, i32), sizes: Vec<Element>, rows: &'a [usize], is_ordered: bool) -> Self {
        let last = rows.iter().max().copied().unwrap_or(0);
        let bottom = 2 * last + 4;
        let mut builder = Self {
            graph: Graph {
                is_ordered,
                ..Graph::default()
            },
            rows,
            states: Vec::new(),
            bottom,
            loads: vec![0; bottom + 1],
            lanes: 0,
        };
        builder.add(Element::plain(ElementKind::Header, 0, header));
        for (item, &row) in sizes.into_iter().zip(rows) {
            let layer = 2 * row + 2;
            let number = builder.add(Element { layer, ..item });
            builder.states.push(number);
        }
        builder
    }

    /// Adds the legs, and gives the graph with the chain of each.
    pub(super) fn build(mut self, routes: &[RoutedLeg]) -> (Graph, Vec<Chain>) {
        let spans: Vec<(usize, usize)> = routes.iter().map(|route| self.span(route)).collect();
        let long = too_long(&spans);
        let layers = self.label_layers(routes, &spans, &long);
        let mut chains = Vec::with_capacity(routes.len());
        for (number, route) in routes.iter().enumerate() {
            let chain = if route.leg.turns {
                self.turn(route)
            } else if long[number] {
                self.jump(route, layers[number])
            } else {
                self.pass(route, spans[number], layers[number])
            };
            chains.push(chain);
        }
        self.graph.fill_layers();
        (self.graph, chains)
    }

    /// The layers of its ends.
    fn span(&self, route: &RoutedLeg) -> (usize, usize) {
        let layer = |end: Option<(usize, Meets)>| end.map(|(child, _)| 2 * self.rows[child] + 2);
        let upper = layer(route.upper).unwrap_or(0);
        (upper, layer(route.lower).unwrap_or(self.bottom))
    }

    /// The layer of every label: near the source, or further where there is more room.
    fn label_layers(&mut self, routes: &[RoutedLeg], spans: &[(usize, usize)], long: &[bool]) -> Vec<Option<usize>> {
        let mut layers = vec![None; routes.len()];
        let mut order: Vec<usize> = (0..routes.len())
            .filter(|&number| routes[number].leg.has_label)
            .collect();
        order.sort_by_key(|&number| spans[number].1.saturating_sub(spans[number].0) > 2);
        for number in order {
            let (upper, lower) = spans[number];
            let leg = &routes[number].leg;
            let layer = if leg.turns {
                REGION_LABELS
            } else {
                let between: Vec<usize> = (upper + 1..lower).step_by(2).collect();
                let reach = if long[number] { 1 } else { LABEL_LAYERS_MAX };
                self.roomy(&between, leg.upward, reach).unwrap_or(upper + 1)
            };
            self.loads[layer] += routes[number].label.0;
            layers[number] = Some(layer);
        }
        layers
    }

    fn roomy(&self, between: &[usize], upward: bool, reach: usize) -> Option<usize> {
        let near = |distance: usize| if upward { between.len() - 1 - distance } else { distance };
        let layers = (0..between.len().min(reach)).map(|distance| (distance, between[near(distance)]));
        let cost = |distance: usize, layer: usize| {
            let far = i32::try_from(distance).unwrap_or(i32::MAX / LABEL_DISTANCE);
            self.loads[layer] + far * LABEL_DISTANCE
        };
        layers
            .min_by_key(|&(distance, layer)| (cost(distance, layer), distance))
            .map(|(_, layer)| layer)
    }

    /// A leg through every layer between its ends.
    fn pass(&mut self, route: &RoutedLeg, (upper, lower): (usize, usize), label: Option<usize>) -> Chain {
        let mut chain = Chain::default();
        chain.items.push(self.end(route.upper, 0));
        for layer in upper + 1..lower {
            let item = if label == Some(layer) {
                let item = self.add(Element::plain(ElementKind::Label, layer, route.label));
                chain.label = Some(item);
                item
            } else {
                self.add(Element::plain(ElementKind::Pass, layer, (PASS_WIDTH, 0)))
            };
            chain.items.push(item);
        }
        chain.items.push(self.end(route.lower, self.bottom));
        self.link_all(route, &mut chain, None);
        chain
    }

    /// A leg that leaves the layers: its label is next to its source, and the rest runs right of everything.
    fn jump(&mut self, route: &RoutedLeg, label: Option<usize>) -> Chain {
        let mut chain = Chain::default();
        chain.items.push(self.end(route.upper, 0));
        if let Some(layer) = label {
            let item = self.add(Element::plain(ElementKind::Label, layer, route.label));
            chain.label = Some(item);
            chain.items.push(item);
        }
        chain.items.push(self.end(route.lower, self.bottom));
        let far = if route.leg.upward { 0 } else { chain.items.len() - 2 };
        self.link_all(route, &mut chain, Some(far));
        chain
    }

    /// A leg between two regions: down to its label, and up again.
    fn turn(&mut self, route: &RoutedLeg) -> Chain {
        let size = (route.label.0.max(4 * PASS_WIDTH), route.label.1);
        let ends = [route.upper, route.lower];
        let label = self.add(Element::plain(ElementKind::Label, REGION_LABELS, size));
        let (upper, lower) = (self.end(ends[0], 0), self.end(ends[1], self.bottom));
        let mut chain = Chain {
            items: vec![upper, label, lower],
            links: Vec::new(),
            label: route.leg.has_label.then_some(label),
        };
        let inset = size.0 / 4;
        let sides = if upper < lower {
            [inset, size.0 - inset]
        } else {
            [size.0 - inset, inset]
        };
        for (end, side) in ends.into_iter().zip(sides) {
            if let Some((child, meets)) = end {
                let link = (self.states[child], label);
                chain.links.push(self.link(link, (meets, Meets::At(side)), None));
            }
        }
        chain
    }

    /// The item at an end: a child, or a new port.
    fn end(&mut self, end: Option<(usize, Meets)>, layer: usize) -> usize {
        match end {
            Some((child, _)) => self.states[child],
            None => self.add(Element::plain(ElementKind::Port, layer, (PASS_WIDTH, 0))),
        }
    }

    fn link_all(&mut self, route: &RoutedLeg, chain: &mut Chain, far: Option<usize>) {
        let last = chain.items.len() - 2;
        for position in 0..=last {
            let (upper, lower) = (chain.items[position], chain.items[position + 1]);
            let end = |end: Option<(usize, Meets)>, is_end: bool, item: usize, items: &[Element]| match end {
                Some((_, meets)) if is_end => meets,
                _ => Meets::At(items[item].center),
            };
            let leaves = end(route.upper, position == 0, upper, &self.graph.items);
            let arrives = end(route.lower, position == last, lower, &self.graph.items);
            let lane = (far == Some(position)).then(|| {
                self.lanes += 1;
                (self.lanes - 1) % LANES_MAX
            });
            let link = self.link((upper, lower), (leaves, arrives), lane);
            chain.links.push(link);
        }
    }

    fn link(
        &mut self,
        (upper, lower): (usize, usize),
        (leaves, arrives): (Meets, Meets),
        lane: Option<usize>,
    ) -> usize {
        self.graph.links.push(Link {
            upper,
            lower,
            leaves,
            arrives,
            lane,
            from: 0,
            to: 0,
        });
        self.graph.links.len() - 1
    }

    fn add(&mut self, item: Element) -> usize {
        self.graph.items.push(item);
        self.graph.items.len() - 1
    }
}

/// Which legs are too long to pass the layers between their ends: the longest, so that the rest is bounded.
fn too_long(spans: &[(usize, usize)]) -> Vec<bool> {
    let passes = |number: usize| spans[number].1.saturating_sub(spans[number].0);
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&number| (passes(number), number));
    let mut long = vec![false; spans.len()];
    let mut sum = 0;
    for number in order {
        sum += passes(number);
        long[number] = sum > PASSES_MAX && passes(number) > 2;
    }
    long
}

impl Graph {
    /// Sorts the items into layers, and drops layers without any.
    fn fill_layers(&mut self) {
        let last = self.items.iter().map(|item| item.layer).max().unwrap_or(0);
        let mut layers = vec![Vec::new(); last + 1];
        for (number, item) in self.items.iter().enumerate() {
            layers[item.layer].push(number);
        }
        layers.retain(|layer| !layer.is_empty());
        for (position, layer) in layers.iter().enumerate() {
            for &number in layer {
                self.items[number].layer = position;
            }
        }
        self.layers = layers;
    }
}
