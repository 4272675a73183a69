//! Calls to the C library for the user's name and the effect of signals.
//!
//! # Why it is sound
//!
//! Every call gets places of ours that are valid for as long as it runs, with their lengths. What
//! it has filled in is read only where it says that it did, and copied before its memory goes.
#![expect(
    unsafe_code,
    reason = "calls of the C library that no crate in use has safe"
)]

use std::ffi::CStr;
use std::mem::MaybeUninit;

/// The name of a user of the operating system by its number.
pub(crate) fn user_name(user: u32) -> Option<String> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: entry and buffer are ours and live, and the length is the buffer's. The entry is
    // read only where `found` says that it was filled; its name points into the buffer.
    unsafe {
        let status = libc::getpwuid_r(
            user,
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &mut found,
        );
        if status != 0 || found.is_null() {
            return None;
        }
        let name = CStr::from_ptr(entry.assume_init().pw_name);
        name.to_str().ok().map(str::to_owned)
    }
}

/// Lets all threads allocate from one heap. By itself the C library reserves 64 MiB of address space for each thread,
/// which a limited address space soon does not have.
pub(crate) fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number within the allocator; nothing of ours is passed.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Whether nobody has said what this process does at a signal.
pub(crate) fn has_default_action(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with no new action given, sigaction only fills the struct that it is given, which
    // is read only where it says that it did.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_DFL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        assert_eq!(user_name(0).as_deref(), Some("root"));
    }
}
