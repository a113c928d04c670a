//! What a server must be, so that what it confirms stays: new enough, in UTF-8, no standby, with durable settings.

use super::columns::{column, number};
use super::session::Session;
use crate::traits::Error;

/// The oldest server, as it numbers itself: 14.
const VERSION_MIN: i32 = 140_000;

const ASK: &str = "\
    SELECT current_setting('server_version_num')::integer, current_setting('server_version'), \
    current_setting('server_encoding'), pg_is_in_recovery(), current_setting('fsync'), \
    current_setting('synchronous_commit')";

/// Why a server is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// Too old.
    #[error("the server is PostgreSQL {found}; use 14 or newer")]
    Old {
        /// What it calls itself.
        found: String,
    },
    /// Texts cannot be kept as they are.
    #[error("the database's encoding is `{found}`; create one with `ENCODING 'UTF8'`")]
    Encoding {
        /// What it has.
        found: String,
    },
    /// It takes no writes, and one day becomes something else.
    #[error("the server is a standby; name the primary, or all hosts of the cluster, separated by commas")]
    Standby,
    /// It may lose what it confirmed.
    #[error(
        "the server runs with `{setting}={value}` and may lose confirmed commits; set it to `on`, or add \
         `unsafe=allow` to the URL if the data does not matter"
    )]
    Unsafe {
        /// Which setting.
        setting: &'static str,
        /// What it is set to.
        value: String,
    },
}

/// What a server says of itself.
struct Server {
    number: i32,
    version: String,
    encoding: String,
    is_standby: bool,
    fsync: String,
    synchronous_commit: String,
}

/// Asks the server what it is. None if it is suitable.
pub(super) async fn unsuitable(session: &Session, allows_unsafe: bool) -> Result<Option<Unsuitable>, Error> {
    let server = session
        .first(ASK, &[], |row| {
            Ok(Server {
                number: number::<i32, _>(row, 0)?,
                version: column(row, 1)?,
                encoding: column(row, 2)?,
                is_standby: column(row, 3)?,
                fsync: column(row, 4)?,
                synchronous_commit: column(row, 5)?,
            })
        })
        .await?;
    Ok(server.and_then(|server| judge(server, allows_unsafe)))
}

fn judge(server: Server, allows_unsafe: bool) -> Option<Unsuitable> {
    let Server {
        number,
        version,
        encoding,
        is_standby,
        fsync,
        synchronous_commit,
    } = server;
    if number < VERSION_MIN {
        return Some(Unsuitable::Old { found: version });
    }
    if encoding != "UTF8" {
        return Some(Unsuitable::Encoding { found: encoding });
    }
    if is_standby {
        return Some(Unsuitable::Standby);
    }
    let settings = [("fsync", fsync), ("synchronous_commit", synchronous_commit)];
    let off = settings.into_iter().find(|(_, value)| value == "off" && !allows_unsafe);
    off.map(|(setting, value)| Unsuitable::Unsafe { setting, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server {
            number: 150_013,
            version: "15.13".to_owned(),
            encoding: "UTF8".to_owned(),
            is_standby: false,
            fsync: "on".to_owned(),
            synchronous_commit: "remote_apply".to_owned(),
        }
    }

    #[test]
    fn only_a_server_that_keeps_what_it_confirms_is_taken() {
        assert_eq!(judge(server(), false), None);
        let old = Server {
            number: 130_010,
            version: "13.10".to_owned(),
            ..server()
        };
        assert!(matches!(judge(old, true), Some(Unsuitable::Old { .. })));
        let latin = Server {
            encoding: "LATIN1".to_owned(),
            ..server()
        };
        assert!(matches!(judge(latin, true), Some(Unsuitable::Encoding { .. })));
        let standby = Server {
            is_standby: true,
            ..server()
        };
        assert_eq!(judge(standby, true), Some(Unsuitable::Standby));
    }

    #[test]
    fn settings_that_lose_commits_are_refused_unless_waived() {
        let off = "off".to_owned();
        let loose = || Server {
            fsync: off.clone(),
            ..server()
        };
        let late = || Server {
            synchronous_commit: off.clone(),
            ..server()
        };
        for (server, name) in [(loose(), "fsync"), (late(), "synchronous_commit")] {
            let refused = judge(server, false);
            assert!(matches!(refused, Some(Unsuitable::Unsafe { setting, .. }) if setting == name));
        }
        assert_eq!(judge(loose(), true), None);
        assert_eq!(judge(late(), true), None);
    }
}
