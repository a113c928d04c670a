//! Signed tokens (JWS, RFC 7515) and the keys that sign them (JWKS, RFC 7517), verified with ring.
//!
//! ring is what TLS here is made of already, and all that is missing around it is this page: a crate for tokens would
//! bring a second set of algorithms, with those that must never be accepted. Only signatures that a public key verifies
//! count: `none` and those with a shared secret are not in the list. A key is used with algorithms of its own kind only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The algorithms that count.
const ALGORITHMS: [&str; 10] = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "Ed25519",
];
/// Keys of an issuer that are looked at.
const KEYS_MAX: usize = 64;

/// A token, taken apart. Nothing in it counts before [`Keys::verify`].
pub(super) struct Jwt<'t> {
    header: Header,
    pub(super) claims: Map<String, Value>,
    signed: &'t str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// The public keys of an issuer.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm it is for; none if it does not say.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// What the signature of a token says of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Signature {
    /// One of the keys made it.
    Right,
    /// None of the keys made it.
    Wrong,
    /// The key that it names is not among these.
    UnknownKey,
}

impl<'t> Jwt<'t> {
    /// Takes a token apart; what is wrong with it otherwise.
    pub(super) fn parse(text: &'t str) -> Result<Self, String> {
        let no_token =
            || "the text in `Authorization` is neither a token of this server nor one of its issuer".to_owned();
        let (signed, signature) = text.rsplit_once('.').ok_or_else(no_token)?;
        let (header, claims) = signed.split_once('.').ok_or_else(no_token)?;
        let header: Header = json(header).ok_or_else(no_token)?;
        if !ALGORITHMS.contains(&header.alg.as_str()) {
            let known = ALGORITHMS.join(", ");
            return Err(format!(
                "the token has the algorithm `{}`; this server accepts {known}",
                crate::problem::shown::shown(&header.alg)
            ));
        }
        if header.crit.is_some() {
            return Err("the token has the header `crit`, which this server does not know".to_owned());
        }
        Ok(Self {
            header,
            claims: json(claims).ok_or_else(no_token)?,
            signed,
            signature: URL_SAFE_NO_PAD.decode(signature).map_err(|_| no_token())?,
        })
    }
}

fn json<T: for<'d> Deserialize<'d>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

impl Keys {
    /// The keys of a document that can verify something; none if it is no such document.
    pub(super) fn parse(document: &Value) -> Option<Self> {
        let keys = document["keys"].as_array()?;
        Some(Self(keys.iter().take(KEYS_MAX).filter_map(Key::parse).collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of the keys signed the token: the one that it names, if it names one.
    pub(super) fn verify(&self, token: &Jwt<'_>) -> Signature {
        let id = &token.header.kid;
        let mut named = self.0.iter().filter(|key| id.is_none() || key.id == *id).peekable();
        if named.peek().is_none() {
            return Signature::UnknownKey;
        }
        if named.any(|key| key.signed(token)) {
            Signature::Right
        } else {
            Signature::Wrong
        }
    }
}

impl Key {
    fn parse(key: &Value) -> Option<Self> {
        let text = |name: &str| key[name].as_str().map(str::to_owned);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str()?).ok();
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        // An uncompressed point (SEC 1).
        let point = || Some([vec![4], bytes("x")?, bytes("y")?].concat());
        let material = match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => Material::Rsa {
                n: bytes("n")?,
                e: bytes("e")?,
            },
            ("EC", Some("P-256")) => Material::P256(point()?),
            ("EC", Some("P-384")) => Material::P384(point()?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self {
            id: text("kid"),
            algorithm: text("alg"),
            material,
        })
    }

    fn signed(&self, token: &Jwt<'_>) -> bool {
        let algorithm = token.header.alg.as_str();
        if self.algorithm.as_deref().is_some_and(|only| only != algorithm) {
            return false;
        }
        let (message, signature) = (token.signed.as_bytes(), token.signature.as_slice());
        let verified = match (&self.material, algorithm) {
            (Material::Rsa { n, e }, _) => {
                let parameters = match algorithm {
                    "RS256" => &RSA_PKCS1_2048_8192_SHA256,
                    "RS384" => &RSA_PKCS1_2048_8192_SHA384,
                    "RS512" => &RSA_PKCS1_2048_8192_SHA512,
                    "PS256" => &RSA_PSS_2048_8192_SHA256,
                    "PS384" => &RSA_PSS_2048_8192_SHA384,
                    "PS512" => &RSA_PSS_2048_8192_SHA512,
                    _ => return false,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Material::P256(point), "ES256") => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Material::P384(point), "ES384") => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            (Material::Ed25519(key), "EdDSA" | "Ed25519") => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}
