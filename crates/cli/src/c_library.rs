//! Calls of the C library: one heap for all threads, and the action of a signal.
//!
//! # Why it is sound
//!
//! Every call gets our own memory, valid during the call, with its length. It is read only if the call says that it
//! filled it in, and copied before it is freed.
#![expect(
    unsafe_code,
    reason = "calls of the C library that no crate in use has safe"
)]

use std::mem::MaybeUninit;

/// Lets all threads allocate from one heap. By itself the C library reserves 64 MiB of address space for each thread,
/// which a limited address space soon does not have.
pub(crate) fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number inside the allocator; no memory of ours is passed.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// True if the signal has its default action in this process.
pub(crate) fn has_default_action(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, sigaction only fills the given struct, which is read only if the call succeeded.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_DFL
    }
}
