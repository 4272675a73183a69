//! Tests of text that is not UTF-8: the message has the place, the likely encoding and the setting, and text is never
//! decoded with a guessed encoding.

use inrush_package::Format;
use inrush_rows::encoding::TextEncoding;

use super::*;

fn encoded(encoding: &str, text: &str) -> Vec<u8> {
    TextEncoding::parse(encoding).expect("known").encode(text)
}

fn refusal(text: &[u8]) -> String {
    match sniffed_files(&[("a.csv", text)], &SniffOptions::default()) {
        Ok(guess) => panic!("{guess:#?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_place_the_encoding_and_the_setting_are_told() {
    for (encoding, text, place, line) in [
        (
            "windows-1252",
            "Gr\u{f6}\u{df}e,Stra\u{df}e\n\u{c4}pfel,\u{d6}l\nB\u{fc}cher,Fu\u{df}ball\n",
            "a.csv:1 (byte 2)",
            "Gr\u{f6}\u{df}e,Stra\u{df}e",
        ),
        // The header alone.
        (
            "windows-1252",
            "id,Gr\u{f6}\u{df}e\n1,5\n2,6\n3,7\n",
            "a.csv:1 (byte 5)",
            "id,Gr\u{f6}\u{df}e",
        ),
        (
            "Shift_JIS",
            "\u{756a}\u{53f7},\u{540d}\u{524d}\n1,\u{5c71}\u{7530}\u{592a}\u{90ce}\n2,\u{9234}\u{6728}\u{82b1}\u{5b50}\n",
            "a.csv:1 (byte 0)",
            "\u{756a}\u{53f7},\u{540d}\u{524d}",
        ),
        (
            "GBK",
            "\u{7f16}\u{53f7},\u{59d3}\u{540d}\n1,\u{738b}\u{5c0f}\u{660e}\n2,\u{674e}\u{96f7}\n3,\u{97e9}\u{6885}\u{6885}\n",
            "a.csv:1 (byte 0)",
            "\u{7f16}\u{53f7},\u{59d3}\u{540d}",
        ),
        (
            "UTF-16LE",
            "\u{540d},\u{524d}\n\u{4e00},\u{4e00}\n",
            "a.csv",
            "encoding",
        ),
        (
            "UTF-16BE",
            "\u{540d},\u{524d}\n\u{4e00},\u{4e00}\n",
            "a.csv",
            "encoding",
        ),
    ] {
        let error = refusal(&encoded(encoding, text));
        for part in [place, line, &format!("encoding = \"{encoding}\"")] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
    }
}

#[test]
fn what_is_declared_is_not_proposed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.csv");
    let mut text = encoded(
        "Shift_JIS",
        "\u{756a}\u{53f7},\u{540d}\u{524d}\n1,\u{5c71}\n2,",
    );
    text.extend_from_slice(b"\xff\xff\n3,x\n4,y\n");
    std::fs::write(&path, text).expect("a file");
    let encoding = TextEncoding::parse("shift_jis").expect("known");
    let mut file = SourceFile::open(path).expect("a file");
    file.encoding = Some(encoding);
    let options = SniffOptions {
        format: Format {
            encoding: Some("shift_jis".to_owned()),
            ..Format::default()
        },
        everything: false,
        ..SniffOptions::default()
    };
    let guess = sniff(&[Arc::new(file)], &options).expect("it can be read");
    assert_unsure(
        &guess,
        &["1 row would be rejected: bytes that are not characters of Shift_JIS"],
    );
    let unsure = guess.all_unsure().join("\n");
    assert!(
        !unsure.contains("windows-1252") && !unsure.contains("Latin-1"),
        "{unsure}"
    );
}

#[test]
fn files_that_mix_encodings_are_told() {
    let mut text = "id,name\n1,J\u{fc}rgen\n2,Ann\n".as_bytes().to_vec();
    text.extend_from_slice(b"3,J\xfcrgen\n");
    let guess = sniffed("a.csv", &text);
    assert_unsure(
        &guess,
        &["1 row would be rejected", "the files mix encodings"],
    );
}
