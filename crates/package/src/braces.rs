//! Braces in the texts of a package: `{name}` stands for a parameter, `${env:NAME}` for a variable of the environment,
//! and a doubled brace for itself.

use std::collections::BTreeMap;
use std::env::VarError;

use inrush_rows::percent::percent_encoded;
use inrush_rows::suggest::suggestion;

use super::error::PackageFaultKind;
use super::sql_value;
use super::texts::TextKind;
use super::url_passwords::{percent_decoded, redacted_url};
use crate::secrets::{is_shown_path, note_variable};

/// The value of an environment variable; the library never reads the environment itself.
pub type Environment<'a> = &'a dyn Fn(&str) -> Result<String, VarError>;

/// The values that replace names in braces.
pub(super) struct BraceValues<'a> {
    pub(super) parameters: &'a BTreeMap<String, String>,
    /// The values with which a command replaces the package's own.
    pub(super) given: &'a [(String, String)],
    pub(super) environment: Environment<'a>,
}

/// True if a variable is the beginning of a path of files, or of a destination on this machine.
fn stands_for_path(kind: TextKind, setting: &str, before: &str) -> bool {
    match kind {
        TextKind::Files => setting.starts_with("flow[") && before.is_empty(),
        TextKind::Url => matches!(before, "" | "parquet:" | "embedded:"),
        TextKind::Sql | TextKind::Other => false,
    }
}

/// The text with the values inserted. Messages name `path`, which is its setting.
pub(super) fn expand(
    text: &str,
    kind: TextKind,
    values: &BraceValues<'_>,
    path: &str,
) -> Result<String, PackageFaultKind> {
    let parameters = values.parameters;
    let shown = || match kind {
        TextKind::Url => redacted_url(text),
        _ => text.to_owned(),
    };
    let mut expanded = String::with_capacity(text.len());
    let mut statement = sql_value::StatementText::new();
    let mut rest = text;
    while let Some(position) = rest.find(['{', '}']) {
        let (before, at) = rest.split_at(position);
        expanded.push_str(before);
        if at.starts_with("{{") || at.starts_with("}}") {
            expanded.push_str(&at[..1]);
            rest = &at[2..];
            continue;
        }
        if let Some(after) = at.strip_prefix('}') {
            expanded.push('}');
            rest = after;
            continue;
        }
        let (name, after) = at[1..]
            .split_once('}')
            .ok_or_else(|| PackageFaultKind::BraceNotClosed { text: shown() })?;
        rest = after;
        let variable = name.strip_prefix("env:");
        match (expanded.strip_suffix('$'), variable) {
            (Some(before), Some(variable)) => {
                if matches!(kind, TextKind::Sql | TextKind::Other) {
                    return Err(PackageFaultKind::EnvironmentMisplaced {
                        name: variable.to_owned(),
                        setting: path.rsplit('.').next().unwrap_or(path).to_owned(),
                    });
                }
                let is_path = stands_for_path(kind, path, before);
                expanded.truncate(before.len());
                let value = (values.environment)(variable).map_err(|error| match error {
                    VarError::NotPresent => PackageFaultKind::EnvironmentMissing {
                        name: variable.to_owned(),
                    },
                    VarError::NotUnicode(_) => PackageFaultKind::EnvironmentNotText {
                        name: variable.to_owned(),
                    },
                })?;
                if !(is_path && is_shown_path(&value)) {
                    note_variable(variable, &value);
                    if kind == TextKind::Url || path.starts_with("connections.") {
                        note_parts(variable, &value, &expanded);
                    }
                }
                match kind == TextKind::Url && must_be_encoded(&expanded, rest) {
                    true => expanded.push_str(&percent_encoded(value.as_bytes())),
                    false => expanded.push_str(&value),
                }
            }
            _ => match (parameters.get(name), kind) {
                (Some(value), TextKind::Sql) => {
                    let given = values.given.iter().any(|(given, _)| given == name);
                    statement.push_bare(name, value, given, &mut expanded)?;
                }
                (Some(value), _) => expanded.push_str(value),
                (None, _)
                    if let Some((parameter, form)) = name.split_once(':')
                        && let Some(value) = parameters.get(parameter) =>
                {
                    if kind != TextKind::Sql {
                        return Err(sql_value::misplaced(name, parameter, path));
                    }
                    statement.push_quoted(parameter, form, value, &mut expanded)?;
                }
                (None, _) => {
                    return Err(PackageFaultKind::UnknownParameter {
                        name: name.to_owned(),
                        text: shown(),
                        suggestion: match variable {
                            Some(_) => Some(format!("${{{name}}}")),
                            None => suggestion(name, parameters.keys().map(String::as_str)),
                        },
                        known: parameters.keys().cloned().collect(),
                    });
                }
            },
        }
    }
    expanded.push_str(rest);
    if kind == TextKind::Sql {
        statement.finish(&expanded)?;
    }
    Ok(expanded)
}

/// The text with its parameters inserted and its `${env:NAME}` unchanged; `None` if it names no variable, or has a
/// fault, which is reported elsewhere.
pub(super) fn written(text: &str, parameters: &BTreeMap<String, String>) -> Option<String> {
    if !text.contains("${env:") {
        return None;
    }
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find(['{', '}']) {
        let (before, at) = rest.split_at(position);
        written.push_str(before);
        if at.starts_with("{{") || at.starts_with("}}") {
            written.push_str(&at[..1]);
            rest = &at[2..];
            continue;
        }
        let end = at.find('}')?;
        let name = at[..end].trim_start_matches('{');
        match parameters.get(name) {
            Some(value) => written.push_str(value),
            None => written.push_str(&at[..=end]),
        }
        rest = &at[end + 1..];
    }
    written.push_str(rest);
    Some(written)
}

/// Notes the forms in which a destination may show the value of a variable in its URL or options: without
/// percent-encoding, and as single items if the value is a list of hosts or of settings (`options=-c name=value`).
fn note_parts(variable: &str, value: &str, before: &str) {
    let decoded = percent_decoded(value);
    for text in [Some(value), decoded.as_deref()].into_iter().flatten() {
        note_variable(variable, text);
        // If the variable is the whole URL, its parts are not noted: host, database and `sslmode=require` are words of
        // many messages.
        if before.contains("://") {
            text.replace("\\ ", " ")
                .split([' ', '\t', ',', '=', '&'])
                .for_each(|part| note_variable(variable, part));
        }
    }
}

/// True if a variable is in the user, password or query of a URL, where a `/` or `@` in its value would end that part.
/// The value of a whole URL, a host or a database is inserted unchanged.
fn must_be_encoded(before: &str, after: &str) -> bool {
    let Some(authority) = before.find("://").map(|start| &before[start + 3..]) else {
        return false;
    };
    authority.contains('?')
        || (!authority.contains(['@', '/'])
            && after
                .split('?')
                .next()
                .is_some_and(|rest| rest.contains('@')))
}

/// The text with every brace doubled except those of `${env:NAME}`.
pub(super) fn escape_but_variables(text: &str) -> String {
    let mut parts = text.split("${env:");
    let mut escaped = escape_braces(parts.next().unwrap_or_default());
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) => {
                escaped.push_str(&format!("${{env:{name}}}{}", escape_braces(rest)));
            }
            None => escaped.push_str(&escape_braces(&format!("${{env:{part}"))),
        }
    }
    escaped
}

/// The text with every brace doubled, so that resolving it returns the original.
pub fn escape_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(parameters: &BTreeMap<String, String>) -> BraceValues<'_> {
        BraceValues {
            parameters,
            given: &[],
            environment: &|_| Err(VarError::NotPresent),
        }
    }

    #[test]
    fn escaped_braces_are_given_back() {
        let text = "a{b}}{{c";
        let expanded = expand(
            &escape_braces(text),
            TextKind::Other,
            &values(&BTreeMap::new()),
            "x",
        );
        assert_eq!(expanded.as_deref(), Ok(text));
    }

    #[test]
    fn a_variable_is_hidden_as_a_server_shows_it() {
        let parameters = BTreeMap::new();
        let environment = |name: &str| match name {
            "DB" => Ok("dw%5Fhidden%31".to_owned()),
            "OPTIONS" => Ok("-c hidden.name=hidden\\ value2 -cgeqo=off".to_owned()),
            _ => Ok("first-hidden:5432,second-hidden:5433".to_owned()),
        };
        let values = BraceValues {
            environment: &environment,
            ..values(&parameters)
        };
        let url = "postgresql://${env:HOSTS}/${env:DB}?options=${env:OPTIONS}";
        expand(url, TextKind::Url, &values, "connections.dw.url").expect("it is right");
        for (text, shown) in [
            ("database \"dw_hidden1\"", "database \"${env:DB}\""),
            ("parameter \"hidden.name\"", "parameter \"${env:OPTIONS}\""),
            ("second-hidden:5433", "${env:HOSTS}"),
            ("geqo off", "geqo off"),
        ] {
            assert_eq!(crate::secrets::masked(text), shown);
        }
    }

    #[test]
    fn the_names_of_variables_are_not_escaped() {
        assert_eq!(escape_but_variables("{a}${env:B}{c}"), "{{a}}${env:B}{{c}}");
    }

    #[test]
    fn what_is_wrong_in_braces_is_told() {
        let parameters = BTreeMap::from([("data".to_owned(), "v".to_owned())]);
        for (text, expected) in [
            ("{data", "`{` without `}` in `{data`"),
            ("{dta}", "unknown parameter `{dta}` in `{dta}`"),
            ("${env:X}", "`${env:X}` is not allowed in `table`"),
        ] {
            let kind = expand(text, TextKind::Other, &values(&parameters), "flow[0].table")
                .expect_err(text);
            assert_eq!(kind.to_string(), expected);
        }
        let kind = expand("{env:X}", TextKind::Files, &values(&parameters), "").expect_err("no $");
        assert_eq!(
            kind.mend().as_deref(),
            Some("did you mean `${env:X}`?; `{{` stands for a brace")
        );
    }
}
