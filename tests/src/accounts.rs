//! A token server that takes `DocuSign`'s JWT grant: it checks the RS256 signature and every claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls::SignatureScheme;
use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;

use crate::site::{Reply, Site, Visit};

/// The client that the server knows.
pub const INTEGRATION_KEY: &str = "7c2b8d7e-83c3-4940-af5e-cda8a50dd73f";
/// The user it may act for.
pub const USER: &str = "464f7988-86a5-4fa5-9d4c-7d9d6b1f4a11";
/// What every access token begins with.
pub const TOKEN: &str = "eyJ-access-token-";
/// The private key that signs; its public half is registered.
pub const PRIVATE_KEY: &str = include_str!("../../crates/runners/fixtures/jwt/key.pem");
const PUBLIC_KEY: &str = include_str!("../../crates/runners/fixtures/jwt/public.pem");
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// How far the clocks may differ, in seconds.
const LEEWAY: i64 = 60;
const LIFE_MAX: i64 = 3_600;

/// A running token server.
pub struct Accounts {
    site: Site,
    granted: Arc<AtomicUsize>,
}

impl Accounts {
    /// Starts one.
    pub fn start() -> Self {
        let granted: Arc<AtomicUsize> = Arc::default();
        let count = Arc::clone(&granted);
        let clock = System::start(Timestamp::from_millis(0));
        let site = Site::start(move |visit| {
            if let Some(description) = refusal(visit, clock.now()) {
                let refused = json!({ "error": "invalid_grant", "error_description": description });
                return Reply::json(400, &refused);
            }
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            let token = format!("{TOKEN}{number:04}");
            Reply::json(
                200,
                &json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }),
            )
        });
        Self { site, granted }
    }

    /// The server.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// How many tokens it gave.
    pub fn granted(&self) -> usize {
        self.granted.load(Ordering::SeqCst)
    }
}

/// What is wrong with a request for a token, in the vendor's words.
fn refusal(visit: &Visit, now: Timestamp) -> Option<&'static str> {
    if visit.method != "POST" || visit.path != "/oauth/token" {
        return Some("unsupported_endpoint");
    }
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&visit.body).into_owned().collect();
    let [(grant, kind), (name, assertion)] = form.as_slice() else {
        return Some("unsupported_grant_type");
    };
    if (grant.as_str(), kind.as_str(), name.as_str()) != ("grant_type", GRANT_TYPE, "assertion") {
        return Some("unsupported_grant_type");
    }
    let Some(claims) = claims(assertion) else {
        return Some("no_valid_keys_or_signatures");
    };
    let seconds = |name: &str| claims[name].as_i64().unwrap_or_default();
    let (issued, expires, now) = (seconds("iat"), seconds("exp"), now.as_millis() / 1_000);
    if claims["iss"] != INTEGRATION_KEY {
        Some("issuer_not_found")
    } else if claims["sub"] != USER {
        Some("user_not_found")
    } else if claims["aud"].as_str() != visit.header("host") {
        Some("invalid_audience")
    } else if claims["scope"] != "signature impersonation" {
        Some("invalid_scope")
    } else if (issued - now).abs() > LEEWAY || expires <= now || expires - issued > LIFE_MAX {
        Some("expired")
    } else {
        None
    }
}

/// The claims of an assertion whose signature is right.
fn claims(assertion: &str) -> Option<Value> {
    let (signed, signature) = assertion.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
    let header: Value = serde_json::from_slice(&decode(header)?).ok()?;
    if header["alg"] != "RS256" {
        return None;
    }
    let key: String = PUBLIC_KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let (key, signature) = (STANDARD.decode(key).ok()?, decode(signature)?);
    let known = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    let mut known = known.mapping.iter();
    let (_, verifiers) = known.find(|(scheme, _)| *scheme == SignatureScheme::RSA_PKCS1_SHA256)?;
    let mut verifiers = verifiers.iter();
    verifiers.find(|verifier| verifier.verify_signature(&key, signed.as_bytes(), &signature).is_ok())?;
    serde_json::from_slice(&decode(claims)?).ok()
}
