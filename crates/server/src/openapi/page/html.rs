//! Text as HTML. Everything that goes into the page goes through here.

pub(super) use sprag_core::text::html::escaped;

/// A sentence in which backticks stand around code.
pub(super) fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(position, part)| {
            let part = escaped(part);
            // Every other part stands between backticks.
            if position % 2 == 1 {
                format!("<code>{part}</code>")
            } else {
                part
            }
        })
        .collect()
}
