//! Delimiters, quotes, escapes, titles and comments.

use super::*;

macro_rules! forms {
    ($($name:ident: $file:expr, $text:expr => $form:expr, $columns:expr, $unsure:expr;)*) => {$(
        #[test]
        fn $name() {
            let guess = sniffed($file, $text.as_ref());
            assert_eq!(form(&guess), $form, "{:#?}", guess.seen);
            assert_eq!(columns(&guess), $columns, "{:#?}", guess);
            let unsure: &[&str] = &$unsure;
            assert_unsure(&guess, unsure);
        }
    )*};
}

forms! {
    csv: "a.csv", "id,name\n1,Ann\n2,Bob\n3,Cy\n"
        => ", \" header", "id integer, name text", [];
    csv_without_header: "a.csv", "1,Ann\n2,Bob\n3,Cy\n"
        => ", \"", "column_1 integer, column_2 text", [];
    tbl: "a.tbl", "1|Ann|1.5|\n2|Bob|2.25|\n3|Cy|0.50|\n"
        => "| trailing", "column_1 integer, column_2 text, column_3 numeric(15,2)", [];
    tbl_without_its_name: "a.dat", "1|Ann|1.50|\n2|Bob|2.25|\n3|Cy|0.50|\n"
        => "| trailing", "column_1 integer, column_2 text, column_3 numeric(15,2)", [];
    quoted_newlines: "a.csv", "id,note\n1,\"two\nlines, and \"\"more\"\"\"\n2,plain\n3,\"x,y\"\n"
        => ", \" header", "id integer, note text", [];
    quoted_newlines_without_its_name: "a.txt", "id,note\n1,\"two\nlines, and \"\"more\"\"\"\n2,plain\n3,\"x,y\"\n"
        => ", \" header", "id integer, note text", [];
    semicolons_with_decimal_commas: "a.csv", "name;amount\nAnn;1,5\nBob;2,25\nCy;10,0\n"
        => "; \" header", "name text, amount text", ["are not written as their names suggest", "numbers have commas"];
    semicolons_without_header: "a.txt", "a;1,5\nb;2,7\nc;3,1\n"
        => "; \"", "column_1 text, column_2 text", ["numbers have commas"];
    only_decimal_commas: "a.txt", "1,5;2,5;3,5\n4,5;5,5;6,5\n7,5;8,5;9,5\n"
        => "; \"", "column_1 text, column_2 text, column_3 text", ["numbers have commas"];
    tsv_of_copy: "a.tsv", "1\tAnn\t\\N\n2\t\\N\t2024-01-31\n3\ttab\\there\t2024-02-01\n"
        => "\\t \\ null \\N", "column_1 integer, column_2 text, column_3 date", [];
    tsv_of_copy_without_its_name: "a.txt", "1\tAnn\t\\N\n2\t\\N\t2024-01-31\n3\ttab\\there\t2024-02-01\n"
        => "\\t \\ null \\N", "column_1 integer, column_2 text, column_3 date", [];
    tabs_with_quotes: "a.tsv", "id\tname\n1\t\"Ann\tLee\"\n2\t\"Bob\"\n3\tCy\n"
        => "\\t \" header", "id integer, name text", ["are not written as their names suggest"];
    inches: "a.txt", "1|5\" disk|9.50\n2|3\" disk|8.25\n3|cable|1.00\n"
        => "|", "column_1 integer, column_2 text, column_3 numeric(15,2)", [];
    apostrophes: "a.txt", "1,'Ann, Lee',x\n2,'Bob',y\n3,'O''Hara',z\n"
        => ", '", "column_1 integer, column_2 text, column_3 text", [];
    apostrophes_in_words: "a.txt", "1,it's,x\n2,'tis,y\n3,ours,z\n"
        => ", \"", "column_1 integer, column_2 text, column_3 text", [];
    backslashed_quotes: "a.txt", "1,\"say \\\"hi\\\", Ann\",x\n2,\"b\",y\n3,\"c\",z\n"
        => ", \" \\", "column_1 integer, column_2 text, column_3 text", [];
    one_column_of_numbers: "a.csv", "n\n1\n2\n3\n"
        => "one \" header", "n integer", [];
    one_column_of_sentences: "a.txt", "Once upon a time, there was\na fox; it was red\nand it ran\noff, off, and away\n"
        => "one \"", "column_1 text", ["was taken as a row"];
    one_column_of_timestamps: "a.txt", "2024-01-31 10:11:12\n2024-01-31 10:11:13\n2024-02-01 00:00:00\n"
        => "one \"", "column_1 timestamp", [];
    timestamps_beside_numbers: "a.txt", "2024-01-31 10:11:12,5\n2024-01-31 10:11:13,6\n2024-02-01 00:00:00,7\n"
        => ", \"", "column_1 timestamp, column_2 integer", [];
    colons: "passwd", "root:x:0:0:root:/root\nbin:x:1:1:bin:/bin\nann:x:1000:1000:Ann Lee:/home/ann\n"
        => ": \"", "column_1 text, column_2 text, column_3 integer, column_4 integer, column_5 text, column_6 text", [];
    hive: "a.txt", "1\u{1}Ann, Lee\u{1}x\n2\u{1}Bob\u{1}y\n3\u{1}Cy\u{1}z\n"
        => "\u{1} \"", "column_1 integer, column_2 text, column_3 text", [];
    carriage_returns: "a.csv", "id,name\r\n1,Ann\r\n2,Bob\r\n3,Cy\r\n"
        => ", \" header", "id integer, name text", [];
    mark_of_utf8: "a.csv", "\u{feff}id,name\n1,Ann\n2,Bob\n3,Cy\n"
        => ", \" header", "id integer, name text", [];
    json_in_tabs: "a.txt", "1\t{\"a\":1,\"b\":2}\n2\t{\"a\":3}\n3\t[1,2,3]\n"
        => "\\t", "column_1 integer, column_2 json", [];
    title_line: "a.csv", "Sales of 2024\n\nid,amount\n1,5\n2,6\n3,7\n"
        => ", \" header skip 2", "id integer, amount integer", [];
    title_of_several_lines: "a.csv", "Sales, \"by month\"\nof 2024\n\nid,town,amount\n1,Graz,5\n2,Linz,6\n3,Wien,7\n"
        => ", \" header skip 3", "id integer, town text, amount integer", [];
    title_filled_up_with_delimiters: "a.csv", "Sales of 2024,,\n,,\nid,town,amount\n1,Graz,5\n2,Linz,6\n3,Wien,7\n"
        => ", \" header skip 2", "id integer, town text, amount integer", [];
    title_over_text: "a.csv", "Towns\n\nname,town\nAnn,Graz\nBob,Linz\nCy,Wien\n"
        => ", \" header skip 2", "name text, town text", ["only by its look"];
    title_over_rows: "a.csv", "Sales of 2024\n\n1,5\n2,6\n3,7\n"
        => ", \"", "column_1 integer, column_2 integer", ["would be rejected or taken as the header: if they are a title, set skip_lines = 2"];
    a_ragged_row_is_no_title: "a.txt", "1,2\n1,2,3\n4,5,6\n7,8,9\n"
        => ", \"", "column_1 integer, column_2 integer, column_3 integer", ["1 record of another form"];
    a_hollow_row_is_no_title: "a.csv", "x,,\nAnn,Graz,b\nBob,Linz,c\nCy,Wien,d\n"
        => ", \"", "column_1 text, column_2 text, column_3 text", ["if they are a title, and line 2 is the header, set skip_lines = 1"];
    title_with_as_many_fields: "a.csv", "Report, Q1\nid,amount\n1,5\n2,6\n3,7\n"
        => ", \" header", "report text, q1 text", ["only by its look", "below line 2 2 columns would have another type; if that line is the header, set skip_lines = 1"];
    header_of_two_lines: "a.csv", "id,amount\nno,EUR\n1,5\n2,6\n3,7\n"
        => ", \" header", "id text, amount text", ["only by its look", "set skip_lines = 1"];
    separator_line: "a.csv", "sep=;\r\nid;name\r\n1;Ann\r\n2;Bob\r\n3;Cy\r\n"
        => "; \" header skip 1", "id integer, name text", ["are not written as their names suggest"];
    separator_line_decides: "a.txt", "\"SEP=|\"\n1,5|a,b\n2,6|c,d\n3,7|e,f\n"
        => "| \" skip 1", "column_1 text, column_2 text", ["numbers have commas"];
    separator_line_and_title: "a.csv", "sep=,\nSales\n\nid,name\n1,Ann\n2,Bob\n3,Cy\n"
        => ", \" header skip 3", "id integer, name text", [];
    null_marks_in_paths: "a.csv", "id,path\n1,C:\\new\\table\n2,\\N\n3,C:\\dir\n"
        => ", \" header null \\N", "id integer, path text", [];
    null_marks_alone: "a.txt", "1|C:\\new|x\n2|\\N|y\n3|\\\\srv\\tmp|z\n"
        => "| \" null \\N", "column_1 integer, column_2 text, column_3 text", [];
    escaped_delimiters: "a.txt", "1,a\\,b,x\n2,\\N,y\n3,c\\\\d,z\n4,e,w\n"
        => ", \\ null \\N", "column_1 integer, column_2 text, column_3 text", ["backslashes are taken as escapes"];
    doubled_backslashes_of_mysql: "a.txt", "1,C:\\\\new,x\n2,\\N,y\n3,d,z\n"
        => ", \\ null \\N", "column_1 integer, column_2 text, column_3 text", ["backslashes are taken as escapes"];
    paths_in_a_tsv: "a.tsv", "1\tC:\\dir\tx\n2\t\\N\ty\n3\tC:\\new\tz\n"
        => "\\t \" null \\N", "column_1 integer, column_2 text, column_3 text", ["are not written as their names suggest"];
    comments: "a.csv", "# made by x\n# at noon\nid,amount\n1,5\n2,6\n3,7\n"
        => ", \" header", "id integer, amount integer", [];
    header_behind_a_hash: "a.csv", "#id,amount\n1,5\n2,6\n3,7\n"
        => ", \" header", "id integer, amount integer", [];
    header_without_the_trailing_delimiter: "a.tbl", "id|name\n1|Ann|\n2|Bob|\n3|Cy|\n"
        => "| trailing header", "id integer, name text", [];
    ragged: "a.csv", "id,name\n1,Ann\n2,Bob,x\n3,Cy\n4,Di\n5,Ed\n"
        => ", \" header", "id integer, name text", ["1 row would be rejected: 3 fields and not 2 (first: a.csv line 3)"];
    two_delimiters: "a.txt", "a,b|c,d|e\nf,g|h,i|j\nk,l|m,n|o\n"
        => ", \"", "column_1 text, column_2 text, column_3 text", ["`|` would cut the records into 3 fields as"];
    carets_around_commas: "a.csv", "1^Smith, John\n2^Doe, Jane\n3^Roe, Max\n"
        => "^ \"", "column_1 integer, column_2 text", ["are not written as their names suggest", "`,` would cut the records into 2 fields as"];
    tildes_around_commas: "a.txt", "1~Smith, John~x\n2~Doe, Jane~y\n3~Roe, Max~z\n"
        => "~ \"", "column_1 integer, column_2 text, column_3 text", [];
    tildes_and_quotes: "q.csv", "\"name\"~\"amount\"\n\"Ann\"~\"4,911,967.95\"\n\"Bob\"~\"5,911,967.95\"\n\"Cy\"~\"6,911,967.95\"\n"
        => "~ \" header", "name text, amount text", ["are not written as their names suggest"];
    tildes_and_some_quotes: "q.csv", "1~\"Ann, Lee\"\n2~\"Bob, Lee\"\n3~\"Cy, Lee\"\n"
        => "~ \"", "column_1 integer, column_2 text", ["are not written as their names suggest"];
    exclamation_marks_around_commas: "a.txt", "1!Smith, John!x\n2!Doe, Jane!y\n3!Roe, Max!z\n"
        => "! \"", "column_1 integer, column_2 text, column_3 text", [];
    equals_and_quotes: "a.txt", "a=\"x,y\"\nb=\"z,w\"\nc=\"u,v\"\n"
        => "= \"", "column_1 text, column_2 text", ["was taken as a row"];
    carets_in_values: "a.csv", "n,power\n1,a^2\n2,b^3\n3,c^4\n"
        => ", \" header", "n integer, power text", [];
    hashes_in_values: "a.csv", "n,colour,track\n1,#fff,C#5\n2,#000,D#4\n3,#123,E#1\n"
        => ", \" header", "n integer, colour text, track text", [];
    one_record: "a.txt", "1,2,3\n"
        => ", \"", "column_1 integer, column_2 integer, column_3 integer", ["too few records", "only one record"];
}

#[test]
fn what_parts_evenly_may_stand_in_values() {
    for text in [
        "http://a/x#1,http://b/~ann\nhttp://a/x#2,http://b/~bob\nhttp://a/y#3,http://b/~cy\n",
        "1,#fff\n2,#000\n3,#123\n",
        "~/a,b^2\n~/b,c^3\n~/c,d^4\n",
    ] {
        let guess = sniffed("a.csv", text.as_bytes());
        assert_eq!(guess.form.delimiter, b",", "{text:?}: {:#?}", guess.unsure);
    }
}

#[test]
fn a_declared_format_is_taken_as_it_is() {
    let options = SniffOptions {
        format: inrush_package::Format {
            delimiter: Some(";".to_owned()),
            header: Some(false),
            ..Default::default()
        },
        everything: false,
        ..SniffOptions::default()
    };
    let guess = sniffed_files(&[("a.csv", b"x;1\ny;2\n")], &options).expect("it can be read");
    assert_eq!(form(&guess), "; \"");
    assert_eq!(columns(&guess), "column_1 text, column_2 integer");
    let guess =
        sniffed_files(&[("a.csv", b"x,1\ny,2;2;2\nz,3;2\n")], &options).expect("it can be read");
    assert_unsure(&guess, &["with the declared format, only"]);
}

#[test]
fn all_of_a_declared_format_holds() {
    let sniffed_as = |text: &[u8], format: inrush_package::Format| {
        let options = SniffOptions {
            format: format.clone(),
            everything: false,
            ..SniffOptions::default()
        };
        let guess = sniffed_files(&[("a.csv", text)], &options).expect("it can be read");
        let header = guess.format().header;
        let lossless = guess.format().lossless;
        let expected = inrush_package::Format {
            header,
            lossless,
            ..format
        };
        assert_eq!(guess.format(), expected);
        (columns(&guess), guess)
    };
    let format = inrush_package::Format::default;
    let (found, _) = sniffed_as(
        b"0001Ann  \n0002Bob  \n",
        inrush_package::Format {
            fixed: Some(vec![vec![1, 4], vec![5, 5]]),
            header: Some(false),
            ..format()
        },
    );
    assert_eq!(found, "column_1 text, column_2 text");
    let (found, _) = sniffed_as(
        b"id,amount\n1,NA\n2,5\n3,\n",
        inrush_package::Format {
            null: Some(inrush_package::NullMarker::Many(vec![
                String::new(),
                "NA".to_owned(),
            ])),
            header: Some(true),
            ..format()
        },
    );
    assert_eq!(found, "id integer, amount integer");
    let lossless = inrush_package::Format {
        lossless: Some(false),
        skip_lines: Some(2),
        ..format()
    };
    let options = SniffOptions {
        format: lossless,
        everything: false,
        ..SniffOptions::default()
    };
    let text = b"Sales; of\n2024\nid;amount\n1;4\n2;5\n";
    let guess = sniffed_files(&[("a.csv", text)], &options).expect("it can be read");
    assert_eq!(form(&guess), "; \" header skip 2", "the rest is guessed");
    assert_eq!(guess.format().lossless, Some(false));
    let (found, guess) = sniffed_as(
        b"id,amount\r% no row\r1,4\r2\r",
        inrush_package::Format {
            terminator: Some("cr".to_owned()),
            comment: Some("%".to_owned()),
            missing_fields: Some(inrush_package::MissingFieldsRule::Null),
            header: Some(true),
            ..format()
        },
    );
    assert_eq!(found, "id integer, amount integer");
    assert_eq!(guess.dialect().comment, Some(b'%'));
}
