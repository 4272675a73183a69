//! Incremental flows (`since` in a `source`): where a run begins, and what its plan says.

use inrush_package::{FlowSource, Mode, Since, SinceNulls};
use inrush_plan::PlanError;
use inrush_plan::reading::flow_inputs::FlowAsked;
use inrush_plan::reading::since::{NothingNew, SinceAsked, SinceMark, SinceStart};
use inrush_rows::plural::counted;
use inrush_source::{BoundBy, FoundRange, Since as Range};

/// The beginning of a flow's range.
pub struct Beginning {
    /// The range that the source is asked for.
    pub range: Range,
    /// The beginning of the range, in words.
    words: String,
    /// The mark at which it begins.
    mark: Option<SinceMark>,
    /// True if an earlier run of this command was killed after its rows were in their targets.
    is_done: bool,
}

/// The beginning of a flow's range, if the flow has `since`. `server` describes the server that the flow reads.
pub fn beginning(
    asked: &FlowAsked<'_>,
    source: &FlowSource,
    server: &str,
) -> Result<Option<Beginning>, PlanError> {
    let Some(since) = &source.since else {
        return Ok(None);
    };
    let of = name_of_read(source, server);
    let none = SinceAsked::default();
    let known = asked.since.unwrap_or(&none);
    let start = known.start(asked.name, &of, &since.column)?;
    let (from, words) = match start {
        SinceStart::Package => (
            since.from.clone(),
            match since.from {
                Some(_) => "where the package begins",
                None => "the first row",
            }
            .to_owned(),
        ),
        SinceStart::Mark(mark) | SinceStart::Done(mark) => (
            Some(mark.range.below.clone()),
            format!("the mark of run {}", mark.run),
        ),
        SinceStart::Given(text) => (
            Some(text.to_owned()),
            "the value of --from, in place of the mark".to_owned(),
        ),
    };
    let mark = match start {
        SinceStart::Mark(mark) | SinceStart::Done(mark) => Some(mark.clone()),
        _ => None,
    };
    Ok(Some(Beginning {
        range: Range {
            column: since.column.clone(),
            from,
            bound_by: bound_by(since),
            skips_nulls: since.nulls == Some(SinceNulls::Skip),
            of,
            given: match start {
                SinceStart::Given(text) => Some(text.to_owned()),
                _ => None,
            },
            stopped: known.stopped.clone(),
        },
        words,
        mark,
        is_done: matches!(start, SinceStart::Done(_)),
    }))
}

/// The table or query that a flow reads from a server (in words), as its mark names it.
pub fn name_of_read(source: &FlowSource, server: &str) -> String {
    let read = source.table.as_ref().or(source.query.as_ref());
    format!("{} of {server}", read.map_or("", |text| text.trim()))
}

/// How the bound of a range is found.
pub fn bound_by(since: &Since) -> BoundBy {
    match &since.lag {
        Some(lag) => BoundBy::Lag(lag.clone()),
        None => BoundBy::Committed,
    }
}

/// How the rows of a range are loaded, for the plan.
pub fn range_notes(
    asked: &FlowAsked<'_>,
    since: &Since,
    beginning: &Beginning,
    found: &FoundRange,
) -> Vec<String> {
    let (name, column) = (asked.name, &since.column);
    let below = &found.range.below;
    let mut notes = vec![match &found.range.from {
        Some(from) => format!(
            "{name}: loads the rows whose `{column}` is from {from} ({}) and before {below}; the next run begins there",
            beginning.words
        ),
        None => format!(
            "{name}: loads the rows whose `{column}` is before {below}; the next run begins there"
        ),
    }];
    if found.by_index > 0 {
        notes.push(format!(
            "{name}: the new rows of {} are found by an index, and read by one stream each",
            counted(found.by_index as u64, "table")
        ));
    }
    if let Some(because) = &found.is_safe_because {
        notes.push(format!(
            "{name}: {because}, if each transaction writes its own time into the column"
        ));
    }
    if let Some(held_by) = &found.held_by {
        notes.push(format!("{name}: later rows must wait for {held_by}"));
    }
    if let Some(lag) = &since.lag {
        notes.push(format!(
            "{name}: a row that is committed more than {lag} after the time in `{column}` is never loaded (`lag`)"
        ));
    }
    if since.nulls == Some(SinceNulls::Skip) {
        notes.push(format!(
            "{name}: rows without a value in `{column}` are not loaded"
        ));
    }
    notes.push(match asked.flow.mode {
        Mode::Upsert if asked.flow.scd.is_some() => format!(
            "{name}: a row that was changed gets a new version; a row that was deleted stays in the target"
        ),
        Mode::Upsert => format!(
            "{name}: a row that was changed replaces the row with its key; a row that was deleted stays in the target"
        ),
        _ => format!(
            "{name}: a row that was changed is added once more (mode = \"append\"); a row that was deleted stays in the target"
        ),
    });
    notes.push(match (found.written_to, found.is_resumed) {
        (None, _) => format!(
            "{name}: a run that is stopped loads its rows again from the same mark, up to a new bound"
        ),
        (Some(written_to), true) => format!(
            "{name}: nothing was written to {} since the stopped run, so its bound stays, and what it has loaded is kept",
            written_to
        ),
        (Some(written_to), false) => format!(
            "{name}: a run that is stopped keeps what it has loaded, if nothing is written to {} meanwhile; otherwise it loads its \
             rows again from the same mark, up to a new bound",
            written_to
        ),
    });
    notes
}

/// Why there is nothing to load, if there is a mark and nothing above it.
pub fn nothing_new(
    asked: &FlowAsked<'_>,
    beginning: &Beginning,
    found: &FoundRange,
) -> Option<NothingNew> {
    let mark = beginning.mark.as_ref()?;
    let sentence = match (beginning.is_done, &found.held_by) {
        (true, _) => format!(
            "{}: run {} has already loaded the rows from the value of --from; its process was killed before it wrote its \
             report. The next command with --from loads them once more",
            asked.name, mark.run
        ),
        (false, _) if found.has_rows => return None,
        (false, None) => format!("{}: nothing new since {}", asked.name, mark.range.below),
        (false, Some(held_by)) => format!(
            "{}: nothing new since {}; later rows must wait for {held_by}",
            asked.name, mark.range.below
        ),
    };
    Some(NothingNew {
        sentence,
        run: mark.run.clone(),
    })
}
