//! Gathers the fields of a column with policies, one field at a time, in the form that the kernel reads.

use inrush_rows::column_policy::{ColumnChanges, DefaultFor};
use inrush_scan::{FieldText, decode_field};

use super::super::error::ValueError;
use super::super::fields::{
    Fields, GatherInput, Gatherer, Span, UNESCAPED, nul_error, unescaped_utf8_error,
};
use super::super::kernel::Fault;
use super::number_form::Rewritten;
use super::{FieldPolicy, Rewrite, cut, trimmed};

/// The value of a field.
enum FoundField {
    Text(Span),
    Null,
    /// The record ends before this field.
    Missing,
}

impl Gatherer {
    /// Gathers field `field_index` of all rows. Values that a policy changed are counted.
    pub fn gather_by_policy<'a>(
        &'a mut self,
        input: &GatherInput<'a>,
        field_index: usize,
        policy: &FieldPolicy,
        changes: &mut ColumnChanges,
        faults: &mut Vec<Fault>,
    ) -> Fields<'a> {
        self.clear();
        // All rows share one copy of the default.
        let mut default_span: Option<Span> = None;
        for place in 0..input.rows.len() {
            let found = match self.field_by_policy(input, place, field_index, policy, changes) {
                Ok(found) => found,
                Err(error) => {
                    faults.push(Fault { row: place, error });
                    // Keeps the row's index; the row itself is dropped.
                    FoundField::Null
                }
            };
            let span = match (&found, &policy.default) {
                (FoundField::Text(span), _) => *span,
                (FoundField::Missing, Some((text, _)))
                | (FoundField::Null, Some((text, DefaultFor::Null))) => {
                    changes.defaulted += 1;
                    *default_span.get_or_insert_with(|| append(&mut self.unescaped, text))
                }
                (FoundField::Null | FoundField::Missing, _) => {
                    self.null_count += 1;
                    Span::NULL
                }
            };
            self.spans.push(span);
        }
        self.gathered(input)
    }

    /// The same text for all rows.
    pub fn repeat<'a>(&'a mut self, input: &GatherInput<'a>, text: &[u8]) -> Fields<'a> {
        self.clear();
        let span = append(&mut self.unescaped, text);
        self.spans.resize(input.rows.len(), span);
        self.gathered(input)
    }

    fn field_by_policy(
        &mut self,
        input: &GatherInput<'_>,
        place: usize,
        field_index: usize,
        policy: &FieldPolicy,
        changes: &mut ColumnChanges,
    ) -> Result<FoundField, ValueError> {
        let record = input.rows[place].record as usize;
        let Some(range) = input.records.field_if_present(record, field_index) else {
            return Ok(FoundField::Missing);
        };
        let written = &input.text[..input.bytes_count][range];
        let is_quoted = policy.is_quoted(written);
        let written = match is_quoted {
            true => written,
            false => policy.trimmed_as_written(written),
        };
        if !is_quoted && policy.is_null(written) {
            return Ok(FoundField::Null);
        }
        let decoded = match input.records.records[record].escaped {
            true => decode_field(written, &policy.dialect, &mut self.scratch),
            false => FieldText::Written(written),
        };
        let (text, is_in_chunk) = match decoded {
            FieldText::Null => return Ok(FoundField::Null),
            FieldText::Written(text) => (text, true),
            FieldText::Unescaped(text) => {
                if simdutf8::basic::from_utf8(text).is_err() {
                    return Err(unescaped_utf8_error());
                }
                (text, false)
            }
        };
        if (input.any_nul || !is_in_chunk) && text.contains(&0) {
            return Err(nul_error());
        }
        let text = match is_quoted && policy.trim_quoted {
            true => trimmed(text, policy.trim_ends),
            false => text,
        };
        if is_quoted && policy.null_quoted && policy.is_null(text) {
            return Ok(FoundField::Null);
        }
        let start = self.unescaped.len() as u32 | UNESCAPED;
        let text = match &policy.rewrite {
            Rewrite::Nothing => text,
            Rewrite::Cut {
                characters_max,
                blank_padded,
            } => {
                let kept = cut(text, *characters_max, *blank_padded);
                changes.truncated += u64::from(kept.len() < text.len());
                kept
            }
            Rewrite::Number(number) => match number.rewrite(text, &mut self.unescaped)? {
                Rewritten::AsWritten => text,
                Rewritten::Null => {
                    changes.nulled += 1;
                    return Ok(FoundField::Null);
                }
                Rewritten::Built { rounded } => {
                    changes.rounded += u64::from(rounded);
                    let length = self.unescaped.len() as u32 - (start & !UNESCAPED);
                    return Ok(FoundField::Text(Span { start, length }));
                }
            },
        };
        if is_in_chunk {
            // The written text is a part of the chunk.
            let at = text.as_ptr().addr() - input.text.as_ptr().addr();
            return Ok(FoundField::Text(Span {
                start: at as u32,
                length: text.len() as u32,
            }));
        }
        Ok(FoundField::Text(append(&mut self.unescaped, text)))
    }
}

/// Appends a text that is not in the chunk.
fn append(unescaped: &mut Vec<u8>, text: &[u8]) -> Span {
    let start = unescaped.len() as u32 | UNESCAPED;
    unescaped.extend_from_slice(text);
    if text.is_empty() {
        // If the unescaped text stayed empty, it would get no padding.
        unescaped.push(b' ');
    }
    Span {
        start,
        length: text.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::{Column, ColumnType};
    use inrush_rows::column_policy::FieldDefault;
    use inrush_scan::{Dialect, MissingFields, Records, Scanner};

    use super::*;
    use crate::rows::{Row, Selected};

    /// Field 2 of the records, some of which end before it; `None` for NULL.
    fn gathered(applies_to: Option<DefaultFor>, input: &str) -> (Vec<Option<String>>, u64) {
        let dialect = Dialect {
            header: false,
            missing_fields: MissingFields::Null,
            ..Dialect::csv()
        };
        let mut records = Records::default();
        Scanner::new(&dialect)
            .scan(input.as_bytes(), true, &mut records)
            .expect("a text that can be scanned");
        let rows: Vec<Row> = records
            .records
            .iter()
            .zip(0..)
            .map(|(record, index)| Row {
                record: index,
                first_field: record.first_field,
            })
            .collect();
        let mut column = Column::new("c", ColumnType::Opaque, 1);
        column.policies.default = applies_to.map(|applies_to| FieldDefault {
            text: "none".to_owned(),
            applies_to,
        });
        column.policies.null = Some(vec![String::new()]);
        let policy = FieldPolicy::of(&column, &dialect)
            .expect("a policy that can be")
            .expect("it has one");
        let mut text = input.as_bytes().to_vec();
        text.resize(input.len() + inrush_rows::padded_text::PADDING_BYTES, 0);
        let input = GatherInput {
            text: &text,
            bytes_count: input.len(),
            records: &records,
            rows: &rows,
            dialect: &dialect,
            selected: Selected::default(),
            any_nul: false,
            ascii: 0..0,
        };
        let (mut gatherer, mut changes, mut faults) =
            (Gatherer::default(), ColumnChanges::default(), Vec::new());
        let fields = gatherer.gather_by_policy(&input, 1, &policy, &mut changes, &mut faults);
        assert!(faults.is_empty());
        let found = (0..rows.len())
            .map(|row| {
                let field = fields.field(row)?;
                Some(String::from_utf8(field.to_vec()).expect("text"))
            })
            .collect();
        (found, changes.defaulted)
    }

    #[test]
    fn fields_that_are_missing() {
        let input = "1,a\n2,\n3\n4,b\n5\n";
        let texts = |texts: [&str; 5]| {
            texts
                .map(|text| (text != "NULL").then(|| text.to_owned()))
                .to_vec()
        };
        assert_eq!(
            gathered(Some(DefaultFor::Missing), input),
            (texts(["a", "NULL", "none", "b", "none"]), 2)
        );
        assert_eq!(
            gathered(Some(DefaultFor::Null), input),
            (texts(["a", "none", "none", "b", "none"]), 3)
        );
        assert_eq!(
            gathered(None, input),
            (texts(["a", "NULL", "NULL", "b", "NULL"]), 0)
        );
    }
}
