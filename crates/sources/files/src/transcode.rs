//! Translates text of another encoding to UTF-8, step by step, and keeps the places in the file.
//!
//! Each byte that is not part of a character of the encoding becomes the byte 0xff, which is not valid UTF-8. So the
//! UTF-8 check of all text rejects the record.
//!
//! Places: if the length of each character in the encoding is known (one byte; two or four in UTF-16), the distance
//! between two places is counted from the UTF-8 text itself. For other encodings a mark is kept at the beginning of
//! each line, where records begin. Within a line, each character is measured by encoding it again. This is exact except
//! for the few characters that an encoding has twice.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use encoding_rs::mem::convert_latin1_to_utf8;
use encoding_rs::{Decoder, DecoderResult, UTF_16LE};
use inrush_rows::chunk::Places;
use inrush_rows::encoding::TextEncoding;
use inrush_source::SourceError;

use super::input::Input;

/// How many bytes of the file are translated at a time.
const STEP_BYTES: usize = 16 << 10;

/// The replacement for each byte that is not part of a character.
const NOTHING: u8 = 0xff;

/// How the distance of two places is measured in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// One byte per character.
    SingleByte,
    /// Two or four bytes per character.
    Utf16,
    /// A mark shows it.
    Marked(TextEncoding),
}

impl Measure {
    fn of(encoding: TextEncoding) -> Measure {
        if encoding.is_utf16() {
            Measure::Utf16
        } else if encoding.is_single_byte() {
            Measure::SingleByte
        } else {
            Measure::Marked(encoding)
        }
    }

    /// The number of bytes of a text in the file.
    fn bytes_of(self, text: &[u8]) -> u64 {
        let nothing = |byte: &&u8| **byte == NOTHING;
        let begins = |byte: &&u8| **byte & 0xc0 != 0x80 && **byte != NOTHING;
        let count = match self {
            Measure::SingleByte => text.iter().filter(|byte| **byte & 0xc0 != 0x80).count(),
            Measure::Utf16 => {
                let characters = text.iter().filter(begins).count();
                let pairs = text
                    .iter()
                    .filter(|byte| (0xf0..NOTHING).contains(*byte))
                    .count();
                2 * (characters + pairs) + text.iter().filter(nothing).count()
            }
            Measure::Marked(encoding) => encoded_bytes(encoding, text),
        };
        count as u64
    }
}

/// Measures a text of an encoding whose characters differ in length.
fn encoded_bytes(encoding: TextEncoding, text: &[u8]) -> usize {
    let TextEncoding::Table(table) = encoding else {
        return text.len();
    };
    let encoded = |valid: &str| -> usize {
        let mut character = [0; 4];
        valid
            .chars()
            .map(|one| table.encode(one.encode_utf8(&mut character)).0.len())
            .sum()
    };
    text.utf8_chunks()
        .map(|chunk| encoded(chunk.valid()) + chunk.invalid().len())
        .sum()
}

/// A position that is known in both: in bytes of UTF-8 and in bytes of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    text: u64,
    file: u64,
}

/// Translates text of an encoding to UTF-8.
pub(super) struct Transcoder {
    encoding: TextEncoding,
    measure: Measure,
    /// `None` for Latin-1, which needs no table.
    decoder: Option<Decoder>,
    raw: Vec<u8>,
    /// The file's bytes of the text that is not yet in a chunk, for kept rejects.
    originals: Vec<u8>,
    /// Translated text; what was handed out ends at `text_at`.
    text: Vec<u8>,
    text_at: usize,
    /// The number of bytes translated so far.
    translated: Mark,
    marks: VecDeque<Mark>,
    /// The beginning of the text that is not yet in a chunk.
    begin: Mark,
    at_end: bool,
}

impl Transcoder {
    /// A translator for text that begins at byte `start` of the file with the bytes `first`.
    pub(super) fn new(encoding: TextEncoding, start: u64, first: &[u8]) -> Transcoder {
        let decoder = match encoding {
            TextEncoding::Latin1 | TextEncoding::Utf8 => None,
            TextEncoding::Utf16 => Some(UTF_16LE.new_decoder_without_bom_handling()),
            TextEncoding::Table(table) => Some(table.new_decoder_without_bom_handling()),
        };
        let begin = Mark {
            text: 0,
            file: start,
        };
        let mut transcoder = Transcoder {
            encoding,
            measure: Measure::of(encoding),
            decoder,
            raw: Vec::new(),
            originals: Vec::new(),
            text: Vec::new(),
            text_at: 0,
            translated: begin,
            marks: VecDeque::from([begin]),
            begin,
            at_end: false,
        };
        transcoder.translate(first, false);
        transcoder
    }

    /// The encoding of the file.
    pub(super) fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// Reads translated text. Returns 0 only at the end.
    pub(super) fn read(
        &mut self,
        input: &mut Input,
        bytes: &mut [u8],
    ) -> Result<usize, SourceError> {
        while self.text_at == self.text.len() && !self.at_end {
            self.text.clear();
            self.text_at = 0;
            let mut raw = std::mem::take(&mut self.raw);
            raw.resize(STEP_BYTES, 0);
            let count = input.read(&mut raw)?;
            self.at_end = count == 0;
            self.translate(&raw[..count], self.at_end);
            self.raw = raw;
        }
        let left = &self.text[self.text_at..];
        let count = left.len().min(bytes.len());
        bytes[..count].copy_from_slice(&left[..count]);
        self.text_at += count;
        Ok(count)
    }

    /// Translates all of `raw`. An incomplete character at its end waits for the next bytes.
    fn translate(&mut self, mut raw: &[u8], last: bool) {
        self.originals.extend_from_slice(raw);
        if !matches!(self.measure, Measure::Marked(_)) {
            self.translate_step(raw, last);
            return;
        }
        loop {
            let end = match memchr::memchr2(b'\n', b'\r', raw) {
                Some(at) => at + 1,
                None => raw.len(),
            };
            let (line, rest) = raw.split_at(end);
            self.translate_step(line, last && rest.is_empty());
            // After a line end no incomplete character waits, because a line end is a whole character.
            if matches!(line.last(), Some(b'\n' | b'\r')) {
                self.marks.push_back(self.translated);
            }
            raw = rest;
            if raw.is_empty() {
                return;
            }
        }
    }

    fn translate_step(&mut self, raw: &[u8], last: bool) {
        let before = self.text.len();
        match &mut self.decoder {
            None => {
                self.text.resize(before + 2 * raw.len(), 0);
                let written = convert_latin1_to_utf8(raw, &mut self.text[before..]);
                self.text.truncate(before + written);
            }
            Some(decoder) => decode(decoder, raw, last, &mut self.text),
        }
        self.translated.text += (self.text.len() - before) as u64;
        self.translated.file += raw.len() as u64;
    }

    /// Takes `text`, the next piece that was read, for a chunk; returns its number of bytes in the file, and the way to
    /// find its places.
    pub(super) fn take(&mut self, text: &[u8]) -> (u64, TranscodedPlaces) {
        let end = self.begin.text + text.len() as u64;
        let mut marks = Vec::new();
        let bytes = match self.measure {
            Measure::SingleByte | Measure::Utf16 => self.measure.bytes_of(text),
            Measure::Marked(_) => {
                let mut nearest = self.begin;
                while let Some(mark) = self.marks.front().copied().filter(|mark| mark.text <= end) {
                    if mark.text > self.begin.text {
                        marks.push((
                            (mark.text - self.begin.text) as u32,
                            mark.file - self.begin.file,
                        ));
                        nearest = mark;
                    }
                    self.marks.pop_front();
                }
                let rest = &text[(nearest.text - self.begin.text) as usize..];
                nearest.file - self.begin.file + self.measure.bytes_of(rest)
            }
        };
        self.begin = Mark {
            text: end,
            file: self.begin.file + bytes,
        };
        let original_bytes = self.originals.len().min(bytes as usize);
        let places = TranscodedPlaces {
            encoding: self.encoding,
            measure: self.measure,
            originals: self.originals.drain(..original_bytes).collect(),
            marks,
            last: Mutex::default(),
        };
        (bytes, places)
    }

    /// The position in the file of the byte at `position` of `text`, which is the next piece that was read.
    pub(super) fn distance(&self, text: &[u8], position: usize) -> u64 {
        let end = self.begin.text + position as u64;
        let nearest = match self.measure {
            Measure::Marked(_) => {
                let known = self.marks.iter().take_while(|mark| mark.text <= end);
                known
                    .last()
                    .copied()
                    .unwrap_or(self.begin)
                    .max_of(self.begin)
            }
            _ => self.begin,
        };
        let rest = &text[(nearest.text - self.begin.text) as usize..position];
        nearest.file - self.begin.file + self.measure.bytes_of(rest)
    }
}

impl Mark {
    fn max_of(self, other: Mark) -> Mark {
        if self.text >= other.text { self } else { other }
    }
}

/// Translates `raw` and adds it to `text`.
fn decode(decoder: &mut Decoder, mut raw: &[u8], last: bool, text: &mut Vec<u8>) {
    loop {
        let before = text.len();
        let room = decoder
            .max_utf8_buffer_length_without_replacement(raw.len())
            .expect("a step is not half of all memory");
        text.resize(before + room, 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(raw, &mut text[before..], last);
        text.truncate(before + written);
        raw = &raw[read..];
        match result {
            DecoderResult::InputEmpty => return,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(count, _) => {
                text.resize(text.len() + usize::from(count), NOTHING);
            }
        }
    }
}

/// The places of a chunk that was translated.
#[derive(Debug)]
pub(super) struct TranscodedPlaces {
    encoding: TextEncoding,
    measure: Measure,
    /// The bytes of the chunk as they are in the file.
    originals: Box<[u8]>,
    /// Line beginnings: bytes from the chunk's first byte, in its text and in the file.
    marks: Vec<(u32, u64)>,
    /// The last position that was looked up, with its distance: the next look-up is usually for the next record.
    last: Mutex<(usize, u64)>,
}

impl Places for TranscodedPlaces {
    fn byte_distance(&self, text: &[u8], position: usize) -> u64 {
        if self.marks.is_empty() {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let (from, before) = if last.0 <= position { *last } else { (0, 0) };
            let distance = before + self.measure.bytes_of(&text[from..position]);
            *last = (position, distance);
            return distance;
        }
        let after = self
            .marks
            .partition_point(|(in_text, _)| *in_text as usize <= position);
        let (in_text, in_file) = match after {
            0 => (0, 0),
            after => self.marks[after - 1],
        };
        in_file + self.measure.bytes_of(&text[in_text as usize..position])
    }

    fn encoding(&self) -> Option<TextEncoding> {
        Some(self.encoding)
    }

    fn original(&self, text: &[u8], part: Range<usize>) -> Option<&[u8]> {
        let start = self.byte_distance(text, part.start);
        // A mark after a line end is exact; a measured position may not be.
        let after = self
            .marks
            .partition_point(|(in_text, _)| *in_text as usize <= part.end);
        let marked = self.marks.get(after).and_then(|(in_text, in_file)| {
            let line_end = &text[part.end..*in_text as usize];
            let is_line_end = matches!(line_end, b"\n" | b"\r");
            is_line_end.then(|| in_file - line_end.len() as u64)
        });
        let end = marked.unwrap_or_else(|| self.byte_distance(text, part.end));
        self.originals.get(start as usize..end as usize)
    }
}
