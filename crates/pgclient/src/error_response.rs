//! The server's `ErrorResponse`: fields of one byte and a text each.

use super::quote::qualified;
use super::refusal::RefusalFacts;

/// The fields of an error, and true if it ends the session.
pub(crate) fn facts(body: &[u8]) -> (RefusalFacts, bool) {
    let field = |wanted: u8| {
        body.split(|byte| *byte == 0)
            .filter_map(|field| field.split_first())
            .find(|(kind, _)| **kind == wanted)
            .map(|(_, text)| String::from_utf8_lossy(text).into_owned())
    };
    // `V` has the severity in English.
    let severity = field(b'V').or_else(|| field(b'S')).unwrap_or_default();
    let facts = RefusalFacts {
        code: field(b'C').unwrap_or_default(),
        message: field(b'M').unwrap_or_else(|| "an error without a message".to_owned()),
        detail: field(b'D'),
        hint: field(b'H'),
        table: field(b's')
            .zip(field(b't'))
            .map(|(schema, table)| qualified(&schema, &table)),
        constraint: field(b'n'),
        column: field(b'c'),
        data_type: field(b'd'),
        context: field(b'W'),
        routine: field(b'R'),
    };
    (facts, matches!(severity.as_str(), "FATAL" | "PANIC"))
}
