//! Tokens of a provider, without the provider: every way in which one can be wrong.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Map, Value, json};
use sprag_core::access::Role;
use sprag_core::time::Timestamp;

use super::jwt::{Jwt, Keys, Signature};
use super::{Fetched, KEYS_MICROS, Oidc, Options, claims};
use crate::problem::{Code, Problem};

const NOW_SECONDS: i64 = 1_800_000_000;

fn options() -> Options {
    Options {
        issuer: "https://login.example.com".to_owned(),
        audience: "sprag".to_owned(),
        role_claim: "roles".to_owned(),
        principal_claim: "sub".to_owned(),
        roles: Vec::new(),
        ca: None,
    }
}

fn good() -> Value {
    json!({
        "iss": "https://login.example.com", "aud": ["other", "sprag"], "sub": "alex", "roles": ["operator", "stranger"],
        "exp": NOW_SECONDS + 60, "nbf": NOW_SECONDS,
    })
}

/// The same with other members; a null takes one away.
fn with(changes: &Value) -> Map<String, Value> {
    let mut claims = good().as_object().unwrap().clone();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.remove(name);
        } else {
            claims.insert(name.clone(), value.clone());
        }
    }
    claims
}

fn now() -> Timestamp {
    Timestamp::from_millis(NOW_SECONDS * 1_000)
}

fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

/// Keys of two kinds, as a provider has them.
struct Signer {
    curve: EcdsaKeyPair,
    edwards: Ed25519KeyPair,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let curve = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let edwards = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            curve: EcdsaKeyPair::from_pkcs8(algorithm, curve.as_ref(), &random).unwrap(),
            edwards: Ed25519KeyPair::from_pkcs8(edwards.as_ref()).unwrap(),
        }
    }

    fn published(&self) -> Keys {
        let point = &self.curve.public_key().as_ref()[1..];
        let (x, y) = point.split_at(32);
        let document = json!({"keys": [
            {"kty": "oct", "kid": "c", "k": URL_SAFE_NO_PAD.encode(point)},
            {"kty": "EC", "crv": "P-256", "kid": "enc", "use": "enc", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)},
            {"kty": "EC", "crv": "P-256", "kid": "c", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)},
            {"kty": "OKP", "crv": "Ed25519", "kid": "e", "alg": "EdDSA",
             "x": URL_SAFE_NO_PAD.encode(self.edwards.public_key().as_ref())},
        ]});
        Keys::parse(&document).unwrap()
    }

    /// A token with this header, signed by the key that its algorithm is for.
    fn token(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        let signature = if header["alg"] == "ES256" {
            let signature = self.curve.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
            URL_SAFE_NO_PAD.encode(signature.as_ref())
        } else {
            URL_SAFE_NO_PAD.encode(self.edwards.sign(signed.as_bytes()).as_ref())
        };
        format!("{signed}.{signature}")
    }
}

#[test]
fn a_signature_counts_only_if_the_named_key_made_it_with_an_algorithm_of_its_kind() {
    let signer = Signer::new();
    let keys = signer.published();
    let verdict = |header: &Value| keys.verify(&Jwt::parse(&signer.token(header, &good())).unwrap());
    for (header, expected) in [
        (json!({"alg": "ES256", "kid": "c"}), Signature::Right),
        (json!({"alg": "EdDSA", "kid": "e"}), Signature::Right),
        (json!({"alg": "ES256"}), Signature::Right),
        (json!({"alg": "ES256", "kid": "e"}), Signature::Wrong),
        (json!({"alg": "EdDSA", "kid": "c"}), Signature::Wrong),
        (json!({"alg": "Ed25519", "kid": "e"}), Signature::Wrong),
        (json!({"alg": "RS256", "kid": "c"}), Signature::Wrong),
        (json!({"alg": "ES256", "kid": "new"}), Signature::UnknownKey),
        (json!({"alg": "ES256", "kid": "enc"}), Signature::UnknownKey),
    ] {
        assert_eq!(verdict(&header), expected, "{header}");
    }
    let token = signer.token(&json!({"alg": "ES256", "kid": "c"}), &good());
    let (_, signature) = token.rsplit_once('.').unwrap();
    let mut claims = good();
    claims["roles"] = json!(["admin"]);
    let tampered = format!("{}.{}.{signature}", token.split('.').next().unwrap(), encoded(&claims));
    assert_eq!(keys.verify(&Jwt::parse(&tampered).unwrap()), Signature::Wrong);
    assert_eq!(
        Signer::new().published().verify(&Jwt::parse(&token).unwrap()),
        Signature::Wrong,
        "the same name, another key"
    );
}

#[test]
fn what_needs_no_key_or_a_shared_secret_is_refused_before_any_key_is_looked_at() {
    for algorithm in ["none", "None", "HS256", "HS512", "", "RS1"] {
        let text = format!("{}.{}.", encoded(&json!({"alg": algorithm})), encoded(&good()));
        let refused = Jwt::parse(&text).err().unwrap();
        assert!(refused.contains(&format!("algorithm `{algorithm}`")), "{refused}");
    }
    let critical = json!({"alg": "ES256", "crit": ["exp"]});
    assert!(
        Jwt::parse(&Signer::new().token(&critical, &good()))
            .err()
            .unwrap()
            .contains("crit")
    );
    for text in ["", "a", "a.b", "a.b.c", "..", "e30.e30.", "🦀.e30.e30"] {
        assert!(Jwt::parse(text).err().unwrap().contains("neither"), "{text}");
    }
}

#[test]
fn claims_must_be_of_the_issuer_for_the_audience_and_valid_now() {
    let refused = |changes: Value| claims::caller(&with(&changes), &options(), now()).err();
    for (changes, says) in [
        (
            json!({"iss": "https://evil.example"}),
            "issued by `https://evil.example`",
        ),
        (json!({"iss": "https://login.example.com/"}), "issued by"),
        (json!({"iss": null}), "no claim `iss`"),
        (json!({"aud": "other"}), "audience `sprag`"),
        (json!({"aud": {"sprag": true}}), "audience `sprag`"),
        (json!({"aud": null}), "audience `sprag`"),
        (json!({"exp": NOW_SECONDS - 31}), "expired"),
        (json!({"exp": null}), "no claim `exp`"),
        (json!({"exp": "never"}), "no claim `exp`"),
        (json!({"nbf": NOW_SECONDS + 31}), "not valid yet"),
        (json!({"nbf": "soon"}), "not valid yet"),
        (json!({"sub": null}), "no claim `sub`"),
        (json!({"sub": "local"}), "cannot be a principal"),
        (json!({"sub": "node"}), "cannot be a principal"),
        (json!({"sub": "a\nb"}), "cannot be a principal"),
        (json!({"sub": "x".repeat(129)}), "cannot be a principal"),
    ] {
        let refused = refused(changes.clone()).unwrap_or_else(|| panic!("{changes} was accepted"));
        assert!(refused.contains(says), "{changes}: {refused}");
    }
    for changes in [
        json!({}),
        json!({"aud": "sprag", "nbf": null}),
        json!({"exp": NOW_SECONDS - 29}),
        json!({"nbf": NOW_SECONDS + 29}),
        json!({"exp": 1_800_000_060.5}),
    ] {
        assert_eq!(refused(changes.clone()), None, "{changes}");
    }
}

#[test]
fn roles_come_from_the_claim_and_from_nothing_else() {
    let roles = |changes: Value, options: &Options| claims::caller(&with(&changes), options, now()).unwrap().roles;
    let plain = options();
    assert_eq!(roles(json!({}), &plain), [Role::Operator]);
    assert_eq!(roles(json!({"roles": null}), &plain), []);
    assert_eq!(roles(json!({"roles": {"admin": true}}), &plain), []);
    assert_eq!(
        roles(json!({"roles": "viewer approver viewer"}), &plain),
        [Role::Viewer, Role::Approver]
    );
    let nested = Options {
        role_claim: "realm_access.roles".to_owned(),
        ..options()
    };
    assert_eq!(
        roles(json!({"realm_access": {"roles": ["author"]}}), &nested),
        [Role::Author]
    );
    assert_eq!(
        roles(
            json!({"realm_access.roles": ["viewer"], "realm_access": {"roles": ["admin"]}}),
            &nested
        ),
        [Role::Viewer]
    );
    let mapped = Options {
        roles: vec![("ops".to_owned(), Role::Operator), ("ops".to_owned(), Role::Author)],
        ..options()
    };
    assert_eq!(
        roles(json!({"roles": ["ops", "admin"]}), &mapped),
        [Role::Operator, Role::Author],
        "a word is no role then"
    );
}

#[tokio::test]
async fn known_keys_count_for_a_day_while_the_provider_cannot_be_reached() {
    // Nobody listens on port 1 of loopback.
    let issuer = "http://127.0.0.1:1".to_owned();
    let oidc = Oidc::new(Options {
        issuer: issuer.clone(),
        ..options()
    })
    .unwrap();
    let signer = Signer::new();
    let mut claims = good();
    claims["iss"] = json!(issuer);
    let token = signer.token(&json!({"alg": "ES256", "kid": "c"}), &claims);
    let asked = async |micros| oidc.caller(&token, now(), micros).await;
    let is = |refused: Result<_, Problem>, code| refused.err().is_some_and(|problem: Problem| problem.is(code));
    assert!(is(asked(0).await, Code::IssuerUnreachable), "nothing is known yet");
    *oidc.fetched.write().unwrap() = Some(Fetched {
        keys: signer.published().into(),
        at_micros: 10,
    });
    assert_eq!(&*asked(20).await.unwrap().principal, "alex");
    assert!(asked(KEYS_MICROS).await.is_ok());
    assert!(is(asked(KEYS_MICROS + 10).await, Code::IssuerUnreachable));
    let unknown = signer.token(&json!({"alg": "ES256", "kid": "new"}), &claims);
    assert!(is(oidc.caller(&unknown, now(), 30).await, Code::TokenInvalid));
}
