//! Tests of the type that is guessed from the values of a column.

use super::*;

/// The guess of a file with these values in its second column.
fn of_values(values: &[&str]) -> Guess {
    let mut text = String::from("row|value\n");
    for (index, value) in values.iter().enumerate() {
        text.push_str(&format!("{index}|{value}\n"));
    }
    sniffed("a.txt", text.as_bytes())
}

macro_rules! types {
    ($($name:ident: [$($value:expr),*] => $type_name:expr, $unsure:expr;)*) => {$(
        #[test]
        fn $name() {
            let guess = of_values(&[$($value),*]);
            let column = &guess.columns[1];
            let format = column.column_type.format().map_or(String::new(), |format| format!(" {format}"));
            assert_eq!(format!("{}{format}", column.column_type.sql()), $type_name, "{column:#?}");
            let unsure: &[&str] = &$unsure;
            assert_unsure(&guess, unsure);
        }
    )*};
}

types! {
    booleans: ["true", "false", "true"] => "boolean", [];
    booleans_of_one_letter: ["t", "f", "T"] => "boolean", [];
    booleans_in_two_spellings: ["t", "false", "true"] => "boolean", [];
    zeros_and_ones: ["0", "1", "0"] => "integer", [];
    yes_and_no: ["yes", "no", "yes"] => "text", [];
    integers: ["1", "-2", "2147483647"] => "integer", [];
    past_32_bits: ["1", "2", "2147483648"] => "bigint", [];
    least_of_64_bits: ["-9223372036854775808", "2", "3"] => "bigint", [];
    past_64_bits: ["1", "9223372036854775808", "3"] => "numeric(23,0)", [];
    far_past_64_bits: ["12345678901234567890123456789012345678", "2", "3"] => "numeric(38,0)", [];
    past_decimals: ["123456789012345678901234567890123456789", "2", "3"] => "text", [];
    leading_zeros: ["1", "007", "3"] => "text", [];
    leading_zeros_of_codes: ["01234", "56789", "00001"] => "text", [];
    zero_is_no_leading_zero: ["0", "0.5", "-0.25"] => "numeric(15,2)", [];
    phone_numbers: ["+43123", "+43124", "+43125"] => "text", [];
    decimals: ["1.5", "22.25", "-3.125"] => "numeric(15,3)", [];
    wide_decimals: ["123456789012345.123", "1", "2"] => "numeric(22,3)", [];
    exponents: ["1e5", "2.5", "3"] => "double precision", [];
    printed_floats: ["0.1234567890123456", "0.5", "0.25"] => "double precision", [];
    not_a_number: ["1.5", "NaN", "2.5"] => "double precision", [];
    // A dot before exactly three digits, and no value that settles its meaning.
    dots_of_thousands_or_decimals: ["1.500", "12.750", "999.000"] => "text", ["every dot is before exactly three digits (`1.500`, a.txt line 2)", "numeric(15,3)", "group_separator = \".\""];
    dots_beside_whole_numbers: ["5", "1.500", "1500"] => "text", ["every dot is before exactly three digits"];
    negative_dots: ["-1.500", "-2.750", "-3.000"] => "text", ["every dot is before exactly three digits"];
    dots_settled_by_a_shorter_fraction: ["1.500", "12.75", "999.000"] => "numeric(15,3)", [];
    dots_settled_by_a_longer_fraction: ["1.500", "12.7525", "999.000"] => "numeric(15,4)", [];
    dots_settled_by_a_longer_number: ["1.500", "1234.500", "999.000"] => "numeric(15,3)", [];
    dots_settled_by_a_zero: ["1.500", "0.750", "999.000"] => "numeric(15,3)", [];
    dots_settled_by_nothing_before: ["1.500", ".750", "999.000"] => "numeric(15,3)", [];
    dots_settled_by_an_exponent: ["1.500", "1.234e5", "2.000"] => "double precision", [];
    dots_and_not_a_number: ["1.500", "NaN", "2.750"] => "text", ["NaN or an infinity is among whole numbers"];
    dots_twice: ["1.500", "1.234.567", "12.750"] => "text", ["separators between their digits (`1.234.567`, a.txt line 3)"];
    dots_and_commas: ["1.500,25", "2.750,50", "3.000,00"] => "text", ["numbers have commas"];
    dots_in_addresses: ["10.0.0.1", "10.0.0.2", "192.168.1.1"] => "text", [];
    dots_in_short_dates: ["01.02.03", "04.05.06", "07.08.09"] => "text", [];
    dots_and_a_null_word: ["1.500", "NA", "2.750"] => "text", ["every dot is before exactly three digits"];
    blanks_between_digits: ["1 500", "12 750", "7"] => "text", ["separators between their digits (`1 500`, a.txt line 2)"];
    narrow_blanks_between_digits: ["1\u{202f}500,25", "12\u{202f}750", "7,5"] => "text", ["separators between their digits"];
    apostrophes_between_digits: ["1'500", "12'750.50", "7"] => "text", ["separators between their digits"];
    commas_between_digits: ["1,500", "2,250", "12,750"] => "text", ["numbers have commas", "if the comma is the decimal separator", "if it separates thousands, set group_separator"];
    commas_as_in_india: ["12,34,567", "1,00,000", "5"] => "text", ["numbers have commas"];
    per_cent: ["12%", "13%", "1.5%"] => "text", [];
    amounts_with_a_sign: ["$1.50", "$2.25", "$3.00"] => "text", [];
    // Codes with an E, and words that are numbers.
    codes_with_an_e: ["12E45", "12345", "3E1"] => "text", ["`12E45` (a.txt line 2) may be a code with an E in it"];
    exponents_alone: ["1e5", "2e6", "3e7"] => "text", ["may be a code with an E in it"];
    signed_exponents: ["1e+05", "2", "3"] => "double precision", [];
    small_exponents: ["5e-07", "2", "3"] => "double precision", [];
    exponents_behind_a_point: ["1.5e5", "2", "3"] => "double precision", [];
    infinities_among_whole_numbers: ["101", "INF", "102"] => "text", ["NaN or an infinity is among whole numbers"];
    infinities_among_decimals: ["1.5", "-Infinity", "2.25"] => "double precision", [];
    infinities_alone: ["INF", "NAN", "inf"] => "text", [];
    hexadecimal: ["0x1F", "0x20", "0x21"] => "text", [];
    exponents_of_fortran: ["1d5", "2d6", "3d7"] => "text", [];
    digits_past_floats: ["1.5e5", "12345678901234567", "3"] => "text", [];
    dates: ["2024-01-31", "2024-02-29", "1999-12-31"] => "date", [];
    no_such_date: ["2024-01-31", "2024-02-30", "1999-12-31"] => "text", ["`2024-02-30`"];
    days_first: ["13/01/2024", "01/02/2024", "03/04/2024"] => "date %d/%m/%Y", [];
    months_first: ["01/13/2024", "01/02/2024", "03/04/2024"] => "date %m/%d/%Y", [];
    either_first: ["01/02/2024", "03/04/2024", "05/06/2024"] => "text", ["%d/%m/%Y\" or \"%m/%d/%Y\" with the type date"];
    both_first: ["13/01/2024", "01/13/2024", "03/04/2024"] => "text", ["in two orders: `13/01/2024` (a.txt line 2) and `01/13/2024` (a.txt line 3)"];
    dotted_dates: ["31.01.2024", "1.2.2024", "03.04.2024"] => "date %d.%m.%Y", [];
    named_months: ["31-Jan-2024", "01-Feb-2024", "03-Mar-2024"] => "date %d-%b-%Y", [];
    eight_digits: ["20240131", "20240229", "19991231"] => "integer", ["change the type to date"];
    timestamps: ["2024-01-31 10:11:12", "2024-01-31T10:11:12.5", "2024-02-01 00:00"] => "timestamp", [];
    timestamps_and_a_date: ["2024-01-31 10:11:12", "2024-02-01", "2024-02-02"] => "timestamp", [];
    timestamps_with_offsets: ["2024-01-31T10:11:12Z", "2024-01-31T10:11:12+01:00", "2024-02-01 00:00:00-05"] => "timestamptz", [];
    offsets_here_and_there: ["2024-01-31T10:11:12Z", "2024-01-31T10:11:12", "2024-02-01T00:00:00Z"] => "text", ["is no timestamptz"];
    timestamps_days_first: ["31.01.2024 10:11", "01.02.2024 23:59", "03.04.2024 00:00"] => "timestamp %d.%m.%Y %H:%M", [];
    half_days: ["01/31/2024 10:11 PM", "02/01/2024 01:00 AM", "02/02/2024 12:00 PM"] => "timestamp %m/%d/%Y %I:%M %p", [];
    ratios: ["16:9", "4:3", "16:10"] => "text", ["values such as `16:9` may be ratios or scores"];
    scores: ["21:14", "10:11", "0:3"] => "text", ["values such as `0:3` may be ratios or scores"];
    ratios_and_a_word: ["16:9", "4:3", "none given"] => "text", [];
    short_hours: ["9:05", "16:10", "0:30"] => "time", [];
    minutes_of_one_digit: ["2024-01-31 10:1", "2024-01-31 11:2", "2024-02-01 00:3"] => "text", [];
    times: ["10:11:12", "23:59:59.5", "00:00"] => "time", [];
    uuids: ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13"] => "uuid", [];
    digests: ["a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a12", "a0eebc999c0b4ef8bb6d6bb9bd380a13"] => "text", [];
    json: ["{\"a\": 1}", "[1, 2]", "{}"] => "json", [];
    scalars_are_no_json: ["1", "\"x\"", "{}"] => "text", ["`x` (a.txt line 3) is no bigint"];
    words: ["Ann", "Bob", "Cy"] => "text", [];
    late_word: ["1", "2", "x"] => "text", ["`x` (a.txt line 4) is no bigint, and 2 values before it are"];
    nulls: ["1", "", "3"] => "integer", [];
    late_nulls: ["1", "2", ""] => "integer", [];
    nothing: ["", "", ""] => "text", ["no value was seen"];
    null_words: ["1", "NA", "3"] => "text", ["`NA` is in 1 row", "all other values are integer"];
    null_words_only: ["NULL", "NULL", "NULL"] => "text", ["nothing but NULL was seen"];
    hyphens: ["1.5", "-", "3.25"] => "text", ["all other values are numeric(15,2)"];
    null_words_in_text: ["Ann", "NULL", "None"] => "text", [];
    not_a_number_first: ["n/a", "2024-01-31", "2024-02-01"] => "text", ["all other values are date"];
}

#[test]
fn empty_texts_in_quotes_are_told() {
    let guess = sniffed("a.csv", b"id,n\n\"1\",\"5\"\n\"2\",\"\"\n\"3\",\"6\"\n");
    assert_eq!(columns(&guess), "id integer, n text");
    assert_unsure(
        &guess,
        &["an empty text is in 1 row", "all other values are integer"],
    );
}

#[test]
fn what_was_seen_is_told() {
    let guess = of_values(&["5", "", "-7"]);
    let column = &guess.columns[1];
    assert_eq!(
        column.seen,
        "1 NULL in 3 rows, the first in a.txt line 3; -7 to 5"
    );
    assert_eq!(guess.extent(), "all of the file was read, 3 rows");
}

#[test]
fn commas_before_a_point_separate_thousands() {
    for (values, words) in [
        (
            ["\"1,234.5\"", "\"2,345.5\""],
            "which separate thousands: to load numbers, set group_separator",
        ),
        (
            ["\"1,234,567\"", "\"2,345,678\""],
            "which separate thousands: to load numbers, set group_separator",
        ),
        (
            ["\"1,5\"", "\"2,5\""],
            "if the comma is the decimal separator",
        ),
    ] {
        let text = format!("x,y\n{},a\n{},b\n", values[0], values[1]);
        assert_unsure(&sniffed("a.csv", text.as_bytes()), &[words]);
    }
}
