//! Files of R's `write.table`, whose header has no name for the first field.

use inrush_package::Format;

use super::*;

const TYPES: &str = "row_name text, mpg numeric(15,1), cyl integer, name text";

/// Row names and three columns; `quoted` is R's default.
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
    let numbers = ["1", "2", "3"];
    for (file, delimiter, is_quoted) in [
        ("a.csv", ",", true),
        ("a.txt", "\t", true),
        ("a.tsv", "\t", false),
        ("a.csv", ";", true),
        ("a.txt", "|", true),
        ("a.txt", " ", true),
        ("a.csv", " ", true),
        ("a.txt", " ", false),
    ] {
        let text = table(delimiter, is_quoted, numbers);
        let guess = sniffed(file, text.as_bytes());
        let types = TYPES.replace("row_name text", "row_name integer");
        assert_eq!(columns(&guess), types, "{file} {text} {guess:#?}");
        assert_eq!((guess.form.header, guess.form.skip_lines), (false, 1));
        assert!(
            guess
                .seen
                .iter()
                .any(|seen| seen.contains("R's write.table"))
        );
        assert_eq!((guess.rows, guess.unnamed), (3, None));
    }
    for delimiter in ["\t", " "] {
        let text = table(delimiter, true, ["Mazda", "Datsun", "Hornet"]);
        assert_eq!(columns(&sniffed("a.txt", text.as_bytes())), TYPES, "{text}");
    }
}

#[test]
fn numbered_rows_without_quotes_between_blanks() {
    let mut text = "x y z\n".to_owned();
    for row in 1..=20 {
        text += &format!("{row} {} {row}.5 {}\n", row * 2, row % 3);
    }
    let guess = sniffed("a.txt", text.as_bytes());
    assert_eq!(
        columns(&guess),
        "row_name integer, x integer, y numeric(15,1), z integer"
    );
    assert_eq!(guess.rows, 20);
    let list = sniffed("a.txt", b"Shopping list\n1 red apples\n2 ripe pears\n");
    assert_eq!(list.columns.len(), 1);
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
fn what_reads_in_several_ways_is_refused() {
    for (file, text) in [
        // Either an unquoted decimal comma, or a missing last name.
        ("a.csv", "name,amount\nSmith,1,00\nJones,2,50\nBrown,3,75\n"),
        ("a.csv", "date,price\n2024-01-01,1,50\n2024-01-02,2,50\n"),
        ("a.csv", "city,state\nN1,S1,1\nN2,S2,2\n"),
        (
            "a.csv",
            "\"name\",\"amount\"\n\"Smith\",1,00\n\"Jones\",2,50\n",
        ),
        ("a.csv", "name,amount\nSmith,1,00\n"),
        ("a.csv", "x,y\n1,5,6\n2,6,7\n3,7,8\n"),
        // Row numbers in quotes, and still ambiguous.
        ("a.csv", "id,amount\n\"1\",2,50\n\"2\",3,75\n"),
        (
            "a.csv",
            "\"id\",\"town\"\n\"1\",\"Graz\",\"x\"\n\"2\",\"Linz\",\"y\"\n",
        ),
        ("a.csv", "\"x\",\"y\"\n\"1\",-2,50\n\"2\",3,75\n"),
        ("a.tsv", "id\ttown\n1\tGraz\tx\n2\tLinz\ty\n"),
        ("a.tsv", "name\ttown\nAnn\tGraz\t1\nBob\tLinz\t2\n"),
        ("a.csv", "name;town\nAnn;Graz;1\nBob;Linz;2\n"),
        // All columns are text, and nothing is quoted.
        ("a.csv", "name,town\nr1,Ann,Graz\nr2,Bob,Linz\nr3,Cy,Wien\n"),
        // The result is the same if the first row lacks a field.
        (
            "a.csv",
            "\"Ann\",\"Graz\"\n\"Bob\",\"Linz\",\"x\"\n\"Cy\",\"Wien\",\"y\"\n",
        ),
        // A first field occurs twice, so these are not row names.
        ("a.csv", "mpg,cyl\nx,21,6\nx,22,4\ny,23,6\n"),
    ] {
        let guess = sniffed(file, text.as_bytes());
        assert!(guess.unnamed.is_some(), "{text} {guess:#?}");
        assert_unsure(
            &guess,
            &[
                "the header has 2 names and the rows have 3 fields: either the first column holds row names",
                "the name of the last column is missing",
                "skip_lines=1,no_header' --columns 'row_name text, ",
                "last_column text'",
            ],
        );
        let unsure = guess.all_unsure().join("\n");
        assert_eq!(
            unsure.contains("decimal comma"),
            file == "a.csv" && text.contains(',')
        );
        assert!(!unsure.contains("a title"), "{unsure}");
        assert_eq!(guess.form.skip_lines, 0, "{text}");
    }
    // A row that lacks a field, and a title, are not such headers.
    for text in [
        "1,2\n1,2,3\n4,5,6\n7,8,9\n",
        "Sales 2024\n1,5\n2,6\n3,7\n",
        "Sales 2024\na,1\nb,2\nc,3\n",
    ] {
        let guess = sniffed("a.csv", text.as_bytes());
        assert_eq!(
            (guess.form.skip_lines, &guess.unnamed),
            (0, &None),
            "{text}"
        );
        assert_unsure(&guess, &["if they are a title"]);
        let unsure = guess.all_unsure().join("\n");
        assert!(!unsure.contains("write.table"), "{unsure}");
    }
}

#[test]
fn another_file_without_the_header_loses_no_row() {
    let with = table(",", true, ["1", "2", "3"]);
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
        ..SniffOptions::default()
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
