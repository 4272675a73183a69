//! `verify = "sums"`: the server's own sums of the rows in a staging table.
//!
//! A sum is never made in a type that could overflow or round: whole numbers are added as `decimal(38,0)`, and decimals
//! have at most 20 digits, so 10 to the power of 18 rows fit. There is no exact sum of floating-point numbers, of wider decimals
//! and of types whose values the server changes when it stores them (`datetime`, `smalldatetime`, `xml`, and `binary`,
//! which is padded): these columns are only counted.

use inrush_destination::sums::{Addend, ColumnForm, StagedSums, SumDialect, SumForm, SummedColumn};
use inrush_destination::{ColumnPlan, Result};
use inrush_rows::column_type::ColumnType;

use crate::connection::SqlSession;
use crate::sql;
use crate::staging::Staging;

/// The most digits of a decimal for which a sum over 10 to the power of 18 rows fits into 38 digits.
const DIGITS_MAX: u8 = 20;
/// `COUNT` has 31 bits.
const DIALECT: SumDialect = SumDialect {
    count: "COUNT_BIG",
    text_type: "nvarchar(50)",
};

/// The form in which the server sums up a column.
pub fn form(column: &ColumnPlan, has_utf8: bool) -> ColumnForm {
    let form = ColumnForm::new(&column.column_type);
    match (form, measures(form, column)) {
        (_, None) => ColumnForm::Opaque,
        (ColumnForm::Text | ColumnForm::PaddedText | ColumnForm::Json, _) if !has_utf8 => {
            ColumnForm::Opaque
        }
        _ => form,
    }
}

/// The server's sums of all rows in a staging table.
pub fn staged(
    session: &mut SqlSession,
    staging: &Staging,
    forms: &[ColumnForm],
) -> Result<StagedSums> {
    let doing = format!("cannot sum up the staged rows of {}", staging.plan.name.sql);
    let columns = staging.plan.columns.iter().zip(forms);
    let columns = columns.map(|(column, form)| SummedColumn {
        name: sql::identifier(&column.name),
        measures: measures(*form, column).unwrap_or_default(),
    });
    let columns = columns.collect();
    let rows =
        &mut |sums: &str| session.rows(&doing, &format!("SELECT {sums} FROM {}", staging.sql));
    StagedSums::ask(DIALECT, &doing, forms, columns, rows)
}

/// The addends of each measure of a column; none if the column has no exact sum.
fn measures(form: ColumnForm, column: &ColumnPlan) -> Option<Vec<Vec<Addend>>> {
    let name = sql::identifier(&column.name);
    let type_name = column.sql.to_ascii_lowercase();
    if matches!(type_name.as_str(), "datetime" | "smalldatetime" | "xml")
        || type_name.starts_with("binary")
    {
        return None;
    }
    let whole = |value: &str| Addend::whole(format!("SUM(CAST({value} AS decimal(38,0)))"));
    let sum = |value: String| vec![whole(&value)];
    // DATEDIFF_BIG counts the boundaries of seconds, so the microseconds are always added, even for moments before
    // `begin`.
    let moment = |begin: &str| {
        let seconds = format!("DATEDIFF_BIG(second, '{begin}', {name})");
        let microseconds = whole(&format!("DATEPART(microsecond, {name})"));
        vec![whole(&seconds), Addend::scaled(microseconds.sql, -6)]
    };
    let octets = |text: &str| {
        format!("DATALENGTH(CAST({text} COLLATE Latin1_General_100_BIN2_UTF8 AS varchar(max)))")
    };
    Some(match form {
        ColumnForm::Bool | ColumnForm::Number(SumForm::Int16 | SumForm::Int32 | SumForm::Int64) => {
            vec![sum(name)]
        }
        ColumnForm::Number(SumForm::Decimal { .. }) => match column.column_type {
            // The sum of `money` has the type `money`.
            ColumnType::Decimal { precision, scale } if precision <= DIGITS_MAX => {
                let sql = format!("SUM(CAST({name} AS decimal({precision},{scale})))");
                vec![vec![Addend::whole(sql)]]
            }
            _ => return None,
        },
        ColumnForm::Text | ColumnForm::Json => vec![sum(octets(&name))],
        ColumnForm::PaddedText => vec![sum(octets(&format!("RTRIM({name})")))],
        ColumnForm::Bytea => vec![sum(format!("DATALENGTH({name})"))],
        ColumnForm::Date => vec![sum(format!("DATEDIFF(day, '1970-01-01', {name})"))],
        ColumnForm::Time => vec![moment("00:00:00")],
        ColumnForm::Timestamp | ColumnForm::TimestampTz => vec![moment("1970-01-01T00:00:00")],
        ColumnForm::Uuid => {
            let digits = format!("REPLACE(CAST({name} AS char(36)), '-', '')");
            let half = |from: u8| {
                format!(
                    "CONVERT(bigint, CONVERT(varbinary(8), SUBSTRING({digits}, {from}, 16), 2))"
                )
            };
            vec![sum(half(1)), sum(half(17))]
        }
        ColumnForm::Float4
        | ColumnForm::Float8
        | ColumnForm::Number(SumForm::DecimalText { .. })
        | ColumnForm::Enum
        | ColumnForm::Interval
        | ColumnForm::Jsonb
        | ColumnForm::Money
        | ColumnForm::TimeTz
        | ColumnForm::Opaque => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types;

    fn column(type_name: &str) -> ColumnPlan {
        let resolved = types::resolve(type_name).expect(type_name);
        ColumnPlan {
            name: "a".to_owned(),
            sql: resolved.sql,
            column_type: resolved.column_type,
            nullable: true,
        }
    }

    #[test]
    fn each_form_has_its_measures() {
        for type_name in [
            "bit",
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "decimal(20,2)",
            "smallmoney",
            "nvarchar(3)",
            "varchar(max)",
            "nchar(3)",
            "json",
            "date",
            "time",
            "datetime2(7)",
            "datetimeoffset",
            "uniqueidentifier",
            "varbinary(9)",
        ] {
            let column = match type_name {
                "varchar(max)" => column("varchar"),
                _ => column(type_name),
            };
            let form = form(&column, true);
            assert_ne!(form, ColumnForm::Opaque, "{type_name}");
            let made = measures(form, &column).expect(type_name);
            assert_eq!(made.len(), form.measures().len(), "{type_name}");
        }
    }

    #[test]
    fn types_without_an_exact_sum_are_only_counted() {
        for type_name in [
            "real",
            "float",
            "decimal(21,2)",
            "datetime",
            "smalldatetime",
            "xml",
            "binary(9)",
            "numeric",
        ] {
            assert_eq!(
                form(&column(type_name), true),
                ColumnForm::Opaque,
                "{type_name}"
            );
        }
        // Collations with UTF-8 came with SQL Server 2019.
        assert_eq!(form(&column("nvarchar(9)"), false), ColumnForm::Opaque);
        assert_ne!(form(&column("int"), false), ColumnForm::Opaque);
    }
}
