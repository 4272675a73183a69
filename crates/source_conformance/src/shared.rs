//! S-7: an input of which all streams take parts.

use std::ops::Range;

use inrush_rows::cancel::Stop;
use inrush_source::{ShareSettings, Source, SourceError, SourceSplit, wait};

use super::case::{Case, MakeCase};
use super::random::Random;
use super::reading::{Piece, Way, read_shared, rows, same, told};

const ROWS: usize = 2_000;

pub(super) fn parts_are_serial(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let inputs = shareable(&*case)?;
    let mut ranges: Option<Vec<Vec<Range<u64>>>> = None;
    for streams in [1, 3] {
        let way = Way {
            chunk_bytes: 1 + random.below(5_000),
            streams,
            ..Way::SERIAL
        };
        let case = make(ROWS);
        let source = case.open(&Stop::default()).map_err(told)?;
        let mut found = Vec::new();
        for input in &inputs {
            let pieces = read_shared(&*source, &whole(&*source, *input)?, way, &[])
                .map_err(|what| format!("{way:?}: {what}"))?;
            follow(&pieces)?;
            same(&rows(&pieces), &case.rows()[*input], Clone::clone)
                .map_err(|what| format!("{way:?}: {what}"))?;
            if !source.input(*input).is_read_once() {
                finished_parts(&*source, *input, way, &pieces, random)?;
            }
            found.push(pieces.into_iter().map(|piece| piece.range).collect());
        }
        match &ranges {
            Some(before) if *before != found => {
                return Err(format!("the parts differ with {way:?}"));
            }
            _ => ranges = Some(found),
        }
    }
    Ok(())
}

fn shareable(case: &dyn Case) -> Result<Vec<usize>, String> {
    let source = case.open(&Stop::default()).map_err(told)?;
    let inputs = 0..source.input_count();
    Ok(inputs
        .filter(|input| source.input(*input).is_shareable())
        .collect())
}

/// The input as one shared split.
fn whole(source: &dyn Source, input: usize) -> Result<SourceSplit, String> {
    let mut splits = source.splits(input, u64::MAX).map_err(told)?;
    let split = splits.first_mut().ok_or("no split")?;
    split.is_shared = true;
    Ok(split.clone())
}

fn follow(pieces: &[Piece]) -> Result<(), String> {
    let mut next = 0;
    for piece in pieces {
        if piece.range.start != next {
            return Err(format!("part {:?} does not begin at {next}", piece.range));
        }
        next = piece.range.end;
    }
    Ok(())
}

/// Reads the input again as if some of its parts were already loaded.
fn finished_parts(
    source: &dyn Source,
    input: usize,
    way: Way,
    pieces: &[Piece],
    random: &mut Random,
) -> Result<(), String> {
    let is_finished: Vec<bool> = pieces.iter().map(|_| random.below(2) == 0).collect();
    let pick = |wanted: bool| {
        let pairs = pieces.iter().zip(&is_finished);
        pairs
            .filter(move |(_, is)| **is == wanted)
            .map(|(piece, _)| piece)
    };
    let finished: Vec<Range<u64>> = pick(true).map(|piece| piece.range.clone()).collect();
    let split = whole(source, input)?;
    let found = rows(&read_shared(source, &split, way, &finished)?);
    let expected: Vec<_> = pick(false).flat_map(|piece| piece.rows.clone()).collect();
    same(&found, &expected, Clone::clone)
        .map_err(|what| format!("with {} parts finished: {what}", finished.len()))?;
    let Some(last) = pieces.last() else {
        return Ok(());
    };
    // No part ends at this position.
    let wrong = last.range.start..last.range.end + 1;
    let settings = ShareSettings {
        chunk_bytes: way.chunk_bytes,
        streams: 1,
    };
    let shared = source
        .share(&split, settings, std::slice::from_ref(&wrong))
        .map_err(told)?;
    loop {
        match wait(shared.next_part()) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(format!("{wrong:?} is not a part, but was not refused")),
            Err(SourceError::RangesDiffer { .. }) => return Ok(()),
            Err(other) => return Err(told(other)),
        }
    }
}
