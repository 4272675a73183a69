//! Files of typed rows that were joined into one (`cat a.parquet b.parquet`). The last one's footer counts its places
//! from its own beginning, so a reader takes bytes of the first file for them. Where both have the same sizes that even
//! gives rows: those of one file, and those of the other are lost.
//!
//! In a whole file the footer comes right behind the data that it names. Before the last of joined files there is a gap,
//! and in it the end of one file and the beginning of the next.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::memmem;

/// Why joined files are not read.
pub(super) const JOINED: &str = "several files were joined into one";

/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// True if one file ends and another begins between the data that a footer names and the footer. `seam` is the mark that
/// ends a file of this kind, and the one that begins it. An ordinary file has nothing there, so nothing is read.
pub(super) fn is_joined(
    file: &File,
    data_end: u64,
    footer_start: u64,
    seam: &[u8],
) -> io::Result<bool> {
    let overlap = seam.len() as u64 - 1;
    // The mark at the end of the first file may begin right at the end of the data.
    let mut at = data_end;
    let mut piece = Vec::new();
    while at.saturating_add(overlap) < footer_start {
        let end = footer_start.min(at.saturating_add(PIECE_BYTES + overlap));
        piece.resize((end - at) as usize, 0);
        file.read_exact_at(&mut piece, at)?;
        if memmem::find(&piece, seam).is_some() {
            return Ok(true);
        }
        at = end - overlap;
        if end == footer_start {
            break;
        }
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
            file.write_all(&vec![b'P'; 10 + before as usize])
                .expect("written");
            file.write_all(seam).expect("written");
            let end = 10 + before + 8;
            assert!(
                is_joined(&file, 10, end, seam).expect("readable"),
                "{before}"
            );
            assert!(
                !is_joined(&file, 10, end - 1, seam).expect("readable"),
                "{before}"
            );
            assert!(
                !is_joined(&file, 10 + before + 1, end, seam).expect("readable"),
                "{before}"
            );
        }
        let file = tempfile::tempfile().expect("a file");
        assert!(!is_joined(&file, u64::MAX, 5, seam).expect("nothing is read"));
        assert!(!is_joined(&file, 5, 5, seam).expect("nothing is read"));
    }
}
