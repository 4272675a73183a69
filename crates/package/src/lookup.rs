//! A lookup of a step: `lookup = { connection = "warehouse", table = "dim_customer" }`.

use std::collections::BTreeMap;

use inrush_rows::suggest::suggestion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check_flow::check_columns;
use super::error::PackageFaultKind;
use super::faults::Faults;
use super::name::TableName;
use super::step::Step;
use super::{BoundValue, ColumnSpec, Flow, FlowSource, Format, OneOrMany, Package};

/// The default of `memory_bytes_max`.
pub const REFERENCE_BYTES_MAX: u64 = 256 << 20;

/// The reference of a lookup: a table or a query of a database, or files. It is read once, and kept in memory for all streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LookupSource {
    /// The name of the connection that is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The table or view, `table` or `schema.table`; unusual names in double quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// A SELECT whose rows are read, instead of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// A condition of the rows that are read, as in SQL.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// A path or glob, or a list of them, instead of a connection.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub files: OneOrMany,
    /// The format of the files.
    #[serde(skip_serializing_if = "Format::is_default")]
    pub format: Format,
    /// The columns of the files, as those of a flow. Default: they are guessed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
    /// For each key the first row in this order is used: a column of the reference, or `"COLUMN desc"`. NULL comes last.
    /// Default: a key that occurs twice is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The most memory for keys and values of the reference, in bytes. A larger reference is kept in a file. Default: 256 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_max: Option<u64>,
}

/// The consequence for rows whose key is not in the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Unmatched {
    /// The row is rejected, or the taken columns are NULL.
    Word(UnmatchedWord),
    /// The taken columns get these values.
    Default(UnmatchedDefault),
}

/// The consequences for which a lookup needs no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnmatchedWord {
    /// The row is rejected.
    #[default]
    Reject,
    /// The taken columns are NULL.
    Null,
    /// The row is loaded, and a member with its key is added to the reference when the rows become visible.
    Add,
}

impl Step {
    /// True if its lookup adds to the reference the keys that it does not have.
    pub fn adds_members(&self) -> bool {
        matches!(self.unmatched, Some(Unmatched::Word(UnmatchedWord::Add)))
    }
}

/// Values of taken columns for rows whose key is not in the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnmatchedDefault {
    /// For each taken column its value.
    pub default: BTreeMap<String, BoundValue>,
}

/// A difference between texts that a lookup ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Upper and lower case.
    Case,
    /// Accents.
    Accents,
    /// Blanks at both ends, and the number of blanks elsewhere.
    Blanks,
}

impl Fold {
    const WORDS: [(&str, Fold); 3] = [
        ("case", Fold::Case),
        ("accents", Fold::Accents),
        ("blanks", Fold::Blanks),
    ];

    /// The difference of this name.
    pub fn parse(word: &str) -> Option<Fold> {
        let known = Fold::WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, fold)| *fold)
    }
}

impl Step {
    /// The differences between texts that its lookup ignores.
    pub fn folds(&self) -> impl Iterator<Item = Fold> {
        let words = self.fold.patterns().iter();
        words.filter_map(|word| Fold::parse(word))
    }
}

impl LookupSource {
    /// A flow that reads the reference. `columns` are the columns to read, if it is a table.
    pub fn flow(&self, name: &str, columns: Vec<String>) -> Flow {
        Flow {
            name: Some(name.to_owned()),
            format: self.format.clone(),
            columns: self.columns.clone(),
            source: self.connection.as_ref().map(|connection| FlowSource {
                connection: connection.clone(),
                table: self.table.clone(),
                query: self.query.clone(),
                filter: self.filter.clone(),
                columns: match self.query {
                    Some(_) => Vec::new(),
                    None => columns,
                },
                ..FlowSource::default()
            }),
            ..Flow::new(self.files.clone(), "reference")
        }
    }

    /// The column by which rows with the same key are ordered, and whether the largest value comes first.
    pub fn first_by(&self) -> Option<(&str, bool)> {
        let text = self.first.as_deref()?.trim();
        let is_word = |word: &str| {
            let start = text.len().checked_sub(word.len())?;
            let end = text.get(start..)?;
            let is_it = end.eq_ignore_ascii_case(word);
            is_it.then(|| text[..start].trim_end())
        };
        Some(match (is_word(" desc"), is_word(" asc")) {
            (Some(column), _) => (column, true),
            (None, Some(column)) => (column, false),
            (None, None) => (text, false),
        })
    }

    /// What is looked up, for people.
    pub fn shown_name(&self) -> String {
        match (&self.connection, &self.table) {
            (Some(connection), Some(table)) => format!("{connection}.{table}"),
            (Some(connection), None) => format!("a query of {connection}"),
            (None, _) => self.files.patterns().join(", "),
        }
    }
}

/// Checks the lookup of a step at `path`.
pub(super) fn check_lookup(step: &Step, path: &str, faults: &mut Faults<'_>) {
    let mut conflict = |setting: &str, conflict: &str, mend: &str| {
        let kind = PackageFaultKind::Conflict {
            conflict: conflict.to_owned(),
            mend: mend.to_owned(),
        };
        faults.add(&format!("{path}.{setting}"), kind);
    };
    let is_empty =
        |map: &Option<BTreeMap<String, String>>| map.as_ref().is_none_or(BTreeMap::is_empty);
    let Some(lookup) = &step.lookup else {
        for (setting, is_there) in [
            ("on", step.on.is_some()),
            ("fold", !step.fold.is_empty()),
            ("take", step.take.is_some()),
            ("unmatched", step.unmatched.is_some()),
        ] {
            if is_there {
                conflict(
                    setting,
                    &format!("`{setting}` belongs to a `lookup`, but this step has none"),
                    &format!("remove `{setting}`, or write a `lookup`"),
                );
            }
        }
        return;
    };
    if is_empty(&step.on) {
        conflict(
            "lookup",
            "a lookup needs `on`, the columns that are compared",
            "write on = { COLUMN = \"COLUMN OF THE REFERENCE\" }",
        );
    }
    if is_empty(&step.take) {
        conflict(
            "lookup",
            "a lookup needs `take`, the columns that it adds",
            "write take = { NEW_COLUMN = \"COLUMN OF THE REFERENCE\" }",
        );
    }
    let has_files = !lookup.files.patterns().is_empty();
    match (&lookup.connection, has_files) {
        (None, false) => conflict(
            "lookup",
            "a lookup needs a `connection` or `files`",
            "write lookup = { connection = \"NAME\", table = \"TABLE\" }, or lookup = { files = \"FILE\" }",
        ),
        (Some(_), true) => conflict(
            "lookup.files",
            "the rows of a lookup come from `files` or from a `connection`, not from both",
            "remove one of them",
        ),
        (Some(_), false) if lookup.table.is_some() == lookup.query.is_some() => conflict(
            "lookup",
            "a lookup in a database needs either a `table` or a `query`",
            "write one of them",
        ),
        (None, true)
            if lookup.table.is_some() || lookup.query.is_some() || lookup.filter.is_some() =>
        {
            conflict(
                "lookup",
                "`table`, `query` and `where` belong to a `connection`, and the rows of this lookup come from files",
                "remove them",
            );
        }
        _ => {}
    }
    if let Some(Unmatched::Default(values)) = &step.unmatched {
        let taken: Vec<&String> = step.take.iter().flat_map(BTreeMap::keys).collect();
        let given: Vec<&String> = values.default.keys().collect();
        if taken != given {
            conflict(
                "unmatched",
                "`default` must have the same columns as `take`",
                "write a value for each column of `take`, and for no other",
            );
        }
    }
    let at = |setting: &str| format!("{path}.lookup.{setting}");
    check_columns(&lookup.columns, &lookup.format, &at, faults);
    check_fold(&step.fold, path, faults);
    check_add(step, lookup, path, faults);
    if let Some(table) = &lookup.table
        && let Err(kind) = TableName::parse(table)
    {
        faults.add(&format!("{path}.lookup.table"), kind);
    }
}

/// Members can be added only to a table whose rows are all read, and compared as the table's index compares them.
fn check_add(step: &Step, lookup: &LookupSource, path: &str, faults: &mut Faults<'_>) {
    if !step.adds_members() {
        return;
    }
    let taken = step.take.as_ref().map_or(0, BTreeMap::len);
    let refused = [
        (
            "lookup.files",
            !lookup.files.is_empty(),
            "name a table of the target's database: lookup = { connection = \"NAME\", table = \"TABLE\" }",
        ),
        (
            "lookup.query",
            lookup.query.is_some(),
            "name a `table` in place of the query",
        ),
        (
            "lookup.where",
            lookup.filter.is_some(),
            "remove `where`: a key of a row that it leaves out would be added once more",
        ),
        (
            "lookup.first",
            lookup.first.is_some(),
            "remove `first`: the table must have a unique index on the columns of `on`, so no key is there twice",
        ),
        (
            "fold",
            !step.fold.is_empty(),
            "remove `fold`: the unique index of the table distinguishes keys that `fold` would treat as equal",
        ),
        (
            "take",
            taken > 1,
            "take only the column that numbers the members; take others by a second lookup with unmatched = \"null\"",
        ),
    ];
    for (setting, is_there, mend) in refused {
        if is_there {
            let kind = PackageFaultKind::Conflict {
                conflict: format!(
                    "unmatched = \"add\" adds rows to a table, and cannot be used with {}",
                    match setting {
                        "take" => "a second taken column".to_owned(),
                        other => format!("`{}`", other.trim_start_matches("lookup.")),
                    }
                ),
                mend: mend.to_owned(),
            };
            faults.add(&format!("{path}.{setting}"), kind);
        }
    }
}

fn check_fold(fold: &OneOrMany, path: &str, faults: &mut Faults<'_>) {
    for word in fold.patterns() {
        if Fold::parse(word).is_some() {
            continue;
        }
        let known = Fold::WORDS.iter().map(|(known, _)| *known);
        let mend = match suggestion(word, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "write fold = \"case\", or a list such as [\"case\", \"accents\"]".to_owned(),
        };
        faults.value(
            &format!("{path}.fold"),
            word,
            "the differences that a lookup can ignore are \"case\", \"accents\" and \"blanks\"",
            &mend,
        );
    }
}

/// Checks that the connections of a flow's lookups exist.
pub(super) fn check_lookup_connections(
    package: &Package,
    index: usize,
    flow: &Flow,
    faults: &mut Faults<'_>,
) {
    for (at, step) in flow.steps.iter().enumerate() {
        let lookup = step.lookup.as_ref();
        let connection = lookup.and_then(|lookup| lookup.connection.as_ref());
        if let Some(connection) = connection
            && !package.connections.contains_key(connection)
        {
            let path = format!("flow[{index}].step[{at}].lookup.connection");
            faults.add(&path, package.unknown_connection(connection));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_column_and_a_direction() {
        for (text, expected) in [
            ("changed", ("changed", false)),
            ("changed desc", ("changed", true)),
            (" changed  DESC ", ("changed", true)),
            ("changed asc", ("changed", false)),
            ("desc", ("desc", false)),
            ("\u{e4}", ("\u{e4}", false)),
        ] {
            let lookup = LookupSource {
                first: Some(text.to_owned()),
                ..LookupSource::default()
            };
            assert_eq!(lookup.first_by(), Some(expected), "{text}");
        }
        assert_eq!(LookupSource::default().first_by(), None);
    }
}
