//! DuckDB's sums. It adds whole numbers in 128 bits.

use inrush_destination::sums::{Addend, ColumnForm, SumForm};
use inrush_rows::column_type::ColumnType;

/// Decimals are cut into parts of this many digits, whose sums fit into 128 bits.
const CUT_DIGITS: i32 = 19;
/// The most digits of a decimal for which a sum over 10 to the power of 20 rows fits into DuckDB's 38 digits.
const SUMMED_DIGITS_MAX: u8 = 18;
/// The infinities of dates and of timestamps count as in the engine's sums.
const DATES: (&str, &str) = ("2147483647", "-2147483648");
const TIMESTAMPS: (&str, &str) = ("9224318721654775807", "-9222425352054775808");

/// The addends of each measure of a column; none if the column has no exact sum.
pub fn measures(
    form: ColumnForm,
    column_type: &ColumnType,
    name: &str,
) -> Option<Vec<Vec<Addend>>> {
    let sum = |value: String| vec![Addend::whole(format!("sum({value})"))];
    let microseconds = |value: String| vec![Addend::scaled(format!("sum({value})"), -6)];
    let finite = |value: &str, type_sql: &str, (largest, smallest): (&str, &str)| {
        format!(
            "CASE WHEN isfinite({name}) THEN {value} WHEN {name} > {type_sql} '2000-01-01' \
             THEN {largest}::HUGEINT WHEN {name} < {type_sql} '2000-01-01' THEN {smallest}::HUGEINT END"
        )
    };
    Some(match form {
        ColumnForm::Bool => vec![vec![Addend::whole(format!(
            "count(*) FILTER (WHERE {name})"
        ))]],
        ColumnForm::Number(SumForm::Int16 | SumForm::Int32 | SumForm::Int64) => {
            vec![sum(name.to_owned())]
        }
        ColumnForm::Number(SumForm::Decimal { .. }) if is_narrow(column_type) => {
            vec![sum(name.to_owned())]
        }
        ColumnForm::Number(SumForm::Decimal { scale }) => {
            let digits = format!("CAST(replace(CAST({name} AS VARCHAR), '.', '') AS HUGEINT)");
            let cut = format!("1{}::HUGEINT", "0".repeat(CUT_DIGITS as usize));
            let scale = i32::from(scale);
            vec![vec![
                Addend::scaled(format!("sum({digits} % {cut})"), -scale),
                Addend::scaled(format!("sum({digits} // {cut})"), CUT_DIGITS - scale),
            ]]
        }
        ColumnForm::Float4 => vec![sum(format!("CAST(CAST({name} AS BIT) AS INTEGER)"))],
        ColumnForm::Float8 => vec![sum(format!("CAST(CAST({name} AS BIT) AS BIGINT)"))],
        ColumnForm::Text => vec![sum(format!("strlen({name})"))],
        ColumnForm::Enum | ColumnForm::Json => {
            vec![sum(format!("strlen(CAST({name} AS VARCHAR))"))]
        }
        ColumnForm::PaddedText => vec![sum(format!("strlen(rtrim({name}, ' '))"))],
        ColumnForm::Bytea => vec![sum(format!("octet_length({name})"))],
        ColumnForm::Date => {
            let days = format!("{name} - DATE '1970-01-01'");
            vec![sum(finite(&days, "DATE", DATES))]
        }
        ColumnForm::Time => vec![microseconds(format!("epoch_us({name})"))],
        ColumnForm::Timestamp => {
            let since_1970 = format!("epoch_us({name})");
            vec![microseconds(finite(&since_1970, "TIMESTAMP", TIMESTAMPS))]
        }
        ColumnForm::TimestampTz => {
            let since_1970 = format!("epoch_us({name})");
            vec![microseconds(finite(&since_1970, "TIMESTAMPTZ", TIMESTAMPS))]
        }
        ColumnForm::Interval => {
            let part = |part: &str| format!("date_part('{part}', {name})");
            vec![
                sum(format!(
                    "{} * 3600000000 + {} * 60000000 + {}",
                    part("hour"),
                    part("minute"),
                    part("microsecond")
                )),
                sum(part("day")),
                sum(format!("{} * 12 + {}", part("year"), part("month"))),
            ]
        }
        ColumnForm::Uuid => {
            let half = |from: u8| {
                let digits = format!("replace(CAST({name} AS VARCHAR), '-', '')");
                format!("CAST(CAST(unhex(substr({digits}, {from}, 16)) AS BIT) AS BIGINT)")
            };
            vec![sum(half(1)), sum(half(17))]
        }
        ColumnForm::Number(SumForm::DecimalText { .. })
        | ColumnForm::Jsonb
        | ColumnForm::Money
        | ColumnForm::TimeTz
        | ColumnForm::Opaque => return None,
    })
}

fn is_narrow(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Decimal { precision, .. } if *precision <= SUMMED_DIGITS_MAX)
}
