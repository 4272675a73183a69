//! `verify = "sums"`: the database's own sums of the rows in a staging table.

mod duckdb;
mod sqlite;

use inrush_destination::sums::{Addend, ColumnForm, StagedSums, SumDialect, SummedColumn};
use inrush_destination::{ColumnPlan, Result, TargetPlan};

use crate::quirks::Vendor;
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

const DIALECT: SumDialect = SumDialect {
    count: "count",
    text_type: "VARCHAR",
};

/// True if this database can sum up columns.
pub fn are_made_by(vendor: Vendor) -> bool {
    matches!(vendor, Vendor::DuckDb | Vendor::Sqlite)
}

/// The form in which the database sums up each column of a target.
pub fn forms(
    vendor: Vendor,
    session: &mut AdbcSession,
    target: &TargetPlan,
) -> Result<Vec<ColumnForm>> {
    let stores_utf8 = vendor != Vendor::Sqlite || sqlite::stores_utf8(session)?;
    let columns = target.columns.iter();
    let form = |column: &ColumnPlan| {
        let form = ColumnForm::new(&column.column_type);
        match measures(vendor, form, column) {
            Some(_) if stores_utf8 || !sqlite::is_of_texts(form) => form,
            _ => ColumnForm::Opaque,
        }
    };
    Ok(columns.map(form).collect())
}

/// The addends of each measure of a column; none if the database has no exact sum of it.
fn measures(vendor: Vendor, form: ColumnForm, column: &ColumnPlan) -> Option<Vec<Vec<Addend>>> {
    let name = sql::identifier(&column.name);
    match vendor {
        Vendor::DuckDb => duckdb::measures(form, &column.column_type, &name),
        Vendor::Sqlite => sqlite::measures(form, &name),
        Vendor::Postgres | Vendor::Other => None,
    }
}

/// The database's sums of all rows in a staging table.
pub fn staged(
    vendor: Vendor,
    session: &mut AdbcSession,
    staging: &Staging,
    forms: &[ColumnForm],
) -> Result<StagedSums> {
    let doing = format!("cannot sum up the staged rows of {}", staging.plan.name.sql);
    let columns = staging.plan.columns.iter().zip(forms);
    let columns = columns.map(|(column, form)| SummedColumn {
        name: sql::identifier(&column.name),
        measures: measures(vendor, *form, column).unwrap_or_default(),
    });
    let columns = columns.collect();
    let rows =
        &mut |sums: &str| session.rows(&doing, &format!("SELECT {sums} FROM {}", staging.sql));
    StagedSums::ask(DIALECT, &doing, forms, columns, rows)
}

#[cfg(test)]
mod tests {
    use inrush_rows::type_name::TypeName;

    use super::*;

    #[test]
    fn each_form_has_its_measures() {
        for type_name in [
            "boolean",
            "smallint",
            "integer",
            "bigint",
            "real",
            "double precision",
            "numeric(9,2)",
            "numeric(38,38)",
            "numeric",
            "text",
            "char(3)",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "interval",
            "uuid",
            "bytea",
            "json",
        ] {
            let column_type = TypeName::parse(type_name).and_then(|name| name.column_type());
            let column = ColumnPlan {
                name: "a".to_owned(),
                sql: type_name.to_owned(),
                column_type: column_type.expect("a type"),
                nullable: true,
            };
            let form = ColumnForm::new(&column.column_type);
            for vendor in [Vendor::DuckDb, Vendor::Sqlite] {
                if let Some(made) = measures(vendor, form, &column) {
                    assert_eq!(made.len(), form.measures().len(), "{vendor:?} {type_name}");
                }
            }
        }
    }
}
