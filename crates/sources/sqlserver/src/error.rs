//! Errors of a session as errors of the source, each with its fix.

use std::path::Path;

use inrush_source::{SourceError, input_error, read_as_text, unsuitable};
use inrush_tdsclient::SessionError;

/// Numbers of errors after which the user must change their SQL: syntax, a second statement, an unknown column, a
/// column without a name, two columns of the same name, a type that cannot be compared or converted.
const OF_WORDS: [i32; 12] = [
    102, 105, 156, 170, 207, 209, 319, 1033, 4104, 8155, 8156, 8116,
];

/// Converts the error of a session to the source's error about an input.
pub fn refused(input: &Path, doing: &str, error: &SessionError) -> SourceError {
    let what = format!("{doing}: {error}");
    match error {
        SessionError::Interrupted => SourceError::Stopped {
            path: input.to_path_buf(),
        },
        SessionError::Address { hint, .. } => unsuitable(input, error.to_string(), hint.clone()),
        SessionError::Columns(_) => unsuitable(input, what, read_as_text(["...", "NAME::text"])),
        SessionError::Server(message) if OF_WORDS.contains(&message.number) => unsuitable(
            input,
            what,
            "write one SELECT without `;`, WITH and ORDER BY, whose columns all have a name, and a condition as in SQL",
        ),
        _ => {
            let fix = match error.number() {
                Some(208) => "name a table or view that exists, with its schema",
                Some(229 | 230) => {
                    "grant the login the right to read it (GRANT SELECT ON ... TO ...)"
                }
                Some(1222) => {
                    "another session holds a lock: sys.dm_tran_locks shows which one. Run the same command again once it is done"
                }
                Some(1205) => {
                    "this session and another one waited for each other (a deadlock): run the same command again"
                }
                Some(_) | None => error
                    .hint()
                    .unwrap_or("correct the source, or the database, as the server's message says"),
            };
            input_error(input, what, fix)
        }
    }
}
