//! Files of typed rows that were joined into one (`cat a.parquet b.parquet`). The last one's footer counts its places
//! from its own beginning, so a reader takes bytes of the first file for them. Where both have the same sizes that even
//! gives rows: those of one file, and those of the other are lost.
//!
//! In a whole file the footer comes right behind the data that it names. In joined files there is a gap before it, at
//! least as long as all files before the last one. So the first of them ends within the gap's length from the beginning,
//! and the next one begins there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::memmem;

/// Why joined files are not read.
pub(super) const JOINED: &str = "several files were joined into one";

/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// True if one file ends and another begins before the data of the last one. `data_end` is where the data that the footer
/// names ends, by its own count. `seam` is the mark that ends a file of this kind, and the one that begins it. An
/// ordinary file has next to no gap, so next to nothing is read.
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
            // The second file begins 4 bytes into the seam: its data ends so much earlier by its own count.
            assert!(is_joined(footer_start - before - 4), "{before}");
            assert!(is_joined(0), "{before}");
            assert!(!is_joined(footer_start), "{before}");
            assert!(!is_joined(u64::MAX), "{before}");
        }
    }
}
