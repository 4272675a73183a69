//! Sentences about unsure guesses of the rows, and about the part of the files that was sampled.

use inrush_rows::plural::counted;

use super::evidence::Evidence;
use super::form::{Form, shown};
use super::sample::Samples;
use super::text;

/// The notes about rows that a user should read before a load.
pub(super) fn of_rows(form: &Form, evidence: &Evidence, samples: &Samples) -> Vec<String> {
    let mut unsure = Vec::new();
    for bad in &evidence.bad_rows {
        unsure.push(format!(
            "{} would be rejected: {} (first: {})",
            counted(bad.count, "row"),
            bad.what,
            bad.first
        ));
    }
    if evidence.not_utf8 {
        unsure.push(text::of_rows(samples));
    }
    if evidence.title_records > 0 {
        let lines = match evidence.title_lines {
            Some(lines) => lines.to_string(),
            None => "N".to_owned(),
        };
        unsure.push(format!(
            "{} of another form are before the first row ({}), and would be rejected or taken as \
             the header: if they are a title, set skip_lines = {lines} in `format`",
            counted(evidence.title_records, "record"),
            evidence
                .titles
                .iter()
                .map(|title| format!("`{title}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    if let (Some(comment), Some(first)) = (form.comment, &evidence.first_comment)
        && form
            .declared
            .as_ref()
            .is_some_and(|declared| declared.comment.is_none())
    {
        unsure.push(format!(
            "{} begin with {} and are likely comments (first: {first}), but the declared format \
             has no `comment`: add it, or the lines are rejected or taken as the header",
            counted(evidence.comments, "line"),
            shown(&[comment])
        ));
    }
    unsure.extend(of_headers(form, evidence));
    unsure
}

/// The note about files whose first record differs from the first record of the first file.
fn of_headers(form: &Form, evidence: &Evidence) -> Option<String> {
    let first = evidence.first_records.first().filter(|_| form.header)?;
    let same = |left: &str, right: &str| left.trim().eq_ignore_ascii_case(right.trim());
    let other = evidence.first_records.iter().find(|other| {
        !other
            .fields
            .iter()
            .zip(&first.fields)
            .all(|(left, right)| same(left, right))
    })?;
    Some(format!(
        "{} has another header than {}, or none: a load needs the same header in all files",
        other.file.path.display(),
        first.file.path.display()
    ))
}

/// The note about the parts of the files that were not read.
pub(super) fn of_extent(file_count: usize, samples: &Samples, everything: bool) -> Vec<String> {
    let mut unsure = Vec::new();
    if everything {
        return unsure;
    }
    if samples.files_sampled < file_count {
        unsure.push(format!(
            "only {} of {file_count} files were sampled",
            samples.files_sampled
        ));
    }
    match samples.beginning_only {
        0 => {}
        1 if file_count == 1 => unsure.push(
            "the file is compressed or not UTF-8, so only its beginning was sampled".to_owned(),
        ),
        count => unsure.push(format!(
            "only the beginnings of {count} files were sampled, because they are compressed or not UTF-8"
        )),
    }
    unsure
}
