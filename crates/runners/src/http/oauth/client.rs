//! The client credentials grant (RFC 6749, 4.4): a client has a secret of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::grant::Question;

/// A client and its secret. It has no `Debug`, so it cannot end in a log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientCredentials {
    pub(crate) endpoint: Url,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) scope: Option<String>,
    pub(crate) audience: Option<String>,
    pub(crate) proof: ClientProof,
}

/// How the client proves who it is to the token endpoint (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientProof {
    /// In a header, which every server must know.
    Basic,
    /// In the form, for servers that want it there.
    Post,
}

impl ClientCredentials {
    pub(super) fn question(&self) -> Question {
        let Self {
            endpoint: _,
            client_id,
            client_secret,
            scope,
            audience,
            proof,
        } = self;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        for (name, value) in [("scope", scope), ("audience", audience)] {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        let authorization = match proof {
            // The names are form-encoded first, as the standard asks: a `:` in an id must not end it.
            ClientProof::Basic => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(client_secret)));
                Some(format!("Basic {pair}"))
            }
            ClientProof::Post => {
                form.append_pair("client_id", client_id)
                    .append_pair("client_secret", client_secret);
                None
            }
        };
        Question {
            form: form.finish(),
            authorization,
            // The holder of the credentials masks them.
            secrets: Vec::new(),
        }
    }

    /// What would fix a refusal in OAuth2's words.
    pub(super) fn fix(word: &str) -> &'static str {
        match word {
            "invalid_scope" | "invalid_target" => "check `scope` and `audience`",
            "invalid_request" | "unsupported_grant_type" => "check `tokenEndpoint` and `clientAuthentication`",
            _ => "check `clientId` and `clientSecret`, and that the client may use the client credentials grant",
        }
    }
}
