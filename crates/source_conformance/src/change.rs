//! S-13 to S-16: changes of an input.

use inrush_rows::cancel::Stop;
use inrush_source::SplitContent;

use super::case::{Case, Change, MakeCase};
use super::random::Random;
use super::reading::{Piece, Way, read, rows, same, told};

const ROWS: usize = 300;

pub(super) fn identity(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let first = case.open(&Stop::default()).map_err(told)?;
    let second = case.open(&Stop::default()).map_err(told)?;
    let mut known = Vec::new();
    for input in 0..first.input_count() {
        let own = first.input(input).identity();
        if known.contains(&own) {
            return Err(format!("{own:?} names two inputs"));
        }
        if !first.input(input).is_read_once() && own != second.input(input).identity() {
            return Err(format!("{own:?} has another name the second time"));
        }
        known.push(own);
    }
    Ok(())
}

pub(super) fn state(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    for change in Change::ALL {
        let case = make(ROWS);
        let source = case.open(&Stop::default()).map_err(told)?;
        let before = source.input(0).state();
        if !source.input(0).is_read_once() && source.input(0).state_now().as_ref() != Some(&before)
        {
            return Err("its state differs at once".to_owned());
        }
        if !case.change(change) {
            continue;
        }
        let now = match source.input(0).is_snapshot() {
            true => {
                let next = case.open(&Stop::default());
                next.ok().map(|next| next.input(0).state())
            }
            false => source.input(0).state_now(),
        };
        if now.as_ref() == Some(&before) {
            return Err(format!("{change:?} was not found"));
        }
    }
    Ok(())
}

pub(super) fn changed_while_open(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    for change in [Change::Grown, Change::Removed] {
        let case = make(ROWS);
        let source = case.open(&Stop::default()).map_err(told)?;
        let before = case.rows();
        if !case.change(change) {
            continue;
        }
        let way = Way {
            split_bytes: 500,
            ..Way::SERIAL
        };
        match read(&*source, 0, way, random) {
            Err(_) => {}
            Ok(pieces) if source.input(0).is_snapshot() => {
                same(&rows(&pieces), &before[0], Clone::clone)
                    .map_err(|what| format!("{change:?} after it was opened: {what}"))?;
            }
            Ok(_) => return Err(format!("{change:?} after it was opened, and it was read")),
        }
    }
    Ok(())
}

pub(super) fn same_content(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    for split_bytes in [100, u64::MAX] {
        let way = Way {
            split_bytes,
            ..Way::SERIAL
        };
        let case = make(ROWS);
        let source = case.open(&Stop::default()).map_err(told)?;
        if source.input(0).is_read_once() {
            return Ok(());
        }
        let pieces = read(&*source, 0, way, random)?;
        let content: Vec<SplitContent> = pieces.iter().map(Piece::content).collect();
        let is_same = |case: &dyn Case| {
            let source = case.open(&Stop::default()).map_err(told)?;
            source.has_same_content(0, &content).map_err(told)
        };
        if !is_same(&*case)? {
            return Err(format!("{way:?}: it differs at once"));
        }
        if case.change(Change::Touched) {
            if !is_same(&*case)? {
                return Err(format!("{way:?}: it differs after it was touched"));
            }
            // At its end, a run asks the same source object as at its beginning.
            if !source.has_same_content(0, &content).map_err(told)? {
                return Err(format!(
                    "{way:?}: it was touched while it was open, and differs"
                ));
            }
        }
        if case.change(Change::Rewritten) && is_same(&*case)? {
            return Err(format!("{way:?}: another value was not found"));
        }
    }
    Ok(())
}
