//! The types of a package, as a user writes it. The JSON schema is generated from them, and
//! the check for unknown keys is made with that schema, so that the three cannot differ.

use std::collections::BTreeMap;

use inrush_rows::column_policy::{DefaultFor, NanPolicy, NegativeForm, OnTruncate, Rounding, Trim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connection::Connection;
use super::expect::{ControlFile, Expect, Trailer};
use super::format_settings::Format;
use super::place::PackageOrigin;
use super::replace::Replace;

/// A package: connections, parameters and flows; the unit a user runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Names the package in the ledger: the same name with the same tables resumes a stopped run.
    pub name: String,
    /// Defaults of the parameters that `{name}` in strings stands for; `--set name=value`
    /// replaces them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Where data goes, by name; `--connection name=url` replaces a URL.
    pub connections: BTreeMap<String, Connection>,
    /// Settings of the whole run.
    #[serde(default)]
    pub run: RunSettings,
    /// What is loaded: files, their columns and a table each. All of them are switched in together, in one transaction.
    #[serde(rename = "flow")]
    pub flows: Vec<Flow>,
    /// Where the package came from; no part of what it says.
    #[serde(skip)]
    pub origin: PackageOrigin,
}

impl Package {
    /// A package whose only connection, `target`, has this URL, with all else as it is where a package does not say it.
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
    /// Streams, each with its own connection; the number of cores where it is not set.
    #[schemars(range(min = 1, max = 1024))]
    pub streams: Option<u16>,
    /// Bytes of text that a stream reads at a time, 64 KiB to 16 MiB.
    #[schemars(range(min = 65_536, max = 16_777_216))]
    pub chunk_bytes: u32,
    /// Rows of a batch, 64 to 65536.
    #[schemars(range(min = 64, max = 65_536))]
    pub batch_rows: u32,
    /// COPY with FREEZE, so that no row has to be rewritten by a later vacuum. Rows are then
    /// seen by older snapshots too, once they are switched in.
    pub freeze: bool,
    /// ANALYZE each target after the switch.
    pub analyze: bool,
    /// How long the switch waits for its locks before it gives way and tries again, in
    /// milliseconds, 1 to a day.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub lock_timeout_ms: u32,
    /// Which units the streams take first.
    #[serde(skip_serializing_if = "LoadOrder::is_default")]
    pub order: LoadOrder,
    /// `false`: rows wait in no staging tables, but go straight into their targets in one
    /// transaction by one stream, so that each is written once; a stopped load begins anew.
    #[serde(skip_serializing_if = "is_true")]
    pub staging: bool,
    /// How much of each unit is verified before its COMMIT; a flow may say something else.
    #[serde(skip_serializing_if = "is_count")]
    pub verify: Verify,
    /// Bytes that all streams together send in a second, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_024, max = 1_000_000_000_000_i64))]
    pub rate_bytes_max: Option<u64>,
    /// Bytes of WAL that a standby may be behind: while one is further behind, the streams pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_048_576, max = 1_000_000_000_000_000_i64))]
    pub replica_lag_bytes_max: Option<u64>,
    /// Bytes of WAL that a replication slot may hold back: while one holds more, the streams pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_048_576, max = 1_000_000_000_000_000_i64))]
    pub slot_bytes_max: Option<u64>,
    /// Refuse a load that cannot fit on the server's disk, where that disk can be seen.
    #[serde(skip_serializing_if = "is_true")]
    pub disk_check: bool,
    /// Warn about columns whose values the server may round, cut or rewrite silently, because only it reads their text
    /// (ranges, composites, shapes of floats, text search, XML, types of extensions), or refuse them.
    #[serde(skip_serializing_if = "UncheckedTypes::is_default")]
    pub unchecked_types: UncheckedTypes,
    /// The schema of the ledger's tables.
    pub ledger_schema: String,
    /// The schema where staging tables stand until they are switched in.
    pub staging_schema: String,
}

/// The usual is left out, so that packages keep their digests.
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
            analyze: true,
            lock_timeout_ms: 5_000,
            order: LoadOrder::LargestFirst,
            staging: true,
            verify: Verify::Count,
            rate_bytes_max: None,
            replica_lag_bytes_max: None,
            slot_bytes_max: None,
            disk_check: true,
            unchecked_types: UncheckedTypes::Warn,
            ledger_schema: "inrush".to_owned(),
            staging_schema: "inrush_staging".to_owned(),
        }
    }
}

/// One source, its columns and one destination table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Names the flow in plans and reports; the table's name where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which connection; the only one where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// A path or glob, or a list of them. Relative paths start at the package's folder.
    pub files: OneOrMany,
    /// How the files are written.
    #[serde(default)]
    pub format: Format,
    /// The columns: `"name type"`, `"name type not null"` or a table. They are matched with the
    /// names of a header, else with the fields in their order; every field is listed, those that
    /// are not loaded as `"name skip"` or, all others, `"* skip"`. Not needed where the target
    /// exists and has them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
    /// The target, `table` or `schema.table`; parts with other characters in double quotes.
    pub table: String,
    /// The column whose ranges are the partitions, written as in SQL (odd names in double
    /// quotes); a plain table where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_by: Option<String>,
    /// Where the partitions begin and end.
    #[serde(default)]
    pub bounds: Bounds,
    /// Each row goes to its own partition, whichever file it stands in: `true` where files do not
    /// line up with partitions, `false` where each file is to become one. Where it is not set,
    /// rows are routed into targets whose partitions cannot be files: those by list, hash, several
    /// columns or an expression, and those with partitions of partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<bool>,
    /// What becomes of the target.
    #[serde(default)]
    pub mode: Mode,
    /// For `mode = "replace"`: what is taken out of the target, and what becomes of it.
    #[serde(default, skip_serializing_if = "Replace::is_usual")]
    pub replace: Replace,
    /// For `mode = "upsert"`: the column or columns that tell which row of the target a row
    /// takes the place of. The target has a unique index on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<OneOrMany>,
    /// A statement, or a list of them, that the switch runs in its transaction before it touches
    /// the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_sql: Option<OneOrMany>,
    /// A statement, or a list of them, that the switch runs in its transaction when all rows of
    /// the target are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_sql: Option<OneOrMany>,
    /// `false`: rows go straight into the target, which they need not wait for the switch in and
    /// are seen in as they come; for roles that may only INSERT, and targets of any kind.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub atomic: bool,
    /// Whether INSERT triggers of the target must fire.
    #[serde(default, skip_serializing_if = "TriggerPolicy::is_default")]
    pub triggers: TriggerPolicy,
    /// What becomes of the indexes of a plain target that has rows.
    #[serde(default, skip_serializing_if = "IndexPolicy::is_default")]
    pub indexes: IndexPolicy,
    /// How many rows may be rejected.
    #[serde(default)]
    pub rejects: RejectLimit,
    /// How much of each unit is verified before its COMMIT; as the run says where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// The last record of each file, which is no row: it says how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailer: Option<Trailer>,
    /// A file beside each file, or beside all of them, that says how many rows there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_file: Option<ControlFile>,
    /// Totals that all files of the flow must have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

fn is_count(verify: &Verify) -> bool {
    *verify == Verify::Count
}

/// Which units the streams take first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOrder {
    /// The largest ones of all flows, so that no stream is left with a long one at the end.
    #[default]
    LargestFirst,
    /// Those of the first flow, then those of the second one, and so on: no stream waits until a
    /// flow is done. Of one flow the largest are first.
    Package,
}

impl LoadOrder {
    fn is_default(&self) -> bool {
        *self == LoadOrder::default()
    }
}

/// How much of what the database holds is held against what was read, before it is switched in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The number of rows.
    #[default]
    Count,
    /// For each column the number of values, and a sum of them.
    Sums,
    /// Every value of every row, by a sum of hashes.
    Rows,
}

/// The answer to a load into columns whose values the server may change silently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UncheckedTypes {
    /// They are loaded; the plan and the report name them.
    #[default]
    Warn,
    /// The load is refused before it begins.
    Refuse,
}

impl UncheckedTypes {
    fn is_default(&self) -> bool {
        *self == UncheckedTypes::default()
    }
}

/// A text or a list of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Many.
    Many(Vec<String>),
}

/// A column of the file, or of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ColumnSpec {
    /// `"name type"` or `"name type not null"`; `"name"` alone where the target exists;
    /// `"name skip"` for a field that is not loaded, `"* skip"` for all that are not listed.
    Short(String),
    /// With more said.
    Long(Box<ColumnDetail>),
}

/// A column of the file, or of the target, with more said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnDetail {
    /// Its name in the target; in the header too, where `field` says nothing else.
    pub name: String,
    /// Its type in the database's own words (`numeric(15,2)`); from the target where it exists.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Whether NULL is allowed in a new table.
    #[serde(default = "yes")]
    pub nullable: bool,
    /// The field that fills it: its name in the header, or its number in the record, counted
    /// from 1. Where it is not set: the field of the column's name or, without a header, the one
    /// after the field of the column before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<FieldChoice>,
    /// The field is passed over; the name `*` stands for all fields that no other column takes.
    #[serde(default, skip_serializing_if = "is_no")]
    pub skip: bool,
    /// What fills the column instead of a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceWord>,
    /// The value of `source = "constant"`, written as the files would have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// How dates, times or timestamps are written, in strftime's letters (`%d/%m/%Y`), or a list
    /// of formats that are tried in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OneOrMany>,
    /// The IANA zone (`Europe/Vienna`) or the offset (`+01:00`) of timestamps that are written without an offset; of a
    /// `timetz` only one whose offset never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The first year that two digits (`%y`) can mean: 1970 for the years 1970 to 2069.
    #[schemars(range(min = 1, max = 9_900))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year_pivot: Option<u16>,
    /// What stands for a field that the record lacks at its end, written as the files would
    /// have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether the default stands for fields that are NULL too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_for: Option<DefaultFor>,
    /// Where blanks and tabs are cut off the field, before it is compared with the null markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Trim>,
    /// They are cut off inside of quotes too.
    #[serde(default, skip_serializing_if = "is_no")]
    pub trim_quoted: bool,
    /// The unquoted text, or texts, that stand for NULL in this column, in place of the format's;
    /// `false` where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<ColumnNull>,
    /// Stands between whole part and fraction of numbers, where that is no point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal_separator: Option<String>,
    /// Stands between groups of three digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_separator: Option<String>,
    /// How a minus may be written besides `-12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<NegativeForm>,
    /// What becomes of `NaN` in a column of numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nan: Option<NanPolicy>,
    /// The words for true, in any case, in place of PostgreSQL's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_words: Option<Vec<String>>,
    /// The words for false, in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_words: Option<Vec<String>>,
    /// What becomes of a text that is longer than its type allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_truncate: Option<OnTruncate>,
    /// What becomes of digits after the point that the type does not keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Rounding>,
    /// Whether a number with zeros or a plus before it (`007`, `+43`) is a reject, in place of the
    /// format's. Numbers that a float would change are rejects unless this is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossless: Option<bool>,
}

impl ColumnDetail {
    /// Whether its values are written as those of the files: they come from a field, or are
    /// given in the package in a field's place.
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

/// Which field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FieldChoice {
    /// The one at this place, counted from 1.
    Number(#[schemars(range(min = 1))] u32),
    /// The one of this name in the header.
    Name(String),
}

/// What fills a column instead of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceWord {
    /// The path of the file, as the plan shows it; a text.
    File,
    /// The line where the record begins, counted from 1; bigint or integer.
    Line,
    /// The bytes before the record in the uncompressed file; bigint or integer.
    ByteOffset,
    /// When the run began, the same for all its rows; timestamptz.
    LoadTime,
    /// The run's number in the ledger; bigint.
    Run,
    /// What `value` says, for all rows.
    Constant,
}

/// What stands for NULL in one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ColumnNull {
    /// This text.
    Text(String),
    /// Each of these texts.
    Texts(Vec<String>),
    /// `false`: nothing stands for NULL.
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

/// Where partitions begin and end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Bounds {
    /// `"data"`: each file is one partition.
    Word(BoundsWord),
    /// The ends of the partitions in order: N + 1 values bound N partitions. It stands before
    /// `Every`, as serde would take a list of one value for that.
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

/// Bounds that one word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoundsWord {
    /// Each file is one partition, from its own smallest key to its own largest.
    Data,
}

/// Bounds at even steps.
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
    /// How many partitions all files together become, 1 to 10000; at least one for each file.
    /// Every file must be in the order of its key: rows that are not are rejects.
    #[schemars(range(min = 1, max = 10_000))]
    pub parts: u32,
}

/// A value of a partition key, as it is written in the file or as a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BoundValue {
    /// A number.
    Integer(i64),
    /// Anything else.
    Text(String),
}

/// What becomes of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is made, or it exists and is empty.
    #[default]
    Create,
    /// Rows join those that it has.
    Append,
    /// Rows take the place of those that it has; it is made where it does not exist.
    Replace,
    /// Rows take the place of those with the same key, or join the others.
    Upsert,
}

/// Whether INSERT triggers of the target must fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerPolicy {
    /// They must: a partitioned target that has any is refused, since rows that are attached fire none.
    #[default]
    Fire,
    /// The load may do without them.
    Skip,
}

impl TriggerPolicy {
    fn is_default(&self) -> bool {
        *self == TriggerPolicy::default()
    }
}

/// What becomes of the indexes of a plain target that has rows, while more are copied into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexPolicy {
    /// Each row goes into them as it comes.
    #[default]
    Keep,
    /// Those that keep no row unique are dropped before and built again after, in the same transaction;
    /// the table cannot be read meanwhile.
    Rebuild,
}

impl IndexPolicy {
    fn is_default(&self) -> bool {
        *self == IndexPolicy::default()
    }
}

/// How many rows may be rejected before the flow stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RejectLimit {
    /// This many at most. Where neither this nor `share_max` is set, the first one stops the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_max: Option<u64>,
    /// At most this share of the flow's rows: 0.01 is one of a hundred.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_max: Option<f64>,
    /// The files that the rows and their reasons are kept in take at most this many bytes; 4 GiB unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

impl RejectLimit {
    /// What the files of a flow's rejects may take where its package does not say: some 15 million rows.
    pub const BYTES_MAX_DEFAULT: u64 = 4 << 30;

    /// At most so many rows.
    pub fn rows(rows_max: u64) -> RejectLimit {
        RejectLimit {
            rows_max: Some(rows_max),
            ..RejectLimit::default()
        }
    }

    /// How many bytes the files of rejects may take.
    pub fn bytes_accepted(&self) -> u64 {
        self.bytes_max.unwrap_or(RejectLimit::BYTES_MAX_DEFAULT)
    }

    /// How many rows are accepted, whatever their share is.
    pub fn rows_accepted(&self) -> u64 {
        match (self.rows_max, self.share_max) {
            (Some(rows_max), _) => rows_max,
            (None, Some(_)) => u64::MAX,
            (None, None) => 0,
        }
    }
}
