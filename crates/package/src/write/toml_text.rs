//! Pieces of TOML: lines, settings, keys, texts and lists.

use std::fmt::Write;

use inrush_rows::printable::{is_unsafe, one_line};
use serde::Serialize;

use crate::OneOrMany;

/// The most columns that are written in one line.
const LINE_CHARACTERS_MAX: usize = 96;

/// Lines of a comment. A line break in a comment would end it, and the rest would be read as TOML.
pub fn comment(out: &mut String, indent: &str, lines: &[String]) {
    for text in lines {
        line(out, format!("{indent}# {}", one_line(text)).trim_end());
    }
}

/// One text, or a list of them.
pub fn one_or_many(out: &mut String, name: &str, texts: &OneOrMany) {
    match texts {
        OneOrMany::One(one) => setting(out, name, &text(one)),
        OneOrMany::Many(many) => {
            setting(out, name, &list(many.iter().map(|one| text(one)).collect()));
        }
    }
}

/// A table in one line.
pub fn inline(table: &impl Serialize) -> String {
    toml::Value::try_from(table)
        .expect("settings are texts, numbers and tables of them")
        .to_string()
}

/// A word of an enum, as TOML has it.
pub fn word(value: impl Serialize) -> String {
    let value = serde_json::json!(value);
    text(value.as_str().unwrap_or_default())
}

/// The settings of an inline table, in their order.
#[derive(Default)]
pub struct Settings(Vec<String>);

impl Settings {
    /// Adds a setting, if it has a value.
    pub fn add(&mut self, name: &str, value: Option<String>) {
        self.0
            .extend(value.map(|value| format!("{name} = {value}")));
    }

    /// The table in one line.
    pub fn inline(self) -> String {
        format!("{{ {} }}", self.0.join(", "))
    }
}

/// Items in brackets, in one line.
pub fn in_brackets(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// A list in one line, or with a line for each item if it is too long for one.
pub fn list(items: Vec<String>) -> String {
    let one_line = format!("[{}]", items.join(", "));
    if one_line.chars().count() + 16 <= LINE_CHARACTERS_MAX {
        return one_line;
    }
    format!("[\n    {},\n]", items.join(",\n    "))
}

/// A setting in a line of its own.
pub fn setting(out: &mut String, name: &str, value: &str) {
    line(out, &format!("{name} = {value}"));
}

/// A line with its end.
pub fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a String takes any text");
}

/// A key, in quotes if it needs them.
pub fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => text(name),
    }
}

/// A basic string of TOML.
pub fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            hidden if is_unsafe(hidden) => {
                write!(out, "\\U{:08X}", u32::from(hidden)).expect("a String takes any text");
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
