//! What every grant has in common: the question, and what the answer to it means.
//!
//! A token that could not be fetched means that the action's own call never left, whatever became of the request for
//! the token: so every failure here is "not done".

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::text::redact::Redactor;
use sprag_core::time::Timestamp;
use tokio::time::Instant;
use url::Url;

use super::bearer::sensitive;
use super::client::ClientCredentials;
use super::jwt::JwtBearer;
use super::tokens::Token;
use crate::http::{self, Client, Reply, Request};
use sprag_core::document::source::shown;

/// How long a token endpoint may take. Not the action's own time: others may wait for the same token.
const FETCH_MAX: Duration = Duration::from_secs(30);
/// How long a token is used whose life the server does not tell.
const LIFE_ASSUMED: Duration = Duration::from_mins(5);
/// No token is used longer, whatever its server says.
const LIFE_MAX: Duration = Duration::from_hours(24);

/// Everything that decides which token is had. The same grant, the same token. Holds a secret, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grant {
    /// A client says who it is (RFC 6749, 4.4).
    Client(ClientCredentials),
    /// A key signs for a user (RFC 7523).
    Jwt(JwtBearer),
}

/// What is sent to a token endpoint.
pub(super) struct Question {
    /// The body.
    pub(super) form: String,
    /// The header that says who asks, where the body does not.
    pub(super) authorization: Option<String>,
    /// What was made for this question alone and must not be seen.
    pub(super) secrets: Vec<(&'static str, String)>,
}

impl Grant {
    /// Fetches a token.
    pub(super) async fn fetch(&self, client: &Client) -> Result<Token, Box<Failure>> {
        let asked = Instant::now();
        let question = self.question(client.now())?;
        let redactor = Redactor::new(question.secrets.iter().map(|(name, value)| (*name, value.as_str())));
        let answer = self.ask(question, client, asked).await;
        answer.map_err(|failure| match Outcome::NotDone(*failure).masked(&redactor) {
            Outcome::NotDone(failure) | Outcome::Unknown(failure) => Box::new(failure),
            // Masking leaves an outcome what it is.
            Outcome::Done(_) => self.useless("answered oddly"),
        })
    }

    async fn ask(&self, question: Question, client: &Client, asked: Instant) -> Result<Token, Box<Failure>> {
        let request = self.request(question)?;
        let reply = client.send(request).await.map_err(|outcome| self.failed(*outcome))?;
        self.token_of(reply, asked)
    }

    fn question(&self, now: Timestamp) -> Result<Question, Box<Failure>> {
        match self {
            Self::Client(client) => Ok(client.question()),
            Self::Jwt(jwt) => jwt.question(now),
        }
    }

    fn request(&self, question: Question) -> Result<Request, Box<Failure>> {
        let Question {
            form, authorization, ..
        } = question;
        let mut pairs = vec![
            ("accept", "application/json".to_owned()),
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ];
        pairs.extend(authorization.map(|value| ("authorization", value)));
        let mut headers = http::headers(pairs.iter().map(|(name, value)| (*name, value.as_str()))).map_err(|_| {
            let message = "the client id and the client secret do not fit into a header";
            Box::new(Failure::new(ActionError::new(kind::INVALID_CONFIGURATION, message)))
        })?;
        if let Some(value) = headers.get_mut("authorization") {
            *value = sensitive(value.clone());
        }
        Ok(Request {
            method: Method::POST,
            url: self.endpoint().clone(),
            headers,
            body: Some(form.into_bytes()),
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
        let kind = match word {
            "invalid_client" | "unauthorized_client" | "invalid_grant" | "access_denied" => kind::AUTHENTICATION_FAILED,
            "consent_required" => kind::AUTHORIZATION_FAILED,
            "invalid_scope" | "invalid_target" | "invalid_request" | "unsupported_grant_type" => {
                kind::INVALID_CONFIGURATION
            }
            _ => return None,
        };
        let description = data.get("error_description").and_then(Value::as_str).map(shown);
        let said = description
            .as_ref()
            .map(|text| format!(" ({text})"))
            .unwrap_or_default();
        let message = format!("`{}` gives no access token: {word}{said}", self.host());
        let mut details = json!({"host": self.host(), "tokenEndpoint": self.endpoint().as_str(), "error": word});
        if let Some(description) = description {
            details["description"] = Value::String(description);
        }
        let error = ActionError::new(kind, message)
            .with_code(reply.status().to_string())
            .with_details(details)
            .with_fix(self.fix(word));
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
            .with_details(json!({"host": self.host(), "tokenEndpoint": self.endpoint().as_str()}))
            .with_fix("check that `tokenEndpoint` is the token endpoint of an OAuth2 server");
        Box::new(Failure::new(error))
    }

    /// What would fix a refusal.
    fn fix(&self, word: &str) -> &'static str {
        match self {
            Self::Client(_) => ClientCredentials::fix(word),
            Self::Jwt(_) => JwtBearer::fix(word),
        }
    }

    fn endpoint(&self) -> &Url {
        match self {
            Self::Client(client) => &client.endpoint,
            Self::Jwt(jwt) => &jwt.endpoint,
        }
    }

    fn host(&self) -> &str {
        self.endpoint().host_str().unwrap_or_default()
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
