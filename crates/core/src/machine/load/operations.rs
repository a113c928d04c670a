//! Inline operations: what states and transitions do by themselves.

use super::keys::{OPERATION, RAISE};
use super::loader::Loader;
use super::notes::Site;
use crate::document::Fields;
use crate::document::source::{Spot, shown};
use crate::expression::template::Template;
use crate::machine::model::Instruction;

impl<'n> Loader<'n> {
    /// One operation or a list of them.
    pub(super) fn operations(&mut self, spot: &Spot<'n>, site: Site) -> Vec<Instruction> {
        spot.each()
            .iter()
            .filter_map(|item| self.operation(item, site))
            .collect()
    }

    fn operation(&mut self, spot: &Spot<'n>, site: Site) -> Option<Instruction> {
        if spot.text().is_some() {
            return self.named_action(spot).map(Instruction::Run);
        }
        let mut members = spot.members().filter(|(name, _)| OPERATION.key(name).is_some());
        let (Some((name, argument)), None) = (members.next(), members.next()) else {
            self.not_one_operation(spot);
            return None;
        };
        match name {
            "assign" => Some(Instruction::Assign(self.assignments(&argument, site))),
            "raise" => self.raise(&argument, site),
            "log" => self.template(&argument, site).map(Instruction::Log),
            "cancel" => self.named_action(&argument).map(Instruction::Cancel),
            _ => self.named_action(&argument).map(Instruction::Run),
        }
    }

    fn not_one_operation(&mut self, spot: &Spot<'n>) {
        let known: Vec<&str> = OPERATION.keys.iter().map(|key| key.name).collect();
        let detail = "an operation has exactly one of its keys".to_owned();
        let remedy = format!(
            "write one of `{}`; use a list for several operations",
            known.join("`, `")
        );
        self.findings.error(&spot.place(), "bad-operation", detail, remedy);
    }

    /// Variables to set.
    pub(super) fn assignments(&mut self, spot: &Spot<'n>, site: Site) -> Vec<(String, Template)> {
        spot.members()
            .filter_map(|(name, value)| Some((name.to_owned(), self.template(&value, site)?)))
            .collect()
    }

    fn raise(&mut self, spot: &Spot<'n>, site: Site) -> Option<Instruction> {
        if let Some(event) = spot.text() {
            return Some(Instruction::Raise {
                event: event.to_owned(),
                payload: None,
            });
        }
        let fields = Fields::new(spot.clone(), &RAISE);
        let payload = fields.get("payload").and_then(|payload| self.template(&payload, site));
        Some(Instruction::Raise {
            event: fields.string("type")?,
            payload,
        })
    }

    /// The position of the action that the text names.
    pub(super) fn named_action(&mut self, spot: &Spot<'n>) -> Option<usize> {
        let name = spot.text()?;
        let position = self.notes.action_positions.get(name).copied();
        if position.is_none() {
            let detail = format!("there is no action `{}`", shown(name));
            let remedy = match self.findings.nearest(name, self.notes.action_positions.keys().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                // In XState a name stands for a function of the program.
                None => "define it under `actions` with an `actionId`, a `type` and a `config`: an action is a definition here, not a \
                         function"
                    .to_owned(),
            };
            self.findings.error(&spot.place(), "unknown-action", detail, remedy);
        }
        position
    }
}
