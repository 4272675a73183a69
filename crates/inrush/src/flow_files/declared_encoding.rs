//! Finds files that are declared to be in a single-byte encoding but are in UTF-8: each character beyond ASCII would be
//! loaded as two or three others, without a reject.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_rows::encoding_guess::ReadsAsUtf8;

/// Bytes of a file that are examined.
const LOOK_BYTES: u64 = 256 << 10;

/// The most files that are examined.
const FILES_MAX: usize = 10;

/// The note for the first file that is UTF-8, if its flow declares an encoding of single bytes. Compressed files and
/// pipes are not checked.
pub fn note(files: &[Arc<SourceFile>], declared: Option<TextEncoding>) -> Option<String> {
    let declared = declared.filter(|declared| declared.is_single_byte())?;
    let plain = files.iter().filter(|file| {
        file.compression == Compression::None && file.encoding.is_some() && file.table().is_none()
    });
    plain.take(FILES_MAX).find_map(|file| {
        // Unreadable files are reported when they are loaded.
        let bytes = beginning(file).ok()??;
        let found = ReadsAsUtf8::find(&bytes, declared)?;
        Some(format!(
            "{} is declared to be {declared}, but is likely UTF-8: a line reads `{}` as UTF-8, and `{}` as \
             {declared}; if the first is right, set encoding = \"utf-8\" in the format",
            file.path.display(),
            found.line,
            found.line_as_declared
        ))
    })
}

/// The first bytes of a file as they are stored; `None` for a pipe.
fn beginning(file: &SourceFile) -> io::Result<Option<Vec<u8>>> {
    let Some((path, start)) = file.stored_at() else {
        return Ok(None);
    };
    let mut stored = File::open(path)?;
    stored.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    stored
        .take(LOOK_BYTES.min(file.size_bytes))
        .read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
