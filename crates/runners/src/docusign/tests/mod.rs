//! `docusign_envelope` against servers that answer as the vendor would, and as a network does.

mod config;
mod sending;
mod unknown;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls::SignatureScheme;
use serde_json::{Value, json};

use super::{DocusignEnvelope, DocusignOptions};
use crate::secrets::{Env, Secrets};
use crate::testing::{Act, Case, Received, Server, client, reply};

pub(super) const JSON: &str = "content-type: application/json\r\n";
pub(super) const ENVELOPE: &str = "63e05468-aaaa-bbbb-cccc-8b48f7dbeb80";
pub(super) const TOKEN: &str = "an-access-token-that-nobody-may-see";
pub(super) const KEY: &str = "act_0000000000000000000000000.1";
const PRIVATE: &str = include_str!("../../../fixtures/jwt/key.pem");
const PUBLIC: &str = include_str!("../../../fixtures/jwt/public.pem");

/// The vendor's two servers.
pub(super) struct Vendor {
    pub(super) api: Server,
    pub(super) auth: Server,
}

impl Vendor {
    /// A vendor that gives tokens and does with envelopes as it is told.
    pub(super) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        Self {
            api: Server::start(acts).await,
            auth: Server::start([token(TOKEN)]).await,
        }
    }

    pub(super) fn options(&self) -> DocusignOptions {
        DocusignOptions {
            account: "12345".to_owned(),
            integration_key: "integration-key".to_owned(),
            user: "user-id".to_owned(),
            private_key: "{{secrets.docusign_key}}".to_owned(),
            url: Some(self.api.url("")),
            auth_url: Some(self.auth.url("")),
        }
    }

    pub(super) fn runner(&self) -> DocusignEnvelope {
        DocusignEnvelope::new(Some(&self.options()), secrets(PRIVATE), client()).unwrap()
    }
}

/// Secrets with this private key.
pub(super) fn secrets(key: &'static str) -> Arc<Secrets> {
    let env = Env::from_fn(move |name| (name == "SPRAG_SECRET_DOCUSIGN_KEY").then(|| key.into()));
    Arc::new(Secrets::new(vec![Box::new(env)]))
}

pub(super) fn token(text: &str) -> Act {
    let body = json!({"access_token": text, "token_type": "Bearer", "expires_in": 3600});
    reply(200, JSON, &body.to_string())
}

/// The vendor's answer to an envelope that it took.
pub(super) fn taken() -> Act {
    let body = json!({"envelopeId": ENVELOPE, "status": "sent", "statusDateTime": "2026-05-29T17:11:56.18Z",
        "uri": format!("/envelopes/{ENVELOPE}")});
    reply(201, JSON, &body.to_string())
}

/// The vendor's answer to a question for envelopes.
pub(super) fn list(entries: &Value) -> Act {
    reply(
        200,
        JSON,
        &json!({"resultSetSize": "1", "envelopes": entries}).to_string(),
    )
}

/// The configuration of the first design's `send_contract_for_signature`, rendered.
pub(super) fn contract() -> Value {
    json!({
        "templateId": "template-7",
        "recipients": [{"email": "sam@example.com", "name": "Sam Signer", "role": "signer"}],
        "templateRoles": [{"roleName": "Tenant", "name": "Tom Tenant", "email": "tom@example.com"}],
        "customFields": {"executionId": "exe_1", "propertyId": "prop-9"},
    })
}

pub(super) fn case(number: u32) -> Case {
    Case {
        number,
        ..Case::new("docusign_envelope", contract())
    }
}

/// The claims of the assertion in a token request, once its signature is found to be right.
pub(super) fn verified(request: &Received) -> Value {
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&request.body).into_owned().collect();
    assert_eq!(form[0].1, "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let assertion = &form[1].1;
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let header: Value = serde_json::from_slice(&decoded(header)).unwrap();
    assert_eq!(header, json!({"alg": "RS256", "typ": "JWT"}));
    let key: String = PUBLIC.lines().filter(|line| !line.starts_with('-')).collect();
    let key = STANDARD.decode(key).unwrap();
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    let (_, verifiers) = algorithms
        .mapping
        .iter()
        .find(|(scheme, _)| *scheme == SignatureScheme::RSA_PKCS1_SHA256)
        .unwrap();
    let signature = decoded(signature);
    let is_right = |verify: &&&dyn rustls::pki_types::SignatureVerificationAlgorithm| {
        verify.verify_signature(&key, signed.as_bytes(), &signature).is_ok()
    };
    assert!(
        verifiers.iter().any(|verify| is_right(&verify)),
        "the signature is wrong"
    );
    serde_json::from_slice(&decoded(claims)).unwrap()
}

pub(super) fn body_of(request: &Received) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// Nothing of the credentials is in the text.
pub(super) fn assert_masked(text: &str) {
    let key_line = PRIVATE.lines().nth(3).unwrap();
    for secret in [TOKEN, key_line] {
        assert!(!text.contains(secret), "{text}");
    }
}
