//! Recognizes files of typed rows that were joined into one (`cat a.parquet b.parquet`). Positions in the last footer
//! are relative to its own file, so a reader would read bytes of the first file instead. If both files have the same
//! sizes, reading does not even fail: it returns rows of one file, and the rows of the other file are lost.
//!
//! In an intact file the footer directly follows the data that it names. In joined files there is a gap before the
//! footer, at least as long as all files before the last one. So the first file ends, and the next one begins, within
//! the gap's length from the beginning.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::memmem;

/// Why joined files are not read.
pub(super) const JOINED: &str = "several files were joined into one";

/// How many bytes are read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// True if one file ends and another begins before the last file's data. `data_end` is the end of the data that the
/// footer names, by its own positions. `seam` is the end mark of a file of this kind, followed by its begin mark. An
/// ordinary file has almost no gap, so almost nothing is read.
pub(super) fn is_joined(
    file: &File,
    data_end: u64,
    footer_start: u64,
    seam: &[u8],
) -> io::Result<bool> {
    let gap = footer_start.saturating_sub(data_end);
    let overlap = seam.len() as u64 - 1;
    let search_end = footer_start.min(gap + overlap + 1);
    let mut at = 0;
    let mut piece = Vec::new();
    while gap > 0 && at + overlap < search_end {
        let end = search_end.min(at + PIECE_BYTES + overlap);
        piece.resize((end - at) as usize, 0);
        file.read_exact_at(&mut piece, at)?;
        if memmem::find(&piece, seam).is_some() {
            return Ok(true);
        }
        at = end - overlap;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_seam_is_found_wherever_pieces_end() {
        let seam = b"PAR1PAR1";
        for before in [
            0,
            1,
            PIECE_BYTES - 9,
            PIECE_BYTES - 1,
            PIECE_BYTES,
            PIECE_BYTES + 3,
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(&vec![b'P'; before as usize])
                .expect("written");
            file.write_all(seam).expect("written");
            file.write_all(&[b'x'; 100]).expect("written");
            let footer_start = before + 108;
            let is_joined =
                |data_end| is_joined(&file, data_end, footer_start, seam).expect("readable");
            // The second file begins 4 bytes into the seam, so by its own positions its data ends that much earlier.
            assert!(is_joined(footer_start - before - 4), "{before}");
            assert!(is_joined(0), "{before}");
            assert!(!is_joined(footer_start), "{before}");
            assert!(!is_joined(u64::MAX), "{before}");
        }
    }
}
