//! Who may speak to the server: only clients that address it by a name of its own, and no web page of another origin.
//!
//! A page on the internet can make a browser send requests to a local server, and can let its own name resolve to a
//! loopback address. The first shows in `Origin`, the second in `Host`, and a page can set neither.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::{MatchedPath, Request};
use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::gate;
use super::refusals::Seen;
use crate::app::App;
use crate::handlers::hooks;
use crate::listen::Error;
use crate::listen::admit::admit;
use crate::problem::shown::shown;
use crate::problem::{Code, Denied, Problem};

/// The names a server answers to, besides `localhost` and loopback addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Takes names as they were configured.
    pub(crate) fn new(names: &[String]) -> Result<Self, Error> {
        let is_name = |name: &str| {
            let is_label_character = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            name.split('.')
                .all(|label| !label.is_empty() && label.chars().all(is_label_character))
        };
        match names.iter().find(|name| !is_name(name)) {
            Some(name) => Err(Error::HostName { name: name.clone() }),
            None => Ok(Self(names.to_vec())),
        }
    }

    /// Whether an authority (a host with or without a port) is the server's own.
    fn allow(&self, authority: &str) -> bool {
        let Ok(parsed) = authority.parse::<Authority>() else {
            return false;
        };
        // Text before an `@` is no part of the host and has no business here.
        if authority.contains('@') || (parsed.port_u16().is_none() && parsed.as_str() != parsed.host()) {
            return false;
        }
        let host = parsed.host();
        let is_own = |name: &String| name.eq_ignore_ascii_case(host);
        host.eq_ignore_ascii_case("localhost") || is_loopback(host) || self.0.iter().any(is_own)
    }
}

/// Whether a host is a loopback address in its usual spelling.
fn is_loopback(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback()),
        None => host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
    }
}

/// Refuses what must not come through.
pub(crate) async fn guard(app: &App, mut request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let origin = if matched == Some(hooks::PATH) {
        // Senders of webhooks may be anywhere: a signature says who they are.
        Origin::Any
    } else {
        Origin::Own
    };
    match check(&app.settings.hosts, request.uri(), request.headers(), origin) {
        Ok(()) => match gate::enter(app, &mut request).await {
            Ok(()) if app.gate.is_on() => {
                let seen = Seen::of(&request);
                let response = admit(app, request, next).await;
                if let Some(&Denied(code)) = response.extensions().get() {
                    seen.refused(app, code).await;
                }
                response
            }
            Ok(()) => admit(app, request, next).await,
            Err(problem) => {
                Seen::of(&request).refused(app, problem.code()).await;
                problem.into_response()
            }
        },
        Err(problem) => problem.into_response(),
    }
}

/// The same for a request that only the server's own pages may make.
pub(crate) fn check_own(hosts: &Hosts, request: &Request) -> Result<(), Problem> {
    check(hosts, request.uri(), request.headers(), Origin::Own)
}

/// Which origins a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The server's own pages.
    Own,
    /// Everybody.
    Any,
}

fn check(hosts: &Hosts, uri: &Uri, headers: &HeaderMap, allowed: Origin) -> Result<(), Problem> {
    let host =
        only(headers, &header::HOST).map_err(|()| host_refused("more than one `Host`, or one that is not text"))?;
    let Some(host) = host else {
        return Err(host_refused("the request has no `Host`"));
    };
    // A request may also name the server in its first line; that name counts as much.
    for named in [Some(host), uri.authority().map(Authority::as_str)]
        .into_iter()
        .flatten()
    {
        if !hosts.allow(named) {
            return Err(host_refused(&format!(
                "`{}` is not a name of this server",
                shown(named)
            )));
        }
    }
    let origin = only(headers, &header::ORIGIN)
        .map_err(|()| origin_refused("more than one `Origin`, or one that is not text"))?;
    match origin {
        Some(origin) if allowed == Origin::Own && !is_own_origin(origin, host) => Err(origin_refused(&format!(
            "requests from web pages of `{}` are refused; call the API from a program, or from a page of this server",
            shown(origin)
        ))),
        _ => Ok(()),
    }
}

/// An origin is the server's own when it is the very authority that the request is addressed to.
fn is_own_origin(origin: &str, host: &str) -> bool {
    let authority = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// The value of a header that may be given once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

fn host_refused(detail: &str) -> Problem {
    Problem::new(
        Code::HostRefused,
        format!("{detail}; use `localhost`, or add the name to `hosts` in the configuration"),
    )
}

fn origin_refused(detail: &str) -> Problem {
    Problem::new(Code::OriginRefused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_and_loopback_addresses_are_hosts() {
        let hosts = Hosts::new(&["Sprag.example.com".to_owned()]).unwrap();
        let own = [
            "localhost",
            "LOCALHOST:7400",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.9.9.9:7400",
            "[::1]",
            "[::1]:7400",
            "sprag.example.com",
            "sprag.EXAMPLE.com:443",
        ];
        for host in own {
            assert!(hosts.allow(host), "{host}");
        }
        let foreign = [
            "",
            "evil.example",
            "localhost.evil.example",
            "evil.localhost",
            "localhost.",
            "127.0.0.1.evil.example",
            "user@localhost",
            "user@localhost:7400",
            "localhost@evil.example",
            "localhost:",
            "localhost:port",
            "localhost:99999",
            "0.0.0.0",
            "10.0.0.1",
            "127.1",
            "0x7f.0.0.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
            "[::]",
            "::1",
            "[::1",
            "localhost/path",
            "sub.sprag.example.com",
        ];
        for host in foreign {
            assert!(!hosts.allow(host), "{host}");
        }
    }

    #[test]
    fn a_name_that_no_host_header_bears_is_refused_at_start() {
        for name in ["", "http://a", "a:1", "a/b", "*", "a..b", "*.example.com"] {
            assert!(Hosts::new(&[name.to_owned()]).is_err(), "{name}");
        }
    }

    #[test]
    fn an_origin_is_own_only_where_the_request_went() {
        assert!(is_own_origin("http://localhost:7400", "localhost:7400"));
        assert!(is_own_origin("https://sprag.example.com", "sprag.example.com"));
        for origin in [
            "null",
            "http://localhost:3000",
            "http://127.0.0.1:7400",
            "localhost:7400",
            "file://",
            "",
        ] {
            assert!(!is_own_origin(origin, "localhost:7400"), "{origin}");
        }
    }
}
