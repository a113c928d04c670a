//! Where other nodes reach this one.

/// A host and a port, which other nodes reach over plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advertise {
    /// Its host, as it will stand in the header `Host`.
    host: String,
    port: u16,
}

impl Advertise {
    /// Reads `HOST:PORT`, with or without `http://` before it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://").unwrap_or(text);
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
            host: host.to_owned(),
            port,
        })
    }

    /// The name that the server must answer to, where it is none that it answers to anyway.
    pub(crate) fn name(&self) -> Option<String> {
        (!self.host.starts_with('[')).then(|| self.host.clone())
    }
}

impl std::fmt::Display for Advertise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_an_address_with_and_without_a_scheme() {
        for (text, shown) in [
            ("127.0.0.1:7400", "http://127.0.0.1:7400"),
            ("http://node1.example.com:80/", "http://node1.example.com:80"),
            ("[::1]:7400", "http://[::1]:7400"),
        ] {
            assert_eq!(Advertise::parse(text).unwrap().to_string(), shown);
        }
        for text in [
            "",
            "7400",
            "host",
            "host:0",
            "host:port",
            "https://host:1",
            "a b:1",
            "h/x:1",
            "::1:1",
            "u@h:1",
        ] {
            assert_eq!(Advertise::parse(text), None, "{text}");
        }
    }
}
