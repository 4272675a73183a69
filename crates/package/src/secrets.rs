//! Secrets that this process must not show: values that `${env:NAME}` brought in, and passwords.
//!
//! Code that puts such a value into a setting notes the value here. The command's printer and the writers of a run's
//! folder then hide it in all their output, even if a driver, a server or a file name repeats it. A variable's value is
//! shown as `${env:NAME}`, a password as `***`.
//!
//! A value is hidden everywhere if it has at least [`MIXED_BYTES_MIN`] bytes. A value that consists only of letters, or
//! only of digits, must have at least [`WORD_BYTES_MIN`] bytes. A value of letters only is hidden only as a whole word.
//! Shorter values (`5432`, `true`) occur in too many other texts: they are hidden only in the setting itself.
//!
//! Paths that other programs need are shown: the folder of a run, paths that the command names, and the value of a
//! variable in a setting of paths if it is an absolute path that exists ([`is_shown_path`]).

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use inrush_rows::percent::percent_encoded;
use serde_json::Value;

/// The length of the shortest value that is hidden everywhere.
const MIXED_BYTES_MIN: usize = 6;

/// The length of the shortest such value if it has only letters, or only digits.
const WORD_BYTES_MIN: usize = 8;

/// The text that is shown in place of a password.
pub const HIDDEN: &str = "***";

/// One way in which a value may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WrittenForm {
    text: String,
    shown: String,
    /// True if it is hidden only as a whole word.
    is_word: bool,
}

static FORMS: RwLock<Vec<WrittenForm>> = RwLock::new(Vec::new());

/// Paths that are never hidden.
static SHOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// True if there is a secret to hide. Usually there is none, and no lock is taken.
static HAS_ANY: AtomicBool = AtomicBool::new(false);

/// Notes the value of a variable of the environment.
pub fn note_variable(name: &str, value: &str) {
    note(value, &format!("${{env:{name}}}"));
}

/// Notes a password or another secret.
pub fn note_secret(value: &str) {
    note(value, HIDDEN);
}

/// Notes a path that the command named, or the folder of a run, so that it is shown. A name without a folder is not
/// noted, because it may be a secret's value, too.
pub fn note_shown_path(path: &Path) {
    let text = path.display().to_string();
    if text.trim_matches('/').contains('/') {
        let mut shown = SHOWN.write().unwrap_or_else(PoisonError::into_inner);
        if !shown.contains(&text) {
            shown.push(text);
            shown.sort_by_key(|path| std::cmp::Reverse(path.len()));
        }
    }
}

/// True if a variable's value in a setting of paths is not a secret: an absolute path that exists.
pub fn is_shown_path(value: &str) -> bool {
    let path = Path::new(value);
    path.is_absolute() && path.parent().is_some() && path.exists()
}

fn note(value: &str, shown: &str) {
    let mut forms = FORMS.write().unwrap_or_else(PoisonError::into_inner);
    for form in forms_of(value, shown) {
        if !forms.iter().any(|known| known.text == form.text) {
            forms.push(form);
        }
    }
    // Longer values first: a value that contains another one is hidden whole.
    forms.sort_by_key(|form| std::cmp::Reverse(form.text.len()));
    HAS_ANY.store(!forms.is_empty(), Ordering::Release);
}

/// True if no secret is noted.
pub fn is_empty() -> bool {
    !HAS_ANY.load(Ordering::Acquire)
}

/// The text without secrets.
pub fn masked(text: &str) -> Cow<'_, str> {
    if is_empty() {
        return Cow::Borrowed(text);
    }
    let forms = FORMS.read().unwrap_or_else(PoisonError::into_inner);
    let paths = SHOWN.read().unwrap_or_else(PoisonError::into_inner);
    masked_by(&forms, &paths, text)
}

/// Hides the secrets in every text of a document.
pub fn mask_json(value: &mut Value) {
    if is_empty() {
        return;
    }
    let forms = FORMS.read().unwrap_or_else(PoisonError::into_inner);
    let paths = SHOWN.read().unwrap_or_else(PoisonError::into_inner);
    mask_each(&forms, &paths, value);
}

fn mask_each(forms: &[WrittenForm], paths: &[String], value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = masked_by(forms, paths, text) {
                *text = masked;
            }
        }
        Value::Array(values) => values
            .iter_mut()
            .for_each(|one| mask_each(forms, paths, one)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| mask_each(forms, paths, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The ways to write a value: as it is, as in a URL, and as in strings of JSON, TOML and SQL.
fn forms_of(value: &str, shown: &str) -> Vec<WrittenForm> {
    let value = value.trim();
    let is_letters = value.chars().all(char::is_alphabetic);
    let is_word = is_letters || value.chars().all(|c| c.is_ascii_digit());
    let bytes_min = match is_word {
        true => WORD_BYTES_MIN,
        false => MIXED_BYTES_MIN,
    };
    if value.len() < bytes_min {
        return Vec::new();
    }
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        quoted[1..quoted.len().saturating_sub(1).max(1)].to_owned()
    };
    let encoded = percent_encoded(value.as_bytes());
    let texts = [
        value.to_owned(),
        json(value),
        json(&json(value)),
        encoded.to_lowercase(),
        encoded,
        value.replace('\'', "''"),
        value.escape_debug().to_string(),
    ];
    texts
        .into_iter()
        .filter(|text| text.len() >= bytes_min)
        .map(|text| WrittenForm {
            text,
            shown: shown.to_owned(),
            is_word: is_letters,
        })
        .collect()
}

fn masked_by<'a>(forms: &[WrittenForm], paths: &[String], text: &'a str) -> Cow<'a, str> {
    let there: Vec<&WrittenForm> = forms
        .iter()
        .filter(|form| text.contains(&form.text))
        .collect();
    if there.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(path) = paths.iter().find(|path| begins_with_path(rest, path)) {
            out.push_str(path);
            rest = &rest[path.len()..];
            continue;
        }
        let found = there.iter().find(|form| {
            rest.starts_with(&form.text)
                && (!form.is_word
                    || !(joins(text[..text.len() - rest.len()].chars().next_back())
                        || joins(rest[form.text.len()..].chars().next())))
        });
        match found {
            Some(form) => {
                out.push_str(&form.shown);
                rest = &rest[form.text.len()..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    Cow::Owned(out)
}

/// True if a text begins with this path, and the name does not continue.
fn begins_with_path(text: &str, path: &str) -> bool {
    let after = text.strip_prefix(path);
    after.is_some_and(|after| !joins(after.chars().next()))
}

/// True if this neighbour continues the word.
fn joins(neighbour: Option<char>) -> bool {
    neighbour.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn forms(values: &[(&str, &str)]) -> Vec<WrittenForm> {
        let mut forms: Vec<WrittenForm> = values
            .iter()
            .flat_map(|(value, shown)| forms_of(value, shown))
            .collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.text.len()));
        forms
    }

    #[test]
    fn a_value_is_hidden_however_it_is_written() {
        let forms = forms(&[("s/e'c\"r@t", HIDDEN)]);
        for text in [
            "no s/e'c\"r@t here",
            "postgresql://u:s%2Fe%27c%22r%40t@h",
            "postgresql://u:s%2fe%27c%22r%40t@h",
            "{\"a\": \"s/e'c\\\"r@t\"}",
            "'s/e''c\"r@t'",
        ] {
            let masked = masked_by(&forms, &[], text);
            assert!(masked.contains(HIDDEN), "{masked}");
            assert!(
                !masked.contains("s/e") && !masked.contains("s%2"),
                "{masked}"
            );
        }
    }

    #[test]
    fn what_is_short_or_a_part_of_a_word_stays() {
        let forms = forms(&[
            ("5432", HIDDEN),
            ("true", HIDDEN),
            ("inrush", HIDDEN),
            ("postgres", "${env:ROLE}"),
            ("hunter2", HIDDEN),
        ]);
        assert_eq!(
            masked_by(
                &forms,
                &[],
                "5432 true inrush postgresql xhunter2y as postgres"
            ),
            "5432 true inrush postgresql x***y as ${env:ROLE}"
        );
    }

    #[test]
    fn the_longest_goes_first_and_every_text_of_a_document_is_looked_at() {
        let forms = forms(&[("pa55word", HIDDEN), ("x://u:pa55word@h", "${env:URL}")]);
        let mut value = json!({"a": ["x://u:pa55word@h", 1], "b": {"c": "u:pa55word"}});
        mask_each(&forms, &[], &mut value);
        assert_eq!(value, json!({"a": ["${env:URL}", 1], "b": {"c": "u:***"}}));
    }

    #[test]
    fn a_path_that_the_command_named_stays() {
        let forms = forms(&[("/data/feed", "${env:FEED}")]);
        let paths = ["/data/feed/runs".to_owned()];
        assert_eq!(
            masked_by(
                &forms,
                &paths,
                "/data/feed/runs/a /data/feed/runs2 /data/feed/b"
            ),
            "/data/feed/runs/a ${env:FEED}/runs2 ${env:FEED}/b"
        );
    }
}
