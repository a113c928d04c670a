//! Telephone numbers as E.164 writes them, and who else can send a text message.

/// The least digits of a number with its country code that any network has.
const DIGITS_MIN: usize = 7;
/// The most that E.164 allows.
const DIGITS_MAX: usize = 15;
/// The longest name that can stand in place of a sender's number.
const NAME_MAX: usize = 11;
/// Another channel than text messages, at the same provider.
const CHANNEL: &str = "whatsapp:";

/// How a number must look, for people.
pub(super) const EXPECTED: &str = "a number such as `+15558675310`: `+`, country code, number, digits only";

/// Whether `text` is a number in E.164, with or without a channel before it.
pub(super) fn is_number(text: &str) -> bool {
    let number = text.strip_prefix(CHANNEL).unwrap_or(text);
    let Some(digits) = number.strip_prefix('+') else {
        return false;
    };
    (DIGITS_MIN..=DIGITS_MAX).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
}

/// Whether `text` can be a sender: a number, a short code, or a name of letters and digits.
pub(super) fn is_sender(text: &str) -> bool {
    let short_code = (3..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = (1..=NAME_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
        && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_number(text) || short_code || name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_e164_and_nothing_else() {
        for right in [
            "+15558675310",
            "+442071838750",
            "whatsapp:+15558675310",
            "+6581234567",
            "+123456789012345",
        ] {
            assert!(is_number(right), "{right}");
        }
        for wrong in [
            "",
            "+",
            "15558675310",
            "+0155586753",
            "+1 555 867 5310",
            "+1555",
            "+1234567890123456",
            "+１５５５８６７５３１０",
        ] {
            assert!(!is_number(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_sender_is_a_number_a_short_code_or_a_name() {
        for right in ["+15557122661", "12345", "Sprag", "My Company"] {
            assert!(is_sender(right), "{right}");
        }
        for wrong in ["", "555-1234", "A name that is long", "+12", "12"] {
            assert!(!is_sender(wrong), "{wrong}");
        }
    }
}
