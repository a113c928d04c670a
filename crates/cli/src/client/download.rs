//! Answers that are files: passed on piece by piece, never held whole.

use std::io;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};

use super::{Request, problem, read};
use crate::failure::Failure;

impl Request<'_> {
    /// Sends it and hands every piece of the answer to `take`, with the length of the whole where it is known. A refusal
    /// is a failure, and so is an answer that breaks off. There is no bound in time: a large file takes what it takes.
    pub(crate) async fn download(
        self,
        mut take: impl FnMut(&[u8], Option<u64>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Self {
            client,
            method,
            url,
            body,
            ..
        } = self;
        let mut request = client.http.request(method, url).header(ACCEPT, "*/*");
        if let Some((media_type, body)) = body {
            request = request.header(CONTENT_TYPE, media_type).body(body);
        }
        if let Some(token) = &client.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut response = request
            .send()
            .await
            .map_err(|error| problem::unreachable(client, &error))?;
        let status = response.status().as_u16();
        if !(200..300).contains(&status) {
            let body = read(response, client).await?;
            let document = serde_json::from_slice(&body).unwrap_or_default();
            return Err(problem::refusal(&client.base, status, &document));
        }
        let total = response.content_length();
        loop {
            match response.chunk().await {
                Ok(None) => return Ok(()),
                Ok(Some(chunk)) => {
                    take(&chunk, total).map_err(|error| Failure::new(format!("the answer cannot be kept: {error}")))?;
                }
                Err(error) => return Err(problem::unreachable(client, &error)),
            }
        }
    }
}
