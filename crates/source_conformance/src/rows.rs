//! S-8 to S-12: chunks of rows.

use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::ReadSettings;

use super::case::MakeCase;
use super::random::Random;
use super::reading::{Row, Way, read, rows, same, splits_of, told};

const ROWS: usize = 300;

pub(super) fn chunks_do_not_matter(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    for chunk_bytes in [1, 13, 1_000, 1 << 20] {
        let way = Way {
            chunk_bytes,
            ..Way::SERIAL
        };
        compare(make, way, random, |row| row.fields.clone())?;
    }
    Ok(())
}

pub(super) fn places(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    for split_bytes in [7, 500, u64::MAX] {
        let way = Way {
            split_bytes,
            chunk_bytes: 1 + random.below(300),
            streams: 2,
        };
        compare(make, way, random, |row| row.place.clone())?;
    }
    Ok(())
}

pub(super) fn faulty_rows(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let way = Way {
        split_bytes: 400,
        chunk_bytes: 256,
        streams: 2,
    };
    compare(make, way, random, |row| row.is_faulty)
}

/// Reads all inputs in one way, and compares a part of each row.
fn compare<T: PartialEq + std::fmt::Debug>(
    make: &MakeCase<'_>,
    way: Way,
    random: &mut Random,
    of: fn(&Row) -> T,
) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    for (input, expected) in case.rows().iter().enumerate() {
        let found = rows(&read(&*source, input, way, random)?);
        same(&found, expected, of).map_err(|what| format!("{way:?}: {what}"))?;
    }
    Ok(())
}

pub(super) fn counts(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    for input in 0..source.input_count() {
        let way = Way {
            split_bytes: 300,
            ..Way::SERIAL
        };
        let pieces = read(&*source, input, way, random)?;
        for piece in &pieces {
            let (counted, came) = (piece.meter.record_count, piece.rows.len() as u64);
            if counted != came {
                return Err(format!(
                    "{:?}: {came} rows were read, but {counted} were counted",
                    piece.range
                ));
            }
        }
        let all = rows(&pieces).len() as u64;
        let known = source.input(input).row_count();
        if known.is_some_and(|known| known != all) {
            return Err(format!(
                "{all} rows were read, but the input said {known:?} before"
            ));
        }
    }
    Ok(())
}

pub(super) fn end_stays(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    let splits = splits_of(&*source, 0, 400)?;
    let settings = ReadSettings { chunk_bytes: 100 };
    let mut stream = source.open_stream(settings).map_err(told)?;
    for split in splits.iter().filter(|split| !split.is_shared) {
        let mut reader = stream.open(split).map_err(told)?;
        let mut records = Records::default();
        while let Some(chunk) = reader.next_chunk(&mut records).map_err(told)? {
            reader.recycle(chunk);
        }
        for _ in 0..2 {
            if reader.next_chunk(&mut records).map_err(told)?.is_some() || !records.is_empty() {
                return Err(format!("{:?}: rows come after the end", split.range));
            }
        }
        drop(reader.end());
    }
    Ok(())
}
