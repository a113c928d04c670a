//! Which format a document is in, by its name or else by its first characters.

/// The formats of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.2, core schema.
    Yaml,
    /// JSON as RFC 8259 defines it.
    Json,
    /// TOML 1.0. No name and no text stands for it: only configuration is written in it.
    Toml,
}

impl Format {
    /// The format a file's name promises, if its extension is `yaml`, `yml` or `json` in any case.
    pub fn of_path(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The format a text without a name seems to have.
    ///
    /// Nearly all JSON is YAML too, so this only picks the reader with the better messages: a document that opens
    /// like a JSON object or a JSON list of objects, lists or texts is JSON, everything else is YAML.
    pub fn sniff(text: &str) -> Self {
        let mut characters = text
            .strip_prefix('\u{feff}')
            .unwrap_or(text)
            .chars()
            .filter(|c| !c.is_ascii_whitespace());
        match (characters.next(), characters.next()) {
            (Some('{'), Some('"' | '}')) | (Some('['), Some('"' | '{' | '[' | ']')) => Self::Json,
            _ => Self::Yaml,
        }
    }
}
