//! Parses the texts of a flow: its files, its table, its columns and its key.

use super::error::{PackageError, PackageFaultKind};
use super::name::{TableName, single};
use super::place::Place;
use super::{
    Bounds, ColumnDetail, Flow, Format, IndexPolicy, Mode, OneOrMany, RejectLimit, Replace, Scd,
    ScdColumns, TriggerPolicy,
};

impl OneOrMany {
    /// The texts.
    pub fn patterns(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }

    /// The SQL statements of a setting, each without its semicolon.
    pub fn statements(setting: &Option<OneOrMany>) -> Vec<String> {
        let texts = setting.iter().flat_map(OneOrMany::patterns);
        texts
            .map(|text| text.trim().trim_end_matches(';').trim_end().to_owned())
            .collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns().is_empty()
    }
}

impl Default for OneOrMany {
    fn default() -> Self {
        OneOrMany::Many(Vec::new())
    }
}

impl From<Vec<String>> for OneOrMany {
    fn from(texts: Vec<String>) -> OneOrMany {
        match <[String; 1]>::try_from(texts) {
            Ok([only]) => OneOrMany::One(only),
            Err(texts) => OneOrMany::Many(texts),
        }
    }
}

impl Flow {
    /// A flow that loads these files into this table; all other settings have their defaults.
    pub fn new(files: OneOrMany, table: &str) -> Flow {
        Flow {
            name: None,
            connection: None,
            files,
            source: None,
            format: Format::default(),
            columns: Vec::new(),
            steps: Vec::new(),
            table: table.to_owned(),
            outputs: Vec::new(),
            each: false,
            otherwise: None,
            output_number: None,
            partition_by: None,
            bounds: Bounds::default(),
            routing: None,
            mode: Mode::default(),
            triggers: TriggerPolicy::default(),
            indexes: IndexPolicy::default(),
            replace: Replace::default(),
            key: None,
            scd: None,
            pre_sql: None,
            post_sql: None,
            atomic: true,
            rejects: RejectLimit::default(),
            verify: None,
            trailer: None,
            control_file: None,
            expect: None,
        }
    }

    /// The target, with its name unquoted.
    pub fn parsed_table(&self) -> Result<TableName, PackageError> {
        TableName::parse(&self.table).map_err(without_place)
    }

    /// The column whose ranges are the partitions, unquoted.
    pub fn partition_column(&self) -> Result<Option<String>, PackageError> {
        self.partition_column_checked().map_err(without_place)
    }

    /// The name of the flow in messages: its own, or else the name of its table.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.table)
    }

    /// The columns of the key of an upsert, unquoted.
    pub fn key_columns(&self) -> Result<Vec<String>, PackageError> {
        let texts = self.key.iter().flat_map(OneOrMany::patterns);
        texts
            .map(|text| key_column(text).map_err(without_place))
            .collect()
    }

    /// The columns of `scd`, unquoted.
    pub fn scd_columns(&self) -> Result<Option<ScdColumns>, PackageError> {
        let parsed = self.scd.as_ref().map(Scd::parsed).transpose();
        parsed.map_err(without_place)
    }

    /// The columns with all of their settings; names are unquoted.
    pub fn column_details(&self) -> Result<Vec<ColumnDetail>, PackageError> {
        self.columns
            .iter()
            .map(|column| column.detail().map_err(without_place))
            .collect()
    }

    pub(super) fn partition_column_checked(&self) -> Result<Option<String>, PackageFaultKind> {
        let Some(text) = &self.partition_by else {
            return Ok(None);
        };
        single(text)
            .map(Some)
            .map_err(|fault| fault.of_value("partition_by", text))
    }
}

/// A column of a key, unquoted.
pub(super) fn key_column(text: &str) -> Result<String, PackageFaultKind> {
    column_of("key", text)
}

/// A column that a setting names, unquoted.
pub(super) fn column_of(setting: &str, text: &str) -> Result<String, PackageFaultKind> {
    single(text).map_err(|fault| fault.of_value(setting, text))
}

/// An error without a place, because a flow does not know its own. [`super::Package::check`] has already reported the
/// same error with its place.
fn without_place(kind: PackageFaultKind) -> PackageError {
    PackageError::new(Place::default(), kind)
}
