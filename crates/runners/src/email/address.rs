//! Addresses of mail, checked so that none can end a header.

use lettre::Address;
use lettre::message::{Mailbox, Mailboxes};

/// Reads one address, with or without a name before it.
pub(super) fn one(text: &str) -> Result<Mailbox, String> {
    if text.chars().any(char::is_control) {
        return Err("it contains a control character or a line break".to_owned());
    }
    text.trim()
        .parse()
        .map_err(|error: lettre::address::AddressError| error.to_string())
}

/// Whether the text is an address alone, without a name before it.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.chars().any(char::is_control) {
        return Err("it contains a control character or a line break".to_owned());
    }
    let parsed = text.parse::<Address>();
    parsed.map(drop).map_err(|error| error.to_string())
}

/// Reads several addresses, separated by commas.
pub(super) fn several(text: &str) -> Result<Vec<Mailbox>, String> {
    if !text.contains(',') {
        return one(text).map(|mailbox| vec![mailbox]);
    }
    if text.chars().any(char::is_control) {
        return Err("it contains a control character or a line break".to_owned());
    }
    let several: Mailboxes = text
        .parse()
        .map_err(|error: lettre::address::AddressError| error.to_string())?;
    Ok(several.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names_or_not_and_never_a_line_break() {
        assert_eq!(
            one("Ann Lee <ann@example.com>").unwrap().name.as_deref(),
            Some("Ann Lee")
        );
        assert_eq!(several("ann@example.com, Bob <bob@example.com>").unwrap().len(), 2);
        for wrong in [
            "",
            "ann",
            "ann@",
            "@example.com",
            "ann@example.com\r\nBcc: x@example.com",
            "a b@example.com",
        ] {
            assert!(one(wrong).is_err(), "{wrong:?}");
        }
        assert!(several("ann@example.com,\nx@example.com").is_err());
        assert_eq!(check("ann@example.com"), Ok(()));
        assert!(check("Ann <ann@example.com>").is_err() && check("ann@example.com\n").is_err());
    }
}
