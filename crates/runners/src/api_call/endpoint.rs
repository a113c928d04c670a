//! What an action may add to a service's address: path and query, and nothing that leads elsewhere.
//!
//! The endpoint is never read as a reference that could replace the host. It is appended, and every spelling of "one
//! level up" is refused, because values of an execution are rendered into it.

use url::Url;

/// How often percent-encoding is undone to see what a server may see that undoes it more than once.
const DECODINGS_MAX: usize = 4;

/// A path and a query below a service's base URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Endpoint {
    path: String,
    query: Option<String>,
    pairs: Vec<(String, String)>,
}

/// Why an endpoint is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EndpointError {
    #[error("it names a host or a scheme, and the service alone says where calls go")]
    Elsewhere,
    #[error("it holds `.` or `..` as a segment, which could lead out of the service's base URL")]
    Dots,
    #[error("it holds `\\`, which some read as `/`")]
    Backslash,
    #[error("it holds a control character")]
    Control,
    #[error("it contains `#`, and HTTP never sends the part after it; write `%23` for the character")]
    Fragment,
}

impl Endpoint {
    /// Reads the text of an endpoint.
    pub(super) fn parse(text: &str) -> Result<Self, EndpointError> {
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (text, None),
        };
        if text.contains(char::is_control) {
            return Err(EndpointError::Control);
        }
        if text.contains('#') {
            return Err(EndpointError::Fragment);
        }
        check_path(path)?;
        Ok(Self {
            path: path.to_owned(),
            query,
            pairs: Vec::new(),
        })
    }

    /// The same with more of a query.
    pub(super) fn with_query(mut self, pairs: Vec<(String, String)>) -> Self {
        self.pairs.extend(pairs);
        self
    }

    /// The URL below `base`. The last check is on what came out, whatever went in.
    pub(super) fn below(&self, base: &Url) -> Result<Url, EndpointError> {
        let Self { path, query, pairs } = self;
        let mut url = base.clone();
        let root = base.path().trim_end_matches('/');
        if !path.is_empty() {
            url.set_path(&format!("{root}/{}", path.trim_start_matches('/')));
        }
        let queries: Vec<&str> = [base.query(), query.as_deref()].into_iter().flatten().collect();
        if !queries.is_empty() {
            url.set_query(Some(&queries.join("&")));
        }
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let is_below = url
            .path()
            .strip_prefix(root)
            .is_some_and(|rest| path.is_empty() || rest.starts_with('/'));
        if url.origin() != base.origin() || !is_below {
            return Err(EndpointError::Elsewhere);
        }
        Ok(url)
    }
}

fn check_path(path: &str) -> Result<(), EndpointError> {
    let mut seen = path.to_owned();
    for _ in 0..DECODINGS_MAX {
        if seen.contains('\\') {
            return Err(EndpointError::Backslash);
        }
        if seen.contains(|character: char| character.is_control()) {
            return Err(EndpointError::Control);
        }
        // `//host` and `scheme:` are how a reference names another place.
        let first = seen.split('/').next().unwrap_or_default();
        if seen.starts_with("//") || first.contains(':') {
            return Err(EndpointError::Elsewhere);
        }
        // Servers cut parameters off a segment: `..;x` is `..` to them.
        let mut segments = seen
            .split('/')
            .map(|segment| segment.split(';').next().unwrap_or_default().trim());
        if segments.any(|segment| segment == "." || segment == "..") {
            return Err(EndpointError::Dots);
        }
        let decoded = decode(&seen);
        if decoded == seen {
            return Ok(());
        }
        seen = decoded;
    }
    Ok(())
}

/// The text with one level of percent-encoding undone.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() {
            after.get(2..).unwrap_or_default()
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn below(base: &str, endpoint: &str) -> String {
        let base = Url::parse(base).unwrap();
        Endpoint::parse(endpoint).unwrap().below(&base).unwrap().to_string()
    }

    #[test]
    fn an_endpoint_is_appended_to_the_path_and_the_query_of_its_service() {
        for (base, endpoint, url) in [
            ("https://a.example", "/v1/records/7", "https://a.example/v1/records/7"),
            (
                "https://a.example/api/",
                "v1/records",
                "https://a.example/api/v1/records",
            ),
            ("https://a.example/api", "/v1?x=1", "https://a.example/api/v1?x=1"),
            ("https://a.example/api?v=2", "/r?x=1", "https://a.example/api/r?v=2&x=1"),
            ("https://a.example/graphql", "", "https://a.example/graphql"),
            ("https://a.example/api", "?x=1", "https://a.example/api?x=1"),
            (
                "https://a.example/api",
                "/records:batch",
                "https://a.example/api/records:batch",
            ),
            ("https://a.example/api", "/a b/ü", "https://a.example/api/a%20b/%C3%BC"),
            ("https://a.example/api", "/x/..y/...", "https://a.example/api/x/..y/..."),
            ("https://a.example/api", "/x?to=../y", "https://a.example/api/x?to=../y"),
        ] {
            assert_eq!(below(base, endpoint), url, "{base} {endpoint}");
        }
    }

    #[test]
    fn no_endpoint_leads_elsewhere() {
        use EndpointError::{Backslash, Control, Dots, Elsewhere, Fragment};
        for (endpoint, error) in [
            ("https://evil.example/", Elsewhere),
            ("http:evil.example", Elsewhere),
            ("//evil.example/x", Elsewhere),
            ("%2f/evil.example/x", Elsewhere),
            ("/\\evil.example", Backslash),
            ("\\\\evil.example", Backslash),
            ("/a%5c..%5cb", Backslash),
            ("/../admin", Dots),
            ("..", Dots),
            ("/a/../../admin", Dots),
            ("/a/%2e%2E/admin", Dots),
            ("/a/.%2e/admin", Dots),
            ("/a/%252e%252e/admin", Dots),
            ("/a%2f..%2fadmin", Dots),
            ("/a/..;x=1/admin", Dots),
            ("/./a", Dots),
            ("/a/.\t./admin", Control),
            ("/a\r\nHost: evil", Control),
            ("/a%0d%0aHost: evil", Control),
            ("/a#b", Fragment),
        ] {
            assert_eq!(Endpoint::parse(endpoint), Err(error), "{endpoint:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_below_the_base(endpoint in "[a-c./\\\\%2eEfF5cC:@?;#\t ]{0,24}") {
            let base = Url::parse("https://a.example:8443/api/v1").unwrap();
            if let Ok(url) = Endpoint::parse(&endpoint).and_then(|endpoint| endpoint.below(&base)) {
                prop_assert_eq!(url.origin(), base.origin());
                prop_assert!(url.path() == "/api/v1" || url.path().starts_with("/api/v1/"), "{}", url);
                prop_assert!(url.username().is_empty());
            }
        }
    }
}
