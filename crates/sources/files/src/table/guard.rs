//! Decoders of others on bytes that nobody has checked: where one falls over them, that is the file's fault
//! and an error, not the end of this process.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// A panic of this thread is told as an error: nothing is printed.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; a panic in it is an error that says so.
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
    format!("its decoder fell: {}", text.unwrap_or("without a word"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_is_an_error() {
        let fallen = guarded(|| -> Result<(), String> { panic!("offset {}", 9) });
        assert_eq!(fallen, Err("its decoder fell: offset 9".to_owned()));
        assert_eq!(guarded(|| Err::<(), _>("cut")), Err("cut".to_owned()));
        assert_eq!(guarded(|| Ok::<_, String>(1)), Ok(1));
    }
}
