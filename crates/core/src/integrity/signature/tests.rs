//! Published examples, and everything that must not be believed.

use super::*;

const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SECONDS: i64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
/// The example of the Standard Webhooks specification.
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn secret() -> Secret {
    Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").ok().unwrap()
}

fn call() -> Call<'static> {
    Call {
        id: ID,
        timestamp: "1614265330",
        signatures: SIGNATURE,
        body: BODY,
    }
}

#[test]
fn the_published_example_is_signed_and_believed() {
    let message = SignedMessage {
        id: ID,
        seconds: SECONDS,
        body: BODY,
    };
    let [_, _, (_, signature)] = message.headers(&[secret()]);
    assert_eq!(signature, SIGNATURE);
    assert_eq!(call().verify(&[secret()], SECONDS), Ok(()));
}

#[test]
fn a_call_is_believed_with_any_secret_and_any_of_its_signatures() {
    let other = Secret::parse("whsec_AQIDBA==").ok().unwrap();
    assert_eq!(call().verify(&[other.clone(), secret()], SECONDS), Ok(()));
    let signatures = format!("v1a,xx v1,AAAA {SIGNATURE} v2,zzz");
    let several = Call {
        signatures: &signatures,
        ..call()
    };
    assert_eq!(several.verify(&[secret()], SECONDS), Ok(()));
    assert_eq!(call().verify(&[other], SECONDS), Err(Refused::Mismatch));
    assert_eq!(call().verify(&[], SECONDS), Err(Refused::Mismatch));
}

#[test]
fn whatever_was_signed_cannot_be_changed() {
    let changed = [
        Call {
            id: "msg_other",
            ..call()
        },
        Call {
            timestamp: "1614265331",
            ..call()
        },
        Call {
            body: br#"{"test": 2432232315}"#,
            ..call()
        },
        Call { body: b"", ..call() },
        Call {
            signatures: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OA=",
            ..call()
        },
    ];
    for call in changed {
        assert_eq!(call.verify(&[secret()], SECONDS), Err(Refused::Mismatch), "{call:?}");
    }
}

#[test]
fn a_replay_is_refused_after_five_minutes_and_so_is_the_future() {
    for (now, expected) in [
        (SECONDS + 300, Ok(())),
        (SECONDS - 300, Ok(())),
        (SECONDS + 301, Err(Refused::Stale)),
        (SECONDS - 301, Err(Refused::Stale)),
        (i64::MAX, Err(Refused::Stale)),
        (i64::MIN, Err(Refused::Stale)),
    ] {
        assert_eq!(call().verify(&[secret()], now), expected, "{now}");
    }
}

#[test]
fn what_is_no_signature_or_time_is_named() {
    for signatures in ["", "v1", "v1,", "v2,AAAA", "v1,not base64!", "AAAA"] {
        let call = Call { signatures, ..call() };
        let refused = call.verify(&[secret()], SECONDS);
        assert!(
            matches!(refused, Err(Refused::Unsigned | Refused::Mismatch)),
            "{signatures}"
        );
    }
    for timestamp in ["", "now", "1614265330.5", "99999999999999999999"] {
        let call = Call { timestamp, ..call() };
        assert_eq!(call.verify(&[secret()], SECONDS), Err(Refused::Time), "{timestamp}");
    }
    let nameless = Call { id: "", ..call() };
    assert_eq!(nameless.verify(&[secret()], SECONDS), Err(Refused::Unsigned));
}

#[test]
fn docusign_is_believed_with_any_of_its_keys() {
    // HMAC-SHA256 with the key `key` over the text that RFC 4231's readers know by heart, from OpenSSL.
    let body = b"The quick brown fox jumps over the lazy dog";
    let right = "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg=";
    let key = Secret::verbatim("key").ok().unwrap();
    let other = Secret::verbatim("yek").ok().unwrap();
    assert_eq!(
        verify_docusign(body, &["AAAA", right], &[other.clone(), key.clone()]),
        Ok(())
    );
    assert_eq!(verify_docusign(body, &[right], &[other]), Err(Refused::Mismatch));
    assert_eq!(
        verify_docusign(b"", &[right], std::slice::from_ref(&key)),
        Err(Refused::Mismatch)
    );
    assert_eq!(
        verify_docusign(body, &[], std::slice::from_ref(&key)),
        Err(Refused::Unsigned)
    );
    assert_eq!(verify_docusign(body, &["?"], &[key]), Err(Refused::Unsigned));
}

#[test]
fn an_empty_secret_is_no_secret() {
    assert_eq!(Secret::verbatim("").err(), Some(SecretError::Length(0)));
    assert_eq!(Secret::parse("").err(), Some(SecretError::Length(0)));
}

#[test]
fn secrets_are_base64_with_or_without_prefix_and_padding() {
    for text in ["whsec_AQIDBA==", "AQIDBA==", "whsec_AQIDBA"] {
        assert!(Secret::parse(text).is_ok(), "{text}");
    }
    assert_eq!(Secret::parse("whsec_not base64!").err(), Some(SecretError::Base64));
    assert_eq!(Secret::parse("whsec_").err(), Some(SecretError::Length(0)));
    assert_eq!(Secret::parse("whsk_AQIDBA==").err(), Some(SecretError::Asymmetric));
}
