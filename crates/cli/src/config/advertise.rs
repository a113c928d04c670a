//! Where other nodes reach this one.

/// A host and a port, and how other nodes speak there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advertise {
    /// None if it is the way in which the server listens.
    scheme: Option<&'static str>,
    /// Its host, as it will stand in the header `Host`.
    host: String,
    port: u16,
}

impl Advertise {
    /// Reads `HOST:PORT`, with or without `http://` or `https://` before it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let after = |scheme| Some((scheme, text.strip_prefix(scheme)?.strip_prefix("://")?));
        let split = ["http", "https"].into_iter().find_map(after);
        let (scheme, rest) = split.map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
        let (host, port) = rest.strip_suffix('/').unwrap_or(rest).rsplit_once(':')?;
        let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
        let is_literal = |inner: &str| inner.parse::<std::net::Ipv6Addr>().is_ok();
        let is_label = |label: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            !label.is_empty() && label.chars().all(is_part)
        };
        let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_host = inner.map_or_else(|| host.split('.').all(is_label), is_literal);
        is_host.then(|| Self {
            scheme,
            host: host.to_owned(),
            port,
        })
    }

    /// The name that the server must answer to, where it is none that it answers to anyway.
    pub(crate) fn name(&self) -> Option<String> {
        (!self.host.starts_with('[')).then(|| self.host.clone())
    }

    /// The whole address, of a server that listens in this way.
    pub(crate) fn url(&self, listens_by: &str) -> String {
        format!("{}://{}:{}", self.scheme.unwrap_or(listens_by), self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_an_address_with_and_without_a_scheme() {
        for (text, plain, secure) in [
            ("127.0.0.1:7400", "http://127.0.0.1:7400", "https://127.0.0.1:7400"),
            (
                "http://node1.example.com:80/",
                "http://node1.example.com:80",
                "http://node1.example.com:80",
            ),
            ("https://host:1", "https://host:1", "https://host:1"),
            ("[::1]:7400", "http://[::1]:7400", "https://[::1]:7400"),
        ] {
            let read = Advertise::parse(text).unwrap();
            assert_eq!(
                (read.url("http"), read.url("https")),
                (plain.to_owned(), secure.to_owned())
            );
        }
        for text in [
            "",
            "7400",
            "host",
            "host:0",
            "host:port",
            "ftp://host:1",
            "https://",
            "https://host",
            "a b:1",
            "h/x:1",
            "::1:1",
            "u@h:1",
        ] {
            assert_eq!(Advertise::parse(text), None, "{text}");
        }
    }
}
