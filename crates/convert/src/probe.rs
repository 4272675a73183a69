//! Tests values of one column against a type, without making rows of them. Sniffing must be exactly as strict as the
//! load, so this uses the load's own converters.

use inrush_rows::column::Column;
use inrush_rows::padded_text::PADDING_BYTES;

use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::fields::{Fields, Span};
use super::kernel::Fault;
use super::simd::Instructions;

/// Some values of one column, none of them NULL. Quotes and escapes are removed, and all are UTF-8 without a NUL byte.
#[derive(Default)]
pub struct Values {
    text: Vec<u8>,
    spans: Vec<Span>,
}

impl Values {
    /// Clears the values, but keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    /// Adds a value.
    ///
    /// # Panics
    ///
    /// Past 2 GiB of text.
    pub fn push(&mut self, value: &[u8]) {
        assert!(
            self.text.len() + value.len() < i32::MAX as usize,
            "values of a few rows"
        );
        self.spans.push(Span {
            start: self.text.len() as u32,
            length: value.len() as u32,
        });
        self.text.extend_from_slice(value);
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The value with this index.
    pub fn get(&self, index: usize) -> &[u8] {
        let span = self.spans[index];
        &self.text[span.start as usize..][..span.length as usize]
    }
}

/// Tests values against the type of a column.
pub struct Probe {
    converter: ColumnConverter,
}

impl Probe {
    /// A probe of this column.
    pub fn new(column: &Column) -> Result<Probe, ConvertError> {
        Ok(Probe {
            converter: ColumnConverter::new(column)?,
        })
    }

    /// The values that the load would reject, by their index, with the reasons.
    pub fn faults(&self, values: &mut Values) -> Vec<(usize, ValueError)> {
        let text_bytes = values.text.len();
        values.text.resize(text_bytes + PADDING_BYTES, 0);
        let fields = Fields {
            spans: &values.spans,
            is_plain: true,
            null_count: 0,
            text: &values.text,
            unescaped: &[0; PADDING_BYTES],
            ascii: 0..0,
            instructions: Instructions::best(),
        };
        let mut faults: Vec<Fault> = Vec::new();
        // Only the faults are needed.
        let _ = self.converter.array(&fields, &mut faults);
        values.text.truncate(text_bytes);
        faults
            .into_iter()
            .map(|fault| (fault.row, fault.error))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;

    use super::*;

    #[test]
    fn faults_name_the_values_that_do_not_fit() {
        let column = Column::new("n", ColumnType::Int32, 0);
        let probe = Probe::new(&column).expect("an integer");
        let mut values = Values::default();
        for value in ["1", "x", "", "2147483648", "-7"] {
            values.push(value.as_bytes());
        }
        let rows: Vec<usize> = probe
            .faults(&mut values)
            .iter()
            .map(|fault| fault.0)
            .collect();
        assert_eq!(rows, [1, 2, 3]);
        assert_eq!((values.len(), values.get(1)), (5, b"x".as_slice()));
        assert_eq!(probe.faults(&mut values).len(), 3);
        values.clear();
        assert!(values.is_empty() && probe.faults(&mut values).is_empty());
    }
}
