//! Calls to the C library: one heap for all threads, and the action of a signal.
//!
//! # Why it is sound
//!
//! Every call gets memory that this module owns and that is valid during the call, with its length. The memory is read
//! only if the call reports that it has filled it.
#![expect(
    unsafe_code,
    reason = "calls of the C library for which no crate in use has safe functions"
)]

use std::mem::MaybeUninit;

/// Lets all threads allocate from one heap. By default the C library reserves 64 MiB of address space for each thread,
/// which soon exhausts a limited address space.
pub(crate) fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call sets a number inside the allocator; no pointer is passed.
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
