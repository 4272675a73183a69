//! The differences between the web's encodings and Microsoft's code pages: characters that only one of them has. They
//! were found by encoding every character both ways; single-byte code pages and 949 do not differ.

/// True if the code page lacks a character that the encoding of the web has.
pub(super) fn is_other(code_page: u16, character: char) -> bool {
    match code_page {
        // The web's encoding writes these as a backslash, a tilde and a wide minus.
        932 => matches!(character, '¥' | '‾' | '−'),
        // Characters that are not in GBK: later characters of GB 18030, and private characters.
        936 => matches!(
            character,
            '\u{1f9}'
                | '\u{1e3f}'
                | '\u{2e80}'..='\u{2ffb}'
                | '\u{303e}'
                | '\u{3400}'..='\u{4dff}'
                | '\u{9fb4}'..='\u{9fbb}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{fe10}'..='\u{fe19}'
        ),
        // Pictures of control characters, and a half-width square.
        950 => matches!(character, '\u{2400}'..='\u{2421}' | '\u{ffed}'),
        _ => false,
    }
}

/// Bytes that code page 950 reserves for private use: the encoding of the web has Japanese and Cyrillic letters there.
pub(super) const PRIVATE_OF_950: std::ops::RangeInclusive<u16> = 0xc6a1..=0xc8fe;
