//! From what the engine and the supervisor know to what the API says: every field by name, so that a new one cannot be
//! forgotten.

mod executions;

use schemars::JsonSchema;
use serde::Serialize;

/// Something that the API shows.
pub(crate) trait IntoWire {
    /// How it shows it.
    type Wire: Serialize + JsonSchema;

    /// The same as the API shows it.
    fn into_wire(self) -> Self::Wire;
}

impl<T: IntoWire> IntoWire for Option<T> {
    type Wire = Option<T::Wire>;

    fn into_wire(self) -> Self::Wire {
        self.map(T::into_wire)
    }
}

impl<T: IntoWire> IntoWire for Vec<T> {
    type Wire = Vec<T::Wire>;

    fn into_wire(self) -> Self::Wire {
        self.into_iter().map(T::into_wire).collect()
    }
}

#[cfg(test)]
mod tests {
    use sprag_engine::health::Window;
    use sprag_store::records::ExecutionStatus;
    use sprag_wire as wire;

    fn sorted(words: &[&'static str]) -> Vec<&'static str> {
        let mut words = words.to_vec();
        words.sort_unstable();
        words
    }

    #[test]
    fn the_api_has_the_words_of_the_engine_and_no_others() {
        let executions = ExecutionStatus::ALL.map(ExecutionStatus::word);
        assert_eq!(sorted(&executions), sorted(wire::ExecutionStatus::WORDS));
        let windows = Window::ALL.map(Window::word);
        assert_eq!(sorted(&windows), sorted(wire::Window::WORDS));
    }
}
