//! The users of the operating system, from all sources that this system uses.
//!
//! # Why it is sound
//!
//! Every call gets memory that the code of this file owns, valid during the call, with its length, and names that end
//! with a NUL. The memory is read only if the call reports that it has filled the memory, and its content is copied
//! before it is freed.
#![expect(
    unsafe_code,
    reason = "calls of the C library for which no crate in use has safe functions"
)]

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

/// A user that the system knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its login name.
    pub name: String,
    /// Its number.
    pub uid: libc::uid_t,
    /// The number of its main group.
    pub gid: libc::gid_t,
}

/// The user of this number; `None` if the system knows none, or its name is not UTF-8.
pub fn user_of(uid: libc::uid_t) -> Option<User> {
    look_up(|entry, buffer, found| {
        // SAFETY: entry and found are valid for writes, buffer for its length.
        unsafe { libc::getpwuid_r(uid, entry, buffer.as_mut_ptr(), buffer.len(), found) }
    })
}

/// The login name of the user of this number.
pub fn name_of(uid: libc::uid_t) -> Option<String> {
    user_of(uid).map(|user| user.name)
}

/// The user of this name; `None` if the system knows none.
pub fn user_named(name: &str) -> Option<User> {
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
}

/// Calls one of the `getpw*_r` functions with a buffer that grows until the entry fits.
fn look_up(
    call: impl Fn(*mut libc::passwd, &mut [libc::c_char], *mut *mut libc::passwd) -> libc::c_int,
) -> Option<User> {
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
        return Some(User {
            name: name.to_str().ok()?.to_owned(),
            uid: entry.pw_uid,
            gid: entry.pw_gid,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_number_and_by_name() {
        let root = user_of(0).expect("every system has a root");
        assert_eq!((root.name.as_str(), root.gid), ("root", 0));
        assert_eq!(user_named("root"), Some(root));
        assert_eq!(user_of(3_999_999_999), None);
        assert_eq!(user_named("no such user here"), None);
        assert_eq!(user_named("root\0"), None);
    }
}
