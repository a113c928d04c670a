//! Single values: JSON, durations, instants, ids, signatures, addresses, scopes, cursors.

use sprag_core::document::json;
use sprag_core::document::source::Limits;
use sprag_core::ids::ExecutionId;
use sprag_core::integrity::signature::{Call, Secret, verify_docusign};
use sprag_core::machine::SimInput;
use sprag_core::time::Timestamp;
use sprag_core::time::duration::Millis;
use sprag_engine::queue::control::Scope;
use sprag_engine::requests::idempotency::Key;
use sprag_runners::http::outbound::{self, Guard};
use sprag_runners::{http, secrets};
use sprag_store::postgres::Address;
use sprag_supervisor::store::Cursor;

use crate::run::{Verdict, fuzz};

fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

#[test]
fn json_documents() {
    let corpus = [
        r#"{"a":[1,-0.5e3,true,null,"\u00e9\ud83d\ude00"],"b":{"":{}}}"#,
        "18446744073709551615",
    ];
    fuzz("json", &corpus, |input| {
        let limits = Limits::body(4_096);
        let Ok(value) = json::parse_bounded(input, &limits) else {
            return Verdict::Refused;
        };
        let written = serde_json::to_vec(&value).unwrap();
        let again = json::parse_bounded(&written, &Limits::body(64 * 1024)).unwrap();
        assert_eq!(again, value);
        Verdict::Accepted
    });
}

#[test]
fn durations() {
    fuzz("duration", &["5m", "1h30m", "250", "1.5s", "P1DT2H", "90s"], |input| {
        let Ok(duration) = Millis::parse(&text(input)) else {
            return Verdict::Refused;
        };
        assert_eq!(Millis::parse(&duration.to_string()), Ok(duration));
        Verdict::Accepted
    });
}

#[test]
fn instants() {
    fuzz(
        "instant",
        &["2026-01-01T00:00:00.000Z", "2026-06-30T23:59:59+02:00"],
        |input| {
            let Ok(instant) = text(input).parse::<Timestamp>() else {
                return Verdict::Refused;
            };
            assert_eq!(instant.to_string().parse::<Timestamp>().ok(), Some(instant));
            Verdict::Accepted
        },
    );
}

#[test]
fn ids() {
    fuzz(
        "id",
        &["exe_00000000000000000000000000", "exe_7zzzzzzzzzzzzzzzzzzzzzzzzz"],
        |input| {
            let text = text(input);
            let Ok(id) = text.parse::<ExecutionId>() else {
                return Verdict::Refused;
            };
            assert_eq!(id.to_string(), text);
            Verdict::Accepted
        },
    );
}

#[test]
fn signatures() {
    let corpus = [
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ];
    fuzz("signature", &corpus, |input| {
        let text = text(input);
        let call = Call {
            id: &text,
            timestamp: &text,
            signatures: &text,
            body: input,
        };
        let Ok(secret) = Secret::parse(&text) else {
            return Verdict::Refused;
        };
        let secrets = [secret];
        assert!(call.verify(&secrets, 0).is_err(), "nobody signed it");
        assert!(verify_docusign(input, &[&text], &secrets).is_err(), "nobody signed it");
        Verdict::Accepted
    });
}

#[test]
fn addresses() {
    let corpus = [
        "http://example.com/a?b=c",
        "https://[::ffff:127.0.0.1]:80/",
        "http://0x7f.1/",
        "postgres://user:password@localhost:5432/sprag?sslmode=require",
    ];
    let guard = Guard::new(&outbound::Options::default()).unwrap();
    fuzz("address", &corpus, move |input| {
        let text = text(input);
        let _ = text.parse::<Address>();
        let Ok(url) = http::url(&text) else {
            return Verdict::Refused;
        };
        let _ = guard.check_url(&url);
        Verdict::Accepted
    });
}

#[test]
fn words() {
    let corpus = [
        "all",
        "machine:order",
        "actionId:order/charge",
        "1f.2a",
        "GO={\"a\":1}",
        r#"{"outcome":"charge","success":true}"#,
        "https://x/{{secrets.k}}",
        "an-idempotency-key",
    ];
    fuzz("word", &corpus, |input| {
        let text = text(input);
        let accepted = [
            text.parse::<Scope>().is_ok(),
            text.parse::<Cursor>().is_ok(),
            SimInput::from_argument(&text).is_ok(),
            SimInput::from_line(&text).is_ok(),
            secrets::Text::parse(&text).is_ok(),
            Key::new("somebody", &text).is_ok(),
        ];
        if accepted.contains(&true) {
            Verdict::Accepted
        } else {
            Verdict::Refused
        }
    });
}
