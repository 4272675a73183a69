//! Writing to the terminal or the pipe. A reader that went away is no fault: the run goes on.

use std::io::Write;

/// Writes text to the standard output.
pub fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
}

/// Writes text and the end of a line to the standard error.
pub fn errors(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}
