//! Runs decoders of other crates on unchecked bytes. If a decoder panics, this is reported as an error of the file and
//! does not end the process.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// True while a panic of this thread becomes an error, so that nothing is printed.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; returns a panic in it as an error.
pub(super) fn guarded<T, E: ToString>(decode: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                usual(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(false);
    match decoded {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(text(panic.as_ref())),
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("its decoder panicked: {}", text.unwrap_or("without a word"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_is_an_error() {
        let fallen = guarded(|| -> Result<(), String> { panic!("offset {}", 9) });
        assert_eq!(fallen, Err("its decoder panicked: offset 9".to_owned()));
        assert_eq!(guarded(|| Err::<(), _>("cut")), Err("cut".to_owned()));
        assert_eq!(guarded(|| Ok::<_, String>(1)), Ok(1));
    }
}
