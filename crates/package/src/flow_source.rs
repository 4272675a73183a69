//! A flow whose rows come from a database: `source = { connection = "crm", table = "sales.orders" }`.

use inrush_destination::address::DestinationKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::name::TableName;
use super::schema::range;
use super::since::{Since, check_since};
use super::{Flow, Format, Mode, Package};

/// The fewest connections of a source: one keeps the snapshot, and one reads.
pub const SOURCE_CONNECTIONS_MIN: u16 = 2;

/// A table or a query of a database whose rows are loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSource {
    /// The name of the connection that is read: `postgresql://...`, `FILE.duckdb` or `adbc:DRIVER`.
    pub connection: String,
    /// The table or view, `table` or `schema.table`; unusual names in double quotes. A table is read with its partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// A SELECT whose rows are read, instead of a table: by one stream, unless `split_by` names a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The columns that are read: names as the database has them; `"tags::text"` reads the database's text of a type that
    /// has no counterpart. Default: all columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// A condition of the rows that are read, as in SQL.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// A column by whose ranges the rows are cut, so that several streams read a view or a query. Its name as the database
    /// has it; its type must have an order. A table is cut by its pages without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_by: Option<String>,
    /// `true`: rows in which the column of `split_by` is NULL are read with its first range. Default: such rows are refused.
    #[serde(default, skip_serializing_if = "is_no")]
    pub split_nulls: bool,
    /// The most connections to the database that is read, one of which keeps the snapshot. Default: one more than streams.
    /// All flows that read the connection share them, and the smallest number counts.
    #[schemars(range(min = 2, max = 1024))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u16>,
    /// The most bytes that are read from the database in a second: of PostgreSQL's binary COPY, or of the values of other
    /// databases. All flows that read the connection share the limit; the smallest number applies.
    #[schemars(range(min = 1_024, max = 1_000_000_000_000_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bytes_max: Option<u64>,
    /// `true`: the rows do not change between runs, so a resumed run keeps the loaded rows without reading them again.
    #[serde(default, skip_serializing_if = "is_no")]
    pub stable: bool,
    /// `"sums"`: a run that is resumed keeps each range of `split_by` whose rows still have the same count and the same sum of hashes.
    /// The server of the source computes both, and only the other ranges are read again. Only for PostgreSQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_by: Option<UnchangedBy>,
    /// `true`: a new target gets the indexes and the unique constraints of the table. Both must be in PostgreSQL. The plan
    /// names those that the target cannot have.
    #[serde(default, skip_serializing_if = "is_no")]
    pub indexes: bool,
    /// `true`: a new target gets the partitions of the table, with their bounds and names. Both must be in PostgreSQL. A
    /// table without partitions is copied into one without.
    #[serde(default, skip_serializing_if = "is_no")]
    pub partitions: bool,
    /// Load only the rows that are newer than those of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

/// How a resumed run finds out which ranges of its source are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnchangedBy {
    /// By the number of rows and the sum of their hashes.
    Sums,
}

fn is_no(value: &bool) -> bool {
    !value
}

/// Checks that a flow has either files or a source, and the source.
pub(super) fn check_flow_source(
    package: &Package,
    index: usize,
    flow: &Flow,
    faults: &mut Faults<'_>,
) {
    let Some(source) = &flow.source else { return };
    let at = |setting: &str| format!("flow[{index}].{setting}");
    let conflict = |conflict: &str, mend: &str| PackageFaultKind::Conflict {
        conflict: conflict.to_owned(),
        mend: mend.to_owned(),
    };
    if !flow.files.patterns().is_empty() {
        let kind = conflict(
            "the rows of a flow come from `files` or from a `source`, not from both",
            "remove one of them, or write two flows",
        );
        faults.add(&at("files"), kind);
    }
    for (setting, is_set) in [
        ("format", flow.format != Format::default()),
        ("trailer", flow.trailer.is_some()),
        ("control_file", flow.control_file.is_some()),
    ] {
        if is_set {
            let what = format!("`{setting}` describes files, and the rows come from a database");
            faults.add(
                &at(setting),
                conflict(&what, &format!("remove `{setting}`")),
            );
        }
    }
    match package.connections.get(&source.connection) {
        None => faults.add(
            &at("source.connection"),
            package.unknown_connection(&source.connection),
        ),
        Some(connection) => {
            let url = connection.address();
            let is_read = ["postgresql://", "postgres://", "embedded", "${env:"];
            let is_read = is_read.iter().any(|start| url.starts_with(start));
            if !is_read && !DestinationKind::has_tables(url) {
                faults.value(
                    &at("source.connection"),
                    &source.connection,
                    "no tables are read from there",
                    "name a connection whose URL is postgresql://USER@HOST/DATABASE, mssql://USER@HOST/DATABASE, FILE.duckdb \
                     or adbc:DRIVER; files, also those of Parquet, are read by `files`",
                );
            }
        }
    }
    check_since(package, index, flow, faults);
    check_structure(index, flow, source, faults);
    check_unchanged_by(index, flow, source, faults);
    match (&source.table, &source.query) {
        (Some(table), None) => {
            if let Err(kind) = TableName::parse(table) {
                faults.add(&at("source.table"), kind);
            }
        }
        (None, Some(query)) => {
            if query.trim().is_empty() {
                faults.value(&at("source.query"), query, "it is empty", "write a SELECT");
            }
        }
        (None, None) => faults.add(
            &at("source"),
            conflict(
                "a source needs a `table` or a `query`",
                "name the table: table = \"sales.orders\"",
            ),
        ),
        (Some(_), Some(_)) => faults.add(
            &at("source.query"),
            conflict(
                "a source has a `table` or a `query`, not both",
                "remove one of them",
            ),
        ),
    }
    match (&source.split_by, source.split_nulls) {
        (Some(column), _) if column.is_empty() => faults.value(
            &at("source.split_by"),
            column,
            "it is empty",
            "name a column, or leave `split_by` out",
        ),
        (None, true) => faults.add(
            &at("source.split_nulls"),
            conflict(
                "`split_nulls` needs `split_by`, whose column may be NULL",
                "add split_by = \"id\", or remove `split_nulls`",
            ),
        ),
        _ => {}
    }
    if let Some(connections) = source.max_connections
        && connections < SOURCE_CONNECTIONS_MIN
    {
        faults.value(
            &at("source.max_connections"),
            &connections.to_string(),
            "one connection keeps the snapshot, and another one reads",
            "write 2 or more",
        );
    }
    if source
        .filter
        .as_ref()
        .is_some_and(|it| it.trim().is_empty())
    {
        faults.value(
            &at("source.where"),
            "",
            "it is empty",
            "leave it out, or write a condition such as \"id > 100\"",
        );
    }
    let (minimum, maximum) = range("FlowSource", "rate_bytes_max");
    // A number that does not fit into i64 is above every limit.
    let rate = source.rate_bytes_max;
    let rate = rate.map(|rate| i64::try_from(rate).unwrap_or(i64::MAX));
    if let Some(rate) = rate.filter(|rate| !(minimum..=maximum).contains(rate)) {
        let kind = PackageFaultKind::OutOfRange {
            setting: "rate_bytes_max".to_owned(),
            value: rate.to_string(),
            minimum: minimum.to_string(),
            maximum: maximum.to_string(),
        };
        faults.add(&at("source.rate_bytes_max"), kind);
    }
}

/// Checks `unchanged_by`.
fn check_unchanged_by(index: usize, flow: &Flow, source: &FlowSource, faults: &mut Faults<'_>) {
    if source.unchanged_by.is_none() {
        return;
    }
    for (is_refused, setting, conflict, mend) in [
        (
            source.split_by.is_none(),
            "source.unchanged_by",
            "`unchanged_by` is about the ranges of `split_by`, which is not set",
            "add split_by = \"id\", a column of the key that has an index",
        ),
        (
            source.stable,
            "source.stable",
            "`stable` says that no row changes, and `unchanged_by` asks the server whether rows have changed",
            "remove one of them",
        ),
        (
            source.since.is_some(),
            "source.unchanged_by",
            "with `since` a run loads what is new, and a stopped run begins again at its mark",
            "remove `unchanged_by`",
        ),
        (
            !flow.atomic,
            "atomic",
            "`atomic = false` writes rows directly to the target, and the rows of a changed range cannot be removed from there",
            "remove `atomic`, or `unchanged_by`",
        ),
    ] {
        if is_refused {
            let kind = PackageFaultKind::Conflict {
                conflict: conflict.to_owned(),
                mend: mend.to_owned(),
            };
            faults.add(&format!("flow[{index}].{setting}"), kind);
        }
    }
}

/// Checks the settings for the indexes and partitions of a new target.
fn check_structure(index: usize, flow: &Flow, source: &FlowSource, faults: &mut Faults<'_>) {
    let mut conflict = |setting: &str, conflict: String, mend: &str| {
        let kind = PackageFaultKind::Conflict {
            conflict,
            mend: mend.to_owned(),
        };
        faults.add(&format!("flow[{index}].source.{setting}"), kind);
    };
    for (setting, is_set) in [
        ("indexes", source.indexes),
        ("partitions", source.partitions),
    ] {
        if is_set && source.query.is_some() {
            conflict(
                setting,
                format!("a query has no {setting}"),
                "name the table with `table`, and use `where` and `columns`",
            );
        }
        if is_set && !flow.columns.is_empty() {
            conflict(
                setting,
                format!(
                    "`{setting}` are those of the source, but `columns` lists other columns for the target"
                ),
                "remove `columns` from the flow: a new target has the columns of the source",
            );
        }
    }
    if !source.partitions {
        return;
    }
    if flow.partition_by.is_some() {
        conflict(
            "partitions",
            "`partition_by` and `partitions` both define how the target is partitioned".to_owned(),
            "remove one of them",
        );
    }
    if flow.routing == Some(false) {
        conflict(
            "partitions",
            "each row goes to its own partition, but the flow has routing = false".to_owned(),
            "remove `routing`",
        );
    }
    if !matches!(flow.mode, Mode::Create | Mode::Append) {
        conflict(
            "partitions",
            "a target with the partitions of its source is made by mode = \"create\" or \"append\""
                .to_owned(),
            "create the partitioned target first, and remove `partitions`",
        );
    }
}
