//! Which field of the files fills which column of the target, and of what type it is.

use std::collections::BTreeMap;

use inrush_wire::PgType;

use super::WireForm;
use super::error::PlanError;
use crate::column::{Column, ColumnType};
use crate::destination::postgres::Session;
use crate::destination::postgres::catalog::TargetFacts;
use crate::destination::postgres::staging::NewColumn;
use crate::destination::postgres::types::{self, ResolvedType};
use crate::package::ColumnDetail;

/// The columns of a flow, resolved.
pub struct ResolvedColumns {
    /// The columns that the files fill, in the files' order.
    pub columns: Vec<Column>,
    /// Their types as the server writes them.
    pub type_sql: Vec<String>,
    /// How rows are sent.
    pub wire: WireForm,
    /// The columns of a target that is to be made.
    pub new_columns: Vec<NewColumn>,
}

/// What is known of a flow's columns before the catalog is asked.
pub struct Known<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// The target as SQL names it.
    pub target: &'a str,
    /// Columns that the package lists.
    pub details: &'a [ColumnDetail],
    /// The files' header.
    pub header: Option<&'a [String]>,
    /// The target, where it exists.
    pub facts: Option<&'a TargetFacts>,
    /// The partition key, which never is NULL.
    pub key: Option<&'a str>,
}

impl Known<'_> {
    fn mismatch(&self, what: String, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow.to_owned(),
            what,
            hint: hint.to_owned(),
        }
    }

    /// The columns of the files by name, in the files' order.
    fn names(&self) -> Result<Vec<ColumnDetail>, PlanError> {
        let bare = |name: &str| ColumnDetail {
            name: name.to_owned(),
            type_name: None,
            nullable: true,
            format: None,
            zone: None,
        };
        match (self.details, self.header, self.facts) {
            ([], Some(header), Some(facts)) => header
                .iter()
                .map(|field| {
                    find(facts.columns.iter().map(|column| column.name.as_str()), field)
                        .map(bare)
                        .ok_or_else(|| self.no_column(field, facts))
                })
                .collect(),
            ([], None, Some(facts)) => Ok(facts
                .columns
                .iter()
                .filter(|column| !column.generated)
                .map(|column| bare(&column.name))
                .collect()),
            ([], _, None) => Err(self.mismatch(
                format!("{} does not exist, and no columns are given to make it of", self.target),
                "give them: columns = [\"id bigint not null\", ...], or --columns \"id bigint, ...\"",
            )),
            (details, Some(header), _) => self.by_header(details, header),
            (details, None, _) => Ok(details.to_vec()),
        }
    }

    fn no_column(&self, field: &str, facts: &TargetFacts) -> PlanError {
        let names: Vec<&str> = facts
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let near = names
            .iter()
            .map(|name| (strsim::jaro_winkler(name, field), *name))
            .filter(|(nearness, _)| *nearness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        self.mismatch(
            format!(
                "{} has no column `{field}`; its columns are {}",
                self.target,
                names.join(", ")
            ),
            &match near {
                Some((_, name)) => format!("did you mean `{name}`?"),
                None => "name the columns that exist, in the order of the file".to_owned(),
            },
        )
    }

    /// The listed columns in the order of the header.
    fn by_header(
        &self,
        details: &[ColumnDetail],
        header: &[String],
    ) -> Result<Vec<ColumnDetail>, PlanError> {
        let shown = || {
            format!(
                "the header names {}, the package lists {}",
                header.join(", "),
                details
                    .iter()
                    .map(|detail| detail.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        };
        let hint = "list the columns as the header names them, or set header = false if the \
                    first record is data";
        if header.len() != details.len() {
            return Err(self.mismatch(shown(), hint));
        }
        header
            .iter()
            .map(|field| {
                let name = find(details.iter().map(|detail| detail.name.as_str()), field);
                details
                    .iter()
                    .find(|detail| Some(detail.name.as_str()) == name)
                    .cloned()
                    .ok_or_else(|| self.mismatch(shown(), hint))
            })
            .collect()
    }
}

/// The name that a field of a header means: the same one, or the only one but for its case.
fn find<'a>(names: impl Iterator<Item = &'a str> + Clone, field: &str) -> Option<&'a str> {
    let field = field.trim();
    if let Some(name) = names.clone().find(|name| *name == field) {
        return Some(name);
    }
    let mut alike = names.filter(|name| name.to_lowercase() == field.to_lowercase());
    match (alike.next(), alike.next()) {
        (Some(name), None) => Some(name),
        _ => None,
    }
}

/// Resolves the columns of a flow against the catalog.
pub async fn resolve(session: &Session, known: &Known<'_>) -> Result<ResolvedColumns, PlanError> {
    let details = known.names()?;
    let mut columns = Vec::with_capacity(details.len());
    let mut type_sql = Vec::with_capacity(details.len());
    let mut wire = Vec::with_capacity(details.len());
    let mut new_columns = Vec::with_capacity(details.len());
    // Wide tables have few types.
    let mut named: BTreeMap<&str, ResolvedType> = BTreeMap::new();
    for (field_index, detail) in details.iter().enumerate() {
        if details[..field_index]
            .iter()
            .any(|other| other.name == detail.name)
        {
            return Err(known.mismatch(
                format!("the files have the column `{}` twice", detail.name),
                "each column of the target can be filled once",
            ));
        }
        let is_key = known.key == Some(detail.name.as_str());
        let (resolved, nullable) = match known.facts {
            Some(facts) => existing(known, facts, detail)?,
            None => {
                let type_name = detail.type_name.as_deref().ok_or_else(|| {
                    known.mismatch(
                        format!(
                            "column `{}` has no type, and {} does not exist yet",
                            detail.name, known.target
                        ),
                        "write it as \"name type\"",
                    )
                })?;
                let resolved = match named.get(type_name) {
                    Some(resolved) => ResolvedType::clone(resolved),
                    None => types::resolve_name(session, type_name, &detail.name).await?,
                };
                named.insert(type_name, resolved.clone());
                let nullable = detail.nullable && !resolved.not_null;
                (resolved, nullable)
            }
        };
        let nullable = nullable && !is_key;
        new_columns.push(NewColumn {
            name: detail.name.clone(),
            type_sql: resolved.sql.clone(),
            not_null: !nullable,
        });
        wire.push(resolved.wire);
        columns.push(Column {
            name: detail.name.clone(),
            column_type: resolved.column_type,
            nullable,
            field_index,
            format: detail.format.clone(),
            zone: detail.zone.clone(),
        });
        type_sql.push(resolved.sql);
    }
    if let Some(facts) = known.facts {
        check_missing(known, facts, &columns)?;
    }
    let wire = wire_form(&columns, &type_sql, wire);
    Ok(ResolvedColumns {
        columns,
        type_sql,
        wire,
        new_columns,
    })
}

fn existing(
    known: &Known<'_>,
    facts: &TargetFacts,
    detail: &ColumnDetail,
) -> Result<(ResolvedType, bool), PlanError> {
    let column = facts
        .columns
        .iter()
        .find(|column| column.name == detail.name)
        .ok_or_else(|| known.no_column(&detail.name, facts))?;
    if column.generated {
        return Err(known.mismatch(
            format!("the server computes column `{}` itself", column.name),
            "take it out of the files, or load into a table without the expression",
        ));
    }
    Ok((column.resolved.clone(), !column.not_null))
}

/// Refuses files that lack a column which must have a value.
fn check_missing(
    known: &Known<'_>,
    facts: &TargetFacts,
    columns: &[Column],
) -> Result<(), PlanError> {
    let missing: Vec<&str> = facts
        .columns
        .iter()
        .filter(|column| column.not_null && !column.has_default && !column.generated)
        // A staging table numbers nothing; rows that are copied into a plain target get theirs.
        .filter(|column| !column.identity || facts.partitioning.is_some())
        .map(|column| column.name.as_str())
        .filter(|name| columns.iter().all(|column| column.name != *name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(known.mismatch(
        format!(
            "the files have no column {}, which {} does not allow to be NULL",
            missing.join(", "),
            known.target
        ),
        "add it to the files, or give the column a DEFAULT",
    ))
}

fn wire_form(columns: &[Column], type_sql: &[String], wire: Vec<Option<PgType>>) -> WireForm {
    let opaque = columns
        .iter()
        .zip(type_sql)
        .find(|(column, _)| column.column_type == ColumnType::Opaque);
    match (wire.into_iter().collect::<Option<Vec<_>>>(), opaque) {
        (Some(types), None) => WireForm::Binary(types),
        (_, Some((column, type_sql))) => WireForm::Text {
            reason: format!(
                "column `{}` has the type {type_sql}, for which there is no binary encoder",
                column.name
            ),
        },
        (None, None) => unreachable!("only opaque columns have no encoding"),
    }
}
