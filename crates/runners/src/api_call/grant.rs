//! Fetching an access token: the client credentials grant of OAuth2 (RFC 6749, 4.4).
//!
//! A token that could not be fetched means that the action's own call never left, whatever became of the request for
//! the token: so every failure here is "not done".

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use tokio::time::Instant;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::authentication::sensitive;
use super::tokens::Token;
use crate::config::shown;
use crate::http::{self, Client, Reply, Request};

/// How long a token endpoint may take. Not the action's own time: others may wait for the same token.
const FETCH_MAX: Duration = Duration::from_secs(30);
/// How long a token is used whose life the server does not tell.
const LIFE_ASSUMED: Duration = Duration::from_mins(5);
/// No token is used longer, whatever its server says.
const LIFE_MAX: Duration = Duration::from_hours(24);

/// Everything that decides which token is had. The same grant, the same token. Holds a secret, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    pub(super) endpoint: Url,
    pub(super) client_id: String,
    pub(super) client_secret: String,
    pub(super) scope: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) proof: ClientProof,
}

/// How the client proves who it is to the token endpoint (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClientProof {
    /// In a header, which every server must know.
    Basic,
    /// In the form, for servers that want it there.
    Post,
}

impl Grant {
    /// Fetches a token.
    pub(super) async fn fetch(&self, client: &Client) -> Result<Token, Box<Failure>> {
        let asked = Instant::now();
        let request = self.request()?;
        let reply = client.send(request).await.map_err(|outcome| self.failed(*outcome))?;
        self.token_of(reply, asked)
    }

    fn request(&self) -> Result<Request, Box<Failure>> {
        let Self {
            endpoint,
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
        let mut pairs = vec![
            ("accept", "application/json".to_owned()),
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ];
        match proof {
            // The names are form-encoded first, as the standard asks: a `:` in an id must not end it.
            ClientProof::Basic => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(client_secret)));
                pairs.push(("authorization", format!("Basic {pair}")));
            }
            ClientProof::Post => {
                form.append_pair("client_id", client_id)
                    .append_pair("client_secret", client_secret);
            }
        }
        let mut headers = http::headers(pairs.iter().map(|(name, value)| (*name, value.as_str()))).map_err(|_| {
            let message = "the client id and the client secret do not fit into a header";
            Box::new(Failure::new(ActionError::new(kind::INVALID_CONFIGURATION, message)))
        })?;
        if let Some(value) = headers.get_mut("authorization") {
            *value = sensitive(value.clone());
        }
        Ok(Request {
            method: Method::POST,
            url: endpoint.clone(),
            headers,
            body: Some(form.finish().into_bytes()),
            timeout: FETCH_MAX,
        })
    }

    fn token_of(&self, reply: Reply, asked: Instant) -> Result<Token, Box<Failure>> {
        if let Some(refused) = self.refused(&reply) {
            return Err(refused);
        }
        let reply = reply.judge(None).map_err(|outcome| self.failed(*outcome))?;
        // From here on the body may hold a token: no error shows anything of it.
        let data = reply.data();
        let kind = data.get("token_type").and_then(Value::as_str).unwrap_or("Bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(self.useless(&format!(
                "answered with a token of type `{}`, not `Bearer`",
                shown(kind)
            )));
        }
        match data.get("access_token").and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Ok(Token::new(text, asked, life_of(&data))),
            _ => Err(self.useless("answered without an `access_token`")),
        }
    }

    /// What the server says in OAuth2's own words (RFC 6749, 5.2), if it does.
    fn refused(&self, reply: &Reply) -> Option<Box<Failure>> {
        if !matches!(reply.status(), 400 | 401 | 403) {
            return None;
        }
        let data = reply.data();
        let word = data.get("error").and_then(Value::as_str)?;
        let (kind, fix) = match word {
            "invalid_client" | "unauthorized_client" | "invalid_grant" | "access_denied" => (
                kind::AUTHENTICATION_FAILED,
                "check `clientId` and `clientSecret`, and that the client may use the client credentials grant",
            ),
            "invalid_scope" | "invalid_target" => (kind::INVALID_CONFIGURATION, "check `scope` and `audience`"),
            "invalid_request" | "unsupported_grant_type" => (
                kind::INVALID_CONFIGURATION,
                "check `tokenEndpoint` and `clientAuthentication`",
            ),
            _ => return None,
        };
        let said = data.get("error_description").and_then(Value::as_str);
        let said = said.map(|text| format!(" ({})", shown(text))).unwrap_or_default();
        let message = format!("`{}` gives no access token: {word}{said}", self.host());
        let error = ActionError::new(kind, message)
            .with_code(reply.status().to_string())
            .with_details(json!({"host": self.host(), "tokenEndpoint": self.endpoint.as_str(), "error": word}))
            .with_fix(fix);
        Some(Box::new(Failure::new(error)))
    }

    /// The failure of the action: the same error, with a word about what it was about.
    fn failed(&self, outcome: Outcome) -> Box<Failure> {
        match outcome {
            Outcome::NotDone(mut failure) | Outcome::Unknown(mut failure) => {
                let message = std::mem::take(&mut failure.error.message);
                failure.error.message = format!("no access token from `{}`: {message}", self.host());
                Box::new(failure)
            }
            // Nothing that fails is done.
            Outcome::Done(_) => self.useless("answered oddly"),
        }
    }

    fn useless(&self, how: &str) -> Box<Failure> {
        let error = ActionError::new(kind::INVALID_CONFIGURATION, format!("`{}` {how}", self.host()))
            .with_details(json!({"host": self.host(), "tokenEndpoint": self.endpoint.as_str()}))
            .with_fix("check that `tokenEndpoint` is the token endpoint of an OAuth2 server");
        Box::new(Failure::new(error))
    }

    fn host(&self) -> &str {
        self.endpoint.host_str().unwrap_or_default()
    }
}

/// How long the token lives; some servers write the number as a text.
fn life_of(data: &Value) -> Duration {
    let seconds = data.get("expires_in").and_then(|value| match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    });
    seconds.map_or(LIFE_ASSUMED, Duration::from_secs).min(LIFE_MAX)
}
