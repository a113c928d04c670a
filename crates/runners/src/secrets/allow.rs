//! Which machines may name which secrets: `[secrets] allow`.

use super::OptionsError;

/// The most entries that the list may have.
const ENTRIES_MAX: usize = 10_000;

/// The entries of `[secrets] allow`. Without the list every machine may name every secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    entries: Option<Vec<Entry>>,
}

/// `MACHINE=SECRET`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    machine: Pattern,
    secret: Pattern,
}

/// A name, or with a `*` at its end every name that begins so.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exactly(String),
    Beginning(String),
}

impl Allowed {
    pub(super) fn new(list: Option<&[String]>) -> Result<Self, OptionsError> {
        let Some(list) = list else { return Ok(Self::default()) };
        if list.len() > ENTRIES_MAX {
            return Err(OptionsError::TooManyAllowed { most: ENTRIES_MAX });
        }
        let entries = list.iter().map(|entry| Entry::parse(entry));
        Ok(Self {
            entries: Some(entries.collect::<Result<_, _>>()?),
        })
    }

    /// Whether the machine may name the secret.
    pub(super) fn allows(&self, machine: &str, secret: &str) -> bool {
        let Some(entries) = &self.entries else { return true };
        entries
            .iter()
            .any(|entry| entry.machine.covers(machine) && entry.secret.covers(secret))
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Self, OptionsError> {
        let parts = text.split_once('=');
        let parsed = parts.and_then(|(machine, secret)| {
            Some(Self {
                machine: Pattern::parse(machine.trim())?,
                secret: Pattern::parse(secret.trim())?,
            })
        });
        parsed.ok_or_else(|| OptionsError::Allowed {
            entry: sprag_core::document::source::shown(text),
        })
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let (name, is_beginning) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'));
        if !is_plain {
            return None;
        }
        if is_beginning {
            return Some(Self::Beginning(name.to_owned()));
        }
        (!name.is_empty()).then(|| Self::Exactly(name.to_owned()))
    }

    fn covers(&self, name: &str) -> bool {
        match self {
            Self::Exactly(known) => known == name,
            Self::Beginning(beginning) => name.starts_with(beginning.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(list: &[&str]) -> Allowed {
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        Allowed::new(Some(&list)).unwrap()
    }

    #[test]
    fn without_a_list_everything_is_allowed_and_with_an_empty_one_nothing() {
        assert!(Allowed::new(None).unwrap().allows("any", "secret"));
        assert!(!allowed(&[]).allows("any", "secret"));
    }

    #[test]
    fn an_entry_names_machine_and_secret_and_each_may_end_in_a_star() {
        let allowed = allowed(&["billing=stripe", "order-*=courier_*", "*=shared", "admin = *"]);
        for (machine, secret, is_allowed) in [
            ("billing", "stripe", true),
            ("billing", "stripe_test", false),
            ("billing", "shared", true),
            ("order-eu", "courier_key", true),
            ("order-eu", "courier", false),
            ("orders", "courier_key", false),
            ("admin", "anything", true),
        ] {
            assert_eq!(allowed.allows(machine, secret), is_allowed, "{machine} {secret}");
        }
    }

    #[test]
    fn what_is_no_entry_is_refused_with_its_text() {
        for entry in ["billing", "=stripe", "billing=", "a=b=c", "a*b=c", "a=b\0", ""] {
            let list = [entry.to_owned()];
            let error = Allowed::new(Some(&list)).unwrap_err().to_string();
            assert!(
                error.contains("`[secrets] allow`") && error.contains("MACHINE=SECRET"),
                "{error}"
            );
        }
    }
}
