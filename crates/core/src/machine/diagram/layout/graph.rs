//! One level as a graph in layers: what stands in each layer from left to right, and the links between neighbours.

/// The kinds of items in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    /// The room of the level's own name and notes.
    Header,
    /// Where a line crosses the border of the level.
    Port,
    /// A child, by its place among its siblings.
    State(usize),
    /// The labels of a leg, on its line.
    Label,
    /// A line that passes the layer.
    Pass,
}

/// Something in a layer.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) kind: ElementKind,
    pub(super) layer: usize,
    pub(super) x: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    /// Where lines meet it if they have no place of their own, from its left.
    pub(super) center: i32,
    /// Between which offsets lines may meet it.
    pub(super) body: (i32, i32),
}

impl Element {
    /// An item whose lines meet it in its middle.
    pub(super) fn plain(kind: ElementKind, layer: usize, (width, height): (i32, i32)) -> Self {
        Self {
            kind,
            layer,
            x: 0,
            width,
            height,
            center: width / 2,
            body: (width / 2, width / 2),
        }
    }

    pub(super) fn is_state(&self) -> bool {
        matches!(self.kind, ElementKind::State(_))
    }

    /// Where lines meet it.
    pub(super) fn middle(&self) -> i32 {
        self.x + self.center
    }
}

/// Where a link meets an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    /// At this offset from its left.
    At(i32),
    /// Where it suits the drawing.
    Anywhere,
}

/// A piece of a leg between two layers.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) upper: usize,
    pub(super) lower: usize,
    pub(super) leaves: Meets,
    pub(super) arrives: Meets,
    /// A long piece that runs right of everything, in a lane of its own.
    pub(super) lane: Option<usize>,
    /// Where it leaves its upper item, and where it arrives at its lower one. Known once items have columns.
    pub(super) from: i32,
    pub(super) to: i32,
}

/// A level.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) items: Vec<Element>,
    /// From left to right.
    pub(super) layers: Vec<Vec<usize>>,
    pub(super) links: Vec<Link>,
    /// Whether the children keep their order: the regions of a parallel state.
    pub(super) is_ordered: bool,
}

/// The neighbours of every item: those above, and those below, as links.
pub(super) struct Neighbours {
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
}

impl Graph {
    /// Links between adjacent layers, by item.
    pub(super) fn neighbours(&self) -> Neighbours {
        let mut neighbours = Neighbours {
            above: vec![Vec::new(); self.items.len()],
            below: vec![Vec::new(); self.items.len()],
        };
        for (number, link) in self.links.iter().enumerate() {
            if link.lane.is_none() {
                neighbours.below[link.upper].push(number);
                neighbours.above[link.lower].push(number);
            }
        }
        neighbours
    }

    /// The right end of everything that has a column.
    pub(super) fn right(&self) -> i32 {
        let ends = self.items.iter().map(|item| item.x + item.width);
        ends.max().unwrap_or(0)
    }
}
