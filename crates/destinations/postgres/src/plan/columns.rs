//! The columns of a flow, resolved by the catalog and the server's types.

use std::collections::BTreeMap;

use inrush_destination::sums::ColumnForm;
use inrush_engine::native::plan::columns::{KnownColumns, Match, TargetColumns, column};
use inrush_engine::plan::PlanError;
use inrush_pgclient::native_types;
use inrush_pgcopy::{NativeShape, PgType};
use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::native_type::NativeType;

use super::WireForm;
use crate::catalog::{CatalogColumn, TableFacts};
use crate::plan::failure::PlanFailure;
use crate::staging::NewColumn;
use crate::types::{self, PostgresType};
use crate::{PostgresError, Session};

/// The columns of a flow, resolved.
pub struct ResolvedColumns {
    /// The columns that are loaded, in the package's order, or else in that of the files.
    pub columns: Vec<Column>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
    /// Their types as the server writes them.
    pub type_sql: Vec<String>,
    /// Their types in the catalog: OID and modifier.
    pub catalog_types: Vec<(u32, i32)>,
    /// The form in which rows are sent.
    pub wire: WireForm,
    /// The columns whose values come in binary form with OIDs of another database, by their index.
    pub native_shapes: Vec<(usize, NativeShape)>,
    /// The columns of a new target.
    pub new_columns: Vec<NewColumn>,
    /// The form in which each column is verified.
    pub forms: Vec<ColumnForm>,
    /// Columns whose values the server may change silently, with their types.
    pub unchecked: Vec<String>,
}

/// Resolves the columns of a flow against the catalog. `fields_native` has the forms of fields whose values are in a source's
/// own binary form.
pub async fn resolve(
    session: &Session,
    known: &KnownColumns<'_>,
    facts: Option<&TableFacts>,
    fields_native: &[Option<NativeType>],
) -> Result<ResolvedColumns, PlanFailure> {
    let matches = known.matches(false)?;
    let count = matches.columns.len();
    let mut columns: Vec<Column> = Vec::with_capacity(count);
    let mut type_sql = Vec::with_capacity(count);
    let mut catalog_types = Vec::with_capacity(count);
    let mut wire = Vec::with_capacity(count);
    let mut new_columns = Vec::with_capacity(count);
    let mut unchecked = Vec::new();
    // Wide tables have few types.
    let mut named: BTreeMap<&str, PostgresType> = BTreeMap::new();
    let mut natives = Vec::new();
    let mut native_shapes = Vec::new();
    for Match {
        detail,
        source,
        place,
    } in &matches.columns
    {
        let is_key = known.key == Some(detail.name.as_str());
        let target = place.and_then(|place| facts?.columns.get(place));
        let (mut resolved, nullable) = match target {
            Some(column) => existing(known, column)?,
            None => {
                let type_name = known.type_name(detail)?;
                let resolved = match named.get(type_name) {
                    Some(resolved) => PostgresType::clone(resolved),
                    None => types::resolve_name(session, type_name, &detail.name)
                        .await
                        .map_err(PostgresError::from)?,
                };
                named.insert(type_name, resolved.clone());
                let nullable = detail.nullable && !resolved.not_null;
                (resolved, nullable)
            }
        };
        let nullable = nullable && !is_key;
        let field = source.field_index();
        let sent = field.and_then(|index| fields_native.get(index)?.as_ref());
        if let Some(sent) = sent {
            let key = (sent, resolved.catalog_type);
            let passing = match natives.iter().find(|(known, _)| *known == key) {
                Some((_, passing)) => Option::clone(passing),
                None => native_types::passing(session, sent, resolved.catalog_type)
                    .await
                    .map_err(PostgresError::from)?,
            };
            natives.push((key, passing.clone()));
            if let Some(shape) = passing {
                pass_unchanged(&mut resolved, sent);
                if !shape.is_plain() {
                    native_shapes.push((columns.len(), shape));
                }
            }
        }
        new_columns.push(NewColumn {
            name: detail.name.clone(),
            type_sql: resolved.sql.clone(),
            not_null: !nullable,
        });
        if resolved.may_change {
            unchecked.push(format!("`{}` ({})", detail.name, resolved.sql));
        }
        catalog_types.push(resolved.catalog_type);
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
        known.require(
            required.map(|column| column.name.as_str()),
            &matches.names(),
        )?;
    }
    let forms = columns
        .iter()
        .map(|column| ColumnForm::new(&column.column_type))
        .collect();
    let wire = wire_form(&columns, &type_sql, wire);
    refuse_text(known, &columns, &wire)?;
    Ok(ResolvedColumns {
        forms,
        columns,
        field_count: matches.field_count,
        type_sql,
        catalog_types,
        wire,
        native_shapes,
        new_columns,
        unchecked,
    })
}

fn existing(
    known: &KnownColumns<'_>,
    column: &CatalogColumn,
) -> Result<(PostgresType, bool), PlanError> {
    if column.generated {
        return Err(known.mismatch(
            format!("the server computes column `{}` itself", column.name),
            "take it out of the files, or load into a table without the expression",
        ));
    }
    Ok((column.resolved.clone(), !column.not_null))
}

fn wire_form(columns: &[Column], type_sql: &[String], wire: Vec<Option<PgType>>) -> WireForm {
    let without = columns
        .iter()
        .zip(type_sql)
        .zip(&wire)
        .find(|(_, wire)| wire.is_none());
    if let Some(((column, type_sql), _)) = without {
        return WireForm::Text {
            reason: format!(
                "column `{}` has the type {type_sql}, for which there is no binary encoder",
                column.name
            ),
        };
    }
    WireForm::Binary(wire.into_iter().flatten().collect())
}

/// Values of the type come in its binary form, and are sent as they are.
fn pass_unchanged(resolved: &mut PostgresType, sent: &NativeType) {
    resolved.column_type = ColumnType::Special(SpecialType::Native {
        form: sent.form.clone(),
    });
    // Like bytea: the bytes, behind their length.
    resolved.wire = Some(PgType::Bytea);
    resolved.may_change = false;
}

/// Refuses values in binary form beside columns that can be sent only as text.
fn refuse_text(
    known: &KnownColumns<'_>,
    columns: &[Column],
    wire: &WireForm,
) -> Result<(), PlanError> {
    let is_native = |column: &&Column| {
        matches!(
            column.column_type,
            ColumnType::Special(SpecialType::Native { .. })
        )
    };
    match (wire, columns.iter().find(is_native)) {
        (WireForm::Text { reason }, Some(column)) => Err(known.mismatch(
            format!(
                "column `{}` comes in binary form, but the rows must be sent as text: {reason}",
                column.name
            ),
            "read both columns in the same way: both as the source has them, or both as text (NAME::text)",
        )),
        _ => Ok(()),
    }
}

/// The names of a target's columns.
pub fn names(facts: &TableFacts) -> TargetColumns {
    let name = |column: &CatalogColumn| column.name.clone();
    let filled = facts.columns.iter().filter(|column| !column.generated);
    TargetColumns {
        all: facts.columns.iter().map(name).collect(),
        filled: filled.map(name).collect(),
    }
}
