//! Which messages the active states of a machine accept, for people who sent one that nothing handles.

use super::event::is_reserved;
use super::model::{Descriptor, Machine};

impl Machine {
    /// The message types that transitions of these states and of the states around them name, sorted, each once. A prefix
    /// ends with `.*`; `*` accepts every message. Guards may still refuse one.
    pub fn accepted_messages<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Vec<String> {
        let active = paths.filter_map(|path| self.by_path(path));
        let states = active.flat_map(|state| std::iter::once(state).chain(self.ancestors(state)));
        let descriptors = states.flat_map(|state| self.state(state).on.iter().map(|(descriptor, _)| descriptor));
        let mut names: Vec<String> = descriptors.filter_map(message).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The message types that a descriptor names; none where only the engine makes such events.
fn message(descriptor: &Descriptor) -> Option<String> {
    match descriptor {
        Descriptor::Exact(name) => (!is_reserved(name)).then(|| name.clone()),
        Descriptor::Prefix(prefix) => (!is_reserved(&format!("{prefix}."))).then(|| format!("{prefix}.*")),
        Descriptor::Any => Some("*".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::source::Format;
    use crate::machine::{LoadOptions, load_text};

    #[test]
    fn active_states_and_those_around_them_say_what_they_accept() {
        let text = r"
id: m
initial: a
states:
  a:
    initial: b
    on: { STOP: c, done.act: c, order.*: c }
    states: { b: { on: { GO: x, STOP: x } }, x: {} }
  c: { on: { '*': a } }
actions: [{ actionId: act, type: noop, triggerState: a }]
";
        let machine = load_text(text, Format::Yaml, &LoadOptions::default()).machine.unwrap();
        let accepted = |path: &str| machine.accepted_messages([path].into_iter());
        assert_eq!(accepted("a.b"), ["GO", "STOP", "order.*"]);
        assert_eq!(accepted("a.x"), ["STOP", "order.*"]);
        assert_eq!(accepted("c"), ["*"]);
        assert!(accepted("nowhere").is_empty());
    }
}
