//! No form of a secret gets through, and nothing else is touched.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SECRET: &str = "hunter2-and-more";

fn redactor() -> Redactor {
    Redactor::new([("crm_token", SECRET)])
}

fn masked(text: &str) -> String {
    redactor().text(text).into_owned()
}

/// Base64 by way of a string of bits, apart from the code under test.
fn base64(bytes: &[u8], last_two: [char; 2]) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(last_two).collect();
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| (byte >> bit) & 1))
        .collect();
    let characters = bits.chunks(6).map(|group| {
        let value = (0..6).fold(0, |value, bit| {
            value * 2 + usize::from(group.get(bit).copied().unwrap_or(0))
        });
        alphabet[value]
    });
    characters.collect()
}

/// Percent-encodes what `choose` picks, in the given case.
fn percent(text: &str, choose: impl Fn(usize) -> bool, upper: bool) -> String {
    let mut encoded = String::new();
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if !byte.is_ascii() || byte == b'%' || choose(position) => {
                let hexadecimal = format!("%{byte:02x}");
                encoded += &if upper { hexadecimal.to_uppercase() } else { hexadecimal };
            }
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}

/// A JSON string without its quotes, with every character that `choose` picks as `\uXXXX`.
fn escaped(text: &str, choose: impl Fn(usize) -> bool) -> String {
    let mut written = String::new();
    for (position, character) in text.chars().enumerate() {
        if choose(position) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(written, "\\u{unit:04x}").unwrap();
            }
        } else {
            let quoted = serde_json::to_string(&character).unwrap();
            written.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
    written
}

#[test]
fn a_secret_is_replaced_by_its_name_wherever_it_stands() {
    assert_eq!(
        masked(&format!("Bearer {SECRET}, again {SECRET}")),
        "Bearer [secret crm_token], again [secret crm_token]"
    );
    assert_eq!(masked("nothing of the kind"), "nothing of the kind");
}

#[test]
fn a_text_without_a_secret_is_not_copied() {
    assert!(matches!(redactor().text("plain %41 \\n text+"), Cow::Borrowed(_)));
    assert!(matches!(Redactor::default().text(SECRET), Cow::Borrowed(_)));
}

#[test]
fn short_values_are_left_alone() {
    assert_eq!(Redactor::new([("pin", "12345")]).text("pin 12345"), "pin 12345");
    assert_eq!(
        Redactor::new([("pin", "123456")]).text("pin 123456"),
        "pin [secret pin]"
    );
}

#[test]
fn basic_credentials_are_found_at_every_alignment() {
    for user in ["", "u", "us", "use", "user"] {
        let header = base64(format!("{user}:{SECRET}!!").as_bytes(), ['+', '/']);
        let text = masked(&format!("Basic {header}"));
        assert!(text.contains("[secret crm_token]"), "{text}");
    }
}

#[test]
fn escapes_of_either_kind_are_seen_through_even_twice_over() {
    let secret = "p@ss \"w\" ü/\n";
    let redactor = Redactor::new([("s", secret)]);
    let once = escaped(secret, |_| false);
    let texts = [
        percent(secret, |_| true, true),
        percent(secret, |position| position % 2 == 0, false),
        percent(secret, |_| false, true).replace(' ', "+"),
        once.clone(),
        escaped(&once, |_| false),
        escaped(secret, |_| true),
        percent(&once, |_| true, true),
        escaped(&percent(secret, |_| true, true), |_| true),
        percent(&percent(secret, |_| true, true), |_| false, true),
    ];
    for text in texts {
        assert_eq!(redactor.text(&format!("<{text}>")), "<[secret s]>", "{text}");
    }
}

#[test]
fn overlapping_secrets_leave_nothing_of_either() {
    let redactor = Redactor::new([("a", "abcdefgh"), ("b", "efghijkl"), ("c", "abcdef")]);
    assert_eq!(redactor.text("<abcdefghijkl>"), "<[secret a]>");
    assert_eq!(
        redactor.text("<abcdefgh><efghijkl><abcdef>"),
        "<[secret a]><[secret b]><[secret c]>"
    );
}

#[test]
fn a_mask_that_would_show_a_secret_is_not_used() {
    let redactor = Redactor::new([("x", "secret"), ("y", "[*** y")]);
    let text = redactor.text("the secret and [*** y");
    assert!(!text.contains("secret") && !text.contains("[*** y"), "{text}");
}

#[test]
fn json_inside_json_is_seen_through_four_times_and_inside_base64_once() {
    let secret = "pass\"word\n+more";
    let redactor = Redactor::new([("crm_token", secret)]);
    let mut text = secret.to_owned();
    for depth in 0..=4 {
        let masked = redactor.text(&text).into_owned();
        assert!(
            masked.contains("[secret crm_token]") && !masked.contains("word"),
            "{depth}: {masked}"
        );
        text = Value::from(text).to_string();
    }
    let body = json!({"k": secret}).to_string();
    for before in ["", "x", "xy"] {
        let encoded = base64(format!("{before}{body}").as_bytes(), ['+', '/']);
        let masked = redactor.text(&encoded).into_owned();
        assert!(masked.contains("[secret crm_token]"), "{encoded}: {masked}");
    }
}

#[test]
fn what_is_left_of_a_secret_where_a_text_was_cut_is_masked_too() {
    let left = &SECRET[..9];
    for text in [
        format!("token {left}"),
        format!("token {left}…"),
        format!("token {left}\u{fffd}…"),
        format!("token {left}\n… 7 bytes omitted …\nend"),
        format!("token {left}\\u00"),
        format!("token {left}%2"),
        format!(
            "token {}",
            base64(format!("x{SECRET}").as_bytes(), ['+', '/']).get(..14).unwrap()
        ),
    ] {
        let masked = masked(&text);
        assert!(masked.contains("[secret crm_token]"), "{text}: {masked}");
        assert!(!masked.contains(&left[..6]), "{text}: {masked}");
    }
    let tail = format!("… 7 bytes omitted …\n{} and so on", &SECRET[7..]);
    assert_eq!(masked(&tail), "… 7 bytes omitted …\n[secret crm_token] and so on");
    for kept in [
        "token hunte",
        "hunter2- and more",
        "token hunte…",
        "… and-more is not the end",
    ] {
        assert_eq!(masked(kept), kept, "less than matters, or not at a cut");
    }
}

#[test]
fn values_are_masked_throughout_with_keys_and_numbers() {
    let redactor = Redactor::new([("token", SECRET), ("account", "1234567")]);
    let mut value = json!({
        "url": format!("https://x/?t={SECRET}"),
        "list": [1_234_567, 12_345_678, 7, true, null, [SECRET]],
        SECRET: {"nested": format!("{{\"t\":\"{SECRET}\"}}")},
    });
    redactor.value(&mut value);
    assert_eq!(
        value,
        json!({
            "url": "https://x/?t=[secret token]",
            "list": ["[secret account]", "[secret account]8", 7, true, null, ["[secret token]"]],
            "[secret token]": {"nested": "{\"t\":\"[secret token]\"}"},
        })
    );
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9+/=_-]{6,40}",
        "[ -~]{6,30}",
        "\\PC{6,20}",
        "[*\\[\\]secrt ]{6,12}",
        "[%+\\\\nu0-9\"]{6,12}",
    ]
    .prop_filter("long enough", |text| text.len() >= VALUE_BYTES_MIN)
}

/// Text that may touch the secret without being able to complete a longer escape with it.
fn beside() -> impl Strategy<Value = String> {
    "[ a-z{}:,<>ü]{0,20}"
}

#[test]
fn a_part_that_ends_like_half_a_character_is_masked_too() {
    let redactor = Redactor::new([("name", "🌀\u{fffd}aაລপ")]);
    for cut in ["🌀\u{fffd}", "🌀\u{fffd}\n", "🌀\u{fffd}…"] {
        assert!(!redactor.text(cut).contains('🌀'), "{cut}");
    }
}

proptest! {
    #[test]
    fn no_form_of_a_secret_is_left(
        secret in secret(), before in beside(), after in beside(), picks: u64, upper: bool,
    ) {
        let redactor = Redactor::new([("name", secret.as_str())]);
        let choose = |position: usize| (picks >> (position % 64)) & 1 == 1;
        let inner = format!("{before}{secret}{after}");
        let forms = [
            secret.clone(),
            percent(&secret, choose, upper),
            escaped(&secret, choose),
            base64(inner.as_bytes(), ['+', '/']),
            base64(inner.as_bytes(), ['-', '_']),
        ];
        for form in forms {
            let text = format!("{before}{form}{after}");
            let masked = redactor.text(&text);
            prop_assert!(!masked.contains(&form), "{} is left in {}", form, masked);
            prop_assert!(matches!(masked, Cow::Owned(_)), "{} was not found in {}", form, text);
            prop_assert!(!masked.contains(&secret), "{} is left in {}", secret, masked);
        }
    }

    #[test]
    fn masking_twice_is_masking_once(secrets in prop::collection::vec(secret(), 1..4), text in "\\PC{0,60}", at: prop::sample::Index) {
        let named: Vec<(&str, &str)> = secrets.iter().map(|secret| ("n", secret.as_str())).collect();
        let redactor = Redactor::new(named);
        let text = format!("{text}{}{text}", at.get(&secrets));
        let once = redactor.text(&text).into_owned();
        prop_assert_eq!(redactor.text(&once), once.as_str());
        for secret in &secrets {
            prop_assert!(!once.contains(secret.as_str()), "{} is left in {}", secret, once);
        }
    }

    #[test]
    fn no_beginning_of_a_secret_is_left_at_the_end(secret in secret(), before in beside(), at: prop::sample::Index) {
        let bounds: Vec<usize> = (VALUE_BYTES_MIN..=secret.len()).filter(|at| secret.is_char_boundary(*at)).collect();
        let left = &secret[..*at.get(&bounds)];
        let redactor = Redactor::new([("name", secret.as_str())]);
        for mark in ["", "…"] {
            let masked = redactor.text(&format!("{before}{left}{mark}")).into_owned();
            prop_assert!(!masked.ends_with(&format!("{left}{mark}")), "{} is left in {}", left, masked);
        }
    }

    #[test]
    fn what_surrounds_a_secret_stays(before in beside(), after in beside()) {
        let text = redactor().text(&format!("{before}{SECRET}{after}")).into_owned();
        prop_assert_eq!(text, format!("{before}[secret crm_token]{after}"));
    }

    #[test]
    fn a_value_is_masked_as_its_text_would_be(secret in secret(), key in beside(), text in beside()) {
        let redactor = Redactor::new([("n", secret.as_str())]);
        let mut value = json!({ (format!("{key}{secret}")): [format!("{text}{secret}"), {"k": secret}] });
        redactor.value(&mut value);
        let mut leaves = Vec::new();
        collect(&value, &mut leaves);
        prop_assert!(leaves.iter().all(|leaf| !leaf.contains(&secret)), "{:?}", leaves);
    }

    #[test]
    fn any_text_and_any_secrets_are_taken(secrets in prop::collection::vec(any::<String>(), 0..4), text: String) {
        let redactor = Redactor::new(secrets.iter().map(|secret| ("n", secret.as_str())));
        let _ = redactor.text(&text);
    }
}

fn collect(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, leaves)),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            leaves.push(key.clone());
            collect(item, leaves);
        }),
        other => leaves.push(other.as_str().map_or_else(|| other.to_string(), str::to_owned)),
    }
}

#[test]
fn the_letter_case_does_not_matter() {
    for text in [
        "no address for `HUNTER2-AND-MORE.example`",
        "Hunter2-And-More",
        "%48UNTER2-and-mor%45",
    ] {
        assert!(masked(text).contains("[secret crm_token]"), "{text}");
    }
    assert_eq!(masked("cut: HUNTER2-AND-M…"), "cut: [secret crm_token]…");
    assert_eq!(masked("…2-AND-MORE: cut"), "…[secret crm_token]: cut");
}
