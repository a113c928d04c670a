//! Where in a rule the compiler is.

use super::error::CompileError;

/// One place of a rule, linked to the places around it, and what holds there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    around: Option<&'a Place<'a>>,
    step: Step<'a>,
    /// How many operators and lists are around this place.
    pub(super) depth: usize,
    /// How many iterators' bodies are around this place.
    pub(super) bodies: usize,
    /// Whether the body of a `reduce` is around this place.
    pub(super) reducing: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Start,
    Member(&'a str),
    Item(usize),
}

impl Place<'static> {
    /// The rule itself.
    pub(super) const START: Self = Self {
        around: None,
        step: Step::Start,
        depth: 0,
        bodies: 0,
        reducing: false,
    };
}

impl Place<'_> {
    /// The member `name` of the object here.
    pub(super) fn member<'a>(&'a self, name: &'a str) -> Place<'a> {
        Place {
            around: Some(self),
            step: Step::Member(name),
            ..*self
        }
    }

    /// The item at `position` of the list here.
    pub(super) fn item(&self, position: usize) -> Place<'_> {
        Place {
            around: Some(self),
            step: Step::Item(position),
            ..*self
        }
    }

    /// This place, as seen from within an operator or list.
    pub(super) fn deeper(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    /// This place, as the body of an iterator.
    pub(super) fn body(self) -> Self {
        Self {
            bodies: self.bodies + 1,
            ..self
        }
    }

    /// This place, as the body of a `reduce`.
    pub(super) fn reduction(self) -> Self {
        Self {
            reducing: true,
            ..self.body()
        }
    }

    /// The fault `detail` at this place.
    pub(super) fn error(&self, detail: impl Into<String>) -> CompileError {
        CompileError {
            pointer: self.pointer(),
            detail: detail.into(),
        }
    }

    fn pointer(&self) -> String {
        let mut pointer = self.around.map(Place::pointer).unwrap_or_default();
        match self.step {
            Step::Start => {}
            Step::Member(name) => {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            Step::Item(position) => {
                pointer.push('/');
                pointer.push_str(&position.to_string());
            }
        }
        pointer
    }
}
