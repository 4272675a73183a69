//! Checks of the settings that go together with a mode.

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::flow::key_column;
use super::name::{NameFault, valid};
use super::replace::{Keep, Replace, ReplaceBy};
use super::{Flow, Mode, OneOrMany};

/// Checks the settings that belong to a mode.
pub(super) fn check_mode(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if flow.mode != Mode::Replace && flow.replace != Replace::default() {
        faults.add(
            &at("replace"),
            PackageFaultKind::Conflict {
                conflict: "`replace` configures which rows are replaced, and this flow's mode \
                           replaces none"
                    .to_owned(),
                mend: "add `mode = \"replace\"`, or take `replace` out".to_owned(),
            },
        );
    }
    if flow.replace.by == ReplaceBy::Rows
        && (!flow.replace.keep.is_no() || flow.replace.scope != Default::default())
    {
        faults.add(
            &at("replace"),
            PackageFaultKind::Conflict {
                conflict:
                    "`by = \"rows\"` deletes the rows of a plain table, so there is no old table \
                           to keep, and no partitions"
                        .to_owned(),
                mend: "take `by` out, or `scope` and `keep`".to_owned(),
            },
        );
    }
    check_key(flow, at, faults);
    check_statements(flow, at, faults);
    if !flow.atomic && flow.mode != Mode::Append {
        faults.add(
            &at("atomic"),
            PackageFaultKind::Conflict {
                conflict:
                    "`atomic = false` appends rows directly to the target, and this flow has \
                           another mode"
                        .to_owned(),
                mend: "add `mode = \"append\"`, or take `atomic` out".to_owned(),
            },
        );
    }
    if !flow.atomic && flow.partition_by.is_some() {
        faults.add(
            &at("partition_by"),
            PackageFaultKind::Conflict {
                conflict: "with `atomic = false` the server finds the partition of each row"
                    .to_owned(),
                mend: "take `partition_by` and `bounds` out".to_owned(),
            },
        );
    }
    if let Keep::Name(name) = &flow.replace.keep
        && let Err(NameFault { cause, mend }) = valid(name)
    {
        faults.value(&at("replace.keep"), name, &cause, &mend);
    }
}

fn check_key(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let columns = flow.key.as_ref().map_or(&[][..], OneOrMany::patterns);
    let conflict = match (flow.mode, columns.is_empty()) {
        (Mode::Upsert, true) => Some((
            "mode",
            "`mode = \"upsert\"` needs a key to find the rows of the target",
            "add `key = \"COLUMN\"`, or a list of columns",
        )),
        (Mode::Upsert, false) => None,
        (_, _) if flow.key.is_some() => Some((
            "key",
            "`key` is for `mode = \"upsert\"`, and this flow has another mode",
            "add `mode = \"upsert\"`, or take `key` out",
        )),
        _ => None,
    };
    if let Some((setting, conflict, mend)) = conflict {
        faults.add(
            &at(setting),
            PackageFaultKind::Conflict {
                conflict: conflict.to_owned(),
                mend: mend.to_owned(),
            },
        );
    }
    for text in columns {
        if let Err(kind) = key_column(text) {
            faults.add(&at("key"), kind);
        }
    }
    if flow.mode == Mode::Upsert && flow.partition_by.is_some() {
        faults.add(
            &at("partition_by"),
            PackageFaultKind::Conflict {
                conflict: "with `mode = \"upsert\"` the server finds the partition of each row"
                    .to_owned(),
                mend: "take `partition_by` and `bounds` out".to_owned(),
            },
        );
    }
}

/// Words that begin or end a transaction: the switch's own is the only one.
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

fn check_statements(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
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
                    "it contains no statement",
                    "write one SQL statement, or take it out",
                );
            } else if word == "copy" && talks_to_client(statement) {
                faults.value(
                    &path,
                    statement,
                    "the statement would copy from or to Inrush, which has no rows for it",
                    "let it read or write a table, or remove it",
                );
            } else if TRANSACTION_WORDS.contains(&word.as_str()) {
                faults.value(
                    &path,
                    statement,
                    "the statement would end the transaction of the switch, in which it runs",
                    "remove it: if any statement fails, the whole switch is rolled back",
                );
            }
        }
    }
    if flow.pre_sql.is_some() && !flow.atomic {
        faults.add(
            &at("pre_sql"),
            PackageFaultKind::Conflict {
                conflict: "`pre_sql` runs in the transaction of the switch, and with `atomic = \
                           false` rows are in the target before the switch"
                    .to_owned(),
                mend: "run the statement by hand before the load, or take `atomic` out".to_owned(),
            },
        );
    }
}

/// Whether a COPY takes its rows from the client, or sends them there.
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
