//! What the loader knows and the compiled machine does not keep: where things stand in the file, and which expression
//! names what.

use std::collections::BTreeMap;

use crate::document::Fields;
use crate::document::source::Place;
use crate::document::source::Spot;
use crate::expression::scope::Path;
use crate::expression::template::Template;
use crate::machine::model::{StateIndex, TransitionIndex};

/// The notes of one load.
#[derive(Debug)]
pub(in crate::machine) struct Notes<'n> {
    /// The whole file.
    pub(super) root: Fields<'n>,
    /// By state.
    pub(in crate::machine) states: Vec<Fields<'n>>,
    /// By transition.
    pub(in crate::machine) transitions: Vec<Place>,
    /// By action.
    pub(in crate::machine) actions: Vec<Fields<'n>>,
    /// The position of every action in the file, by its id; of several with one id, the first.
    pub(super) action_positions: BTreeMap<&'n str, usize>,
    /// By hook.
    pub(in crate::machine) hooks: Vec<Fields<'n>>,
    /// Every path that an expression names.
    pub(in crate::machine) uses: Vec<Use<'n>>,
    /// Whether some expression computes the paths it reads, so that it may read anything.
    pub(in crate::machine) computes_paths: bool,
}

impl<'n> Notes<'n> {
    /// Of a load that has read nothing yet.
    pub(super) fn new(root: Fields<'n>, states: Vec<Fields<'n>>) -> Self {
        Self {
            root,
            states,
            transitions: Vec::new(),
            actions: Vec::new(),
            action_positions: BTreeMap::new(),
            hooks: Vec::new(),
            uses: Vec::new(),
            computes_paths: false,
        }
    }
}

/// A path that an expression names.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Use<'n> {
    /// The value that holds the expression.
    pub(super) spot: Spot<'n>,
    /// Whose expression it is.
    pub(in crate::machine) site: Site,
    /// What it names.
    pub(in crate::machine) path: Path,
}

/// Whose expression it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Site {
    /// A transition's guard.
    Guard(TransitionIndex),
    /// What a transition does.
    Taken(TransitionIndex),
    /// What entering a state does.
    Entry(StateIndex),
    /// What leaving a state does.
    Exit(StateIndex),
    /// What a final state gives.
    Output(StateIndex),
    /// Whether an action is skipped.
    Condition(usize),
    /// What an action's runner needs.
    Config(usize),
    /// What an action's attempts are counted under.
    LimitKey(usize),
}

impl Use<'_> {
    /// The place of the very text that names the path, where that can be told.
    pub(in crate::machine) fn place(&self) -> Place {
        let written = self.path.to_string();
        let names = |text: &str| {
            text == written
                || text.contains("{{")
                    && Template::compile(&text.into())
                        .is_ok_and(|template| template.paths().any(|path| *path == self.path))
        };
        self.spot.find_text(&names).unwrap_or_else(|| self.spot.place())
    }
}
