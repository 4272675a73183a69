//! The user that the server runs as. PostgreSQL refuses to run as root, so root becomes
//! another user first.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

use crate::error::EmbeddedError;

/// Whom root becomes, first found first taken. `postgres` comes with a system package and owns
/// nothing but databases; `nobody` is everywhere.
const SUBSTITUTES: [&str; 2] = ["postgres", "nobody"];

/// The user that the server runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// For messages.
    pub name: String,
    pub uid: libc::uid_t,
    pub gid: libc::gid_t,
    /// Whether a child must change to it; false where we are that user.
    pub change: bool,
}

impl Account {
    /// The user of a new data folder: ourselves, or a substitute for root.
    pub fn choose() -> Result<Account, EmbeddedError> {
        let uid = effective_uid();
        if uid != 0 {
            return Ok(Account {
                name: user_name(uid),
                uid,
                // SAFETY: getegid has no preconditions and cannot fail.
                gid: unsafe { libc::getegid() },
                change: false,
            });
        }
        SUBSTITUTES
            .iter()
            .find_map(|name| by_name(name))
            .ok_or(EmbeddedError::NoAccount)
    }

    /// The user of an existing data folder: its owner, if we are or can become that user.
    pub fn of_owner(&self, uid: libc::uid_t, gid: libc::gid_t) -> Option<Account> {
        if uid == self.uid {
            return Some(self.clone());
        }
        // Root may become the owner; a server as root is refused by PostgreSQL.
        (self.change && uid != 0).then(|| Account {
            name: user_name(uid),
            uid,
            gid,
            change: true,
        })
    }
}

/// Who we are.
pub(crate) fn effective_uid() -> libc::uid_t {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// The name of a user, or its number where it has none.
pub(crate) fn user_name(uid: libc::uid_t) -> String {
    look_up(|entry, buffer, found| {
        // SAFETY: entry and found are valid for writes, buffer for its length.
        unsafe { libc::getpwuid_r(uid, entry, buffer.as_mut_ptr(), buffer.len(), found) }
    })
    .map_or_else(|| uid.to_string(), |account| account.name)
}

fn by_name(name: &str) -> Option<Account> {
    let name = CString::new(name).ok()?;
    look_up(|entry, buffer, found| {
        // SAFETY: name ends in NUL; entry and found are valid for writes, buffer for its length.
        unsafe {
            libc::getpwnam_r(
                name.as_ptr(),
                entry,
                buffer.as_mut_ptr(),
                buffer.len(),
                found,
            )
        }
    })
    .filter(|account| account.uid != 0)
}

/// Calls one of the `getpw*_r` functions with a buffer that grows until the entry fits.
fn look_up(
    call: impl Fn(*mut libc::passwd, &mut [libc::c_char], *mut *mut libc::passwd) -> libc::c_int,
) -> Option<Account> {
    let mut buffer: Vec<libc::c_char> = vec![0; 1024];
    loop {
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = std::ptr::null_mut();
        let status = call(entry.as_mut_ptr(), &mut buffer, &mut found);
        if status == libc::ERANGE && buffer.len() < 1 << 20 {
            buffer.resize(buffer.len() * 2, 0);
            continue;
        }
        if status != 0 || found.is_null() {
            return None;
        }
        // SAFETY: the call succeeded and found an entry, so entry is filled, and its strings
        // point into buffer, which is still alive.
        let (entry, name) = unsafe {
            let entry = entry.assume_init();
            (entry, CStr::from_ptr(entry.pw_name))
        };
        return Some(Account {
            name: name.to_string_lossy().into_owned(),
            uid: entry.pw_uid,
            gid: entry.pw_gid,
            change: true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_becomes_somebody_else_and_others_stay() {
        let account = Account::choose().expect("every machine has postgres or nobody");
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
        let root = Account {
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
        let user = Account {
            name: "ann".into(),
            uid: 1000,
            gid: 1000,
            change: false,
        };
        assert_eq!(user.of_owner(1001, 1000), None);
        assert_eq!(user.of_owner(1000, 1000), Some(user.clone()));
    }
}
