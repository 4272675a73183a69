//! The functions and operators that expressions may call: a closed list.
//!
//! They return the same value for the same arguments, on every machine and in every run, and see nothing but their
//! arguments. A function that is missing here is refused, even if a later version of DuckDB has it.
//!
//! `docs/steps.md` has the list, written by a test of this file.
//!
//! Functions that make a text whose length is an argument (`repeat`, `printf`) are not in the list: DuckDB's memory
//! limit does not cover their results. The lengths of `lpad` and `rpad` are limited by [`crate::expression`].

use adbc_core::error::Result as AdbcResult;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_rows::suggest::suggestion;

use crate::error::StepErrorKind;

/// The functions by their purpose, in lower case, with blanks between them.
const ALLOWED: [(&str, &str); 7] = [
    ("operators", OPERATORS),
    ("choices", CHOICES),
    ("numbers", NUMBERS),
    ("texts", TEXTS),
    ("dates and times", DATES),
    ("JSON", DOCUMENTS),
    ("bytes and digests", BYTES),
];

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

/// Functions that return a number for a text, even if the text was made from a date.
const NUMBERS_OF_TEXTS: &str = "
    ascii bit_length char_length character_length instr len length octet_length ord position strlen
    strpos unicode";

/// True if a function of this name, in lower case, never returns an infinite date: it is NULL for infinity, or returns
/// a number for a text.
pub fn makes_number_of_date(name: &str) -> bool {
    let mut names = NUMBERS_OF_TEXTS.split_ascii_whitespace();
    is_of_finite_dates(name) || names.any(|known| known == name)
}

/// True if a function of this name, in lower case, subtracts. The difference of two dates is a number of days, even if
/// one of them is infinite.
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
        .flat_map(|(_, names)| names.split_ascii_whitespace())
}

/// Why functions are not allowed, and what to use instead.
type Refusal = (&'static str, &'static str);

const OF_THE_MOMENT: Refusal = (
    "its value differs from call to call, so a run that is resumed would load other rows",
    "use a column of the source, or a parameter of the package",
);

const OF_OTHER_ROWS: Refusal = (
    "it reads tables, files or settings, and a step sees only the columns of its row",
    "load the other rows in a flow of their own",
);

/// Functions for which DuckDB's catalog has no reason, or a wrong one.
const REFUSED: [(&str, Refusal); 7] = [
    (
        "error assert_true",
        (
            "it only makes an error, and a reject would not say which rule the row breaks",
            "write the rule as a `check` step; `else = \"fail\"` ends the load",
        ),
    ),
    (
        "repeat printf format bar",
        (
            "it makes a text as long as a number says, and no memory limit holds for that",
            "use `lpad` or `rpad` (10,000 characters at most), or `concat` for a fixed text",
        ),
    ),
    (
        "hash",
        (
            "its result may be another one in the next version of DuckDB",
            "use `md5` or `sha256`",
        ),
    ),
    (
        "age",
        (
            "with one argument it counts from today, so a run that is resumed would load other rows",
            "use `date_diff('day', a, b)`, where one date may be a parameter of the package",
        ),
    ),
    (
        "ago current_localtime current_localtimestamp",
        OF_THE_MOMENT,
    ),
    (
        "current_setting currval getvariable nextval setval",
        OF_OTHER_ROWS,
    ),
    (
        "setseed sleep_ms write_log",
        (
            "it is called for its effect, and a step only computes values",
            "leave it out",
        ),
    ),
];

/// The fault of a function that is not on the list.
pub fn fault(link: &Link, name: &str) -> AdbcResult<StepErrorKind> {
    let lower_case = name.to_lowercase();
    let is_named = |names: &str| names.split(' ').any(|own| own == lower_case);
    let refused = REFUSED.iter().find(|(names, _)| is_named(names));
    let refusal = match refused {
        Some((_, refusal)) => Some(*refusal),
        None => refusal_by_catalog(link, name)?,
    };
    Ok(match refusal {
        Some((reason, instead)) => StepErrorKind::ForbiddenFunction {
            name: name.to_owned(),
            reason,
            instead,
        },
        None => StepErrorKind::UnknownFunction {
            name: name.to_owned(),
            suggestion: suggestion(name, names()),
        },
    })
}

/// The reason that DuckDB's catalog has; `None` if it has no such function.
fn refusal_by_catalog(link: &Link, name: &str) -> AdbcResult<Option<Refusal>> {
    let text = name.replace('\'', "''");
    let rows = link
        .query(&format!(
            "SELECT function_type, stability, \
             concat_ws(' ', return_type, array_to_string(parameter_types, ' ')) \
             ~ '.*(\\[|STRUCT|MAP|UNION|LIST|ARRAY|LAMBDA|VARIANT).*' \
             FROM duckdb_functions() WHERE lower(function_name) = lower('{text}')"
        ))?
        .rows()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let is = |row: &Vec<Option<String>>, column: usize, word: &str| {
        row.get(column).and_then(Option::as_deref) == Some(word)
    };
    let any = |column: usize, word: &str| rows.iter().any(|row| is(row, column, word));
    let is_table = |row: &Vec<Option<String>>| {
        ["table", "table_macro", "pragma"]
            .iter()
            .any(|word| is(row, 0, word))
    };
    Ok(Some(if any(0, "aggregate") || any(0, "window") {
        (
            "it aggregates several rows, and a step sees one row at a time",
            "compute it in the source's query, or after the load",
        )
    } else if rows.iter().all(is_table) {
        OF_OTHER_ROWS
    } else if any(1, "VOLATILE") || any(1, "CONSISTENT_WITHIN_QUERY") {
        OF_THE_MOMENT
    } else if rows.iter().all(|row| is_table(row) || is(row, 2, "true")) {
        (
            "it is made for lists, structures or maps, and a step computes single values",
            "take a part of a text by `split_part` or `regexp_extract`, and of JSON by `json_extract_string`",
        )
    } else {
        (
            "it is not on the list of functions that were found to return the same value in every run",
            "use one of the list (docs/steps.md, Allowed functions)",
        )
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- functions: written by `INRUSH_BLESS=1 cargo test -p inrush-transform functions` -->\n";
    const END: &str = "<!-- end of functions -->\n";

    fn table() -> String {
        let rows = ALLOWED.iter().map(|(purpose, names)| {
            let mut names: Vec<&str> = names.split_ascii_whitespace().collect();
            names.sort_unstable();
            // A bar ends the cell of a table.
            let names = names.iter().map(|name| match name.contains('|') {
                true => format!("<code>{}</code>", name.replace('|', "&#124;")),
                false => format!("`{name}`"),
            });
            let names: Vec<String> = names.collect();
            format!("| {purpose} | {} |\n", names.join(" "))
        });
        format!(
            "| of | functions |\n|---|---|\n{}",
            rows.collect::<String>()
        )
    }

    #[test]
    fn the_page_has_the_functions() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/steps.md");
        let page = std::fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("the table begins");
        let (_, after) = rest.split_once(END).expect("the table ends");
        let written = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
        if std::env::var_os("INRUSH_BLESS").is_some() {
            std::fs::write(&path, &written).expect("the page can be written");
            return;
        }
        assert!(
            page == written,
            "docs/steps.md is not what the code says; write it again: \
             INRUSH_BLESS=1 cargo test -p inrush-transform functions"
        );
    }

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
        let names = [OF_FINITE_DATES, NUMBERS_OF_TEXTS];
        for name in names.into_iter().flat_map(str::split_ascii_whitespace) {
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
