//! The text of a text file: decompressed, its first bytes checked, and translated to UTF-8.

use std::sync::Arc;
use std::time::Instant;

use encoding_rs::{GB18030, GBK, UTF_16BE, UTF_16LE};
use inrush_rows::chunk::Places;
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_rows::encoding_guess::utf16_order;
use inrush_source::SourceError;
use inrush_source::{SourceMeter, nanoseconds_since};

use super::input::Input;
use super::signature::{Beginning, KIND_BYTES, SIGNATURE_BYTES, beginning, binary_kind, unpacking};
use super::source_file::SourceFile;
use super::stored::Purpose;
use super::transcode::Transcoder;

/// How many first bytes of UTF-16 are examined to find its byte order.
const UTF16_LOOK_BYTES: usize = 16 << 10;

/// The text of a text file, in UTF-8.
pub(super) struct FileText {
    input: Input,
    /// First bytes that were examined but not handed out yet.
    first: Vec<u8>,
    first_at: usize,
    transcoder: Option<Transcoder>,
    /// The encoding, if only the text shows it: by a byte order mark, or by the byte order of UTF-16.
    found: Option<TextEncoding>,
    /// The number of bytes of the file before the text: the length of its byte order mark.
    start: u64,
    transcode_ns: u64,
}

impl FileText {
    /// Opens a file from its beginning.
    pub(super) fn open(file: &Arc<SourceFile>, purpose: Purpose) -> Result<FileText, SourceError> {
        let mut input = Input::open(file, purpose, 0)?;
        let look_bytes = match file.encoding {
            // The separators show the byte order of UTF-16 without a mark, and they may come late.
            Some(declared) if declared.is_utf16() => UTF16_LOOK_BYTES,
            // The next bytes of a pipe may take long to arrive.
            _ if file.is_pipe() => SIGNATURE_BYTES,
            _ => KIND_BYTES,
        };
        let mut first = vec![0; look_bytes];
        let mut filled = 0;
        while filled < first.len() {
            match input.read(&mut first[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        first.truncate(filled);
        let (encoding, mark_bytes, found) = encoding_of(&first, file)?;
        check_kind(&first, file, input.compression())?;
        let transcoder = match encoding {
            TextEncoding::Utf8 => None,
            encoding => {
                let transcoder = Transcoder::new(encoding, mark_bytes as u64, &first[mark_bytes..]);
                first.clear();
                Some(transcoder)
            }
        };
        Ok(FileText {
            input,
            first_at: mark_bytes.min(first.len()),
            first,
            transcoder,
            found,
            start: mark_bytes as u64,
            transcode_ns: 0,
        })
    }

    /// Opens a plain file in its middle.
    pub(super) fn open_at(file: &Arc<SourceFile>, start: u64) -> Result<FileText, SourceError> {
        Ok(FileText {
            input: Input::open(file, Purpose::Load, start)?,
            first: Vec::new(),
            first_at: 0,
            transcoder: None,
            found: None,
            start,
            transcode_ns: 0,
        })
    }

    /// The number of bytes of the file before the text.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The encoding, if only the text shows it: by a byte order mark that is not UTF-8's, if no encoding is declared;
    /// or by the byte order of the text, if UTF-16 is declared and there is no mark.
    pub(super) fn encoding_found(&self) -> Option<TextEncoding> {
        self.found
    }

    /// The encoding from which the text is translated; `None` if it is read as UTF-8.
    pub(super) fn translated_from(&self) -> Option<TextEncoding> {
        self.transcoder.as_ref().map(Transcoder::encoding)
    }

    /// Reads some text. Returns 0 only at the end.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, SourceError> {
        if let Some(transcoder) = &mut self.transcoder {
            let start = Instant::now();
            let before = self.input.reading_ns();
            let count = transcoder.read(&mut self.input, bytes)?;
            let reading_ns = self.input.reading_ns() - before;
            self.transcode_ns += nanoseconds_since(start).saturating_sub(reading_ns);
            return Ok(count);
        }
        let left = &self.first[self.first_at..];
        if left.is_empty() {
            return self.input.read(bytes);
        }
        let count = left.len().min(bytes.len());
        bytes[..count].copy_from_slice(&left[..count]);
        self.first_at += count;
        Ok(count)
    }

    /// Takes `text`, the next text that was read, for a chunk. Returns its number of bytes in the file, and the way to
    /// find places in it if they are not simply counted.
    pub(super) fn take(&mut self, text: &[u8]) -> (u64, Option<Arc<dyn Places>>) {
        match &mut self.transcoder {
            None => (text.len() as u64, None),
            Some(transcoder) => {
                let (bytes, places) = transcoder.take(text);
                (bytes, Some(Arc::new(places)))
            }
        }
    }

    /// The number of bytes of the file between the beginning of `text`, the next text that was read, and `position`.
    pub(super) fn distance(&self, text: &[u8], position: usize) -> u64 {
        match &self.transcoder {
            None => position as u64,
            Some(transcoder) => transcoder.distance(text, position),
        }
    }

    /// Checks that the file has not changed since it was planned.
    pub(super) fn check_unchanged(&self) -> Result<(), SourceError> {
        self.input.check_unchanged()
    }

    /// Subtracts from a meter what was read beyond the first `text_bytes` of the file's text.
    pub(super) fn leave_out_ahead(&mut self, text_bytes: u64, meter: &mut SourceMeter) {
        let stored_bytes = self.input.stored_bytes_of(text_bytes);
        meter.read_ns = share_of(meter.read_ns, stored_bytes, meter.stored_bytes);
        meter.decompress_ns = share_of(meter.decompress_ns, text_bytes, meter.text_bytes);
        meter.stored_bytes = stored_bytes;
        meter.text_bytes = text_bytes;
    }

    /// Adds the cost of reading so far.
    pub(super) fn add_to(&self, meter: &mut SourceMeter) {
        meter.stored_bytes = self.input.stored_bytes();
        meter.text_bytes = self.input.text_bytes();
        meter.read_ns = self.input.read_ns();
        meter.decompress_ns = self.input.decompress_ns() + self.transcode_ns;
    }
}

/// `number` times `part` divided by `whole`.
fn share_of(number: u64, part: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(1));
    u64::try_from(u128::from(number) * u128::from(part) / whole).unwrap_or(u64::MAX)
}

/// The encoding of a text, the bytes of its mark, and the encoding again if only the text shows it.
fn encoding_of(
    first: &[u8],
    file: &SourceFile,
) -> Result<(TextEncoding, usize, Option<TextEncoding>), SourceError> {
    let path = || file.path.to_path_buf();
    let declared = file.encoding;
    let little = TextEncoding::Table(UTF_16LE);
    let big = TextEncoding::Table(UTF_16BE);
    match beginning(first) {
        Beginning::Utf32(encoding) => Err(SourceError::EncodingUnread {
            path: path(),
            encoding,
        }),
        Beginning::LikeUtf16(encoding) if declared.is_none() => {
            Err(SourceError::EncodingUndeclared {
                path: path(),
                encoding: encoding.name(),
            })
        }
        Beginning::Unmarked | Beginning::LikeUtf16(_) => Ok(match declared {
            None => (TextEncoding::Utf8, 0, None),
            Some(TextEncoding::Utf16) => match utf16_order(first) {
                Some(order) => (order, 0, Some(order)),
                // A single byte is reported as a byte that is not a character.
                None if first.len() < 2 => (little, 0, None),
                None => return Err(SourceError::ByteOrderUnknown { path: path() }),
            },
            Some(declared) if declared == little || declared == big => match utf16_order(first) {
                Some(order) if order != declared => {
                    return Err(SourceError::ByteOrderContradicted {
                        path: path(),
                        declared: declared.name(),
                        found: order.name(),
                    });
                }
                _ => (declared, 0, None),
            },
            Some(declared) => (declared, 0, None),
        }),
        Beginning::Marked(mark, bytes) => {
            let is_utf16 = mark == little || mark == big;
            match declared {
                None if mark == TextEncoding::Utf8 => Ok((mark, bytes, None)),
                None => Ok((mark, bytes, Some(mark))),
                Some(TextEncoding::Utf16) if is_utf16 => Ok((mark, bytes, None)),
                Some(declared) if declared == mark => Ok((mark, bytes, None)),
                // GBK is read as GB18030, and may have the mark of GB18030.
                Some(TextEncoding::Table(table))
                    if table == GBK && mark == TextEncoding::Table(GB18030) =>
                {
                    Ok((mark, bytes, None))
                }
                // These four bytes may be text in many encodings; the other marks hardly can be.
                Some(declared) if mark == TextEncoding::Table(GB18030) => Ok((declared, 0, None)),
                Some(declared) => Err(SourceError::EncodingContradicted {
                    path: path(),
                    declared: declared.name(),
                    found: mark.name(),
                }),
            }
        }
    }
}

/// Checks that the first bytes do not show another kind of file.
fn check_kind(
    first: &[u8],
    file: &SourceFile,
    compression: Compression,
) -> Result<(), SourceError> {
    let Some(found) = binary_kind(first) else {
        return Ok(());
    };
    Err(SourceError::KindMismatch {
        path: file.path.to_path_buf(),
        expected: "text",
        found,
        mend: match (compression, found) {
            _ if unpacking(found).is_some() => unpacking(found).unwrap_or_default().to_owned(),
            (Compression::None, "gzip" | "zstd" | "bzip2" | "xz") => {
                format!("declare it: format.compression = {found:?}")
            }
            (Compression::None, "zip (or an Excel workbook)") => {
                "if it is an archive of texts, declare it: format.compression = \"zip\"; save the \
                 sheets of a workbook as CSV (UTF-8)"
                    .to_owned()
            }
            (_, "Parquet" | "Arrow IPC") => {
                "its rows are found from its end, so it can only be read as a plain file: unpack \
                 it, or write it to a file first; if it is a plain file, it is likely not written \
                 completely"
                    .to_owned()
            }
            (Compression::Zip, _) => {
                "unzip the outer archive and load the file; its name shows its compression"
                    .to_owned()
            }
            _ => "make it again as text".to_owned(),
        },
    })
}
