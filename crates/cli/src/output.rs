//! The only code that prints. Everything that the command writes to the terminal or to a pipe passes through here,
//! which removes secrets, and control characters from files, servers and packages. Clippy refuses other ways to print
//! (`clippy.toml`).
//!
//! If the reader of the output has gone away, the run continues without an error. A full disk is an error, and the
//! command reports it at its end ([`lost`]).

#![expect(
    clippy::disallowed_methods,
    reason = "this is where the standard streams are written"
)]

use std::io::{self, IsTerminal, Write};
use std::sync::{Once, OnceLock};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use inrush::package::redacted_url;
use inrush::printable::{escaped, escaped_json, one_line};
use inrush::secrets::{self, masked};
use serde::Serialize;
use serde_json::Value;

/// Why a part of the standard output was not written, usually a full disk. A reader that has gone away does not count.
static LOST: OnceLock<String> = OnceLock::new();

/// The error that lost a part of the standard output, if one did.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes text to the standard output.
pub fn say(text: &str) {
    // It is not an error of the run if the reader is gone.
    let _ = write_out(&escaped(&masked(text)));
}

/// Writes notes to the standard error, one per line: problems that do not change the exit status.
pub fn notes(notes: impl IntoIterator<Item = String>) {
    for note in notes {
        errors(&format!("note: {note}"));
    }
}

/// Writes text and the end of a line to the standard error.
pub fn errors(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escaped(&masked(text.trim_end())));
}

/// Writes JSON for a program to standard output, as one line. An error means that the reader is gone.
pub fn json(value: &impl Serialize) -> io::Result<()> {
    write_json(match secrets::is_empty() {
        true => serde_json::to_string(value),
        false => masked_json(value).and_then(|value| serde_json::to_string(&value)),
    })
}

/// Like [`json`], on several lines.
pub fn pretty_json(value: &impl Serialize) -> io::Result<()> {
    write_json(masked_json(value).and_then(|value| serde_json::to_string_pretty(&value)))
}

/// Writes a requested file, a package or a page, to the standard output. It is not escaped, because escapes would
/// change its meaning. Only on a terminal, control characters are escaped.
pub fn document(text: &str) {
    let _ = match io::stdout().is_terminal() {
        true => write_out(&escaped(text)),
        false => write_out(text),
    };
}

/// Writes the messages of the parser of arguments. They repeat arguments, which may be file names from a shell.
pub fn arguments(mut error: clap::Error) {
    let plain = |text: &StyledStr| {
        let text = text.to_string();
        StyledStr::from(one_line(&masked(&text)).into_owned())
    };
    let clean: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) if kind == ContextKind::InvalidValue => {
                // A URL of another scheme may contain a password.
                let text = redacted_url(text);
                Some((
                    kind,
                    ContextValue::String(one_line(&masked(&text)).into_owned()),
                ))
            }
            ContextValue::String(text) => Some((
                kind,
                ContextValue::String(one_line(&masked(text)).into_owned()),
            )),
            ContextValue::Strings(texts) => {
                let texts = texts
                    .iter()
                    .map(|text| one_line(&masked(text)).into_owned());
                Some((kind, ContextValue::Strings(texts.collect())))
            }
            ContextValue::StyledStr(text) => Some((kind, ContextValue::StyledStr(plain(text)))),
            ContextValue::StyledStrs(texts) => {
                let texts = texts.iter().map(plain);
                Some((kind, ContextValue::StyledStrs(texts.collect())))
            }
            _ => None,
        })
        .collect();
    for (kind, value) in clean {
        error.insert(kind, value);
    }
    // A pager may close the help early; that is not an error.
    let printed = error.print().and_then(|()| io::stdout().flush());
    if let (Err(lost), false) = (&printed, error.use_stderr()) {
        note_lost(lost);
    }
}

/// True if a person can see progress on standard error.
pub fn shows_progress() -> bool {
    io::stderr().is_terminal()
}

/// Prints panics of all threads through this printer, too.
pub fn tell_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let thread = std::thread::current();
            let backtrace = std::backtrace::Backtrace::capture();
            errors(&format!(
                "thread {}: {panic}",
                thread.name().unwrap_or("without a name")
            ));
            if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
                errors(&backtrace.to_string());
            }
        }));
    });
}

fn masked_json(value: &impl Serialize) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    secrets::mask_json(&mut value);
    Ok(value)
}

fn write_json(json: serde_json::Result<String>) -> io::Result<()> {
    let mut json = json?;
    json.push('\n');
    write_out(&escaped_json(&json))
}

/// One write under the lock, so that lines of several threads are not mixed.
fn write_out(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let written = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    if let Err(error) = &written {
        note_lost(error);
    }
    written
}

/// Records why a part of the standard output is lost. If the reader has closed the pipe, nothing is lost.
fn note_lost(error: &io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        // The first error is the most informative.
        let _ = LOST.set(error.to_string());
    }
}
