//! The user that the server runs as. PostgreSQL refuses to run as root, so root becomes
//! another user first.

use inrush_system::users;

use crate::error::EmbeddedError;

/// The users that root changes to, the first existing one. `postgres` comes with a system package and owns nothing but
/// databases; `nobody` exists everywhere.
const SUBSTITUTES: [&str; 2] = ["postgres", "nobody"];

/// The user that the server runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OsAccount {
    /// The user's name, for messages.
    pub name: String,
    pub uid: libc::uid_t,
    pub gid: libc::gid_t,
    /// True if a child must change to this user; false if this process already runs as it.
    pub change: bool,
}

impl OsAccount {
    /// The user of a new data folder: the current user, or a substitute for root.
    pub fn choose() -> Result<OsAccount, EmbeddedError> {
        let uid = effective_uid();
        if uid != 0 {
            return Ok(OsAccount {
                name: user_name(uid),
                uid,
                gid: rustix::process::getegid().as_raw(),
                change: false,
            });
        }
        SUBSTITUTES
            .iter()
            .find_map(|name| by_name(name))
            .ok_or(EmbeddedError::NoAccount)
    }

    /// The user of an existing data folder: its owner, if this process runs as that user or can become it.
    pub fn of_owner(&self, uid: libc::uid_t, gid: libc::gid_t) -> Option<OsAccount> {
        if uid == self.uid {
            return Some(self.clone());
        }
        // Root may become the owner; a server as root is refused by PostgreSQL.
        (self.change && uid != 0).then(|| OsAccount {
            name: user_name(uid),
            uid,
            gid,
            change: true,
        })
    }
}

/// The effective user id of this process.
pub(crate) fn effective_uid() -> libc::uid_t {
    rustix::process::geteuid().as_raw()
}

/// The name of a user, or its number if it has none.
pub(crate) fn user_name(uid: libc::uid_t) -> String {
    users::name_of(uid).unwrap_or_else(|| uid.to_string())
}

fn by_name(name: &str) -> Option<OsAccount> {
    let user = users::user_named(name).filter(|user| user.uid != 0)?;
    Some(OsAccount {
        name: user.name,
        uid: user.uid,
        gid: user.gid,
        change: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_becomes_somebody_else_and_others_stay() {
        let account = OsAccount::choose().expect("every machine has postgres or nobody");
        assert_ne!(account.uid, 0);
        assert_eq!(account.change, effective_uid() == 0);
    }

    #[test]
    fn names_of_users() {
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(3_999_999_999), "3999999999");
        assert_eq!(by_name("no such user here"), None);
        assert_eq!(by_name("root"), None);
    }

    #[test]
    fn a_data_folder_is_served_by_its_owner() {
        let root = OsAccount {
            name: "postgres".into(),
            uid: 101,
            gid: 104,
            change: true,
        };
        assert_eq!(root.of_owner(0, 0), None);
        assert_eq!(root.of_owner(101, 104), Some(root.clone()));
        assert_eq!(
            root.of_owner(1000, 1000).map(|a| (a.uid, a.change)),
            Some((1000, true))
        );
        let user = OsAccount {
            name: "ann".into(),
            uid: 1000,
            gid: 1000,
            change: false,
        };
        assert_eq!(user.of_owner(1001, 1000), None);
        assert_eq!(user.of_owner(1000, 1000), Some(user.clone()));
    }
}
