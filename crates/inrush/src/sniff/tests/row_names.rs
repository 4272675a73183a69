//! Files of R's `write.table`, whose header has no name for the first field.

use super::*;
use crate::package::Format;

const TYPES: &str = "row_name text, mpg numeric(15,1), cyl integer, name text";

/// Row names, and three columns; `quoted` as R does by default.
fn table(delimiter: &str, is_quoted: bool, names: [&str; 3]) -> String {
    let text = |text: &str| match is_quoted {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    };
    let mut lines = vec![["mpg", "cyl", "name"].map(text).join(delimiter)];
    for (name, mpg, cyl, own) in [
        (names[0], "21", "6", "x"),
        (names[1], "22.8", "4", "y"),
        (names[2], "21.4", "6", "z"),
    ] {
        let row = [text(name), mpg.to_owned(), cyl.to_owned(), text(own)];
        lines.push(row.join(delimiter));
    }
    lines.join("\n") + "\n"
}

#[test]
fn row_names_get_a_column() {
    for (file, delimiter, is_quoted) in [
        ("a.csv", ",", true),
        ("a.csv", ",", false),
        ("a.txt", "\t", true),
        ("a.tsv", "\t", false),
        ("a.csv", ";", true),
        ("a.txt", " ", true),
        ("a.csv", " ", true),
    ] {
        for names in [["Mazda", "Datsun", "Hornet"], ["r1", "r2", "r3"]] {
            let text = table(delimiter, is_quoted, names);
            let guess = sniffed(file, text.as_bytes());
            assert_eq!(columns(&guess), TYPES, "{file} {text} {guess:#?}");
            assert_eq!((guess.form.header, guess.form.skip_lines), (false, 1));
            assert!(
                guess
                    .seen
                    .iter()
                    .any(|seen| seen.contains("R's write.table"))
            );
            assert_eq!(guess.rows, 3);
        }
        let text = table(delimiter, is_quoted, ["1", "2", "3"]);
        let guess = sniffed(file, text.as_bytes());
        let names: Vec<&str> = guess
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        assert_eq!(names, ["row_name", "mpg", "cyl", "name"], "{text}");
    }
}

#[test]
fn one_column_beside_its_row_names() {
    let guess = sniffed("a.txt", b"\"x\"\n\"1\" 5\n\"2\" 6\n\"3\" 7\n");
    assert_eq!(columns(&guess), "row_name integer, x integer");
}

#[test]
fn numbered_rows_of_text() {
    let text = b"\"name\" \"town\"\n\"1\" \"Ann\" \"Graz\"\n\"2\" \"Bob\" \"Linz\"\n";
    let guess = sniffed("a.txt", text);
    assert_eq!(columns(&guess), "row_name integer, name text, town text");
}

#[test]
fn quoted_files_with_blanks_and_all_names() {
    let guess = sniffed("a.txt", b"\"x\" \"y z\"\n5 \"a b\"\n6 \"c\"\n7 \"d\"\n");
    assert_eq!(columns(&guess), "x integer, y_z text");
    assert!(guess.form.header);
}

#[test]
fn what_may_be_another_thing_is_told() {
    for text in [
        // All columns are text, and nothing is quoted.
        "name,town\nr1,Ann,Graz\nr2,Bob,Linz\nr3,Cy,Wien\n",
        // So it is where the first row lacks a field.
        "\"Ann\",\"Graz\"\n\"Bob\",\"Linz\",\"x\"\n\"Cy\",\"Wien\",\"y\"\n",
        // The same first field twice: no names of rows.
        "mpg,cyl\nx,21,6\nx,22,4\ny,23,6\n",
    ] {
        let guess = sniffed("a.csv", text.as_bytes());
        assert_unsure(&guess, &["where it is a header of R's write.table"]);
        assert_eq!(guess.form.skip_lines, 0, "{text}");
    }
    // A row that lacks a field, and a title, are none.
    for text in [
        "1,2\n1,2,3\n4,5,6\n7,8,9\n",
        "Sales of 2024\n1,5\n2,6\n3,7\n",
    ] {
        let guess = sniffed("a.csv", text.as_bytes());
        assert_eq!(guess.form.skip_lines, 0, "{text}");
    }
}

#[test]
fn another_file_without_the_header_loses_no_row() {
    let with = table(",", true, ["a", "b", "c"]);
    let without: String = with
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    let files = [
        ("a.1.csv", with.as_bytes()),
        ("a.2.csv", without.as_bytes()),
    ];
    let guess = sniffed_files(&files, &SniffOptions::default()).expect("they can be read");
    assert_eq!(guess.form.skip_lines, 0);
    let again = [("a.1.csv", with.as_bytes()), ("a.2.csv", with.as_bytes())];
    let guess = sniffed_files(&again, &SniffOptions::default()).expect("they can be read");
    assert_eq!(guess.form.skip_lines, 1);
}

#[test]
fn a_declared_header_that_lacks_a_name_is_refused() {
    let format = Format {
        header: Some(true),
        ..Format::default()
    };
    let options = SniffOptions {
        format,
        everything: false,
    };
    let text = table(",", true, ["a", "b", "c"]);
    let error = sniffed_files(&[("a.csv", text.as_bytes())], &options).expect_err("refused");
    let error = error.to_string();
    assert!(
        error.contains("the header has 3 names and the rows have 4 fields")
            && error.contains("skip_lines=1"),
        "{error}"
    );
}
