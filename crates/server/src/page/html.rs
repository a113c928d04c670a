//! Text as HTML. Everything that goes into the page goes through here.

/// Text without a meaning in HTML, as content and as the value of an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

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
