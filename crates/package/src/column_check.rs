//! Checks of one column of a package, except its type, which may come from the catalog: the plan checks that.

use inrush_rows::column_policy::Trim;
use inrush_rows::column_policy::is_separator;

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::{ColumnDetail, ColumnNull, Format, SourceWord, TrimBlanks};

/// The name for all fields that no other column takes.
pub const ALL_OTHERS: &str = "*";

/// Checks the column at `path`.
pub(super) fn check_column(
    detail: &ColumnDetail,
    format: &Format,
    path: &str,
    faults: &mut Faults<'_>,
) {
    let at = |setting: &str| format!("{path}.{setting}");
    if detail.name == ALL_OTHERS && !detail.skip {
        faults.value(
            &at("name"),
            ALL_OTHERS,
            "`*` stands for all fields that no other column takes, and they can only be skipped",
            "write \"* skip\", or the column's own name",
        );
    }
    if detail.skip {
        return check_skip(detail, &at, faults);
    }
    if detail.source.is_some() || detail.value.is_some() {
        check_source(detail, &at, faults);
    }
    if detail.default.is_none() && detail.default_for.is_some() {
        conflict(
            faults,
            &at("default_for"),
            "`default_for` needs a `default`",
            "add `default = \"...\"`, or remove `default_for`",
        );
    }
    let is_trimmed = match detail.trim {
        Some(trim) => trim != Trim::None,
        // A column without `trim` has the format's.
        None => format.trim.is_some_and(|trim| trim != TrimBlanks::None),
    };
    if detail.trim_quoted && !is_trimmed {
        conflict(
            faults,
            &at("trim_quoted"),
            "`trim_quoted` needs `trim`, but nothing is trimmed",
            "add `trim = \"both\"` (or \"start\", \"end\") to the column or to the format",
        );
    }
    check_null(detail, &at, faults);
    check_words(detail, &at, faults);
    check_separators(
        &detail.decimal_separator,
        &detail.group_separator,
        &at,
        faults,
    );
}

fn conflict(faults: &mut Faults<'_>, path: &str, conflict: &str, mend: &str) {
    faults.add(
        path,
        PackageFaultKind::Conflict {
            conflict: conflict.to_owned(),
            mend: mend.to_owned(),
        },
    );
}

/// The keys of a column that are set and that say how its field is read.
fn reading_keys(detail: &ColumnDetail) -> Vec<&'static str> {
    [
        ("default", detail.default.is_some()),
        ("default_for", detail.default_for.is_some()),
        ("trim", detail.trim.is_some()),
        ("trim_quoted", detail.trim_quoted),
        ("null", detail.null.is_some()),
        ("nan", detail.nan.is_some()),
        ("on_truncate", detail.on_truncate.is_some()),
        ("round", detail.round.is_some()),
        ("lossless", detail.lossless.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, is_set)| is_set.then_some(key))
    .collect()
}

/// The keys of a column that are set and that say how its values are written.
fn form_keys(detail: &ColumnDetail) -> Vec<&'static str> {
    [
        ("format", detail.format.is_some()),
        ("zone", detail.zone.is_some()),
        ("year_pivot", detail.year_pivot.is_some()),
        ("decimal_separator", detail.decimal_separator.is_some()),
        ("group_separator", detail.group_separator.is_some()),
        ("negative", detail.negative.is_some()),
        ("true_words", detail.true_words.is_some()),
        ("false_words", detail.false_words.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, is_set)| is_set.then_some(key))
    .collect()
}

fn check_skip(detail: &ColumnDetail, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let mut keys: Vec<&str> = [
        ("type", detail.type_name.is_some()),
        ("nullable", !detail.nullable),
        ("load", !detail.load),
        ("source", detail.source.is_some()),
        ("value", detail.value.is_some()),
        ("field", detail.field.is_some() && detail.name == ALL_OTHERS),
    ]
    .into_iter()
    .filter_map(|(key, is_set)| is_set.then_some(key))
    .collect();
    keys.extend(form_keys(detail));
    keys.extend(reading_keys(detail));
    for key in keys {
        let (what, mend) = match detail.name.as_str() {
            ALL_OTHERS => (
                format!("`*` stands for all other fields, so `{key}` has no effect"),
                "write \"* skip\"",
            ),
            _ => (
                format!("the field is skipped, so `{key}` has no effect"),
                "remove it, or remove `skip`",
            ),
        };
        conflict(faults, &at(key), &what, mend);
    }
}

fn check_source(detail: &ColumnDetail, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let is_constant = detail.source == Some(SourceWord::Constant);
    if detail.value.is_some() && !is_constant {
        conflict(
            faults,
            &at("value"),
            "`value` is for a column with source = \"constant\"",
            "add `source = \"constant\"`; a value for fields that are missing is `default`",
        );
    }
    if detail.value.is_none() && is_constant {
        conflict(
            faults,
            &at("source"),
            "the column is filled with a constant, but there is no `value`",
            "add `value = \"...\"`",
        );
    }
    if detail.source.is_none() {
        return;
    }
    let mut keys = Vec::new();
    if detail.field.is_some() {
        keys.push("field");
    }
    keys.extend(reading_keys(detail));
    if !is_constant {
        keys.extend(form_keys(detail));
    }
    for key in keys {
        conflict(
            faults,
            &at(key),
            &format!("the column is filled by `source` and takes no field, so `{key}` is not used"),
            &format!("remove `{key}` or `source`"),
        );
    }
}

fn check_null(detail: &ColumnDetail, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let markers: &[String] = match &detail.null {
        None | Some(ColumnNull::Never(_)) => return,
        Some(ColumnNull::Text(marker)) => std::slice::from_ref(marker),
        Some(ColumnNull::Texts(markers)) => markers,
    };
    if markers.is_empty() {
        faults.value(
            &at("null"),
            "[]",
            "it lists no text",
            "write null = false if no text stands for NULL",
        );
    }
    for marker in markers {
        if marker.contains(['\n', '\r', '\0']) {
            faults.value(
                &at("null"),
                &marker.escape_debug().to_string(),
                "no field can contain it",
                "choose a marker without line ends and NUL bytes",
            );
        }
    }
}

fn check_words(detail: &ColumnDetail, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let (yes, no) = (&detail.true_words, &detail.false_words);
    let (present, missing) = match (yes, no) {
        (Some(_), None) => ("true_words", "false_words"),
        (None, Some(_)) => ("false_words", "true_words"),
        (None, None) => return,
        (Some(yes), Some(no)) => {
            for (key, words) in [("true_words", yes), ("false_words", no)] {
                if words.is_empty() {
                    faults.value(
                        &at(key),
                        "[]",
                        "it lists no word",
                        "write at least one word",
                    );
                }
            }
            let folded = |word: &String| word.trim().to_lowercase();
            if let Some(both) = no
                .iter()
                .find(|word| yes.iter().any(|other| folded(other) == folded(word)))
            {
                faults.value(
                    &at("false_words"),
                    both,
                    "it is one of `true_words`, too (upper and lower case are the same)",
                    "give each word only one meaning",
                );
            }
            return;
        }
    };
    conflict(
        faults,
        &at(present),
        &format!("`{present}` replaces all of PostgreSQL's words, but `{missing}` is not set"),
        &format!("add `{missing} = [...]`"),
    );
}

/// Checks the separators in numbers, of a column or of a format.
pub(super) fn check_separators(
    decimal: &Option<String>,
    group: &Option<String>,
    at: &dyn Fn(&str) -> String,
    faults: &mut Faults<'_>,
) {
    for (key, separator) in [("decimal_separator", decimal), ("group_separator", group)] {
        let Some(separator) = separator else {
            continue;
        };
        let mut characters = separator.chars();
        let cause = match (characters.next(), characters.next()) {
            (Some(only), None) if is_separator(only) => continue,
            (Some(_), None) => "a digit, a letter, a sign or a bracket cannot separate digits",
            (None, _) => "it is empty",
            (Some(_), Some(_)) => "it is more than one character",
        };
        let mend = "write one character, such as \",\", \".\", \"'\", \"_\", a blank, or the \
                    no-break space \"\\u00A0\"";
        faults.value(&at(key), separator, cause, mend);
    }
    let decimal = decimal.as_deref().unwrap_or(".");
    if group.as_deref() == Some(decimal) {
        let mend = match decimal {
            "." => "add decimal_separator = \",\", or take another group_separator",
            _ => "take another one of them",
        };
        conflict(
            faults,
            &at("group_separator"),
            &format!("`{decimal}` would separate groups of digits and the fraction"),
            mend,
        );
    }
}
