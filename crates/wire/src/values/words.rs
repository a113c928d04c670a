//! Enumerations of the API: the server writes one of the listed words, and a reader keeps an unknown word as text.

/// Declares an enumeration of words, each with its text on the wire.
///
/// `words! { Name from Core { … } }` also converts from an enumeration of the same variants.
macro_rules! words {
    ($(#[doc = $about:literal])* $name:ident from $core:ty {
        $($(#[doc = $doc:literal])* $variant:ident = $word:literal,)+
    }) => {
        words! { $(#[doc = $about])* $name { $($(#[doc = $doc])* $variant = $word,)+ } }

        impl From<$core> for $name {
            fn from(value: $core) -> Self {
                match value { $(<$core>::$variant => Self::$variant,)+ }
            }
        }
    };
    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)+
            /// A word that this version does not know.
            Other(String),
        }

        impl $name {
            /// The words that the server uses.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word on the wire.
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }

            /// The variant of a word.
            pub fn of(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.word())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self::of(&word))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let about = concat!($($about,)*);
                let words = [$(concat!("`", $word, "`:", $($doc,)*)),+];
                schemars::json_schema!({
                    "type": "string",
                    "enum": Self::WORDS,
                    "description": $crate::values::words::described(about, &words),
                })
            }
        }
    };
}

pub(crate) use words;

/// What an enumeration is, with what each word means.
pub(crate) fn described(about: &str, words: &[&str]) -> String {
    let lines = words.iter().map(|word| format!("\n- {word}"));
    format!("{}\n{}", about.trim(), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ActionStatus;

    #[test]
    fn a_known_word_is_its_variant_and_an_unknown_one_is_kept() {
        let read = |word: &str| serde_json::from_value::<ActionStatus>(json!(word)).unwrap();
        assert_eq!(read("dead"), ActionStatus::Dead);
        assert_eq!(read("resting"), ActionStatus::Other("resting".to_owned()));
        for word in ["dead", "resting"] {
            assert_eq!(json!(read(word)), json!(word));
            assert_eq!(read(word).to_string(), word);
        }
    }

    #[test]
    fn the_schema_lists_the_words_that_the_server_uses_with_their_meaning() {
        let schema = schemars::schema_for!(ActionStatus);
        assert_eq!(schema.get("enum"), Some(&json!(ActionStatus::WORDS)));
        let about = schema
            .get("description")
            .and_then(|about| about.as_str())
            .unwrap_or_default();
        assert!(about.contains("- `dead`: A dead letter"), "{about}");
    }
}
