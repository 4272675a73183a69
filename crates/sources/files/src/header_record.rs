//! The record that names the fields.

use inrush_rows::encoding::TextEncoding;
use inrush_rows::encoding_guess::NotUtf8;
use inrush_rows::location::Location;
use inrush_scan::{Dialect, FaultKind, Records, decode_field};
use inrush_source::SourceError;

/// The names in the first record of `records`. `encoding` is the encoding that the text was translated from.
pub(super) fn parse(
    text: &[u8],
    records: &Records,
    dialect: &Dialect,
    location: Location,
    encoding: Option<TextEncoding>,
) -> Result<Vec<String>, SourceError> {
    let fault = records
        .faults
        .first()
        .filter(|fault| fault.record_index == 0);
    let what = match fault.map(|fault| fault.kind) {
        // A fault that matters only in rows: the header's names are clear.
        None | Some(FaultKind::TrailingDelimiterMissing | FaultKind::RecordLength) => None,
        Some(FaultKind::StrayQuote) => Some("has a quote inside an unquoted name"),
        Some(FaultKind::TextAfterQuote) => Some("has text after a closing quote"),
        Some(FaultKind::UnclosedQuote) => Some("has a quote that is not closed"),
        Some(FaultKind::DanglingEscape) => Some("ends with an escape"),
        Some(FaultKind::BareCarriageReturn) => Some(
            "has a carriage return without a line feed after it (if lines end this way, set \
             terminator = \"cr\" in the format)",
        ),
        Some(FaultKind::EndMarker) => Some("is COPY's end-of-data marker"),
    };
    if let Some(what) = what {
        return Err(SourceError::Header { location, what });
    }
    let mut scratch = Vec::new();
    let mut names = Vec::new();
    for field in 0..records.field_count(0) {
        let written = &text[records.field(0, field)];
        // An empty name stays an empty name, even if empty text stands for NULL.
        let decoded = decode_field(written, dialect, &mut scratch);
        match str::from_utf8(decoded.text().unwrap_or(written)) {
            Ok(name) => names.push(name.to_owned()),
            Err(_) => {
                return Err(SourceError::HeaderEncoding {
                    location,
                    what: not_utf8(text, encoding),
                });
            }
        }
    }
    Ok(names)
}

/// Why a header is not valid text.
fn not_utf8(text: &[u8], encoding: Option<TextEncoding>) -> String {
    match (encoding, NotUtf8::find(text)) {
        (Some(encoding), _) => format!(
            "it has bytes that are not characters of {encoding}, the encoding of the file; declare \
             the encoding that the file was written in, or fix the header"
        ),
        (None, Some(found)) => found.explain(),
        (None, None) => "its escapes make bytes that are not UTF-8; fix them, or set header = false if the first \
                         record is a row"
            .to_owned(),
    }
}
