//! Parts of a printed plan that are the same for all destinations.

use std::fmt::{self, Write};

use inrush_destination::Abilities;
use inrush_package::{LoadOrder, RejectLimit};
use inrush_rows::plural::counted;
use inrush_rows::quantity::bytes;
use inrush_rows::told;
use inrush_rows::type_name::TypeName;
use inrush_scan::{DialectTrim, ExtraFields, MissingFields, PositionUnit, Terminator};
use inrush_source::{InputKind, Split};

use crate::abilities::lacking_names;
use crate::earlier::{Earlier, KeptCount};
use crate::ledger::moment_text;
use crate::load_plan::PlanFacts;
use crate::memory::MemoryBound;
use crate::reading::Reading;
use crate::{reading::column_text, reading::typed_rows, steps};

/// The package, its destination, and what this destination lacks.
pub fn fmt_package(
    f: &mut fmt::Formatter<'_>,
    facts: &PlanFacts,
    abilities: &Abilities,
) -> fmt::Result {
    told!(
        f,
        "Package      {} ({})",
        facts.package,
        &facts.package_hash[..12]
    )?;
    told!(f, "Destination  {}", facts.destination)?;
    match lacking_names(abilities) {
        Some(names) => told!(f, "Cannot       {names}"),
        None => Ok(()),
    }
}

/// The order in which units are loaded, if the package asks for another one than the largest first.
pub fn fmt_order(f: &mut fmt::Formatter<'_>, order: LoadOrder) -> fmt::Result {
    match order {
        LoadOrder::LargestFirst => Ok(()),
        LoadOrder::Package => told!(
            f,
            "Order        flow by flow, in the package's order; within a flow, the largest units first"
        ),
    }
}

/// The most memory of the load. `more` says in words which memory the destination takes in addition; it may be empty.
pub fn fmt_memory(f: &mut fmt::Formatter<'_>, memory: &MemoryBound, more: &str) -> fmt::Result {
    told!(
        f,
        "Memory       at most {} ({}, {} for each stream{}){more}; \
         a stream that meets a very long record up to {} more",
        bytes(memory.total()),
        memory.beside_streams(),
        bytes(memory.stream_bytes),
        memory.also_for_streams(),
        bytes(memory.long_record_bytes)
    )
}

/// The earlier run that matters, and what the plan keeps of its work.
pub fn fmt_earlier(
    f: &mut fmt::Formatter<'_>,
    facts: &PlanFacts,
    earlier: &Earlier<KeptCount>,
) -> fmt::Result {
    if !facts.nothing_new.is_empty() {
        return told!(
            f,
            "Earlier      {}; nothing is left to do",
            facts.nothing_new.join("; ")
        );
    }
    match earlier {
        Earlier::None => Ok(()),
        Earlier::Loaded(run) => told!(
            f,
            "Earlier      loaded already by run {} ({}); nothing is left to do",
            run.name,
            run.switched_at_microseconds
                .map_or_else(|| "?".to_owned(), moment_text)
        ),
        Earlier::Unpublished { run, work } => told!(
            f,
            "Earlier      run {} was begun {} and is not published; the next run resumes it: {}",
            run.name,
            moment_text(run.started_at_microseconds),
            kept_words(work)
        ),
    }
}

/// Words for the units of an unpublished run that the plan keeps and drops.
fn kept_words(work: &KeptCount) -> String {
    let mut words = format!("{} kept", counted(work.units as u64, "unit"));
    if work.dropped > 0 {
        let _ = write!(
            words,
            ", {} dropped because files or settings changed",
            work.dropped
        );
    }
    words
}

/// Lines about columns that are read in an unusual way, and about rows that already have types.
pub fn fmt_reading(f: &mut fmt::Formatter<'_>, reading: &Reading) -> fmt::Result {
    for line in column_text::lines(reading.read_columns(), reading.field_count) {
        told!(f, "    {line}")?;
    }
    for line in typed_rows::words(reading) {
        told!(f, "    {line}")?;
    }
    if let Some(steps) = &reading.steps {
        let read = reading.read_columns().iter();
        let is_loaded = |name: &str| reading.columns.iter().any(|loaded| loaded.name == name);
        let for_steps: Vec<&str> = read
            .map(|column| column.name.as_str())
            .filter(|name| !is_loaded(name))
            .collect();
        if !for_steps.is_empty() {
            told!(
                f,
                "    read for the steps, and not loaded: {}",
                for_steps.join(", ")
            )?;
        }
        for line in steps::lines(steps) {
            told!(f, "  {line}")?;
        }
        if let Some(line) = steps.given.words() {
            told!(f, "  {line}")?;
        }
    }
    Ok(())
}

/// The columns whose types differ between a database that is read and the target. `target_types` are those of the target's
/// columns, in the order of `flow.columns`. With steps, a column of the target need not be one of the source.
pub fn fmt_type_changes<'a>(
    f: &mut fmt::Formatter<'_>,
    flow: &Reading,
    target_types: impl Iterator<Item = &'a String>,
) -> fmt::Result {
    // A file declares no types, and would be opened again to say so.
    if flow.steps.is_some() || flow.input_kind() == InputKind::File {
        return Ok(());
    }
    let Ok(fields) = flow.source.columns() else {
        return Ok(());
    };
    let columns = flow.columns.iter().zip(target_types);
    let changes: Vec<String> = columns
        .filter_map(|(column, target)| {
            let field = fields.get(column.source.field_index()?)?;
            let declared = field.declared.as_ref()?;
            let is_other = !is_same_type(declared, target);
            is_other.then(|| format!("{} {declared} -> {target}", column.name))
        })
        .collect();
    match changes.is_empty() {
        true => Ok(()),
        false => told!(
            f,
            "    types of the source -> of the target, where they differ: {}",
            changes.join(", ")
        ),
    }
}

/// True if these are the names of one type in two databases.
fn is_same_type(one: &str, other: &str) -> bool {
    let meaning = |text: &str| TypeName::parse(text)?.column_type();
    one.eq_ignore_ascii_case(other) || meaning(one).is_some_and(|one| Some(one) == meaning(other))
}

/// The notes for the user.
pub fn fmt_notes(f: &mut fmt::Formatter<'_>, facts: &PlanFacts) -> fmt::Result {
    let mut notes = facts.all_notes().peekable();
    if notes.peek().is_none() {
        return Ok(());
    }
    told!(f, "\nGood to know")?;
    for note in notes {
        told!(f, "  - {note}")?;
    }
    Ok(())
}

/// A file, and its range if it is cut.
pub fn split_words(split: &Split) -> String {
    let file = split.input.name().display();
    if split.is_shared {
        format!("{file}, shared by all streams through one reader")
    } else if split.is_whole() {
        file.to_string()
    } else {
        let range = &split.range;
        format!("{file}, bytes {} to {}", range.start, range.end)
    }
}

/// The size of the input, in words; the length of a pipe is unknown.
pub fn size_words(count: u64, has_pipe: bool) -> String {
    match (has_pipe, count) {
        (false, _) => bytes(count),
        (true, 0) => "of unknown size".to_owned(),
        (true, _) => format!("{} and a pipe of unknown size", bytes(count)),
    }
}

/// The number of a flow's inputs or units, their size, and how their text is written. Rows of a database have no text, and
/// not every database tells the size of its tables.
pub fn inputs_words(flow: &Reading, counted: &str, size_bytes: u64, has_pipe: bool) -> String {
    let mut words = vec![counted.to_owned()];
    if has_pipe || size_bytes > 0 || flow.input_kind() == InputKind::File {
        words.push(size_words(size_bytes, has_pipe));
    }
    if flow.source.input_count() == 0 || !flow.source.input(0).is_typed() {
        words.push(dialect_words(flow));
    }
    words.join(", ")
}

/// The dialect of a flow's files, in words.
fn dialect_words(flow: &Reading) -> String {
    let dialect = &flow.dialect;
    let mut text = match &dialect.fixed {
        None => format!("delimiter {}", dialect.delimiter),
        Some(fixed) => format!(
            "fixed width, {}, records of {} {}",
            counted(fixed.fields.len() as u64, "field"),
            fixed.record_length(),
            match fixed.unit {
                PositionUnit::Bytes => "bytes",
                PositionUnit::Characters => "characters",
            }
        ),
    };
    if dialect.trailing_delimiter {
        text.push_str(" (also at the end of records)");
    }
    if let Some(quote) = dialect.quote {
        let _ = write!(text, ", quote {:?}", char::from(quote));
    }
    if let inrush_scan::Escape::Byte(escape) = dialect.escape {
        let _ = write!(text, ", escape {:?}", char::from(escape));
    }
    match dialect.terminator {
        Terminator::Any => {}
        Terminator::Lf => text.push_str(", terminator \\n only"),
        Terminator::CrLf => text.push_str(", terminator \\r\\n only"),
        Terminator::Cr => text.push_str(", terminator \\r"),
        Terminator::Text(terminator) => {
            let _ = write!(text, ", terminator {terminator}");
        }
    }
    if let Some(comment) = dialect.comment {
        let _ = write!(text, ", comments from {:?}", char::from(comment));
    }
    text.push_str(match dialect.trim {
        DialectTrim::None => "",
        DialectTrim::Start => ", blanks before fields are removed",
        DialectTrim::End => ", blanks after fields are removed",
        DialectTrim::Both => ", blanks around fields are removed",
    });
    if dialect.missing_fields == MissingFields::Null {
        text.push_str(", missing fields are NULL");
    }
    if dialect.extra_fields == ExtraFields::Ignore {
        text.push_str(", extra fields are ignored");
    }
    match dialect.skip_lines {
        0 => {}
        1 => text.push_str(", the first line skipped"),
        lines => {
            let _ = write!(text, ", the first {lines} lines skipped");
        }
    }
    text.push_str(if dialect.header {
        ", header"
    } else {
        ", no header"
    });
    match dialect.nulls.as_slice() {
        [] => text.push_str(", nothing is NULL"),
        nulls => {
            let shown: Vec<_> = nulls.iter().map(|null| format!("{null:?}")).collect();
            let quoted = if dialect.null_quoted {
                ", quoted too"
            } else {
                ""
            };
            let _ = write!(text, ", NULL is {}{quoted}", shown.join(" or "));
        }
    }
    text
}

/// The note for a target whose rows an earlier run has loaded.
pub const TARGET_LOADED: &str = "the target already has these rows; nothing is changed";

/// The limit of rejects, in words.
pub fn reject_limit(limit: &RejectLimit) -> String {
    let share = limit
        .share_max
        .map(|share| format!("{} % of the rows at most", share * 100.0));
    let rows = match (limit.rows_max, share) {
        (None, Some(share)) => share,
        (Some(rows), Some(share)) => format!("{rows} at most, and {share}"),
        (_, None) => format!("{} at most", limit.rows_accepted()),
    };
    match limit.rows_accepted() {
        0 => rows,
        _ => format!(
            "{rows}, in files of {} at most",
            bytes(limit.bytes_accepted())
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan_text::{is_same_type, size_words};

    #[test]
    fn databases_write_a_type_in_their_own_words() {
        for (one, other) in [
            ("character varying(10)", "VARCHAR(10)"),
            ("timestamp with time zone", "timestamptz"),
            ("mood", "mood"),
        ] {
            assert!(is_same_type(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("mood", "text"),
            ("char(5)", "VARCHAR"),
            ("UHUGEINT", "BIT"),
        ] {
            assert!(!is_same_type(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_pipe_has_no_size() {
        assert_eq!(size_words(0, false), "0 B");
        assert_eq!(size_words(0, true), "of unknown size");
        assert_eq!(size_words(5, true), "5 B and a pipe of unknown size");
    }
}
