//! S-4 to S-6: the splits of an input.

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceSplit};

use super::case::{Case, MakeCase};
use super::random::Random;
use super::reading::{Way, read, rows, same, told};

const ROWS: usize = 60;
/// Sizes of splits: some smaller than a row, and some with several rows.
const SPLIT_BYTES: [u64; 5] = [1, 7, 100, 1_000, u64::MAX];

pub(super) fn cover_their_input(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    for input in 0..source.input_count() {
        for split_bytes in SPLIT_BYTES {
            let splits = source.splits(input, split_bytes).map_err(told)?;
            covers(&*source, input, &splits)
                .map_err(|what| format!("splits of {split_bytes} bytes: {what}"))?;
        }
    }
    Ok(())
}

fn covers(source: &dyn Source, input: usize, splits: &[SourceSplit]) -> Result<(), String> {
    let Some(first) = splits.first() else {
        return Err("there are no splits".to_owned());
    };
    if first.range.start != 0 {
        return Err(format!("the first split begins at {}", first.range.start));
    }
    if let Some(pair) = splits
        .windows(2)
        .find(|pair| pair[0].range.end != pair[1].range.start)
    {
        let (before, behind) = (&pair[0].range, &pair[1].range);
        return Err(format!("{behind:?} does not follow {before:?}"));
    }
    if let Some(other) = splits.iter().find(|split| split.input != input) {
        return Err(format!("a split belongs to the input {}", other.input));
    }
    let size_bytes: u64 = splits.iter().map(|split| split.size_bytes).sum();
    match source.input(input).size_bytes() {
        0 => Ok(()),
        expected if expected == size_bytes => Ok(()),
        expected => Err(format!(
            "the splits have {size_bytes} bytes, but the input has {expected}"
        )),
    }
}

pub(super) fn depend_on_the_input_alone(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let first = case.open(&Stop::default()).map_err(told)?;
    let second = case.open(&Stop::default()).map_err(told)?;
    for input in 0..first.input_count() {
        if first.input(input).is_read_once() {
            continue;
        }
        for split_bytes in SPLIT_BYTES {
            let splits = first.splits(input, split_bytes).map_err(told)?;
            let again = second.splits(input, split_bytes).map_err(told)?;
            if splits != again {
                return Err(format!(
                    "splits of {split_bytes} bytes differ when they are made again"
                ));
            }
        }
    }
    Ok(())
}

pub(super) fn any_split_is_serial(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    for split_bytes in SPLIT_BYTES {
        for streams in [1, 3] {
            let way = Way {
                split_bytes,
                chunk_bytes: 1 + random.below(200),
                streams,
            };
            let case = make(ROWS);
            in_one_way(&*case, way, random).map_err(|what| format!("{way:?}: {what}"))?;
        }
    }
    Ok(())
}

fn in_one_way(case: &dyn Case, way: Way, random: &mut Random) -> Result<(), String> {
    let source = case.open(&Stop::default()).map_err(told)?;
    for (input, expected) in case.rows().iter().enumerate() {
        let found = read(&*source, input, way, random)?;
        same(&rows(&found), expected, |row| row.fields.clone())?;
        if !source.input(input).is_read_once() {
            elsewhere(case, &*source, input, way)?;
        }
    }
    Ok(())
}

/// Reads these splits with a source that was opened again.
fn elsewhere(case: &dyn Case, source: &dyn Source, input: usize, way: Way) -> Result<(), String> {
    let splits = super::reading::splits_of(source, input, way.split_bytes)?;
    if splits.iter().any(|split| split.is_shared) {
        return Ok(());
    }
    let sent = serde_json::to_string(&splits).map_err(|error| error.to_string())?;
    let came: Vec<SourceSplit> = serde_json::from_str(&sent).map_err(|error| error.to_string())?;
    let other = case.open(&Stop::default()).map_err(told)?;
    let settings = inrush_source::ReadSettings {
        chunk_bytes: way.chunk_bytes,
    };
    let mut stream = other.open_stream(settings).map_err(told)?;
    let mut pieces = Vec::new();
    for split in &came {
        let reader = stream.open(split).map_err(told)?;
        let piece = super::reading::read_split(split.range.clone(), reader);
        pieces.push(piece.map_err(told)?);
    }
    same(&rows(&pieces), &case.rows()[input], |row| {
        row.fields.clone()
    })
    .map_err(|what| format!("read elsewhere: {what}"))
}
