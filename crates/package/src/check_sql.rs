//! Checks of `pre_sql` and `post_sql`: each is a statement that does not end the transaction of the switch.

use super::faults::Faults;
use super::{Flow, OneOrMany};

/// Words that begin or end a transaction. They are refused, because the statements run in the transaction of the
/// switch.
const TRANSACTION_WORDS: [&str; 9] = [
    "abort",
    "begin",
    "commit",
    "end",
    "prepare",
    "release",
    "rollback",
    "savepoint",
    "start",
];

/// Checks the statements of a flow without a server.
pub(super) fn check_sql(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    for (setting, statements) in [("pre_sql", &flow.pre_sql), ("post_sql", &flow.post_sql)] {
        for (item, statement) in statements.iter().flat_map(|one| one.patterns()).enumerate() {
            let path = match statements {
                Some(OneOrMany::Many(_)) => at(&format!("{setting}[{item}]")),
                _ => at(setting),
            };
            let word = first_word(statement);
            if word.is_empty() {
                faults.value(
                    &path,
                    statement,
                    "there is no statement in it",
                    "write one SQL statement, or remove it",
                );
            } else if word == "copy" && talks_to_client(statement) {
                faults.value(
                    &path,
                    statement,
                    "it would copy rows from or to this program, which neither sends nor takes any",
                    "let it read or write a table, or remove it",
                );
            } else if TRANSACTION_WORDS.contains(&word.as_str()) {
                faults.value(
                    &path,
                    statement,
                    "it would end the transaction of the switch, in which it runs",
                    "remove it: if any statement fails, everything is rolled back",
                );
            }
        }
    }
}

/// True if a COPY reads its rows from the client, or sends them to the client.
fn talks_to_client(statement: &str) -> bool {
    let mut words = statement.split(|byte: char| !byte.is_alphanumeric() && byte != '_');
    words.any(|word| ["stdin", "stdout"].contains(&word.to_ascii_lowercase().as_str()))
}

/// The first word of a statement, in lower case, after blanks and comments.
fn first_word(statement: &str) -> String {
    let mut rest = statement.trim_start();
    loop {
        rest = if let Some(line) = rest.strip_prefix("--") {
            line.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else if let Some(rest) = rest.strip_prefix(['(', ';']) {
            rest
        } else {
            break;
        }
        .trim_start();
    }
    rest.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect::<String>()
        .to_lowercase()
}
