//! Booleans accept only the words that were seen: any other word is a reject, never a silent `true`.

use inrush_package::ColumnSpec;
use inrush_rows::column_policy::BooleanWords;

use super::*;

fn words(guess: &Guess) -> Option<BooleanWords> {
    guess.converter_columns()[1].policies.words.clone()
}

fn of(yes: &[&str], no: &[&str]) -> BooleanWords {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    BooleanWords {
        true_words: owned(yes),
        false_words: owned(no),
    }
}

#[test]
fn the_words_seen_are_the_words_taken() {
    for (values, expected) in [
        (["true", "TRUE", ""], of(&["true"], &["false"])),
        (["F", "f", "f"], of(&["t"], &["f"])),
        (["t", "false", "f"], of(&["true", "t"], &["false", "f"])),
    ] {
        let [a, b, c] = values;
        let guess = sniffed("a.csv", format!("id,ok\n1,{a}\n2,{b}\n3,{c}\n").as_bytes());
        assert_eq!(columns(&guess), "id integer, ok boolean");
        assert_eq!(words(&guess), Some(expected.clone()), "{values:?}");
        // The package has the same words.
        let ColumnSpec::Long(detail) = &guess.columns()[1] else {
            panic!("it has words");
        };
        assert_eq!(detail.true_words, Some(expected.true_words));
        assert_eq!(detail.false_words, Some(expected.false_words));
    }
}

#[test]
fn booleans_above_booleans_are_no_header() {
    let guess = sniffed("a.csv", b"1,false,true\n2,true,true\n3,false,false\n");
    assert_eq!(
        columns(&guess),
        "column_1 integer, column_2 boolean, column_3 boolean"
    );
    assert!(!guess.form.header);
}

#[test]
fn who_wants_no_loss_told_takes_all_words() {
    let options = SniffOptions {
        format: inrush_package::Format {
            lossless: Some(false),
            ..Default::default()
        },
        everything: false,
        ..SniffOptions::default()
    };
    let guess = sniffed_files(&[("a.csv", b"id,ok\n1,t\n2,f\n")], &options).expect("readable");
    assert!(matches!(&guess.columns()[1], ColumnSpec::Short(text) if text == "ok boolean"));
}
