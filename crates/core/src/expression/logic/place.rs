//! Where in a rule the compiler is.

use super::error::LogicError;

/// One place of a rule, linked to the places around it, and what holds there.
#[derive(Clone, Copy, Debug)]
pub(super) struct RulePlace<'a> {
    around: Option<&'a RulePlace<'a>>,
    step: RuleSegment<'a>,
    /// How many operators and lists are around this place.
    pub(super) depth: usize,
    /// How many iterators' bodies are around this place.
    pub(super) bodies: usize,
    /// Whether the body of a `reduce` is around this place.
    pub(super) reducing: bool,
}

#[derive(Clone, Copy, Debug)]
enum RuleSegment<'a> {
    Start,
    Member(&'a str),
    Item(usize),
}

impl RulePlace<'static> {
    /// The rule itself.
    pub(super) const START: Self = Self {
        around: None,
        step: RuleSegment::Start,
        depth: 0,
        bodies: 0,
        reducing: false,
    };
}

impl RulePlace<'_> {
    /// The member `name` of the object here.
    pub(super) fn member<'a>(&'a self, name: &'a str) -> RulePlace<'a> {
        RulePlace {
            around: Some(self),
            step: RuleSegment::Member(name),
            ..*self
        }
    }

    /// The item at `position` of the list here.
    pub(super) fn item(&self, position: usize) -> RulePlace<'_> {
        RulePlace {
            around: Some(self),
            step: RuleSegment::Item(position),
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
    pub(super) fn error(&self, detail: impl Into<String>) -> LogicError {
        LogicError {
            pointer: self.pointer(),
            detail: detail.into(),
        }
    }

    fn pointer(&self) -> String {
        let mut pointer = self.around.map(RulePlace::pointer).unwrap_or_default();
        match self.step {
            RuleSegment::Start => {}
            RuleSegment::Member(name) => {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            RuleSegment::Item(position) => {
                pointer.push('/');
                pointer.push_str(&position.to_string());
            }
        }
        pointer
    }
}
