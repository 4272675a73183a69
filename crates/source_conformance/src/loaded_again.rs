//! S-25: only the inputs whose rows have changed are loaded again.

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SplitContent};

use super::case::{Case, Change, MakeCase};
use super::random::Random;
use super::reading::{Piece, Way, read, rows, told};

const ROWS: usize = 300;

/// What may happen between two runs.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    Changed(Change),
    RowMoved,
}

/// An input as a stopped run has loaded it.
struct LoadedInput {
    identity: Vec<String>,
    size_bytes: u64,
    /// The fields of its rows, sorted: the order of rows may differ.
    rows: Vec<Vec<String>>,
    content: Vec<SplitContent>,
}

pub(super) fn inputs_are_loaded_again_alone(
    make: &MakeCase<'_>,
    random: &mut Random,
) -> Result<(), String> {
    let all = [
        Meanwhile::Nothing,
        Meanwhile::Changed(Change::Touched),
        Meanwhile::Changed(Change::Rewritten),
        Meanwhile::Changed(Change::Grown),
        Meanwhile::RowMoved,
    ];
    for meanwhile in all {
        let case = make(ROWS);
        let source = case.open(&Stop::default()).map_err(told)?;
        if !(0..source.input_count()).any(|input| source.input(input).is_loaded_alone_again()) {
            return Ok(());
        }
        let marks: Vec<String> = (0..source.input_count())
            .map(|input| source.input(input).mark())
            .collect();
        let before = load(&*source, random)?;
        drop(source);
        let has_happened = match meanwhile {
            Meanwhile::Nothing => true,
            Meanwhile::Changed(change) => case.change(change),
            Meanwhile::RowMoved => case.move_row(),
        };
        if has_happened {
            let again = case.open_again(&Stop::default(), &marks).map_err(told)?;
            compare(&*case, &*again, &before, random)
                .map_err(|what| format!("{meanwhile:?}: {what}"))?;
        }
    }
    Ok(())
}

/// Reads all inputs in splits.
fn load(source: &dyn Source, random: &mut Random) -> Result<Vec<LoadedInput>, String> {
    let way = Way {
        split_bytes: 500,
        chunk_bytes: 300,
        streams: 2,
    };
    let input = |index| {
        let pieces = read(source, index, way, random)?;
        let input = source.input(index);
        Ok(LoadedInput {
            identity: input.identity(),
            size_bytes: input.size_bytes(),
            rows: sorted(&pieces),
            content: pieces.iter().map(Piece::content).collect(),
        })
    };
    (0..source.input_count()).map(input).collect()
}

fn sorted(pieces: &[Piece]) -> Vec<Vec<String>> {
    let mut fields: Vec<Vec<String>> = rows(pieces).into_iter().map(|row| row.fields).collect();
    fields.sort();
    fields
}

fn compare(
    case: &dyn Case,
    again: &dyn Source,
    before: &[LoadedInput],
    random: &mut Random,
) -> Result<(), String> {
    let now = load(again, random)?;
    if now.len() != before.len() {
        return Err(format!(
            "there are {} inputs now, but there were {} before",
            now.len(),
            before.len()
        ));
    }
    for (index, (now, before)) in now.iter().zip(before).enumerate() {
        let name = again.input(index).name().display().to_string();
        if now.identity != before.identity {
            let (now, before) = (&now.identity, &before.identity);
            return Err(format!(
                "{name} has the identity {now:?} now, but had {before:?} before"
            ));
        }
        let is_kept = now.size_bytes == before.size_bytes
            && again
                .has_same_content(index, &before.content)
                .map_err(told)?;
        let is_same = now.rows == before.rows;
        if is_kept != is_same {
            let words = |is_same| if is_same { "the same" } else { "changed" };
            let (told, found) = (words(is_kept), words(is_same));
            return Err(format!(
                "the source says that {name} is {told}, but its rows are {found}"
            ));
        }
    }
    // A new source at the same moment.
    let others = case.open(&Stop::default()).map_err(told)?;
    let all = |loaded: &[LoadedInput]| {
        let rows = loaded.iter().flat_map(|input| &input.rows);
        let mut rows: Vec<Vec<String>> = rows.cloned().collect();
        rows.sort();
        rows
    };
    match all(&now) == all(&load(&*others, random)?) {
        true => Ok(()),
        false => Err("the inputs together do not have each row exactly once".to_owned()),
    }
}
