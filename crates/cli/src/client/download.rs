//! Answers that are files: passed on piece by piece, never held whole.

use std::io;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};

use sprag_core::integrity::digest::{self, Digest};

use super::{Request, once, problem, read, reason_value};
use crate::failure::Failure;

impl Request<'_> {
    /// Sends it and hands every piece of the answer to `take`, with the length of the whole where it is known. A refusal
    /// is a failure, and so is an answer that breaks off or is not what its length and digest say. There is no bound in time: a large file takes what it takes.
    pub(crate) async fn download(
        self,
        mut take: impl FnMut(&[u8], Option<u64>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Self {
            client,
            method,
            url,
            body,
            reason,
            ..
        } = self;
        let mut request = client.http.request(method, url).header(ACCEPT, "*/*");
        if let Some((media_type, body)) = body {
            request = request.header(CONTENT_TYPE, media_type).body(body);
        }
        if let Some(reason) = reason {
            request = request.header(once::REASON, reason_value(&reason)?);
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
        let sent = response.headers().get(digest::HEADER);
        let sent = sent.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut digest = Digest::default();
        let mut length: u64 = 0;
        loop {
            match response.chunk().await {
                Ok(None) => return verify(total, length, sent.as_deref(), &digest.header()),
                Ok(Some(chunk)) => {
                    length += u64::try_from(chunk.len()).unwrap_or(0);
                    digest.add(&chunk);
                    take(&chunk, total).map_err(|error| Failure::new(format!("the answer cannot be kept: {error}")))?;
                }
                Err(error) => return Err(broken_off(total, length, &error)),
            }
        }
    }
}

/// Whether everything came, and came as it was sent.
fn verify(total: Option<u64>, length: u64, sent: Option<&str>, received: &str) -> Result<(), Failure> {
    let detail = match (total, sent) {
        (Some(total), _) if total != length => format!("{length} of {total} bytes arrived"),
        (_, None) => "the server sent no digest of it; is that a server of this version?".to_owned(),
        (_, Some(sent)) if sent != received => format!("its digest is `{received}`, and the server says `{sent}`"),
        (_, Some(_)) => return Ok(()),
    };
    Err(damaged(&detail))
}

/// An answer that ends before its end.
fn broken_off(total: Option<u64>, length: u64, error: &reqwest::Error) -> Failure {
    let of = total.map_or_else(String::new, |total| format!(" of {total}"));
    damaged(&format!("it broke off after {length}{of} bytes: {error}"))
}

fn damaged(detail: &str) -> Failure {
    Failure::new(format!("the answer is incomplete: {detail}"))
        .code("download-damaged")
        .note("run the command again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_refused() {
        assert!(verify(Some(3), 3, Some("sha-256=:a:"), "sha-256=:a:").is_ok());
        for (total, length, sent) in [
            (Some(4), 3, Some("sha-256=:a:")),
            (None, 3, None),
            (Some(3), 3, Some("sha-256=:b:")),
        ] {
            let refused = verify(total, length, sent, "sha-256=:a:").unwrap_err();
            assert!(refused.to_string().contains("incomplete"), "{refused}");
        }
    }
}
