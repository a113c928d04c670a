//! The interface as it is served, from files of the tests' own: whether `ui/dist` was built makes no difference here.

use axum::body::{Body, to_bytes};
use rust_embed::{EmbeddedFile, Metadata};

use super::*;

/// What a build makes.
struct Sample;

impl Embed for Sample {
    fn get(path: &str) -> Option<EmbeddedFile> {
        let data = match path {
            "index.html" => "<p>the page",
            "assets/app-1.js" => "plain",
            "assets/app-1.js.br" => "small",
            "assets/app-1.js.gz" => "middle",
            "assets/icon-1.svg" => "<svg/>",
            _ => return None,
        };
        let metadata = Metadata::__rust_embed_new([0; 32], None, None);
        Some(EmbeddedFile {
            data: Cow::Borrowed(data.as_bytes()),
            metadata,
        })
    }

    fn iter() -> impl Iterator<Item = Cow<'static, str>> + 'static {
        std::iter::empty()
    }
}

/// A build that has not happened.
struct Missing;

impl Embed for Missing {
    fn get(_: &str) -> Option<EmbeddedFile> {
        None
    }

    fn iter() -> impl Iterator<Item = Cow<'static, str>> + 'static {
        std::iter::empty()
    }
}

fn headers(accept_encoding: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accept_encoding))])
}

async fn text(response: Response) -> String {
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

fn header_of(response: &Response, name: header::HeaderName) -> Option<&str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_file_is_sent_in_the_best_coding_that_the_browser_takes() {
    for (accepted, coding, body) in [
        ("gzip, deflate, br, zstd", Some("br"), "small"),
        ("gzip", Some("gzip"), "middle"),
        ("br;q=0, gzip;q=0.5", Some("gzip"), "middle"),
        ("identity", None, "plain"),
        ("", None, "plain"),
    ] {
        let response = file::<Sample>("app-1.js", &headers(accepted)).unwrap();
        assert_eq!(header_of(&response, header::CONTENT_ENCODING), coding, "{accepted}");
        assert_eq!(header_of(&response, header::VARY), Some("Accept-Encoding"));
        assert_eq!(
            header_of(&response, header::CONTENT_TYPE),
            Some("text/javascript; charset=utf-8")
        );
        assert!(
            header_of(&response, header::CACHE_CONTROL)
                .unwrap()
                .ends_with("immutable")
        );
        assert_eq!(text(response).await, body, "{accepted}");
    }
}

#[test]
fn other_files_and_other_folders_are_not_served() {
    for name in [
        "app-2.js",
        "app-1.js.br",
        "../index.html",
        "index.html",
        ".gitignore",
        "",
    ] {
        assert!(file::<Sample>(name, &headers("br")).is_none(), "{name}");
    }
}

#[tokio::test]
async fn a_binary_without_the_interface_says_how_to_get_it() {
    assert_eq!(text(page::<Sample>()).await, "<p>the page");
    let missing = text(page::<Missing>()).await;
    assert!(
        missing.contains("make run") && missing.contains("href=\"/api\""),
        "{missing}"
    );
}

#[test]
fn the_policy_lets_only_the_servers_own_files_run() {
    let policy = page::<Sample>().headers()[header::CONTENT_SECURITY_POLICY].clone();
    let policy = policy.to_str().unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for loose in ["unsafe", "*", "http:", "https:", "data:"] {
        assert!(!policy.contains(loose), "{policy}");
    }
}

#[test]
fn a_page_is_what_a_browser_opens_and_the_api_does_not_know() {
    let asks = |method: &str, path: &str, accept: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, accept);
        is_page(&request.body(Body::empty()).unwrap())
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    assert!(asks("GET", "/executions/exe_1", browser));
    assert!(asks("HEAD", "/settings", browser));
    assert!(!asks("GET", "/executions", "*/*"));
    assert!(!asks("POST", "/executions", browser));
    assert!(!asks("GET", "/v1/unknown", browser));
    assert!(!asks("GET", "/assets/old-1.js", browser));
}
