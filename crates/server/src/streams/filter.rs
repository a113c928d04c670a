//! Which hints a reader asked for.

use sprag_engine::RecordKind;
use sprag_wire::{HintKind, Hinted};

use super::hub::Hint;

/// The most kinds or ids of a filter.
pub(crate) const NAMES_MAX: usize = 100;

/// Hints of some kinds, about some records; all, where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// The kinds.
    pub(crate) kinds: Vec<HintKind>,
    /// The ids. An execution's id means its actions too.
    pub(crate) ids: Vec<String>,
}

impl Filter {
    /// Whether a hint is meant.
    pub(crate) fn means(&self, hint: &Hint) -> bool {
        if self.kinds.is_empty() && self.ids.is_empty() {
            return true;
        }
        hinted(hint).iter().any(|hinted| self.means_one(hinted))
    }

    /// What a hint says to a reader with this filter.
    pub(crate) fn shown(&self, hint: &Hint) -> Vec<Hinted> {
        let all = hinted(hint).into_iter();
        all.filter(|hinted| self.means_one(hinted)).collect()
    }

    fn means_one(&self, hinted: &Hinted) -> bool {
        let execution = hinted.execution_id.map(|id| id.to_string());
        let has = |id: &String| self.ids.contains(id);
        (self.kinds.is_empty() || self.kinds.contains(&hinted.kind))
            && (self.ids.is_empty() || has(&hinted.id) || execution.is_some_and(|id| has(&id)))
    }
}

/// A hint as readers get it: a dead letter is an action too.
fn hinted(hint: &Hint) -> Vec<Hinted> {
    let plain = |kind, id: String| Hinted {
        kind,
        id,
        execution_id: None,
    };
    match hint {
        Hint::Machine(id) => vec![plain(HintKind::Machine, id.to_string())],
        Hint::Execution(id, _) => vec![plain(HintKind::Execution, id.to_string())],
        Hint::Record(kind, id) => vec![plain(record_kind(*kind), id.to_string())],
        Hint::Action(id, execution, is_letter) => {
            let of_kind = |kind| Hinted {
                execution_id: Some(*execution),
                ..plain(kind, id.to_string())
            };
            let letter = is_letter.then(|| of_kind(HintKind::DeadLetter));
            std::iter::once(of_kind(HintKind::Action)).chain(letter).collect()
        }
    }
}

fn record_kind(kind: RecordKind) -> HintKind {
    match kind {
        RecordKind::Workflow => HintKind::Workflow,
        RecordKind::Job => HintKind::Job,
        RecordKind::Switch => HintKind::Switch,
        RecordKind::Limit => HintKind::Limit,
        RecordKind::Token => HintKind::Token,
        RecordKind::Operation => HintKind::Operation,
        RecordKind::Worker => HintKind::Worker,
    }
}

/// The hint that another node sent; none of a kind that this version does not know.
pub(crate) fn heard(hinted: &Hinted) -> Option<Hint> {
    let record = |kind| Some(Hint::Record(kind, hinted.id.as_str().into()));
    match &hinted.kind {
        HintKind::Machine => Some(Hint::Machine(hinted.id.as_str().into())),
        HintKind::Execution => Some(Hint::Execution(hinted.id.parse().ok()?, false)),
        HintKind::Action => Some(Hint::Action(hinted.id.parse().ok()?, hinted.execution_id?, false)),
        HintKind::DeadLetter => Some(Hint::Action(hinted.id.parse().ok()?, hinted.execution_id?, true)),
        HintKind::Workflow => record(RecordKind::Workflow),
        HintKind::Job => record(RecordKind::Job),
        HintKind::Switch => record(RecordKind::Switch),
        HintKind::Limit => record(RecordKind::Limit),
        HintKind::Token => record(RecordKind::Token),
        HintKind::Operation => record(RecordKind::Operation),
        HintKind::Worker => record(RecordKind::Worker),
        HintKind::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::ids::{ActionId, ExecutionId};

    use super::*;

    #[test]
    fn a_filter_means_kinds_and_ids_and_a_dead_letter_is_an_action_too() {
        let (action, execution) = (ActionId::from_bytes([1; 16]), ExecutionId::from_bytes([2; 16]));
        let letter = Hint::Action(action, execution, true);
        let filter = |kinds: &[HintKind], ids: &[String]| Filter {
            kinds: kinds.to_vec(),
            ids: ids.to_vec(),
        };
        assert_eq!(Filter::default().shown(&letter).len(), 2);
        assert!(filter(&[HintKind::DeadLetter], &[]).means(&letter));
        assert!(filter(&[], &[execution.to_string()]).means(&letter));
        assert!(filter(&[HintKind::Action], &[action.to_string()]).means(&letter));
        assert!(!filter(&[HintKind::Job], &[]).means(&letter));
        assert!(!filter(&[HintKind::Action], &["order".to_owned()]).means(&letter));
        assert!(!filter(&[HintKind::DeadLetter], &[]).means(&Hint::Action(action, execution, false)));
    }

    #[test]
    fn another_node_says_what_this_one_would() {
        let (action, execution) = (ActionId::from_bytes([1; 16]), ExecutionId::from_bytes([2; 16]));
        let hints = [
            Hint::Machine("order".into()),
            Hint::Execution(execution, false),
            Hint::Action(action, execution, false),
            Hint::Record(RecordKind::Switch, "swi_1".into()),
            Hint::Record(RecordKind::Worker, "shop/web".into()),
        ];
        for hint in hints {
            let said = hinted(&hint);
            assert_eq!(heard(&said[0]), Some(hint));
        }
    }
}
