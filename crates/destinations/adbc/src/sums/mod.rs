//! `verify = "sums"`: the database's own sums of the rows in a staging table.
//!
//! Each measure of a column is made of one or more [`Addend`]s: sums that the database makes exactly, in whole numbers or
//! decimals, and that are put together here. A column of which a database has no exact sum is only counted.

mod duckdb;
mod sqlite;

use inrush_destination::sums::{ColumnForm, ExactSum, StagedSums};
use inrush_destination::{ColumnPlan, Error, Result, TargetPlan};

use crate::quirks::Vendor;
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

/// Sums that one statement asks for. Databases limit the columns of a result: SQLite to 2,000.
const SUMS_MAX: usize = 500;

/// A sum that a database makes of a column; the measure is the total of its addends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Addend {
    /// An aggregate, whose value is a number or NULL.
    sql: String,
    /// What one of it is worth.
    times: i128,
    /// The power of ten of that.
    exponent: i32,
}

impl Addend {
    /// An aggregate that counts the measure itself.
    fn whole(sql: String) -> Addend {
        Addend::scaled(sql, 0)
    }

    /// An aggregate that counts a power of ten of the measure.
    fn scaled(sql: String, exponent: i32) -> Addend {
        Addend {
            sql,
            times: 1,
            exponent,
        }
    }

    fn add(&self, text: &str, sum: &mut ExactSum) -> bool {
        match text.parse::<i128>() {
            Ok(number) => {
                sum.add_at(self.exponent, number * self.times);
                true
            }
            // A decimal of the database, which counts the measure itself.
            Err(_) => self.times == 1 && self.exponent == 0 && sum.add_text(text),
        }
    }
}

/// Whether this database sums up columns.
pub fn are_made_by(vendor: Vendor) -> bool {
    matches!(vendor, Vendor::DuckDb | Vendor::Sqlite)
}

/// What the database sums up of each column of a target.
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
    let mut sums = StagedSums::none(forms);
    // Each addend with its place among the sums; the count of rows is the first place.
    let mut asked = vec![(0, Addend::whole("count(*)".to_owned()))];
    let mut place = 1;
    for (column, form) in staging.plan.columns.iter().zip(forms) {
        let name = sql::identifier(&column.name);
        asked.push((place, Addend::whole(format!("count({name})"))));
        place += 1;
        for addends in measures(vendor, *form, column).unwrap_or_default() {
            asked.extend(addends.into_iter().map(|addend| (place, addend)));
            place += 1;
        }
    }
    for asked in asked.chunks(SUMS_MAX) {
        let texts = asked.iter();
        let texts: Vec<String> = texts
            .map(|(_, addend)| format!("CAST(coalesce({}, 0) AS VARCHAR)", addend.sql))
            .collect();
        let statement = format!("SELECT {} FROM {}", texts.join(", "), staging.sql);
        let answer = session.rows(&doing, &statement)?;
        let answer = answer.into_iter().next().unwrap_or_default();
        for (at, (place, addend)) in asked.iter().enumerate() {
            let text = answer.get(at).cloned().flatten().unwrap_or_default();
            let sum = match place {
                0 => &mut sums.rows,
                place => &mut sums.columns[place - 1],
            };
            if !addend.add(&text, sum) {
                return Err(Error::Refused {
                    doing,
                    message: format!("{text:?} came instead of a number for {}", addend.sql),
                    hint: None,
                });
            }
        }
    }
    Ok(sums)
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

    #[test]
    fn addends_are_worth_what_they_say() {
        let mut sum = ExactSum::default();
        let days = Addend {
            times: 86_400,
            ..Addend::whole("d".to_owned())
        };
        assert!(days.add("-2", &mut sum));
        assert!(Addend::scaled("m".to_owned(), -6).add("1500000", &mut sum));
        assert!(Addend::whole("x".to_owned()).add("0.25", &mut sum));
        assert_eq!(sum.to_string(), "-172798.25");
        for wrong in ["", "1e5", "NaN"] {
            assert!(!Addend::whole("x".to_owned()).add(wrong, &mut sum));
        }
        assert!(!days.add("0.5", &mut sum), "a fraction of a day");
    }
}
