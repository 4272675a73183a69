//! Which field of the files fills which column of the target, and of what type it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use inrush_wire::PgType;

use super::WireForm;
use super::error::PlanError;
use super::fields::{self, Assigned, Assignment};
use crate::column::{Column, ColumnType};
use crate::column_policy::{BooleanWords, ColumnPolicies, FieldDefault, NumberForm, ValueSource};
use crate::destination::postgres::Session;
use crate::destination::postgres::catalog::{CatalogColumn, TargetFacts};
use crate::destination::postgres::staging::NewColumn;
use crate::destination::postgres::types::{self, ResolvedType};
use crate::package::{ColumnDetail, ColumnNull, Format};
use crate::verify::ColumnForm;

/// The columns of a flow, resolved.
pub struct ResolvedColumns {
    /// The columns that are loaded, in the package's order; else in the files'.
    pub columns: Vec<Column>,
    /// Fields of a record, those that are skipped too.
    pub field_count: usize,
    /// Their types as the server writes them.
    pub type_sql: Vec<String>,
    /// How rows are sent.
    pub wire: WireForm,
    /// The columns of a target that is to be made.
    pub new_columns: Vec<NewColumn>,
    /// How each column is verified.
    pub forms: Vec<ColumnForm>,
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
    /// The file that it stands in.
    pub header_file: Option<&'a Path>,
    /// How many fields the first record has, where that is known and needed.
    pub first_field_count: Option<usize>,
    /// How the files are written.
    pub format: &'a Format,
    /// The columns of the target, where it exists.
    pub target_columns: Option<&'a TargetColumns>,
    /// The partition key, which never is NULL.
    pub key: Option<&'a str>,
}

/// The names of a target's columns.
#[derive(Clone, Debug, Default)]
pub struct TargetColumns {
    /// All of them, in its order.
    pub all: Vec<String>,
    /// Those that can be filled: it does not compute them itself.
    pub filled: Vec<String>,
}

impl TargetColumns {
    /// Those of a table of PostgreSQL.
    pub fn of_catalog(facts: &TargetFacts) -> TargetColumns {
        let name = |column: &CatalogColumn| column.name.clone();
        let filled = facts.columns.iter().filter(|column| !column.generated);
        TargetColumns {
            all: facts.columns.iter().map(name).collect(),
            filled: filled.map(name).collect(),
        }
    }
}

impl Known<'_> {
    /// The error of the flow.
    pub fn mismatch(&self, what: String, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow.to_owned(),
            what,
            hint: hint.to_owned(),
        }
    }

    /// The columns and what fills them.
    pub fn assignment(&self) -> Result<Assignment, PlanError> {
        let in_order = |details: Vec<ColumnDetail>| Assignment {
            field_count: details.len(),
            columns: details
                .into_iter()
                .enumerate()
                .map(|(index, detail)| Assigned {
                    detail,
                    source: ValueSource::Field(index),
                })
                .collect(),
        };
        match (self.details, self.header, self.target_columns) {
            ([], Some(header), Some(target)) => header
                .iter()
                .map(|field| {
                    find(target.all.iter().map(String::as_str), field)
                        .map(ColumnDetail::named)
                        .ok_or_else(|| self.no_column(field, target))
                })
                .collect::<Result<_, _>>()
                .map(in_order),
            ([], None, Some(target)) => {
                let details = target.filled.iter().map(|name| ColumnDetail::named(name));
                Ok(in_order(details.collect()))
            }
            ([], _, None) => Err(self.mismatch(
                format!("{} does not exist, and no columns are given to make it of", self.target),
                "give them: columns = [\"id bigint not null\", ...], or --columns \"id bigint, ...\"",
            )),
            (details, Some(header), _) => fields::by_header(details, header)
                .map_err(|mismatch| mismatch.in_file(self.header_file).of_flow(self.flow)),
            (details, None, _) => fields::by_place(details, self.first_field_count)
                .map_err(|mismatch| mismatch.of_flow(self.flow)),
        }
    }

    /// Refuses files that lack a column which must have a value: one of `required` that is not `filled`.
    pub fn require<'c>(
        &self,
        required: impl Iterator<Item = &'c str>,
        filled: &BTreeSet<&str>,
    ) -> Result<(), PlanError> {
        let missing: Vec<&str> = required.filter(|name| !filled.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(self.mismatch(
            format!(
                "the files have no column {}, which {} does not allow to be NULL",
                missing.join(", "),
                self.target
            ),
            "add it to the files, or give the column a DEFAULT",
        ))
    }

    /// There is no such column in the target.
    pub fn no_column(&self, field: &str, target: &TargetColumns) -> PlanError {
        let names = &target.all;
        let near = names
            .iter()
            .map(|name| (strsim::jaro_winkler(name, field), name))
            .filter(|(nearness, _)| *nearness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        self.mismatch(
            format!(
                "{}{} has no column `{field}`, which the header names; its columns are {}",
                fields::place(self.header_file),
                self.target,
                names.join(", ")
            ),
            &match near {
                Some((_, name)) => format!("did you mean `{name}`?"),
                None => "name the columns that exist, in the order of the file".to_owned(),
            },
        )
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
pub async fn resolve(
    session: &Session,
    known: &Known<'_>,
    facts: Option<&TargetFacts>,
) -> Result<ResolvedColumns, PlanError> {
    let assignment = known.assignment()?;
    let count = assignment.columns.len();
    let mut columns: Vec<Column> = Vec::with_capacity(count);
    let mut type_sql = Vec::with_capacity(count);
    let mut wire = Vec::with_capacity(count);
    let mut new_columns = Vec::with_capacity(count);
    // Wide tables have few types.
    let mut named: BTreeMap<&str, ResolvedType> = BTreeMap::new();
    for Assigned { detail, source } in &assignment.columns {
        if columns.iter().any(|other| other.name == detail.name) {
            return Err(known.mismatch(
                format!("the files have the column `{}` twice", detail.name),
                "each column of the target can be filled once",
            ));
        }
        let is_key = known.key == Some(detail.name.as_str());
        let (resolved, nullable) = match facts {
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
        columns.push(column(
            known,
            detail,
            source,
            resolved.column_type,
            nullable,
        ));
        type_sql.push(resolved.sql);
    }
    if let Some(facts) = facts {
        let required = facts.columns.iter().filter(|column| {
            column.not_null && !column.has_default && !column.generated && !column.identity
        });
        let filled = columns.iter().map(|column| column.name.as_str()).collect();
        known.require(required.map(|column| column.name.as_str()), &filled)?;
    }
    let forms = columns
        .iter()
        .zip(&wire)
        .map(|(column, wire)| ColumnForm::new(&column.column_type, *wire))
        .collect();
    let wire = wire_form(&columns, &type_sql, wire);
    Ok(ResolvedColumns {
        forms,
        columns,
        field_count: assignment.field_count,
        type_sql,
        wire,
        new_columns,
    })
}

/// A column as its package says that it is read.
pub fn column(
    known: &Known<'_>,
    detail: &ColumnDetail,
    source: &ValueSource,
    column_type: ColumnType,
    nullable: bool,
) -> Column {
    Column {
        name: detail.name.clone(),
        nullable,
        source: source.clone(),
        formats: detail
            .format
            .as_ref()
            .map_or_else(Vec::new, |format| format.patterns().to_vec()),
        zone: detail.zone.clone(),
        policies: ColumnPolicies {
            numbers: number_form(detail, known.format, &column_type),
            lossless: is_lossless(detail, known.format, &column_type),
            ..policies(detail)
        },
        column_type,
    }
}

/// How a column's numbers are written: as it says itself, else as the format says of all.
fn number_form(detail: &ColumnDetail, format: &Format, column_type: &ColumnType) -> NumberForm {
    let separator = |text: &Option<String>| text.as_ref().and_then(|text| text.chars().next());
    let own = (&detail.decimal_separator, &detail.group_separator);
    let (decimal, group) = match own {
        (None, None) if column_type.is_number() && detail.reads_files() => {
            (&format.decimal_separator, &format.group_separator)
        }
        own => own,
    };
    NumberForm {
        decimal_separator: separator(decimal),
        group_separator: separator(group),
        negative: detail.negative.unwrap_or_default(),
    }
}

/// Whether a column loses nothing of its numbers: as it says itself, else as the format says of
/// all.
fn is_lossless(detail: &ColumnDetail, format: &Format, column_type: &ColumnType) -> bool {
    let of_format =
        || format.lossless == Some(true) && column_type.is_number() && detail.source.is_none();
    detail.lossless.unwrap_or_else(of_format)
}

/// How a column is read, as its package says.
fn policies(detail: &ColumnDetail) -> ColumnPolicies {
    ColumnPolicies {
        trim: detail.trim,
        trim_quoted: detail.trim_quoted,
        null: detail.null.as_ref().map(|null| match null {
            ColumnNull::Text(marker) => vec![marker.clone()],
            ColumnNull::Texts(markers) => markers.clone(),
            ColumnNull::Never(_) => Vec::new(),
        }),
        default: detail.default.as_ref().map(|text| FieldDefault {
            text: text.clone(),
            applies_to: detail.default_for.unwrap_or_default(),
        }),
        numbers: NumberForm::default(),
        nan: detail.nan.unwrap_or_default(),
        words: match (&detail.true_words, &detail.false_words) {
            (None, None) => None,
            (yes, no) => Some(BooleanWords {
                true_words: yes.clone().unwrap_or_default(),
                false_words: no.clone().unwrap_or_default(),
            }),
        },
        year_pivot: detail.year_pivot,
        on_truncate: detail.on_truncate.unwrap_or_default(),
        round: detail.round.unwrap_or_default(),
        lossless: false,
        exact: false,
    }
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
        .ok_or_else(|| known.no_column(&detail.name, &TargetColumns::of_catalog(facts)))?;
    if column.generated {
        return Err(known.mismatch(
            format!("the server computes column `{}` itself", column.name),
            "take it out of the files, or load into a table without the expression",
        ));
    }
    Ok((column.resolved.clone(), !column.not_null))
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
