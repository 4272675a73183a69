//! What a flow says, read into the terms of the plan. A package that was checked has no faults
//! here.

use super::error::{PackageError, PackageFaultKind};
use super::name::{TableName, parts};
use super::place::Place;
use super::{ColumnDetail, Flow, OneOrMany};

impl OneOrMany {
    /// The texts.
    pub fn patterns(&self) -> &[String] {
        match self {
            OneOrMany::One(text) => std::slice::from_ref(text),
            OneOrMany::Many(texts) => texts,
        }
    }
}

impl Flow {
    /// The target.
    pub fn parsed_table(&self) -> Result<TableName, PackageError> {
        TableName::parse(&self.table).map_err(|kind| fault("table", kind))
    }

    /// The partition key's column, unquoted.
    pub fn partition_column(&self) -> Result<Option<String>, PackageError> {
        let Some(text) = &self.partition_by else {
            return Ok(None);
        };
        let refused = |cause: String, mend: String| {
            let kind = PackageFaultKind::Value {
                setting: "partition_by".to_owned(),
                value: text.clone(),
                cause,
                mend,
            };
            fault("partition_by", kind)
        };
        let mut names = parts(text).map_err(|name| refused(name.cause, name.mend))?;
        match (names.pop(), names.is_empty()) {
            (Some(name), true) => Ok(Some(name)),
            _ => Err(refused(
                "it is the name of more than a column".to_owned(),
                "name one column of the flow".to_owned(),
            )),
        }
    }

    /// The columns that the package lists.
    pub fn column_details(&self) -> Result<Vec<ColumnDetail>, PackageError> {
        self.columns
            .iter()
            .map(|column| column.detail().map_err(|kind| fault("columns", kind)))
            .collect()
    }
}

fn fault(setting: &str, kind: PackageFaultKind) -> PackageError {
    PackageError::new(Place::of_argument(setting), kind)
}
