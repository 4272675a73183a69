//! Runs the steps of a load on a text: scans it chunk by chunk, and converts it batch by batch while it is in the
//! cache.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use inrush_convert::{Converter, Instructions};
use inrush_kernels::clock::processor_time;
use inrush_kernels::{BATCH_ROWS, instructions};
use inrush_rows::chunk::Chunk;
use inrush_rows::column::Column;
use inrush_rows::padded_text::PaddedText;
use inrush_rows::reject::Reject;
use inrush_scan::masks::InstructionSet;
use inrush_scan::{Dialect, Records, Scanner};

/// A text that is converted to columns.
pub struct Way<'a> {
    chunks: &'a [Chunk],
    scanner: Scanner,
    records: Records,
    converter: Converter,
    rejects: Vec<Reject>,
}

impl<'a> Way<'a> {
    /// Scans and converts with these instructions; each line has this many fields.
    pub fn new(
        chunks: &'a [Chunk],
        dialect: &Dialect,
        fields: usize,
        columns: &[Column],
        instructions: Instructions,
    ) -> Way<'a> {
        let kernel = instructions::at_most(
            InstructionSet::available(),
            instructions::name(&instructions),
        );
        Way {
            chunks,
            scanner: Scanner::with_instruction_set(dialect, kernel),
            records: Records::default(),
            converter: Converter::new(columns, dialect, fields)
                .expect("columns that can be converted")
                .with_instructions(instructions),
            rejects: Vec::new(),
        }
    }

    /// The number of bytes of the text.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.text.len()).sum()
    }

    /// Converts the whole text and passes each batch to `take`. Returns the processor time of all but the scan.
    ///
    /// # Panics
    ///
    /// If a row is rejected. All rows of these texts are valid.
    pub fn run(&mut self, mut take: impl FnMut(RecordBatch)) -> Duration {
        let mut beside_scan = Duration::ZERO;
        for chunk in self.chunks {
            self.scanner
                .scan(chunk.text(), true, &mut self.records)
                .expect("records are short");
            let scanned = processor_time();
            // A load checks each chunk in the same way.
            simdutf8::basic::from_utf8(chunk.text()).expect("the text is UTF-8");
            let mut first = 0;
            while first < self.records.len() {
                let end = (first + BATCH_ROWS).min(self.records.len());
                take(
                    self.converter
                        .convert(chunk, &self.records, first..end, &mut self.rejects),
                );
                first = end;
            }
            beside_scan += processor_time() - scanned;
        }
        assert!(self.rejects.is_empty(), "{:?}", self.rejects[0]);
        beside_scan
    }
}

/// A chunk with this text.
pub fn chunk(text: &str) -> Chunk {
    let mut text = PaddedText::of(text.as_bytes());
    text.check_utf8();
    Chunk {
        text,
        file: Arc::from(Path::new("lineitem.tbl")),
        byte_offset: 0,
        line_offset: 0,
        invalid_utf8: Vec::new(),
        places: None,
        typed: None,
    }
}

/// Chunks with these texts, each text changed by `form`.
pub fn chunks(texts: &[String], mut form: impl FnMut(&str) -> String) -> Vec<Chunk> {
    texts.iter().map(|text| chunk(&form(text))).collect()
}

/// CSV without a header.
pub fn csv() -> Dialect {
    Dialect {
        header: false,
        ..Dialect::csv()
    }
}
