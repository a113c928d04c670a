//! Calls with a fetched token.

use reqwest::header::{AUTHORIZATION, HeaderValue};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Outcome;
use tokio::time::Instant;

use super::grant::Grant;
use super::tokens::{Origin, Token, Tokens, Want};
use crate::http::{self, Client, Reply, Request};

const UNAUTHORIZED: u16 = 401;

/// Sends requests that say who they are with a token.
pub(crate) struct Bearer<'a> {
    pub(crate) tokens: &'a Tokens,
    pub(crate) grant: Grant,
    pub(crate) origin: Origin,
    /// Reaches the token endpoint.
    pub(crate) fetcher: &'a Client,
    /// Reaches the called service.
    pub(crate) caller: &'a Client,
    pub(crate) deadline: Instant,
    /// The tokens that were used: they must not be seen.
    pub(crate) used: Vec<String>,
}

impl Bearer<'_> {
    /// Sends the request. A token that is not accepted is replaced, once: a refused call had no effect, so it can be
    /// sent again within the attempt. Where 401 is `expected` it says nothing about the token.
    pub(crate) async fn send(&mut self, request: &Request, expected: Option<&[u16]>) -> Result<Reply, Box<Outcome>> {
        let token = self.token(None).await?;
        let reply = self.send_with(request, &token).await?;
        let is_refused = reply.status() == UNAUTHORIZED && !expected.is_some_and(|codes| codes.contains(&UNAUTHORIZED));
        if !is_refused {
            return Ok(reply);
        }
        let fresh = self.token(Some(&token)).await?;
        self.send_with(request, &fresh).await
    }

    async fn token(&mut self, refused: Option<&Token>) -> Result<Token, Box<Outcome>> {
        let want = Want {
            grant: &self.grant,
            origin: self.origin,
            client: self.fetcher,
            refused,
            deadline: self.deadline,
        };
        let token = self.tokens.get(want).await?;
        self.used.push(token.text().to_owned());
        Ok(token)
    }

    async fn send_with(&self, request: &Request, token: &Token) -> Result<Reply, Box<Outcome>> {
        let mut request = request.clone();
        let header = http::header(AUTHORIZATION.as_str(), &format!("Bearer {}", token.text()));
        let (name, value) =
            header.map_err(|error| Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, error.to_string())))?;
        request.headers.insert(name, sensitive(value));
        self.caller.send_by(request, self.deadline).await
    }
}

/// Marked, so that nothing that prints headers prints it.
pub(crate) fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}
