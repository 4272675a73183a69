//! Collations: 5 bytes that determine how a `char` or `varchar` column encodes its text.
//!
//! Bits 0 to 19 are the locale (LCID), 20 to 27 flags, 28 to 31 a version; the fifth byte is the sort order of the old
//! collations (`SQL_...`), 0 for those of Windows. If there is a sort order, it determines the code page; otherwise the
//! language determines it ([MS-TDS] 2.2.5.1.2; the numbers are from SQL Server's tables of collations).

use crate::code_page::CodePage;

/// The flag of collations that end in `_UTF8`.
const UTF8_FLAG: u32 = 1 << 26;
const LOCALE_MASK: u32 = 0xf_ffff;

/// A column's collation, as the server sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Collation([u8; 5]);

/// The encoding of a collation's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// UTF-8, unchanged.
    Utf8,
    /// Text in the bytes of a code page.
    CodePage(CodePage),
}

impl Collation {
    /// The collation of these bytes from a type's description.
    pub fn from_bytes(bytes: [u8; 5]) -> Collation {
        Collation(bytes)
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; 5] {
        self.0
    }

    /// The locale (LCID), 20 bits.
    pub fn locale(self) -> u32 {
        self.info() & LOCALE_MASK
    }

    /// The sort order of an old collation, else 0.
    pub fn sort_id(self) -> u8 {
        self.0[4]
    }

    /// The encoding of its text; `None` if the code page is unknown.
    pub fn encoding(self) -> Option<TextEncoding> {
        if self.info() & UTF8_FLAG != 0 {
            return Some(TextEncoding::Utf8);
        }
        let number = match self.sort_id() {
            // The upper 4 bits of a locale choose among the orders of one language.
            0 => code_page_of_language(self.locale() as u16),
            sort_id => code_page_of_sort_id(sort_id),
        };
        CodePage::new(number?).map(TextEncoding::CodePage)
    }

    fn info(self) -> u32 {
        let [first, second, third, fourth, _] = self.0;
        u32::from_le_bytes([first, second, third, fourth])
    }
}

fn code_page_of_language(language: u16) -> Option<u16> {
    Some(match language {
        // Thai.
        0x041e => 874,
        // Japanese.
        0x0411 => 932,
        // Chinese of the mainland and of Singapore.
        0x0804 | 0x1004 => 936,
        // Korean.
        0x0412 => 949,
        // Chinese of Taiwan, Hong Kong and Macau.
        0x0404 | 0x0c04 | 0x1404 => 950,
        // Czech, Hungarian, Polish, Romanian, Croatian, Slovak, Albanian, Slovenian, Turkmen, Serbian and Bosnian in
        // Latin.
        0x0405 | 0x040e | 0x0415 | 0x0418 | 0x041a | 0x041b | 0x041c | 0x0424 | 0x0442 | 0x081a
        | 0x141a => 1250,
        // Cyrillic, Ukrainian, Macedonian, Kazakh, Tatar, Bashkir, Yakut; Azeri, Serbian and Bosnian in Cyrillic.
        0x0419 | 0x0422 | 0x042f | 0x043f | 0x0444 | 0x046d | 0x0485 | 0x082c | 0x0c1a | 0x201a => {
            1251
        }
        // Danish, German, Latin1_General, Spanish, Finnish and Swedish, French, Icelandic, Norwegian, Romansh,
        // Upper Sorbian, Sami, Georgian, Welsh, Frisian, Mapudungan, Mohawk, Breton, Corsican, Tamazight.
        0x0406 | 0x0407 | 0x0409 | 0x040a | 0x040b | 0x040c | 0x040f | 0x0414 | 0x0417 | 0x042e
        | 0x0437 | 0x043b | 0x0452 | 0x0462 | 0x047a | 0x047c | 0x047e | 0x0483 | 0x083b
        | 0x085f | 0x0c0a => 1252,
        // Greek.
        0x0408 => 1253,
        // Turkish; Azeri and Uzbek in Latin.
        0x041f | 0x042c | 0x0443 => 1254,
        // Hebrew.
        0x040d => 1255,
        // Arabic, Urdu, Persian, Uighur, Dari.
        0x0401 | 0x0420 | 0x0429 | 0x0480 | 0x048c => 1256,
        // Estonian, Latvian, Lithuanian.
        0x0425..=0x0427 => 1257,
        // Vietnamese.
        0x042a => 1258,
        _ => return None,
    })
}

fn code_page_of_sort_id(sort_id: u8) -> Option<u16> {
    Some(match sort_id {
        30..=34 => 437,
        40..=44 | 49 | 55..=61 => 850,
        51..=54 | 183..=186 => 1252,
        80..=96 => 1250,
        104..=108 => 1251,
        112..=114 | 120..=122 | 124 => 1253,
        128..=130 => 1254,
        136..=138 => 1255,
        144..=146 => 1256,
        152..=160 => 1257,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(bytes: [u8; 5]) -> Option<TextEncoding> {
        Collation::from_bytes(bytes).encoding()
    }

    fn code_page(number: u16) -> Option<TextEncoding> {
        CodePage::new(number).map(TextEncoding::CodePage)
    }

    #[test]
    fn collations_as_servers_send_them() {
        // SQL_Latin1_General_CP1_CI_AS: the default of most servers.
        assert_eq!(encoding([0x09, 0x04, 0xd0, 0x00, 0x34]), code_page(1252));
        // Latin1_General_100_CI_AS_SC_UTF8, and the same without UTF-8.
        assert_eq!(
            encoding([0x09, 0x04, 0xd0, 0x24, 0x00]),
            Some(TextEncoding::Utf8)
        );
        assert_eq!(encoding([0x09, 0x04, 0xd0, 0x20, 0x00]), code_page(1252));
        // Japanese_XJIS_100_CI_AS, Polish_CI_AS, SQL_Latin1_General_CP850_BIN.
        assert_eq!(encoding([0x11, 0x04, 0xd0, 0x20, 0x00]), code_page(932));
        assert_eq!(encoding([0x15, 0x04, 0xd0, 0x00, 0x00]), code_page(1250));
        assert_eq!(encoding([0x09, 0x04, 0x00, 0x01, 0x28]), code_page(850));
        // German_PhoneBook_CI_AS: a language with another sort order than the usual one.
        assert_eq!(encoding([0x07, 0x04, 0xd1, 0x00, 0x00]), code_page(1252));
    }

    #[test]
    fn the_unknown_has_none() {
        assert_eq!(encoding([0; 5]), None);
        assert_eq!(encoding([0x09, 0x04, 0xd0, 0x00, 0xff]), None);
        // Hindi has no code page.
        assert_eq!(encoding([0x39, 0x04, 0xd0, 0x20, 0x00]), None);
    }

    #[test]
    fn every_code_page_that_is_named_is_known() {
        let languages = (0..=u16::MAX).filter_map(code_page_of_language);
        let sort_ids = (0..=u8::MAX).filter_map(code_page_of_sort_id);
        for number in languages.chain(sort_ids) {
            assert!(CodePage::new(number).is_some(), "{number}");
        }
    }
}
