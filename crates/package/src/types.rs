//! The types of a package, as a user writes it. The JSON schema is generated from these types, and
//! the check for unknown keys uses that schema, so the three cannot differ.

use std::collections::BTreeMap;

use inrush_rows::column_policy::{DefaultFor, NanPolicy, NegativeForm, OnTruncate, Rounding, Trim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connection::Connection;
use super::expect::{ControlFile, Expect, Trailer};
use super::flow_source::FlowSource;
use super::format_settings::Format;
use super::open_lineage::OpenLineage;
use super::output::{Output, OutputElse};
use super::place::PackageOrigin;
use super::replace::Replace;
use super::scd::Scd;
use super::step::Step;

/// A package: connections, parameters and flows; the unit a user runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Names the package in the ledger: the same name with the same tables resumes a stopped run.
    pub name: String,
    /// The default values of parameters. `{name}` in a string stands for the parameter's value; `--set name=value`
    /// replaces a default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The destinations, by name; `--connection name=url` replaces a URL.
    pub connections: BTreeMap<String, Connection>,
    /// Settings of the whole run.
    #[serde(default)]
    pub run: RunSettings,
    /// The flows: each loads files into one table. The rows of all flows are switched in together, in one transaction.
    #[serde(rename = "flow")]
    pub flows: Vec<Flow>,
    /// Where the package came from; not part of its content.
    #[serde(skip)]
    pub origin: PackageOrigin,
}

impl Package {
    /// A package with one connection, `target`, that has this URL. All other settings have their defaults.
    pub fn new(name: &str, url: &str, flows: Vec<Flow>) -> Package {
        Package {
            name: name.to_owned(),
            parameters: BTreeMap::new(),
            connections: BTreeMap::from([("target".to_owned(), Connection::new(url))]),
            run: RunSettings::default(),
            flows,
            origin: PackageOrigin::default(),
        }
    }
}

/// Settings of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// The number of streams, each with its own connection. Default: the number of cores.
    #[schemars(range(min = 1, max = 1024))]
    pub streams: Option<u16>,
    /// Bytes of text that a stream reads at a time, 64 KiB to 16 MiB.
    #[schemars(range(min = 65_536, max = 16_777_216))]
    pub chunk_bytes: u32,
    /// Rows of a batch, 64 to 65536.
    #[schemars(range(min = 64, max = 65_536))]
    pub batch_rows: u32,
    /// COPY with FREEZE, so that a later vacuum need not rewrite the rows. After the switch, even transactions with
    /// older snapshots see the rows.
    pub freeze: bool,
    /// Update the statistics of each target after the rows are in it (ANALYZE). Default: done in PostgreSQL, and in no
    /// other database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analyze: Option<bool>,
    /// How long the switch waits for its locks before it releases them and tries again, and how long a
    /// source in PostgreSQL waits for a table that another session has locked, in milliseconds, up to a day.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub lock_timeout_ms: u32,
    /// The order in which the streams take load units.
    #[serde(skip_serializing_if = "LoadOrder::is_default")]
    pub order: LoadOrder,
    /// `false`: one stream writes the rows directly to their targets, in one transaction, without staging
    /// tables. Each row is written only once, but a stopped load starts again from the beginning.
    #[serde(skip_serializing_if = "is_true")]
    pub staging: bool,
    /// How each load unit is verified before its COMMIT; a flow can override this.
    #[serde(skip_serializing_if = "is_count")]
    pub verify: Verify,
    /// The most bytes that all streams together send per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_024, max = 1_000_000_000_000_i64))]
    pub rate_bytes_max: Option<u64>,
    /// The most bytes of WAL that a standby may lag behind. While a standby lags further, the streams pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_048_576, max = 1_000_000_000_000_000_i64))]
    pub replica_lag_bytes_max: Option<u64>,
    /// The most bytes of WAL that a replication slot may retain. While a slot retains more, the streams pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_048_576, max = 1_000_000_000_000_000_i64))]
    pub slot_bytes_max: Option<u64>,
    /// Refuse a load that does not fit on the server's disk, if Inrush can read the disk's free space.
    #[serde(skip_serializing_if = "is_true")]
    pub disk_check: bool,
    /// `"refuse"`: the load is refused if the server may silently round, cut or rewrite the values of a column.
    /// Default: `"warn"`. Only the server reads the text of such columns: ranges, composites, geometric types, text
    /// search, XML, types of extensions.
    #[serde(skip_serializing_if = "UncheckedTypes::is_default")]
    pub unchecked_types: UncheckedTypes,
    /// Whether PostgreSQL stores the rows by its extension `inrush_fastcopy`, which takes less time than COPY.
    #[serde(skip_serializing_if = "ServerCopy::is_default")]
    pub server_copy: ServerCopy,
    /// Where the events of OpenLineage go. They tell a lineage catalog what the run does. Default: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_lineage: Option<OpenLineage>,
    /// The schema of the ledger's tables.
    pub ledger_schema: String,
    /// The schema of the staging tables, until they are switched in.
    pub staging_schema: String,
}

impl RunSettings {
    /// True if the package says that its targets are analyzed. If it does not say so, the destination decides.
    pub fn asks_to_analyze(&self) -> bool {
        self.analyze == Some(true)
    }
}

/// Default values are left out, so that packages keep their digests.
fn is_true(value: &bool) -> bool {
    *value
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            streams: None,
            chunk_bytes: 512 << 10,
            batch_rows: 1024,
            freeze: true,
            analyze: None,
            lock_timeout_ms: 5_000,
            order: LoadOrder::LargestFirst,
            staging: true,
            verify: Verify::Count,
            rate_bytes_max: None,
            replica_lag_bytes_max: None,
            slot_bytes_max: None,
            disk_check: true,
            unchecked_types: UncheckedTypes::Warn,
            server_copy: ServerCopy::Auto,
            open_lineage: None,
            ledger_schema: "inrush".to_owned(),
            staging_schema: "inrush_staging".to_owned(),
        }
    }
}

/// One source, its columns and one destination table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {"not": {"required": ["output"]}}, "then" = {"required": ["table"]}))]
pub struct Flow {
    /// The name of the flow in plans and reports. Default: the name of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name of a connection; required if the package has more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// A path or glob, or a list of them. Relative paths are relative to the package's folder.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub files: OneOrMany,
    /// The table or query whose rows are loaded, instead of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<FlowSource>,
    /// The format of the files.
    #[serde(default)]
    pub format: Format,
    /// The columns: `"name type"`, `"name type not null"` or a table. If the files have a header, columns are
    /// matched with its names; otherwise with the fields in their order. Every field must be listed: `"name skip"`
    /// leaves a field out, `"* skip"` leaves out all fields that are not listed. Not needed if the target exists and
    /// has all columns of the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
    /// Steps that each row passes before it is loaded, in their order.
    #[serde(rename = "step", default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The target, `table` or `schema.table`; unusual names in double quotes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// The targets of a flow whose rows go to several tables, instead of `table`.
    #[serde(rename = "output", default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// With outputs, `true`: a row goes to each output whose `when` is true. Default: to the first of them.
    #[serde(default, skip_serializing_if = "is_no")]
    pub each: bool,
    /// With outputs: the consequence for rows that none of them takes. Default: `"reject"`.
    #[serde(rename = "else", default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<OutputElse>,
    /// The number of the output that the flow loads, counted from 1. Only in the package that a run keeps: there, each output is a
    /// flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_number: Option<u32>,
    /// The column by whose ranges the target is partitioned, written as in SQL (unusual names in double
    /// quotes). Default: the target is a plain table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_by: Option<String>,
    /// The bounds of the partitions.
    #[serde(default)]
    pub bounds: Bounds,
    /// `true`: each row goes to the partition of its key, whichever file it is in; for files that do not line up with
    /// partitions. `false`: each file becomes one partition. Default: rows are routed if the target is partitioned by
    /// list, hash, several columns or an expression, or has subpartitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<bool>,
    /// How rows are added to the target.
    #[serde(default)]
    pub mode: Mode,
    /// For `mode = "replace"`: the rows that are replaced, and whether they are kept.
    #[serde(default, skip_serializing_if = "Replace::is_usual")]
    pub replace: Replace,
    /// For `mode = "upsert"`: the column or columns of the key. A row replaces the target's row with the same
    /// key. The target must have a unique index on these columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<OneOrMany>,
    /// For `mode = "upsert"`: the target keeps the versions of each row, as a slowly changing dimension of type 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scd: Option<Scd>,
    /// A statement, or a list of them, that the switch runs in its transaction before it changes
    /// the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_sql: Option<OneOrMany>,
    /// A statement, or a list of them, that the switch runs in its transaction after all rows are
    /// in the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_sql: Option<OneOrMany>,
    /// `false`: rows are written directly to the target and are visible as soon as their transaction commits.
    /// For roles that may only INSERT, and for targets of any kind.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub atomic: bool,
    /// Whether the INSERT triggers of the target must fire.
    #[serde(default, skip_serializing_if = "TriggerPolicy::is_default")]
    pub triggers: TriggerPolicy,
    /// How the indexes of a plain target with rows are maintained.
    #[serde(default, skip_serializing_if = "IndexPolicy::is_default")]
    pub indexes: IndexPolicy,
    /// The limits of rejected rows.
    #[serde(default)]
    pub rejects: RejectLimit,
    /// How each load unit is verified before its COMMIT. Default: the setting of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// The trailer: the last record of each file, which is not a row but has the number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailer: Option<Trailer>,
    /// A control file for each file, or for all files, with the number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_file: Option<ControlFile>,
    /// Expected totals over all files of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

fn is_count(verify: &Verify) -> bool {
    *verify == Verify::Count
}

/// The order in which the streams take load units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOrder {
    /// The largest units of all flows first, so that no stream has a long unit left at the end.
    #[default]
    LargestFirst,
    /// The units of the first flow, then those of the second flow, and so on; within a flow, the largest first. A
    /// stream takes a unit of the next flow without waiting for the end of a flow.
    Package,
}

impl LoadOrder {
    fn is_default(&self) -> bool {
        *self == LoadOrder::default()
    }
}

/// The comparison of the rows in the database with the rows that were read, before the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The number of rows.
    #[default]
    Count,
    /// For each column, the number of values and a sum over them.
    Sums,
    /// Every value of every row, by a sum of row hashes.
    Rows,
}

/// Whether to load into columns whose values the server may change silently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UncheckedTypes {
    /// Load them, and name them in the plan and the report.
    #[default]
    Warn,
    /// Refuse the load before it begins.
    Refuse,
}

impl UncheckedTypes {
    fn is_default(&self) -> bool {
        *self == UncheckedTypes::default()
    }
}

/// The use of the server extension `inrush_fastcopy`. Units that are loaded again because the server refused a row
/// always use COPY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerCopy {
    /// Use it if the database has it and the role may use it; otherwise COPY.
    #[default]
    Auto,
    /// Always COPY.
    Plain,
    /// Refuse the load if any unit cannot use the extension.
    Require,
    /// As `auto`, but write whole pages without the server's shared buffers if that is possible.
    Pages,
}

impl ServerCopy {
    fn is_default(&self) -> bool {
        *self == ServerCopy::default()
    }
}

/// A text or a list of texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One text.
    One(String),
    /// A list of texts.
    Many(Vec<String>),
}

/// A column of the file, or of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ColumnSpec {
    /// `"name type"` or `"name type not null"`; `"name"` alone if the target exists;
    /// `"name skip"` for a field that is not loaded, `"* skip"` for all fields that are not listed.
    Short(String),
    /// A table with more settings.
    Long(Box<ColumnDetail>),
}

/// A column of the file, or of the target, with all its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnDetail {
    /// The column's name in the target, and in the header unless `field` is set.
    pub name: String,
    /// The column's type, as the database writes it (`numeric(15,2)`). Default: the type in the target, if it exists.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// True if NULL is allowed in a new table.
    #[serde(default = "yes")]
    pub nullable: bool,
    /// The field that fills the column: its name in the header, or its number in the record, counted
    /// from 1. Default: the field with the column's name or, without a header, the field after that of
    /// the previous column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<FieldChoice>,
    /// Do not load the field; the name `*` stands for all fields that no other column takes.
    #[serde(default, skip_serializing_if = "is_no")]
    pub skip: bool,
    /// `false`: the field is read only for the steps of the flow, and is not a column of the target.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub load: bool,
    /// The source of the column's values, if it is not a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceWord>,
    /// The value for `source = "constant"`, written as in the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The format of dates, times or timestamps, in the letters of strftime (`%d/%m/%Y`), or a list
    /// of formats that are tried in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OneOrMany>,
    /// The IANA time zone (`Europe/Vienna`) or the offset (`+01:00`) of timestamps that are written without an offset.
    /// For a `timetz`, the offset of the zone must never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The first year that a two-digit year (`%y`) can mean: with 1970, the years are 1970 to 2069.
    #[schemars(range(min = 1, max = 9_900))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year_pivot: Option<u16>,
    /// The value for a field that is missing at the end of its record, written as in the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The fields that get the default: missing fields only, or NULL fields, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_for: Option<DefaultFor>,
    /// The sides on which blanks and tabs are removed from the field, before it is compared with the null markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Trim>,
    /// Whether `trim` also removes blanks and tabs inside quotes.
    #[serde(default, skip_serializing_if = "is_no")]
    pub trim_quoted: bool,
    /// The unquoted text, or texts, that stand for NULL in this column, instead of the format's;
    /// `false` if no text does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<ColumnNull>,
    /// The character between the whole part and the fraction of a number. Default: a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal_separator: Option<String>,
    /// The character between groups of three digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_separator: Option<String>,
    /// Another form of negative numbers, besides `-12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<NegativeForm>,
    /// How `NaN` is loaded into a column of numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nan: Option<NanPolicy>,
    /// The words for true, in upper or lower case, instead of PostgreSQL's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_words: Option<Vec<String>>,
    /// The words for false, in upper or lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_words: Option<Vec<String>>,
    /// How a text that is longer than its type allows is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_truncate: Option<OnTruncate>,
    /// How a number with more digits after the point than its type keeps is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Rounding>,
    /// `true`: a number with leading zeros or a plus sign (`007`, `+43`) is a reject. Overrides the format's setting.
    /// Numbers that a float would change are rejects unless this is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossless: Option<bool>,
}

impl ColumnDetail {
    /// True if its values are written as in the files: they come from a field, or from the package's
    /// `value`.
    pub fn reads_files(&self) -> bool {
        matches!(self.source, None | Some(SourceWord::Constant))
    }

    /// A nullable column of which only the name is known.
    pub fn named(name: &str) -> ColumnDetail {
        ColumnDetail {
            name: name.to_owned(),
            type_name: None,
            nullable: true,
            field: None,
            skip: false,
            load: true,
            source: None,
            value: None,
            format: None,
            zone: None,
            year_pivot: None,
            default: None,
            default_for: None,
            trim: None,
            trim_quoted: false,
            null: None,
            decimal_separator: None,
            group_separator: None,
            negative: None,
            nan: None,
            true_words: None,
            false_words: None,
            on_truncate: None,
            round: None,
            lossless: None,
        }
    }
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FieldChoice {
    /// The field at this position, counted from 1.
    Number(#[schemars(range(min = 1))] u32),
    /// The field with this name in the header.
    Name(String),
}

/// The source of a column's values, if it is not a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceWord {
    /// The path of the file, as the plan shows it; the type is text.
    File,
    /// The line where the record begins, counted from 1; the type is bigint or integer.
    Line,
    /// The byte offset of the record in the uncompressed file; the type is bigint or integer.
    ByteOffset,
    /// The start of the run, the same for all its rows; the type is timestamptz.
    LoadTime,
    /// The run's number in the ledger; the type is bigint.
    Run,
    /// The text of `value`, for all rows.
    Constant,
}

/// The texts that stand for NULL in one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ColumnNull {
    /// This text.
    Text(String),
    /// Each of these texts.
    Texts(Vec<String>),
    /// `false`: no text stands for NULL.
    Never(#[schemars(extend("const" = false))] bool),
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !value
}

fn yes() -> bool {
    true
}

/// The bounds of partitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Bounds {
    /// `"data"`: each file is one partition.
    Word(BoundsWord),
    /// The bounds of the partitions in order: N + 1 values bound N partitions.
    // This variant is before `Every`, because serde would read a list of one value as `Every`.
    List(Vec<BoundValue>),
    /// A partition for every step of this width: `{ every = "1 month" }`.
    Every(BoundsEvery),
    /// Large files are cut into partitions of about the same size, at changes of the key:
    /// `{ parts = 8 }`.
    Parts(BoundsParts),
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds::Word(BoundsWord::Data)
    }
}

/// Bounds that are given by a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoundsWord {
    /// Each file is one partition, from its own smallest key to its own largest.
    Data,
}

/// Bounds at equal steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundsEvery {
    /// A whole number for integer keys; `"N hours"`, `"N days"`, `"N weeks"`, `"N months"` or
    /// `"N years"` for dates and timestamps.
    pub every: BoundValue,
}

/// Parts of files that are in the order of their key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundsParts {
    /// The number of partitions of all files together, 1 to 10000; each file becomes at least one.
    /// Every file must be sorted by the partition key: rows out of order are rejects.
    #[schemars(range(min = 1, max = 10_000))]
    pub parts: u32,
}

/// A value of a partition key, as it is written in the file or as a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BoundValue {
    /// A number.
    Integer(i64),
    /// A text.
    Text(String),
}

/// How rows are added to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Create the target, or load it if it exists and is empty.
    #[default]
    Create,
    /// Add the rows to the target's rows.
    Append,
    /// Replace the target's rows; create the target if it does not exist.
    Replace,
    /// Replace the target's rows that have the same key, and add the other rows.
    Upsert,
}

/// Whether the INSERT triggers of the target must fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerPolicy {
    /// Triggers must fire. A partitioned target with INSERT triggers is refused, because attaching a partition fires none.
    #[default]
    Fire,
    /// Triggers need not fire.
    Skip,
}

impl TriggerPolicy {
    fn is_default(&self) -> bool {
        *self == TriggerPolicy::default()
    }
}

/// How the indexes of a plain target with rows are maintained while rows are copied into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexPolicy {
    /// Each row is added to the indexes when it is copied.
    #[default]
    Keep,
    /// Indexes that are not unique are dropped before the copy and built again after it, in the same
    /// transaction. The table cannot be read in the meantime.
    Rebuild,
}

impl IndexPolicy {
    fn is_default(&self) -> bool {
        *self == IndexPolicy::default()
    }
}

/// The limits of rejected rows; past a limit the flow stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RejectLimit {
    /// The most rows that may be rejected. If neither this nor `share_max` is set, the first rejected row stops the
    /// load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_max: Option<u64>,
    /// The largest share of the flow's rows that may be rejected: 0.01 is one in a hundred.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_max: Option<f64>,
    /// The most bytes that the files of rejected rows and their reasons may take. Default: 4 GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

impl RejectLimit {
    /// The default limit for the files of a flow's rejects, in bytes: about 15 million rows.
    pub const BYTES_MAX_DEFAULT: u64 = 4 << 30;

    /// A limit of this many rows.
    pub fn rows(rows_max: u64) -> RejectLimit {
        RejectLimit {
            rows_max: Some(rows_max),
            ..RejectLimit::default()
        }
    }

    /// The most bytes that the files of rejects may take.
    pub fn bytes_accepted(&self) -> u64 {
        self.bytes_max.unwrap_or(RejectLimit::BYTES_MAX_DEFAULT)
    }

    /// The most rows that may be rejected, without regard to their share.
    pub fn rows_accepted(&self) -> u64 {
        match (self.rows_max, self.share_max) {
            (Some(rows_max), _) => rows_max,
            (None, Some(_)) => u64::MAX,
            (None, None) => 0,
        }
    }
}
