//! The user a service runs as: `name`, `name:group`, or numbers, looked up in the machine's own files.

use std::fs;

/// A user and a group by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) user: u32,
    pub(super) group: u32,
}

/// A user that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// No such user.
    #[error("user `{0}` is not in /etc/passwd")]
    User(String),
    /// No such group.
    #[error("group `{0}` is not in /etc/group")]
    Group(String),
    /// A number alone says nothing about the group.
    #[error("user `{0}` is a number without an entry: write `user:group`")]
    NoGroup(u32),
}

impl Account {
    /// Finds who is meant.
    pub(super) fn find(written: &str) -> Result<Self, UserError> {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let group = fs::read_to_string("/etc/group").unwrap_or_default();
        Self::find_in(written, &passwd, &group)
    }

    fn find_in(written: &str, passwd: &str, groups: &str) -> Result<Self, UserError> {
        let (name, group) = match written.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (written, None),
        };
        let number = name.parse::<u32>().ok();
        let entry = passwd.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let user = fields.get(2)?.parse::<u32>().ok()?;
            let own = fields.get(3)?.parse::<u32>().ok()?;
            let is_meant = fields.first() == Some(&name) || Some(user) == number;
            is_meant.then_some((user, own))
        });
        let group = group.map(|group| find_group(group, groups)).transpose()?;
        match (entry, number, group) {
            (Some((user, own)), _, group) => Ok(Self {
                user,
                group: group.unwrap_or(own),
            }),
            (None, Some(user), Some(group)) => Ok(Self { user, group }),
            (None, Some(user), None) => Err(UserError::NoGroup(user)),
            (None, None, _) => Err(UserError::User(name.to_owned())),
        }
    }
}

fn find_group(name: &str, groups: &str) -> Result<u32, UserError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let entry = groups.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let number = fields.get(2)?.parse().ok()?;
        (fields.first() == Some(&name)).then_some(number)
    });
    entry.ok_or_else(|| UserError::Group(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nweb:x:33:44::/:/bin/false\n";
    const GROUPS: &str = "root:x:0:\nlogs:x:7:web\n";

    #[test]
    fn names_and_numbers_find_user_and_group() {
        let found = |written| Account::find_in(written, PASSWD, GROUPS);
        assert_eq!(found("web"), Ok(Account { user: 33, group: 44 }));
        assert_eq!(found("33"), Ok(Account { user: 33, group: 44 }));
        assert_eq!(found("web:logs"), Ok(Account { user: 33, group: 7 }));
        assert_eq!(
            found("1000:1000"),
            Ok(Account {
                user: 1000,
                group: 1000
            })
        );
        assert_eq!(found("1000"), Err(UserError::NoGroup(1000)));
        assert_eq!(found("nobody"), Err(UserError::User("nobody".to_owned())));
        assert_eq!(found("web:none"), Err(UserError::Group("none".to_owned())));
    }
}
