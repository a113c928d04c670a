//! Who runs the programs: the server's own user, or another one that `[exec] user` names.
//!
//! A program that runs as the server's user can do to the server's files whatever the server can. Only root can start
//! programs as another user; the program then has that user's own group and no other.

use std::fs;

/// The users of this machine. Directories elsewhere (LDAP and the like) are not asked.
const PASSWD: &str = "/etc/passwd";

/// Ids that a program runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// Why programs cannot run as the user that `[exec] user` names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// There is no such user.
    #[error("`[exec] user = \"{name}\"`: {PASSWD} has no such user; create it, or name another one")]
    Unknown {
        /// The user.
        name: String,
    },
    /// Users cannot be looked up.
    #[error("`[exec] user = \"{name}\"`: {PASSWD} cannot be read: {reason}")]
    Unreadable {
        /// The user.
        name: String,
        /// Why.
        reason: String,
    },
    /// Only root can.
    #[error(
        "`[exec] user = \"{name}\"`: a server that runs as user {own} cannot start programs as another one; start it as \
         root, or leave the key out"
    )]
    NotRoot {
        /// The user.
        name: String,
        /// The server's own id.
        own: u32,
    },
}

/// The ids of the user of that name, if this process can start programs as them.
pub(super) fn find(name: &str) -> Result<User, UserError> {
    let text = fs::read_to_string(PASSWD).map_err(|error| UserError::Unreadable {
        name: name.to_owned(),
        reason: error.to_string(),
    })?;
    let user = parse(&text, name).ok_or_else(|| UserError::Unknown { name: name.to_owned() })?;
    let own = rustix::process::geteuid();
    if own.is_root() || own.as_raw() == user.uid {
        return Ok(user);
    }
    Err(UserError::NotRoot {
        name: name.to_owned(),
        own: own.as_raw(),
    })
}

fn parse(passwd: &str, name: &str) -> Option<User> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some(User {
        uid: fields.next()?.parse().ok()?,
        gid: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nrunner:x:990:991::/:/bin/false\nrun:x:1:2:::\nodd:x:y:z::\n";
        assert_eq!(parse(passwd, "runner"), Some(User { uid: 990, gid: 991 }));
        assert_eq!(parse(passwd, "run"), Some(User { uid: 1, gid: 2 }));
        for name in ["ru", "", "x", "odd"] {
            assert_eq!(parse(passwd, name), None, "{name}");
        }
    }

    #[test]
    fn a_user_that_does_not_exist_is_named_with_the_key() {
        let error = find("no-such-user-here").unwrap_err().to_string();
        assert!(error.contains("`[exec] user = \"no-such-user-here\"`"), "{error}");
    }
}
