//! Which dead letters are alike: the same action of the same machine that failed the same way at the same place.
//!
//! What belongs to one occurrence only (ids, numbers, instants, addresses) is left out of the message, so a thousand
//! letters of one outage have one fingerprint.

use serde_json::Value;

use super::progress::Action;
use crate::document::json::{digest, hex};

/// The bytes of the digest that are kept.
const BYTES: usize = 8;
/// What is looked at of a message.
const CHARACTERS_MAX: usize = 512;

impl Action {
    /// What it has in common with others that failed like it; none for one that did not fail.
    pub fn fingerprint(&self) -> Option<String> {
        let error = self.body.last_error.as_ref()?;
        let message = normalised(&error.message);
        let parts = [
            self.origin.machine.as_str(),
            &self.action_id,
            &self.kind,
            &error.kind,
            error.code.as_deref().unwrap_or_default(),
            self.host().unwrap_or_default(),
            &message,
        ];
        let whole = digest(parts.join("\0").as_bytes());
        Some(hex(whole.get(..BYTES).unwrap_or_default()))
    }

    /// The host that the last failure speaks of, or where attempts go.
    pub fn host(&self) -> Option<&str> {
        let details = self.body.last_error.as_ref().and_then(|error| error.details.as_ref());
        let named = details.and_then(|details| details.get("host")).and_then(Value::as_str);
        named.or(self.body.destination.as_deref())
    }
}

/// The message without what belongs to one occurrence: whatever holds a digit.
fn normalised(message: &str) -> String {
    let start: String = message.chars().take(CHARACTERS_MAX).collect();
    let words = start.split_whitespace().map(|word| {
        let has_digit = word.chars().any(|character| character.is_ascii_digit());
        if has_digit { "#" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{ActionError, Body, Origin, Status};
    use crate::ids::{ActionId, ExecutionId, Slot};
    use crate::time::Timestamp;

    fn dead(number: u64, message: &str) -> Action {
        let at = Timestamp::from_millis(1_000);
        Action {
            id: ActionId::compose(at, Slot(0), number),
            origin: Origin {
                execution: ExecutionId::compose(at, Slot(0), number),
                machine: "order".to_owned(),
                version: 1,
            },
            action_id: "pay".to_owned(),
            kind: "webhook".to_owned(),
            status: Status::Dead,
            priority: 50,
            tags: Vec::new(),
            created_at: at,
            run_at: at,
            body: Body {
                last_error: Some(ActionError::new("timeout", message)),
                ..Body::default()
            },
        }
    }

    #[test]
    fn occurrences_of_one_failure_are_alike_and_other_failures_are_not() {
        let one = dead(1, "order 17 of act_01 was not answered within 300 ms");
        let other = dead(2, "order 18 of act_02 was not answered within 301 ms");
        assert_eq!(one.fingerprint(), other.fingerprint());
        assert_eq!(one.fingerprint().map(|text| text.len()), Some(16));
        let mut elsewhere = other.clone();
        elsewhere.body.destination = Some("shop.example:443".to_owned());
        let mut of_another = other.clone();
        of_another.origin.machine = "refund".to_owned();
        let worded = dead(3, "order 17 was refused");
        for different in [elsewhere, of_another, worded] {
            assert_ne!(different.fingerprint(), one.fingerprint());
        }
        let mut well = one;
        well.body.last_error = None;
        assert_eq!(well.fingerprint(), None);
    }
}
