//! Callers with tokens of a real OpenID provider, and everything that must not count as one.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sprag_tests::{OAuth, Product, binary, store, wait};

use super::GUARD;

const AUDIENCE: &str = "sprag.example";

/// A server that accepts tokens of this provider.
fn up(folder: &Path, provider: &OAuth) -> Product {
    let mut command = Command::new(binary("sprag"));
    command
        .args(["up", "--auth", "oidc", "--listen", "127.0.0.1:0"])
        .args(["--store", &store::url(&folder.join("sprag.db"))])
        .env("SPRAG_AUTH_OIDC_ISSUER", provider.url(""))
        .env("SPRAG_AUTH_OIDC_AUDIENCE", AUDIENCE)
        .env("SPRAG_AUTH_OIDC_ROLE_CLAIM", "groups")
        .env(
            "SPRAG_AUTH_OIDC_ROLES",
            "sprag-operators=operator, sprag-readers=viewer",
        )
        .current_dir(folder);
    Product::start_by(command).unwrap()
}

/// The status, code and detail of an answer.
type Said = (u16, String, String);

fn said(answer: &sprag_tests::Answer) -> Said {
    let text = |name: &str| answer.body[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("code"), text("detail"))
}

fn read(product: &Product, token: &str) -> Said {
    said(&product.client().showing(token).get("/v1/executions").unwrap())
}

/// The claims of a token, for a forgery.
fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let part = token.split('.').nth(1).unwrap();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn with(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[name] = value;
    claims
}

#[test]
fn tokens_of_the_provider_bring_the_roles_that_the_configuration_gives_their_claims() {
    let Some(provider) = OAuth::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &provider);
    let kill = json!({"scope": "machine", "name": "x", "allowUnknown": true});
    for algorithm in ["RS256", "ES256", "EdDSA"] {
        let alex = provider.signed_in("alex", AUDIENCE, algorithm);
        let me = product.client().showing(&alex).get("/v1/me").unwrap();
        assert_eq!(
            (me.status, &me.body["principal"], &me.body["roles"]),
            (200, &json!("alex"), &json!(["operator"])),
            "{algorithm}: {me:?}"
        );
    }
    let robin = provider.signed_in("robin", AUDIENCE, "ES256");
    assert_eq!(read(&product, &robin).0, 200);
    let refused = product
        .client()
        .showing(&robin)
        .post("/v1/kill-switches", &kill)
        .unwrap();
    let (status, code, detail) = said(&refused);
    assert_eq!((status, code.as_str()), (403, "role-missing"));
    assert!(
        detail.contains("`robin` needs the role `operator`") && detail.contains("claim `groups`"),
        "{detail}"
    );
    let (status, code, detail) = read(&product, &provider.signed_in("kim", AUDIENCE, "RS256"));
    assert_eq!((status, code.as_str()), (403, "role-missing"), "no claim, no role");
    assert!(detail.contains("the role `viewer`"), "{detail}");
    // Tokens of the server itself count as before.
    let admin = product.first_token();
    assert_eq!(product.client().showing(&admin).get("/v1/tokens").unwrap().status, 200);
    let alex = provider.signed_in("alex", AUDIENCE, "RS256");
    let refused = product.client().showing(&alex).get("/v1/tokens").unwrap();
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[test]
fn what_the_provider_did_not_sign_for_this_server_and_for_now_is_refused() {
    let (Some(provider), Some(other)) = (OAuth::start(), OAuth::start()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &provider);
    let good = provider.signed_in("alex", AUDIENCE, "RS256");
    assert_eq!(read(&product, &good).0, 200);
    let claims = claims(&good);
    let issued = claims["iat"].as_i64().unwrap();
    let signed = |claims: &Value| provider.sign(&json!({"alg": "RS256"}), claims);
    assert_eq!(
        read(&product, &signed(&claims)).0,
        200,
        "the rig signs as the provider does"
    );
    let parts: Vec<&str> = good.split('.').collect();
    let forged = provider.sign(
        &json!({"alg": "none"}),
        &with(&claims, "groups", json!(["sprag-operators", "sprag-readers"])),
    );
    let forged = forged.split('.').nth(1).unwrap();
    for (token, says) in [
        (
            provider.signed_in("alex", "other.example", "RS256"),
            "not for the audience",
        ),
        (other.signed_in("alex", AUDIENCE, "RS256"), "was issued by"),
        (
            other.sign(&json!({"alg": "RS256"}), &claims),
            "a key that its issuer does not publish",
        ),
        (signed(&with(&claims, "exp", json!(issued - 3_600))), "has expired"),
        (signed(&with(&claims, "nbf", json!(issued + 3_600))), "not valid yet"),
        (signed(&with(&claims, "sub", json!("local"))), "cannot be a principal"),
        (
            format!("{}.{forged}.{}", parts[0], parts[2]),
            "the signature of the token is wrong",
        ),
        (
            format!("{}.{}.", parts[0], parts[1]),
            "the signature of the token is wrong",
        ),
        (provider.sign(&json!({"alg": "none"}), &claims), "the algorithm `none`"),
        (
            provider.sign(&json!({"alg": "HS256"}), &claims),
            "the algorithm `HS256`",
        ),
    ] {
        let (status, code, detail) = read(&product, &token);
        assert_eq!((status, code.as_str()), (401, "token-invalid"), "{says}: {detail}");
        assert!(detail.contains(says), "{says}: {detail}");
    }
    assert_eq!(read(&product, &good).0, 200);
}

#[test]
fn new_keys_of_the_provider_count_soon_and_known_ones_count_while_it_is_away() {
    let Some(provider) = OAuth::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &provider);
    let old = provider.signed_in("alex", AUDIENCE, "ES256");
    assert_eq!(read(&product, &old).0, 200);
    provider.ask("/rig/rotate");
    let new = provider.signed_in("alex", AUDIENCE, "ES256");
    wait::until("the new keys", GUARD, || (read(&product, &new).0 == 200).then_some(()));
    // Bad tokens of the wait before may have been many: then this one is told to wait first.
    wait::until("the old keys to count no longer", GUARD, || {
        (read(&product, &old).0 == 401).then_some(())
    });
    drop(provider);
    assert_eq!(read(&product, &new).0, 200);
}

#[test]
fn a_provider_that_never_answered_is_said_to_be_away_and_tokens_of_the_server_count() {
    let Some(provider) = OAuth::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let token = provider.signed_in("alex", AUDIENCE, "ES256");
    let address = provider.address();
    let issuer = provider.url("");
    drop(provider);
    let mut command = Command::new(binary("sprag"));
    command
        .args(["up", "--auth", "oidc", "--listen", "127.0.0.1:0"])
        .args(["--store", &store::url(&folder.path().join("sprag.db"))])
        .env("SPRAG_AUTH_OIDC_ISSUER", &issuer)
        .env("SPRAG_AUTH_OIDC_AUDIENCE", AUDIENCE)
        .current_dir(folder.path());
    let product = Product::start_by(command).unwrap();
    let (status, code, detail) = read(&product, &token);
    assert_eq!((status, code.as_str()), (503, "issuer-unreachable"), "{detail}");
    assert!(detail.contains(&issuer), "{detail}");
    assert_eq!(read(&product, &product.first_token()).0, 200);
    assert!(
        product.log().contains("keys of the OpenID provider not fetched"),
        "{}",
        product.log()
    );
    let _back = OAuth::start_at(address.port()).unwrap();
    wait::until("the provider to be asked again", GUARD, || {
        // Its keys are new, so the token no longer counts: that is known only from the provider.
        (read(&product, &token).1 == "token-invalid").then_some(())
    });
}
