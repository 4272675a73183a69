//! Headers and names.

use super::*;

macro_rules! headers {
    ($($name:ident: $file:expr, $text:expr => $columns:expr, $unsure:expr;)*) => {$(
        #[test]
        fn $name() {
            let guess = sniffed($file, $text.as_ref());
            assert_eq!(columns(&guess), $columns, "{:#?}", guess);
            let unsure: &[&str] = &$unsure;
            assert_unsure(&guess, unsure);
        }
    )*};
}

headers! {
    text_over_types: "a.txt", "x,y\na,1\nb,2\nc,3\n" => "x text, y integer", [];
    all_text_in_csv: "a.csv", "name,town\nAnn,Graz\nBob,Linz\nCy,Wien\n"
        => "name text, town text", ["taken as the header only by its look"];
    all_text_in_txt: "a.txt", "first name,town\nAnn,Graz\nBob,Linz\nCy,Wien\n"
        => "column_1 text, column_2 text", ["was taken as a row"];
    all_text_identifiers: "a.txt", "first_name,town\nAnn,Graz\nBob,Linz\nCy,Wien\n"
        => "first_name text, town text", ["taken as the header only by its look"];
    repeated_value_is_no_name: "a.txt", "Ann,Graz\nAnn,Linz\nCy,Wien\n"
        => "column_1 text, column_2 text", ["was taken as a row"];
    numbers_only: "a.csv", "1,2\n3,4\n5,6\n" => "column_1 integer, column_2 integer", [];
    odd_names: "a.csv", "Order ID,,Order ID,2024\n1,2,3,4\n5,6,7,8\n9,10,11,12\n"
        => "order_id integer, column_2 integer, order_id_2 integer, _2024 integer",
        ["field 2 has no name: it is called column_2", "`Order ID` occurs more than once"];
    years_over_amounts: "a.csv", "Item,2019,2020\nSales,10,20\nCosts,5,6\nRent,7,8\n"
        => "item text, _2019 integer, _2020 integer", [];
    years_over_years: "a.csv", "Item,2019,2020\nSales,2010,2020\nCosts,2005,2006\n"
        => "column_1 text, column_2 integer, column_3 integer", ["its numbers are consecutive"];
    years_alone: "a.csv", "2019,2020\n10,20\n5,6\n7,8\n" => "_2019 integer, _2020 integer", [];
    one_year_of_many_numbers: "a.csv", "2019,17\n10,20\n5,6\n7,8\n"
        => "column_1 integer, column_2 integer", ["one of its numbers is a year"];
    months_as_numbers: "a.csv", "Item,1,2,3\nSales,10,20,3\nCosts,5,6,9\nRent,7,8,1\n"
        => "column_1 text, column_2 integer, column_3 integer, column_4 integer", ["its numbers are consecutive"];
    dates_over_amounts: "a.csv", "Item,2024-01-01,2024-02-01\nSales,10,20\nCosts,5,6\nRent,7,8\n"
        => "item text, _2024_01_01 integer, _2024_02_01 integer", [];
    no_value_is_no_name: "a.csv", "1,NA\n2,3\n4,5\n6,7\n"
        => "column_1 integer, column_2 text", ["`NA` is in 1 row"];
    a_bad_value_is_no_name: "a.csv", "1,total\n2,3\n4,5\n6,7\n"
        => "column_1 integer, column_2 text", ["was taken as a row, although 1"];
    header_only: "a.csv", "id,name\n" => "id text, name text", ["only a header"];
    header_only_without_a_name: "a.txt", "id,name\n" => "id text, name text", ["only a header"];
    empty_names_at_the_end: "a.csv", "Minister,Date,Name,Purpose,,,,,\nAnn,Jan,Bob,Lunch,,,,,\nCy,Feb,Di,Tea,,,,,\n"
        => "minister text, date text, name text, purpose text, column_5 text, column_6 text, column_7 text, column_8 text",
        ["taken as the header only by its look"];
    empty_names_at_the_end_without_a_name: "a.txt", "minister,date,,\nAnn,Jan,x,y\nCy,Feb,z,w\n"
        => "minister text, date text, column_3 text, column_4 text", ["taken as the header only by its look"];
    empty_names_over_values: "a.csv", "Name,Town,,\nAnn,Graz,x,y\nBob,Linz,z,w\nCy,Wien,u,\n"
        => "name text, town text, column_3 text, column_4 text", ["taken as the header only by its look"];
    an_index_without_a_name: "a.csv", ",name,town\n0,Ann,Graz\n1,Bob,Linz\n2,Cy,Wien\n"
        => "column_1 integer, name text, town text", ["taken as the header only by its look", "field 1 has no name"];
    an_empty_name_in_the_middle: "a.csv", "name,,town\nAnn,x,Graz\nBob,y,Linz\nCy,z,Wien\n"
        => "name text, column_2 text, town text", ["taken as the header only by its look"];
    an_empty_name_over_nulls: "a.csv", "name,,town\nAnn,,Graz\nBob,y,Linz\nCy,z,Wien\n"
        => "column_1 text, column_2 text, column_3 text", ["was taken as a row"];
    the_same_name_twice: "a.csv", "name,name,town\nAnn,Lee,Graz\nBob,Roe,Linz\nCy,Doe,Wien\n"
        => "column_1 text, column_2 text, column_3 text", ["was taken as a row"];
    years_over_text: "a.csv", "Item,2019,2020\nSales,low,high\nCosts,high,low\nRent,mid,mid\n"
        => "column_1 text, column_2 text, column_3 text", ["was taken as a row"];
    numbers_over_text: "a.csv", "1,2\nx,y\nz,w\nu,v\n"
        => "column_1 text, column_2 text", ["text, because `x` (a.csv line 2) is no bigint"];
    names_with_blanks_around: "a.csv", " name , town \nAnn,Graz\nBob,Linz\nCy,Wien\n"
        => "name text, town text", ["taken as the header only by its look"];
    header_only_with_empty_names: "a.csv", "id,name,,\n" => "id text, name text, column_3 text", ["only a header"];
    a_name_over_unclear_dots: "a.txt", "place|amount of it\nx|1.500\ny|12.750\nz|999.000\n"
        => "place text, amount_of_it text", ["every dot is before exactly three digits"];
    quoted_header: "a.csv", "\"id\",\"full name\"\n1,\"Ann\"\n2,\"Bob\"\n3,\"Cy\"\n" => "id integer, full_name text", [];
}

#[test]
fn a_name_may_be_longer_than_those_of_postgresql() {
    // 128 characters are the limit of SQL Server.
    for length in [63, 64, 128, 1_024] {
        let long = "n".repeat(length);
        let text = format!("{long},town\nAnn,Graz\nBob,Linz\nCy,Wien\n");
        let options = SniffOptions {
            name_bytes_max: Some(1_024),
            ..SniffOptions::default()
        };
        let guess = sniffed_files(&[("a.csv", text.as_bytes())], &options).expect("it can be read");
        assert_eq!(columns(&guess), format!("{long} text, town text"));
    }
}

#[test]
fn files_that_begin_alike_have_a_header() {
    let files: [(&str, &[u8]); 2] = [
        ("a.1.txt", b"first name,town\nAnn,Graz\nBob,Linz\n"),
        ("a.2.txt", b"first name,town\nCy,Wien\nDi,Linz\n"),
    ];
    let guess = sniffed_files(&files, &SniffOptions::default()).expect("they can be read");
    assert_eq!(columns(&guess), "first_name text, town text");
    assert_unsure(&guess, &[]);
}

#[test]
fn a_file_with_another_header_is_told() {
    let files: [(&str, &[u8]); 2] = [("a.csv", b"id,n\n1,2\n3,4\n"), ("b.csv", b"5,6\n7,8\n")];
    let guess = sniffed_files(&files, &SniffOptions::default()).expect("they can be read");
    assert_eq!(columns(&guess), "id integer, n integer");
    assert_unsure(&guess, &["b.csv has another header than"]);
}

#[test]
fn a_row_is_no_header_because_rows_below_it_look_like_another_type() {
    // Below `M` are only letters that could be booleans, and below `2,6` only a line of totals.
    for text in [
        "sex\nF\nM\nF\nF\nF\n",
        "name,sex\nAnn,F\nBob,M\nCy,F\nDi,F\n",
        "id,amount\n1,5\n2,6\nTotal,2\n",
        "5,1\nb,c\nTotal,2\n",
    ] {
        let unsure = sniffed("a.csv", text.as_bytes()).all_unsure().join("\n");
        assert!(!unsure.contains("skip_lines"), "{text:?}: {unsure}");
    }
}

#[test]
fn below_a_header_a_row_is_no_second_header() {
    let mut text = "Minister,Date,Name,Purpose,,,,,\nAnn,Nil return,Nil return,,,,,,\n".to_owned();
    for day in 1..9 {
        text += &format!("Ann,2012-01-0{day},Bob,Tea,,,,,\n");
    }
    let guess = sniffed("meetings.csv", text.as_bytes());
    assert!(guess.form.header, "{guess:#?}");
    let unsure = guess.all_unsure().join("\n");
    assert!(!unsure.contains("below line"), "{unsure}");
    // A header of two lines still gets a note.
    let guess = sniffed("a.csv", b"alpha,beta\nname,size\nx,1\ny,2\nz,3\n");
    assert_unsure(&guess, &["below line 2"]);
}
