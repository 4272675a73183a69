//! SQLite's sums. It adds whole numbers in 64 bits, so numbers are cut into parts of few digits.
//!
//! Decimals, dates, times and timestamps are texts here. SQLite has no exact sum of floating-point numbers, intervals,
//! UUIDs and decimals without a scale.

use inrush_destination::Result;
use inrush_destination::sums::{Addend, ColumnForm, SumForm};

use crate::session::AdbcSession;

/// A number is cut into parts of this many digits. The second constant is the number of parts that hold any decimal.
/// The sum of a part over 900 billion rows fits into 64 bits.
const PART_DIGITS: usize = 7;
const DECIMAL_PARTS: usize = 6;

/// True if the database stores texts in UTF-8. SQLite can also store them in UTF-16.
pub fn stores_utf8(session: &mut AdbcSession) -> Result<bool> {
    let doing = "cannot read the encoding of texts";
    let rows = session.rows(doing, "PRAGMA encoding")?;
    let encoding = rows.into_iter().flatten().next().flatten();
    Ok(encoding.is_some_and(|encoding| encoding == "UTF-8"))
}

/// True if the measure of a column depends on how texts are stored.
pub fn is_of_texts(form: ColumnForm) -> bool {
    matches!(
        form,
        ColumnForm::Text | ColumnForm::PaddedText | ColumnForm::Json
    )
}

/// The addends of each measure of a column; none if the column has no exact sum.
pub fn measures(form: ColumnForm, name: &str) -> Option<Vec<Vec<Addend>>> {
    let octets = |value: &str| {
        let octets = format!("sum(length(CAST({value} AS BLOB)))");
        vec![vec![Addend::whole(octets)]]
    };
    Some(match form {
        ColumnForm::Bool => vec![vec![Addend::whole(format!(
            "count(*) FILTER (WHERE {name})"
        ))]],
        ColumnForm::Number(SumForm::Int16 | SumForm::Int32 | SumForm::Int64) => {
            vec![whole_number(name)]
        }
        ColumnForm::Number(SumForm::Decimal { scale }) => vec![decimal(name, scale)],
        ColumnForm::Text | ColumnForm::Json | ColumnForm::Bytea => octets(name),
        ColumnForm::PaddedText => octets(&format!("rtrim({name}, ' ')")),
        ColumnForm::Date => vec![date(name)],
        ColumnForm::Time => vec![time(name).into()],
        ColumnForm::Timestamp | ColumnForm::TimestampTz => vec![timestamp(name)],
        ColumnForm::Number(SumForm::DecimalText { .. })
        | ColumnForm::Float4
        | ColumnForm::Float8
        | ColumnForm::Enum
        | ColumnForm::Jsonb
        | ColumnForm::Interval
        | ColumnForm::Uuid
        | ColumnForm::Money
        | ColumnForm::TimeTz
        | ColumnForm::Opaque => return None,
    })
}

/// Whole numbers in three parts. Values that are stored as another type are left out, so that the sums differ.
fn whole_number(name: &str) -> Vec<Addend> {
    let part = |value: String, exponent| {
        let value = format!("CASE WHEN typeof({name}) = 'integer' THEN {value} END");
        Addend::scaled(format!("sum({value})"), exponent)
    };
    vec![
        part(format!("{name} / 1000000000000"), 12),
        part(format!("{name} / 1000000 % 1000000"), 6),
        part(format!("{name} % 1000000"), 0),
    ]
}

/// Decimals by their digits. A column may store them as numbers, which have few enough digits to be written exactly.
fn decimal(name: &str, scale: u8) -> Vec<Addend> {
    let text = format!(
        "CASE typeof({name}) WHEN 'text' THEN {name} ELSE printf('%.{scale}f', {name}) END"
    );
    let width = PART_DIGITS * DECIMAL_PARTS;
    let zeros = "0".repeat(width);
    let digits =
        format!("substr('{zeros}' || replace(replace({text}, '-', ''), '.', ''), -{width})");
    let sign = format!(
        "CASE WHEN {name} IS NULL THEN NULL WHEN substr({text}, 1, 1) = '-' THEN -1 ELSE 1 END"
    );
    let part = |part: usize| {
        let from = width - PART_DIGITS * (part + 1) + 1;
        let digits = format!("CAST(substr({digits}, {from}, {PART_DIGITS}) AS INTEGER)");
        let exponent = (PART_DIGITS * part) as i32 - i32::from(scale);
        Addend::scaled(format!("sum(({sign}) * {digits})"), exponent)
    };
    (0..DECIMAL_PARTS).map(part).collect()
}

/// Days since 1970 of a text that begins with a date. SQLite's calendar has the years 0 to 9999, so whole cycles of 400
/// years are counted apart.
fn days(date: &str) -> String {
    let year = format!("CAST(substr({date}, 1, length({date}) - 6) AS INTEGER)");
    let within = format!("(({year} % 400 + 400) % 400)");
    format!(
        "CAST(julianday(printf('%04d', 2000 + {within}) || substr({date}, -6)) - 2440587.5 AS INTEGER) \
         + ({year} - 2000 - {within}) / 400 * 146097"
    )
}

fn count(name: &str, text: &str, times: i128, exponent: i32) -> Addend {
    Addend {
        sql: format!("count(*) FILTER (WHERE {name} = '{text}')"),
        times,
        exponent,
    }
}

fn date(name: &str) -> Vec<Addend> {
    let finite = format!("FILTER (WHERE {name} NOT LIKE '%infinity')");
    vec![
        Addend::whole(format!("sum({}) {finite}", days(name))),
        count(name, "infinity", i128::from(i32::MAX), 0),
        count(name, "-infinity", i128::from(i32::MIN), 0),
    ]
}

/// Seconds and microseconds of a text that begins with a time.
fn time(time: &str) -> [Addend; 2] {
    let number = |from: u8| format!("CAST(substr({time}, {from}, 2) AS INTEGER)");
    let fraction = format!(
        "CASE WHEN substr({time}, 9, 1) = '.' THEN CAST(substr(substr({time}, 10) || '000000', 1, 6) AS INTEGER) \
         WHEN {time} IS NOT NULL THEN 0 END"
    );
    [
        Addend::whole(format!(
            "sum({} * 3600 + {} * 60 + {})",
            number(1),
            number(4),
            number(7)
        )),
        Addend::scaled(format!("sum({fraction})"), -6),
    ]
}

fn timestamp(name: &str) -> Vec<Addend> {
    let finite = format!("CASE WHEN {name} NOT LIKE '%infinity' THEN");
    let date = format!("substr({name}, 1, instr({name}, ' ') - 1)");
    // The zone is always +00:00; a fraction of a second comes before it.
    let clock =
        format!("({finite} replace(substr({name}, instr({name}, ' ') + 1), '+00:00', '') END)");
    let [seconds, microseconds] = time(&clock);
    vec![
        Addend {
            sql: format!("sum({finite} {} END)", days(&date)),
            times: 86_400,
            exponent: 0,
        },
        seconds,
        microseconds,
        // The numbers by which the engine's sums represent the infinities.
        count(name, "infinity", 9_224_318_721_654_775_807, -6),
        count(name, "-infinity", -9_222_425_352_054_775_808, -6),
    ]
}
