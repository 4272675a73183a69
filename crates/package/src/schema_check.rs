//! Checks a TOML document against the schema, key by key.
//!
//! serde stops at its first error, cannot say which of several forms a value was meant to have, and suggests no similar
//! words. So the document is checked against the schema first, and all faults are reported at once; serde then reads a
//! correct document.

use std::path::Path;

use inrush_rows::quantity::parse_bytes;
use inrush_rows::suggest::suggestion;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{PackageFault, PackageFaultKind};
use super::place::{Place, SettingSpans};
use super::schema::{range_of, schema, target};
use super::url_passwords::redacted_url;

/// The check of one document.
pub(super) struct SchemaCheck<'a> {
    file: &'a Path,
    text: &'a str,
    /// The places of all settings found so far.
    pub(super) places: SettingSpans,
    /// All faults found so far.
    pub(super) faults: Vec<PackageFault>,
}

impl<'a> SchemaCheck<'a> {
    /// A check of the document with this text.
    pub(super) fn new(file: &'a Path, text: &'a str) -> SchemaCheck<'a> {
        SchemaCheck {
            file,
            text,
            places: SettingSpans::default(),
            faults: Vec::new(),
        }
    }

    /// Walks the whole document.
    pub(super) fn document(&mut self, document: &DeTable<'_>) {
        self.table(document, None, schema(), "");
    }

    fn fault(&mut self, span: Option<std::ops::Range<usize>>, kind: PackageFaultKind) {
        let place = match span {
            Some(span) => Place::in_text(self.file, self.text, span),
            None => Place::of_file(self.file),
        };
        self.faults.push(PackageFault { place, kind });
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, schema: &'static Value, path: &str) {
        self.places.values.insert(path.to_owned(), value.span());
        let schema = target(schema);
        let branches = branches(schema);
        if !branches.is_empty() && branches.iter().all(|branch| branch["const"].is_string()) {
            return self.word(value, schema, path);
        }
        let fitting = match branches.as_slice() {
            [] => takes(schema, value.get_ref()).then_some(schema),
            _ => {
                let mut fitting = branches
                    .into_iter()
                    .filter(|branch| takes(branch, value.get_ref()));
                let first = fitting.next();
                // If several tables are possible, the one whose keys are most similar.
                let better = |best: &'static Value, other: &'static Value| {
                    let [mine, others] = [best, other].map(|one| known_keys(one, value.get_ref()));
                    if others > mine { other } else { best }
                };
                first.map(|first| fitting.fold(first, better))
            }
        };
        let Some(fitting) = fitting else {
            return self.wrong_type(value, schema, path);
        };
        if fitting != schema && !self::branches(fitting).is_empty() {
            return self.value(value, fitting, path);
        }
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, Some(value.span()), fitting, path),
            DeValue::Array(array) => {
                for (index, item) in array.iter().enumerate() {
                    self.value(item, &fitting["items"], &format!("{path}[{index}]"));
                }
            }
            DeValue::Integer(integer) => {
                let (minimum, maximum) = range_of(fitting);
                let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
                if !number.is_some_and(|number| (minimum..=maximum).contains(&number)) {
                    self.fault(
                        Some(value.span()),
                        PackageFaultKind::OutOfRange {
                            setting: setting(path),
                            value: self.text[value.span()].to_owned(),
                            minimum: minimum.to_string(),
                            maximum: maximum.to_string(),
                        },
                    );
                }
            }
            _ => {}
        }
    }

    fn table(
        &mut self,
        table: &DeTable<'_>,
        span: Option<std::ops::Range<usize>>,
        schema: &'static Value,
        path: &str,
    ) {
        let any = &schema["additionalProperties"];
        let mut misspelt = Vec::new();
        for (key, value) in table.iter() {
            let path = match path {
                "" => key.get_ref().to_string(),
                _ => format!("{path}.{}", key.get_ref()),
            };
            self.places.keys.insert(path.clone(), key.span());
            match schema["properties"].get(key.get_ref().as_ref()) {
                Some(property) => self.value(value, property, &path),
                None if any.is_object() => self.value(value, any, &path),
                None => misspelt.extend(self.unknown_key(key, schema, &path)),
            }
        }
        // `if` has one form in the schema: without this key, those of `then` are required.
        let instead = schema["if"]["not"]["required"][0].as_str();
        let is_met = instead.is_some_and(|key| !table.contains_key(key));
        let then = schema["then"]["required"].as_array().filter(|_| is_met);
        let required = schema["required"].as_array().into_iter().chain(then);
        for key in required.flatten() {
            let key = key.as_str().unwrap_or_default();
            // A misspelt key is not also reported as missing.
            if !table.contains_key(key) && !misspelt.iter().any(|meant| meant == key) {
                self.fault(
                    span.clone(),
                    PackageFaultKind::MissingKey {
                        key: key.to_owned(),
                        table: table_name(path),
                        meaning: meaning(&schema["properties"][key]),
                    },
                );
            }
        }
    }

    /// Reports an unknown key, and returns the key that was likely meant.
    fn unknown_key(
        &mut self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        schema: &'static Value,
        path: &str,
    ) -> Option<String> {
        let known: Vec<String> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        let parent = path
            .strip_suffix(key.get_ref().as_ref())
            .unwrap_or_default()
            .trim_end_matches('.');
        let suggestion = suggestion(key.get_ref(), known.iter().map(String::as_str));
        self.fault(
            Some(key.span()),
            PackageFaultKind::UnknownKey {
                key: key.get_ref().to_string(),
                table: table_name(parent),
                suggestion: suggestion.clone(),
                belongs: belongs(key.get_ref()),
                known,
            },
        );
        suggestion
    }

    fn word(&mut self, value: &Spanned<DeValue<'_>>, schema: &'static Value, path: &str) {
        let DeValue::String(word) = value.get_ref() else {
            return self.wrong_type(value, schema, path);
        };
        let known = words(schema);
        if !known.contains(&word.as_ref()) {
            self.fault(
                Some(value.span()),
                PackageFaultKind::UnknownWord {
                    setting: setting(path),
                    word: word.to_string(),
                    suggestion: suggestion(word, known),
                    expected: expected(schema),
                },
            );
        }
    }

    fn wrong_type(&mut self, value: &Spanned<DeValue<'_>>, schema: &'static Value, path: &str) {
        // A URL may be in the wrong setting.
        let written = &redacted_url(&self.text[value.span()]);
        self.fault(
            Some(value.span()),
            PackageFaultKind::WrongType {
                setting: setting(path),
                expected: expected(schema),
                found: found(value.get_ref(), written),
                mend: mend(value.get_ref(), written, schema, path),
            },
        );
    }
}

/// The forms that a value may have, if there are several.
fn branches(schema: &'static Value) -> Vec<&'static Value> {
    ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema[*key].as_array())
        .flatten()
        .map(target)
        .collect()
}

/// The number of a table's keys that a schema knows.
fn known_keys(schema: &'static Value, value: &DeValue<'_>) -> usize {
    let (DeValue::Table(table), Some(properties)) = (value, schema["properties"].as_object())
    else {
        return 0;
    };
    table
        .keys()
        .filter(|key| properties.contains_key(key.get_ref().as_ref()))
        .count()
}

/// True if a value has the type that a schema requires. For an enum any text will do.
fn takes(schema: &'static Value, value: &DeValue<'_>) -> bool {
    let branches = branches(schema);
    if !branches.is_empty() {
        return branches.into_iter().any(|branch| takes(branch, value));
    }
    if let (Some(only), DeValue::Boolean(value)) = (schema["const"].as_bool(), value) {
        return only == *value;
    }
    let wanted = match value {
        DeValue::String(_) => "string",
        // A whole number will do if any number is allowed.
        DeValue::Integer(_) | DeValue::Float(_) if schema["type"] == "number" => "number",
        DeValue::Integer(_) => "integer",
        DeValue::Boolean(_) => "boolean",
        DeValue::Array(_) => "array",
        DeValue::Table(_) => "object",
        DeValue::Float(_) | DeValue::Datetime(_) => return false,
    };
    schema["type"] == wanted
}

/// The words of an enum.
fn words(schema: &'static Value) -> Vec<&'static str> {
    let words_of = |branch: &'static Value| match branch["const"].as_str() {
        Some(word) => vec![word],
        None => words(branch),
    };
    branches(schema).into_iter().flat_map(words_of).collect()
}

/// The type or the words that a schema requires, as a person says it.
fn expected(schema: &'static Value) -> String {
    let branches = branches(schema);
    if !branches.is_empty() {
        let mut forms: Vec<String> = branches.into_iter().map(expected).collect();
        let last = forms.pop().unwrap_or_default();
        return match forms.is_empty() {
            true => last,
            false => format!("{} or {last}", forms.join(", ")),
        };
    }
    match (&schema["const"], schema["type"].as_str()) {
        (Value::Null, Some("string")) => "a text".to_owned(),
        (Value::Null, Some("integer")) => "a whole number".to_owned(),
        (Value::Null, Some("number")) => "a number".to_owned(),
        (Value::Null, Some("boolean")) => "true or false".to_owned(),
        (Value::Null, Some("array")) => "a list".to_owned(),
        (Value::Null, _) => match schema["required"].as_array().and_then(|keys| keys.first()) {
            Some(Value::String(key)) => format!("a table like {{ {key} = ... }}"),
            _ => "a table".to_owned(),
        },
        (word, _) => word.to_string(),
    }
}

/// The value that was found, as a person says it.
fn found(value: &DeValue<'_>, written: &str) -> String {
    match value {
        DeValue::String(_) => format!("the text {written}"),
        DeValue::Integer(_) | DeValue::Float(_) => format!("the number {written}"),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => format!("the date {written}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// The text to write instead, if it is clear.
fn mend(value: &DeValue<'_>, written: &str, schema: &'static Value, path: &str) -> Option<String> {
    if path == "flow" && matches!(value, DeValue::Table(_)) {
        return Some("write [[flow]], in two pairs of brackets".to_owned());
    }
    if let Some(key) = key_for(value, schema) {
        return Some(format!("write {{ {key} = {written} }}"));
    }
    if let Some(table) = named(value, written, schema) {
        return Some(format!("write {table}, with its name in place of NAME"));
    }
    if takes(schema, &DeValue::String("".into())) && words(schema).is_empty() {
        return match value {
            DeValue::Array(_) | DeValue::Table(_) => None,
            _ => Some(format!("write it in quotes: \"{written}\"")),
        };
    }
    match (schema["type"].as_str(), value) {
        (Some("boolean"), DeValue::String(text)) => {
            let value: bool = text.to_lowercase().parse().ok()?;
            Some(format!("write it without quotes: {value}"))
        }
        (Some("number"), DeValue::String(text)) => {
            let number: f64 = text.parse().ok()?;
            Some(format!("write it without quotes: {number}"))
        }
        (Some("integer"), DeValue::String(text)) => {
            if let Ok(number) = text.parse::<i64>() {
                return Some(format!("write it without quotes: {number}"));
            }
            let is_bytes = path.ends_with("bytes") || path.contains("bytes_");
            let number = parse_bytes(text).filter(|_| is_bytes)?;
            Some(format!(
                "write the number of bytes, without a unit: {}",
                number as u64
            ))
        }
        (Some("array"), _) => Some("write it in brackets: [ ... ]".to_owned()),
        _ => None,
    }
}

/// How to write a value for which the schema requires a table of names: `{ NAME = -1 }`, or this table under the only
/// key of another table: `{ default = { NAME = -1 } }`.
fn named(value: &DeValue<'_>, written: &str, schema: &'static Value) -> Option<String> {
    let of_names = |schema: &'static Value| {
        let values = &schema["additionalProperties"];
        let is_it = values.is_object() && takes(target(values), value);
        is_it.then(|| format!("{{ NAME = {written} }}"))
    };
    let mut forms = branches(schema);
    forms.push(schema);
    forms.into_iter().find_map(|form| {
        let keys = form["properties"].as_object();
        let only = keys
            .filter(|keys| keys.len() == 1)
            .and_then(|keys| keys.iter().next());
        let inner = |(key, own): (&String, &'static Value)| {
            Some(format!("{{ {key} = {} }}", of_names(target(own))?))
        };
        of_names(form).or_else(|| only.and_then(inner))
    })
}

/// The key that was likely meant, if a table is required and a value of one of its keys was found.
fn key_for(value: &DeValue<'_>, schema: &'static Value) -> Option<&'static str> {
    let forms = match branches(schema) {
        branches if branches.is_empty() => vec![schema],
        branches => branches,
    };
    let properties = forms
        .iter()
        .find_map(|form| form["properties"].as_object())?;
    let wanted = |key: &str| takes(target(&properties[key]), value);
    match properties
        .keys()
        .map(String::as_str)
        .collect::<Vec<&str>>()
        .as_slice()
    {
        [only] if wanted(only) => Some(only),
        keys if keys.contains(&"url") && wanted("url") => Some("url"),
        keys if keys.contains(&"preset") && wanted("preset") => Some("preset"),
        keys if keys.contains(&"rows_max") && wanted("rows_max") => Some("rows_max"),
        _ => None,
    }
}

/// The first sentence of a key's description, for use after a colon.
fn meaning(schema: &Value) -> String {
    let description = schema["description"].as_str().unwrap_or_default();
    let first = description
        .split_once(". ")
        .map_or(description.trim_end_matches('.'), |(first, _)| first);
    let mut characters = first.chars();
    match characters.next() {
        Some(initial) => initial.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// The setting at a path as a person calls it: without the flow's number and positions in lists.
pub(super) fn setting(path: &str) -> String {
    let path = match path.split_once("].") {
        Some((flow, rest)) if flow.starts_with("flow[") => rest,
        _ => path,
    };
    let path = path.rsplit("].").next().unwrap_or(path);
    path.split('[').next().unwrap_or(path).to_owned()
}

/// A table as a person calls it.
fn table_name(path: &str) -> String {
    match path {
        "" => "the package".to_owned(),
        _ if !path.starts_with("flow[") => format!("[{path}]"),
        _ if path.ends_with(']') && !path.contains('.') => "[[flow]]".to_owned(),
        _ if path.ends_with(']') && path.contains(".step[") => "[[flow.step]]".to_owned(),
        _ if path.ends_with(']') && path.contains(".output[") => "[[flow.output]]".to_owned(),
        _ if path.ends_with(']') => "the column".to_owned(),
        _ => format!("`{}`", setting(path)),
    }
}

/// The table that has this key, if exactly one does.
fn belongs(key: &str) -> Option<String> {
    let tables = [
        ("RunSettings", "[run]"),
        ("Flow", "a [[flow]]"),
        ("Connection", "[connections.NAME]"),
        ("Step", "a [[flow.step]]"),
        ("Format", "`format = { ... }` of a flow"),
        ("ColumnDetail", "a column, { name = ..., ... }"),
        ("RejectLimit", "`rejects = { ... }` of a flow"),
        ("BoundsEvery", "`bounds = { ... }` of a flow"),
    ];
    let mut found = tables
        .iter()
        .filter(|(table, _)| schema()["$defs"][*table]["properties"].get(key).is_some())
        .map(|(_, name)| (*name).to_owned())
        .chain(
            schema()["properties"]
                .get(key)
                .map(|_| "the top of the package, before any [table]".to_owned()),
        );
    match (found.next(), found.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}
