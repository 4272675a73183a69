//! Every character and every code page.

use inrush_tds::CodePage;

fn code_page(number: u16) -> CodePage {
    CodePage::new(number).expect("a code page of SQL Server")
}

fn encode(number: u16, text: &str) -> Result<Vec<u8>, char> {
    let mut bytes = b"before".to_vec();
    let result = code_page(number).encode(text, &mut bytes);
    assert!(bytes.starts_with(b"before"));
    match result {
        Ok(()) => Ok(bytes.split_off(6)),
        Err(character) => {
            assert_eq!(bytes, b"before", "nothing is left of a text that failed");
            Err(character)
        }
    }
}

/// No character is written as another one: its bytes are read back as the same character, or it is refused.
#[test]
fn every_character_is_itself_or_is_refused() {
    for number in CodePage::NUMBERS {
        let mut known = 0;
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            match encode(number, &text) {
                Ok(bytes) => {
                    known += 1;
                    let read = code_page(number).decode(&bytes);
                    assert_eq!(
                        read.as_deref(),
                        Some(&text[..]),
                        "{number}: U+{:04X}",
                        character as u32
                    );
                }
                Err(refused) => {
                    assert_eq!(refused, character);
                    assert!(
                        !character.is_ascii(),
                        "{number}: U+{:04X}",
                        character as u32
                    );
                }
            }
        }
        assert!(known > 200, "{number}: {known} characters");
    }
}

#[test]
fn bytes_by_hand() {
    for (number, text, bytes) in [
        (437, "é░π", &[0x82, 0xb0, 0xe3][..]),
        (850, "éøÁ", &[0x82, 0x9b, 0xb5]),
        (874, "ก", &[0xa1]),
        (
            932,
            "日本ｱ~①",
            &[0x93, 0xfa, 0x96, 0x7b, 0xb1, b'~', 0x87, 0x40],
        ),
        (936, "中国€", &[0xd6, 0xd0, 0xb9, 0xfa, 0x80]),
        (949, "한국", &[0xc7, 0xd1, 0xb1, 0xb9]),
        (950, "中國", &[0xa4, 0xa4, 0xb0, 0xea]),
        (1250, "Łódź", &[0xa3, 0xf3, b'd', 0x9f]),
        (1251, "Привет", &[0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
        (1252, "Œuvre €", b"\x8cuvre \x80"),
        (1253, "Αθήνα", &[0xc1, 0xe8, 0xde, 0xed, 0xe1]),
        (1254, "İığ", &[0xdd, 0xfd, 0xf0]),
        (1255, "שלום", &[0xf9, 0xec, 0xe5, 0xed]),
        (1256, "سلام", &[0xd3, 0xe1, 0xc7, 0xe3]),
        (1257, "ąčė", &[0xe0, 0xe8, 0xeb]),
        (1258, "đ₫", &[0xf0, 0xfe]),
    ] {
        assert_eq!(encode(number, text).as_deref(), Ok(bytes), "{number}");
    }
}

/// Servers and clients replace a character that the code page lacks by one that looks alike; the encoder refuses it.
#[test]
fn look_alikes_are_refused() {
    for (number, text, refused) in [
        (437, "€", '€'),
        (850, "ab π", 'π'),
        // Yen, overline and minus: other encoders write a backslash, a tilde and a wide minus.
        (932, "¥", '¥'),
        (932, "a‾", '‾'),
        (932, "−", '−'),
        // Bytes that are private in Microsoft's code page, and characters of later standards.
        (950, "國Ж", 'Ж'),
        (936, "中㐀", '㐀'),
        (1252, "Łódź", 'Ł'),
        (1252, "a\u{fffd}", '\u{fffd}'),
        (1251, "é", 'é'),
        (1252, "😀", '😀'),
    ] {
        assert_eq!(encode(number, text), Err(refused), "{number}");
    }
}
