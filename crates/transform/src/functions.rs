//! The functions and operators that expressions may call: a closed list.
//!
//! They return the same value for the same arguments, on every machine and in every run, and see nothing but their
//! arguments. A function that is missing here is refused, even if a later version of DuckDB has it.
//!
//! Functions that make a text as long as a number says (`repeat`, `printf`) are not there: DuckDB's memory limit does not
//! cover their results. The lengths of `lpad` and `rpad` are limited by [`crate::expression`].

use adbc_core::error::Result as AdbcResult;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_rows::suggest::suggestion;

use crate::error::StepErrorKind;

/// The functions, by their purpose, in lower case, with blanks between them.
const ALLOWED: [&str; 7] = [OPERATORS, CHOICES, NUMBERS, TEXTS, DATES, DOCUMENTS, BYTES];

const OPERATORS: &str = "
    * !~~ !~~* % & ** + - ->> / // << >> ^ ^@ | || ~ ~~ ~~* ~~~ add subtract multiply divide mod
    xor";

const CHOICES: &str = "if ifnull nullif greatest least";

const NUMBERS: &str = "
    abs acos asin atan atan2 bit_count cbrt ceil ceiling cos cosh cot degrees even exp factorial
    floor fmod gcd greatest_common_divisor isfinite isinf isnan lcm least_common_multiple ln log
    log10 log2 pi pow power radians round round_even roundbankers sign signbit sin sinh sqrt tan
    tanh trunc format_bytes to_hex hex";

const TEXTS: &str = "
    ascii bit_length char_length character_length chr concat concat_ws contains
    damerau_levenshtein editdist3 ends_with hamming ilike_escape instr jaccard
    jaro_similarity jaro_winkler_similarity lcase left left_grapheme len length length_grapheme
    levenshtein like_escape lower lpad ltrim mismatches nfc_normalize not_ilike_escape
    not_like_escape ord overlay position prefix regexp_escape regexp_extract
    regexp_full_match regexp_matches regexp_replace replace reverse right right_grapheme rpad
    rtrim split_part starts_with strip_accents strlen strpos substr substring substring_grapheme
    suffix translate trim ucase unicode upper url_decode url_encode";

const DATES: &str = "
    century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc
    day dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_us era
    hour isodow isoyear julian last_day make_date make_time make_timestamp make_timestamptz
    microsecond millennium millisecond minute month monthname quarter second strftime strptime
    time_bucket timezone to_centuries to_days to_decades to_hours to_microseconds to_millennia
    to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years
    try_strptime week weekday weekofyear year yearweek";

const DOCUMENTS: &str = "
    json_array_length json_contains json_exists json_extract json_extract_path
    json_extract_path_text json_extract_string json_keys json_type json_valid json_value";

const BYTES: &str = "
    base64 decode encode from_base64 from_hex md5 octet_length sha1 sha256 to_base64 unhex";

/// Functions of dates that are NULL for infinity, as if the date were unknown.
const OF_FINITE_DATES: &str = "
    century date_diff date_part date_sub datediff datepart datesub day dayname dayofmonth dayofweek
    dayofyear days_in_month decade epoch epoch_ms epoch_us era hour isodow isoyear julian last_day
    microsecond millennium millisecond minute month monthname quarter second time_bucket timezone
    week weekday weekofyear year yearweek";

/// True if a function of this name, in lower case, is NULL for infinite dates.
pub fn is_of_finite_dates(name: &str) -> bool {
    OF_FINITE_DATES
        .split_ascii_whitespace()
        .any(|known| known == name)
}

/// True if a function of this name, in lower case, subtracts: of two dates it makes a number of days, also if one is infinite.
pub fn subtracts(name: &str) -> bool {
    ["-", "subtract"].contains(&name)
}

/// True if a function of this name, in lower case, asks whether a value is infinite.
pub fn asks_for_infinity(name: &str) -> bool {
    ["isfinite", "isinf"].contains(&name)
}

/// True if expressions may call a function of this name, in lower case.
pub fn is_allowed(name: &str) -> bool {
    all().any(|allowed| allowed == name)
}

/// All functions with a name of letters.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().filter(|name| name.starts_with(|first: char| first.is_alphabetic()))
}

/// All functions and operators.
pub fn all() -> impl Iterator<Item = &'static str> {
    ALLOWED
        .iter()
        .flat_map(|group| group.split_ascii_whitespace())
}

/// The fault of a function that is not on the list; DuckDB's catalog has the reason.
pub fn fault(link: &Link, name: &str) -> AdbcResult<StepErrorKind> {
    let text = name.replace('\'', "''");
    let rows = link
        .query(&format!(
            "SELECT function_type, stability FROM duckdb_functions() WHERE lower(function_name) = '{text}'"
        ))?
        .rows()?;
    if rows.is_empty() {
        return Ok(StepErrorKind::UnknownFunction {
            name: name.to_owned(),
            suggestion: suggestion(name, names()),
        });
    }
    let is = |column: usize, word: &str| {
        let mut values = rows.iter().filter_map(|row| row.get(column)?.as_deref());
        values.any(|value| value == word)
    };
    let (reason, instead) = if is(0, "aggregate") || is(0, "window") {
        (
            "it aggregates several rows, and a step sees one row at a time",
            "compute it in the source's query, or after the load",
        )
    } else if is(0, "table") || is(0, "table_macro") || is(0, "pragma") {
        (
            "it reads tables, files or settings, and a step sees only the columns of its row",
            "load the other rows in a flow of their own",
        )
    } else if is(1, "VOLATILE") || is(1, "CONSISTENT_WITHIN_QUERY") {
        (
            "its value differs from call to call, so a run that is resumed would load other rows",
            "use a column of the source, or a parameter of the package",
        )
    } else {
        (
            "it is not on the list of functions that are the same in every run",
            "use a function that the documentation of steps lists",
        )
    };
    Ok(StepErrorKind::ForbiddenFunction {
        name: name.to_owned(),
        reason,
        instead,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_list_has_each_function_once_and_in_lower_case() {
        let mut seen = BTreeSet::new();
        for name in all() {
            assert!(seen.insert(name), "{name} is there twice");
            assert_eq!(name.to_lowercase(), name);
        }
    }

    #[test]
    fn functions_that_are_special_are_on_the_list() {
        for name in OF_FINITE_DATES.split_ascii_whitespace() {
            assert!(is_allowed(name), "{name}");
        }
        for is_special in [subtracts, asks_for_infinity] {
            assert_eq!(all().filter(|name| is_special(name)).count(), 2);
        }
    }

    #[test]
    fn functions_that_read_or_change_something_else_are_not_there() {
        for name in [
            "getenv",
            "random",
            "uuid",
            "now",
            "today",
            "nextval",
            "current_setting",
            "getvariable",
            "read_csv",
            "query",
            "sleep_ms",
            "write_log",
            "error",
            "hash",
            "version",
            "age",
            "repeat",
            "printf",
            "format",
            "bar",
            "sum",
        ] {
            assert!(!is_allowed(name), "{name}");
        }
    }
}
