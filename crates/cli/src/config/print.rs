//! The default configuration, with a comment for every key.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{alerts, keys, named};

const HEAD: &str = "\
# sprag.toml: the configuration of `sprag up`. Every key is optional; these are the defaults.
# The environment variable beside a key overrides the key. A flag overrides both.
# Relative paths start in the directory where you start `sprag up`.
";

/// The file, ready to be saved as `sprag.toml`.
pub(crate) fn annotated() -> String {
    let mut text = HEAD.to_owned();
    for section in keys::sections() {
        // Writing to a text cannot fail.
        let _ = write!(text, "\n[{section}]\n");
        for key in keys::of(section) {
            for line in key.about {
                let _ = writeln!(text, "# {line}");
            }
            let _ = match key.default {
                Some(default) => writeln!(text, "{} = {default} # {}", key.name, key.variable),
                None => writeln!(text, "# {} = {} # {}", key.name, keys::example(key), key.variable),
            };
        }
    }
    named::print(&mut text);
    alerts::print(&mut text);
    text
}

/// The same for programs: by section and key, the default, the variable that overrides it, and the meaning.
pub(crate) fn described() -> Value {
    let mut sections = Map::new();
    for section in keys::sections() {
        let key = |key: &keys::Key| {
            // A default is written as TOML, in the part of it that is JSON too.
            let default: Value = key
                .default
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default();
            let about = key.about.join(" ");
            (
                key.name.to_owned(),
                json!({"default": default, "variable": key.variable, "about": about}),
            )
        };
        sections.insert(section.to_owned(), keys::of(section).map(key).collect());
    }
    named::describe(&mut sections);
    alerts::describe(&mut sections);
    Value::Object(sections)
}
