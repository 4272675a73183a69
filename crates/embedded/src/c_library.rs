//! Calls to the C library that look for a locale.
//!
//! # Why it is sound
//!
//! The call gets a name that ends with a NUL and is valid for as long as it runs. The locale that it makes is freed here.
#![expect(
    unsafe_code,
    reason = "calls of the C library for which no crate in use has safe functions"
)]

use std::ffi::CStr;

/// True if there is a locale of this name for the kinds of characters.
pub(crate) fn has_locale(name: &CStr) -> bool {
    // SAFETY: name ends in NUL; a null base asks for a new locale, which is freed below.
    unsafe {
        let locale = libc::newlocale(libc::LC_CTYPE_MASK, name.as_ptr(), std::ptr::null_mut());
        if locale.is_null() {
            return false;
        }
        libc::freelocale(locale);
        true
    }
}
