//! The collations that the columns of a new target take over from the table that is read.

use inrush_rows::column::Column;
use inrush_rows::column_policy::ValueSource;
use inrush_source::ColumnCollation;

use super::columns::ResolvedColumns;
use crate::quote::{identifier, qualified};
use crate::{PostgresError, Session};

/// Gives the columns of a new target the collations of the source. A collation that the target's database lacks is
/// named in a note. Columns that a step derives, and types without a collation, get none.
pub async fn take_over(
    session: &Session,
    target: &str,
    of_source: &[ColumnCollation],
    columns: &[Column],
    resolved: &mut ResolvedColumns,
    notes: &mut Vec<String>,
) -> Result<(), PostgresError> {
    if of_source.is_empty() {
        return Ok(());
    }
    let mut wanted = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let collation = of_source.iter().find(|one| one.column == column.name);
        if let (Some(collation), ValueSource::Field(_)) = (collation, &column.source) {
            wanted.push((index, collation));
        }
    }
    let names = wanted.iter().map(|(_, it)| qualified(&it.schema, &it.name));
    let names: Vec<String> = names.collect();
    let types = wanted
        .iter()
        .map(|(index, _)| resolved.catalog_types[*index].0);
    let types: Vec<u32> = types.collect();
    // Each collation belongs to an encoding, and `to_regcollation` finds those for the encoding of this database.
    let sql = "SELECT t.typcollation <> 0, to_regcollation(n.name) IS NOT NULL \
         FROM unnest($1::text[], $2::oid[]) WITH ORDINALITY AS n (name, type, number) \
         JOIN pg_type AS t ON t.oid = n.type ORDER BY n.number";
    let doing = "looking for the collations of the source";
    let rows = session.query(sql, &[&names, &types], doing).await?;
    let mut missing = Vec::new();
    for (((index, collation), name), row) in wanted.iter().zip(names).zip(&rows) {
        let (has_one, is_known): (bool, bool) = (row.get(0), row.get(1));
        match (has_one, is_known) {
            (true, true) => resolved.new_columns[*index].collation = Some(name),
            (true, false) => missing.push(format!("{name} of {}", identifier(&collation.column))),
            (false, _) => {}
        }
    }
    if !missing.is_empty() {
        notes.push(format!(
            "{target} does not get the collation {}: the target's database has none of this name",
            missing.join(", ")
        ));
    }
    Ok(())
}
