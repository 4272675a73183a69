//! S-21: rows in the source's own form.

use inrush_rows::cancel::Stop;
use inrush_source::{ReadSettings, Source, SourceSplit};

use super::case::MakeCase;
use super::random::Random;
use super::reading::{Piece, read_split, splits_of, told};

/// The number of rows of a case.
const ROWS: usize = 400;

pub(super) fn are_the_rows_of_chunks(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    let Some(forms) = source.native_forms() else {
        return Ok(());
    };
    let columns = source.columns().map_err(told)?.len();
    if forms.len() != columns {
        return Err(format!(
            "there are {} native forms for {columns} columns",
            forms.len()
        ));
    }
    for input in 0..source.input_count() {
        for split in splits_of(&*source, input, 400)? {
            if split.is_shared {
                continue;
            }
            let piece = chunks_of(&*source, &split)?;
            let mut before = None;
            for (chunk_bytes, until) in [(100, 1), (1000, 500), (1 << 16, 1 << 16)] {
                let settings = ReadSettings { chunk_bytes };
                let bytes = native_of(&*source, &split, settings, until, &piece)
                    .map_err(|what| format!("{:?}, {settings:?}: {what}", split.range))?;
                if before.get_or_insert_with(|| bytes.clone()) != &bytes {
                    return Err(format!(
                        "{:?}, {settings:?}: the bytes differ from those with other settings",
                        split.range
                    ));
                }
            }
        }
    }
    Ok(())
}

fn chunks_of(source: &dyn Source, split: &SourceSplit) -> Result<Piece, String> {
    let settings = ReadSettings { chunk_bytes: 1000 };
    let mut stream = source.open_stream(settings).map_err(told)?;
    let reader = stream.open(split).map_err(told)?;
    read_split(split.range.clone(), reader).map_err(told)
}

/// The bytes of a split's rows. Fails if the number of rows or the final hash differs from that of the split's chunks.
fn native_of(
    source: &dyn Source,
    split: &SourceSplit,
    settings: ReadSettings,
    until: usize,
    piece: &Piece,
) -> Result<Vec<u8>, String> {
    let mut stream = source.open_stream(settings).map_err(told)?;
    let mut reader = stream.open(split).map_err(told)?;
    let rows = reader
        .native_rows()
        .ok_or("the reader has no native rows")?;
    let (mut all, mut count) = (Vec::new(), 0);
    loop {
        let mut block = vec![0; 3];
        let added = rows.append_rows(&mut block, until).map_err(told)?;
        if block[..3] != [0; 3] || (added.is_none() && block.len() > 3) {
            return Err(
                "the block's earlier bytes were changed, or the block has grown after the end"
                    .to_owned(),
            );
        }
        all.extend_from_slice(&block[3..]);
        match added {
            Some(added) => count += added,
            None => break,
        }
    }
    let came = piece.rows.len() as u64;
    if count != came {
        return Err(format!(
            "there are {count} native rows, but {came} rows in chunks"
        ));
    }
    match reader.end().hash == piece.end.hash {
        true => Ok(all),
        false => Err("the hash differs from that of the chunks".to_owned()),
    }
}
