//! S-13 to S-16: changes of an input.

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError, SplitContent};

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
            return Err(format!("two inputs have the identity {own:?}"));
        }
        if !first.input(input).is_read_once() && own != second.input(input).identity() {
            return Err(format!(
                "the input with the identity {own:?} has another identity when the source is opened \
                                again"
            ));
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
            return Err("its state differs although nothing was changed".to_owned());
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
            return Err(format!("{change:?} did not change the state"));
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
            Ok(_) => {
                return Err(format!(
                    "{change:?} after it was opened, but reading did not fail"
                ));
            }
        }
    }
    Ok(())
}

/// Asks about each split alone, from several threads. True if all splits are the same.
fn each_is_same(source: &dyn Source, content: &[SplitContent]) -> Result<bool, String> {
    const THREADS: usize = 3;
    let ask = |first: usize| {
        let own = content.iter().skip(first).step_by(THREADS);
        let mut answers = own.map(|one| source.has_same_content(0, std::slice::from_ref(one)));
        answers.try_fold(true, |all, one| Ok(one? && all))
    };
    let answers: Vec<Result<bool, SourceError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|first| scope.spawn(move || ask(first)))
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    answers
        .into_iter()
        .try_fold(true, |all, one| Ok(one.map_err(told)? && all))
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
            let is_same = source.has_same_content(0, &content).map_err(told)?;
            if source.input(0).is_snapshot() && each_is_same(&*source, &content)? != is_same {
                return Err(format!(
                    "{way:?}: the answer for all splits differs from the answers for each split"
                ));
            }
            Ok(is_same)
        };
        if !is_same(&*case)? {
            return Err(format!(
                "{way:?}: its content differs although nothing was changed"
            ));
        }
        if case.change(Change::Touched) {
            if !is_same(&*case)? {
                return Err(format!(
                    "{way:?}: its content differs after only its time was changed"
                ));
            }
            // At its end, a run asks the same source object as at its beginning.
            if !source.has_same_content(0, &content).map_err(told)? {
                return Err(format!(
                    "{way:?}: its content differs after only its time was changed while it was open"
                ));
            }
        }
        if case.change(Change::Rewritten) && is_same(&*case)? {
            return Err(format!("{way:?}: a changed value was not found"));
        }
    }
    Ok(())
}
