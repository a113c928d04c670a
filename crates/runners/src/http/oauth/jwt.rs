//! The JWT bearer grant (RFC 7523): a key signs that a client acts for a user.
//!
//! The key stays here: what leaves is a signed text that is good for one server and at most an hour, and is masked like
//! the key itself.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::Failure;
use sprag_core::time::Timestamp;
use url::Url;
use url::form_urlencoded::Serializer;

use super::grant::Question;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const HEADER: &str = r#"{"alg":"RS256","typ":"JWT"}"#;
/// How long an assertion is good: no server takes one that lives longer.
const LIFE_SECONDS: i64 = 3_600;

/// Who asks, for whom, and with which key. It has no `Debug`, so it cannot end in a log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JwtBearer {
    pub(crate) endpoint: Url,
    /// The client: `iss`.
    pub(crate) issuer: String,
    /// The user it acts for: `sub`.
    pub(crate) subject: String,
    /// The server that is asked: `aud`.
    pub(crate) audience: String,
    pub(crate) scope: String,
    /// The private key as PEM.
    pub(crate) key: String,
}

/// Why a text is no key to sign with. The text itself is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    /// There is no key in it.
    #[error("the text is not a private key in PEM")]
    Pem,
    /// A key of another kind, or too short.
    #[error("the key is not an RSA key of at least 2048 bits")]
    Rsa,
    /// The key does not sign.
    #[error("the key does not sign")]
    Sign,
}

/// An RSA key that signs.
pub(crate) struct SigningKey(Arc<dyn rustls::sign::SigningKey>);

impl SigningKey {
    /// Reads a key in PEM, PKCS#1 or PKCS#8. Line breaks may be written `\n`, since many environments hold one line.
    pub(crate) fn parse(pem: &str) -> Result<Self, KeyError> {
        let pem = pem.replace("\\n", "\n");
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| KeyError::Pem)?;
        let key = any_supported_type(&der).map_err(|_| KeyError::Rsa)?;
        match key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]) {
            Some(_) => Ok(Self(key)),
            None => Err(KeyError::Rsa),
        }
    }

    fn sign(&self, text: &str) -> Result<Vec<u8>, KeyError> {
        let signer = self.0.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]);
        let signer = signer.ok_or(KeyError::Rsa)?;
        signer.sign(text.as_bytes()).map_err(|_| KeyError::Sign)
    }
}

impl JwtBearer {
    pub(super) fn question(&self, now: Timestamp) -> Result<Question, Box<Failure>> {
        let assertion = self.assertion(now).map_err(|error| {
            let error = ActionError::new(kind::INVALID_CONFIGURATION, error.to_string())
                .with_fix("give the RSA private key in PEM, as the vendor shows it once when the key is made");
            Box::new(Failure::new(error))
        })?;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", GRANT_TYPE)
            .append_pair("assertion", &assertion);
        Ok(Question {
            form: form.finish(),
            authorization: None,
            secrets: vec![("privateKey", self.key.clone()), ("assertion", assertion)],
        })
    }

    fn assertion(&self, now: Timestamp) -> Result<String, KeyError> {
        let issued = now.as_millis().div_euclid(1_000);
        let claims = json!({
            "iss": self.issuer,
            "sub": self.subject,
            "aud": self.audience,
            "iat": issued,
            "exp": issued + LIFE_SECONDS,
            "scope": self.scope,
        });
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", encoded(HEADER), encoded(&claims.to_string()));
        let signature = SigningKey::parse(&self.key)?.sign(&signed)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// What would fix a refusal in OAuth2's words.
    pub(super) fn fix(word: &str) -> &'static str {
        match word {
            "consent_required" => "let the user allow the client once",
            "invalid_scope" | "invalid_target" => "check the scope and the audience",
            "invalid_request" | "unsupported_grant_type" => "check the address of the token endpoint",
            _ => "check the client, the user, the key, and the clock of this machine",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grant::Grant;
    use super::*;
    use crate::testing::{NOW, Server, client, reply};

    const PRIVATE: &str = include_str!("../../../fixtures/jwt/key.pem");

    #[tokio::test]
    async fn what_a_careless_token_server_sends_back_is_masked_also_where_it_is_cut() {
        let mut jwt = JwtBearer {
            endpoint: crate::http::url("http://127.0.0.1:1/oauth/token").unwrap(),
            issuer: "client".to_owned(),
            subject: "user".to_owned(),
            audience: "account.example".to_owned(),
            scope: "signature".to_owned(),
            key: PRIVATE.to_owned(),
        };
        // The clock stands, so the assertion that is sent is the same.
        let assertion = jwt.assertion(NOW).unwrap();
        for padding in [0, 1_000, 1_800] {
            let echo = json!({"padding": "x".repeat(padding), "said": assertion, "key": PRIVATE}).to_string();
            let careless = Server::start([reply(500, "content-type: application/json\r\n", &echo)]).await;
            jwt.endpoint = crate::http::url(&careless.url("/oauth/token")).unwrap();
            let failure = Grant::Jwt(jwt.clone()).fetch(&client()).await.err().unwrap();
            let shown = format!("{failure:?}");
            assert!(shown.contains("[secret assertion]"), "{shown}");
            for secret in [assertion.as_str(), PRIVATE] {
                assert!(!shown.contains(&secret[..40]), "{shown}");
            }
        }
    }
}
