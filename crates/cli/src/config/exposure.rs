//! Warnings about files that others on the machine may read or write although they should not.

use std::path::Path;

use sprag_store::private::{self, Exposure};

use super::settings::FILE;

/// What the name of a key ends with that holds a credential.
const CREDENTIALS: [&str; 5] = ["token", "password", "secret", "apikey", "privatekey"];

/// Warns about the configuration file, if there is one.
pub(crate) fn warn_about_config(given: Option<&Path>) {
    let path = given.unwrap_or(Path::new(FILE));
    let Exposure { readable, writable } = private::exposure(path);
    if writable {
        tracing::warn!(
            code = "config-exposed",
            file = %path.display(),
            "other users may write this configuration file; run `chmod go-w` on it"
        );
    }
    if readable && std::fs::read_to_string(path).is_ok_and(|text| holds_credential(&text)) {
        tracing::warn!(
            code = "config-exposed",
            file = %path.display(),
            "other users may read a credential in clear text in this configuration file; run `chmod go-r` on it, or write \
             `{{{{secrets.NAME}}}}` instead"
        );
    }
}

/// Warns about the file of a store.
pub(crate) fn warn_about_store(path: &Path) {
    let Exposure { readable, writable } = private::exposure(path);
    if readable || writable {
        let may = if writable { "write" } else { "read" };
        tracing::warn!(
            code = "store-exposed",
            file = %path.display(),
            "other users may {may} this database; run `chmod 600` on it"
        );
    }
}

/// Whether a text has a line such as `token = "abc"` or an address with a password. A mention of a secret is none.
fn holds_credential(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| {
        if line.contains("{{secrets.") {
            return false;
        }
        let pairs = line.split([',', '{']).filter_map(|part| part.split_once('='));
        let mut named = pairs.filter(|(name, value)| is_credential(name) && is_clear(value));
        named.next().is_some() || has_password(line)
    })
}

fn is_credential(name: &str) -> bool {
    let name = name.trim().trim_matches('"').to_ascii_lowercase();
    name == "key" || CREDENTIALS.iter().any(|ending| name.ends_with(ending))
}

fn is_clear(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'', '}', ' ']);
    !value.is_empty()
}

/// `scheme://user:password@host`
fn has_password(line: &str) -> bool {
    let Some((_, rest)) = line.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '"', '\'', '?']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else {
        return false;
    };
    user.split_once(':').is_some_and(|(_, password)| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_in_clear_is_found() {
        for text in [
            "token = \"abc\"",
            "[providers.smtp]\npassword='x'",
            "authentication = { type = \"bearer\", token = \"abc\" }",
            "url = \"postgres://me:word@db/sprag\"",
        ] {
            assert!(holds_credential(text), "{text}");
        }
    }

    #[test]
    fn the_name_of_a_secret_is_no_credential() {
        for text in [
            "token = \"{{secrets.t}}\"",
            "authentication = { type = \"bearer\", token = \"{{secrets.crm}}\" }",
            "# token = \"abc\"",
            "tokenEndpoint = \"https://login/t\"",
            "url = \"postgres://me@db/sprag\"",
            "password = \"\"",
        ] {
            assert!(!holds_credential(text), "{text}");
        }
    }
}
