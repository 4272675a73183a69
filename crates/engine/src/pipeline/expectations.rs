//! Checks, before the switch, that files have the numbers that their trailers, control files and package promise.

use inrush_plan::Reading;
use inrush_plan::ledger::SplitRecord;
use inrush_plan::reading::expect::{self, Promise};
use inrush_plan::verify::{ExactSum, VerifyError};
use inrush_source::Input;

/// Checks the promises of control files and of the package by the records of all ranges of the flow.
pub fn check_promises(flow: &Reading, own: &[&SplitRecord]) -> Result<(), VerifyError> {
    for promise in &flow.expect.promises {
        let is_meant = |split: &&&SplitRecord| {
            let key = promise.file_key.as_ref();
            key.is_none_or(|key| *key == split.file_key)
        };
        let meant: Vec<&SplitRecord> = own.iter().filter(is_meant).copied().collect();
        hold(flow, promise, &meant)?;
    }
    Ok(())
}

/// Checks a file's trailer, if it should have one: it comes after the last row, and its numbers are right. `splits` are the
/// records of all ranges of the file.
pub fn check_trailer(
    flow: &Reading,
    file: &dyn Input,
    splits: &[&SplitRecord],
) -> Result<(), VerifyError> {
    let Some(trailer) = &flow.expect.trailer else {
        return Ok(());
    };
    let file = &file.name().display().to_string();
    let missing = |why: &'static str| VerifyError::TrailerMissing {
        file: file.clone(),
        starts_with: trailer.starts_with.clone(),
        why,
    };
    let mut with_rows: Vec<&&SplitRecord> = splits
        .iter()
        .filter(|split| split.trailer.is_some() || rows_of(split) > 0)
        .collect();
    with_rows.sort_by_key(|split| split.byte_start);
    let trailers = splits
        .iter()
        .filter(|split| split.trailer.is_some())
        .count();
    let last = with_rows.last().and_then(|split| split.trailer.as_deref());
    let text = match (trailers, last) {
        (1, Some(text)) => text,
        (0, _) => return Err(missing("its last record begins with other text")),
        _ => return Err(missing("other records follow such a record")),
    };
    let delimiter = &flow.expect.delimiter;
    let by = format!("the trailer of {file}");
    let unread = |field| VerifyError::TrailerUnreadable {
        file: file.to_owned(),
        text: text.to_owned(),
        field: expect::words(field),
    };
    let rows = match &trailer.rows_field {
        None => None,
        Some(field) => {
            let found = field.find(text, delimiter);
            let rows = found.and_then(|found| expect::rows_of(found, trailer.also_counts));
            Some(rows.ok_or_else(|| unread(field))?)
        }
    };
    let mut sums = Vec::new();
    for (column, field) in &trailer.sum_fields {
        let found = field.find(text, delimiter);
        let number = found.filter(|found| ExactSum::default().add_text(found));
        sums.push((
            column.clone(),
            number.ok_or_else(|| unread(field))?.to_owned(),
        ));
    }
    let promise = Promise {
        by,
        file_key: None,
        rows,
        sums,
    };
    hold(flow, &promise, splits)
}

/// Records of a split, including rejected and filtered ones.
fn rows_of(split: &SplitRecord) -> u64 {
    let account = &split.account;
    account.rows_read.saturating_sub(account.rows_skipped)
}

/// Compares a promise with the splits to which it applies.
fn hold(flow: &Reading, promise: &Promise, splits: &[&SplitRecord]) -> Result<(), VerifyError> {
    let rejected: u64 = splits.iter().map(|split| split.account.rows_rejected).sum();
    let broken = |what: String, promised: &str, found: String| VerifyError::Promise {
        by: promise.by.clone(),
        target: flow.target.clone(),
        what,
        promised: promised.to_owned(),
        found,
        rejected,
    };
    let rows: u64 = splits.iter().map(|split| rows_of(split)).sum();
    if let Some(promised) = promise.rows
        && promised != rows
    {
        return Err(broken(
            "rows".to_owned(),
            &promised.to_string(),
            rows.to_string(),
        ));
    }
    for (column, promised) in &promise.sums {
        let tallies = splits.iter().map(|split| split.tally.as_deref());
        let sum = flow
            .verify
            .total(tallies)
            .and_then(|items| flow.verify.sum_of(&items, column));
        let mut expected = ExactSum::default();
        let is_number = expected.add_text(promised);
        match sum {
            Some(sum) if is_number && sum == expected => {}
            sum => {
                let found = sum.map_or_else(|| "no sum".to_owned(), |sum| sum.to_string());
                return Err(broken(format!("sum of `{column}`"), promised, found));
            }
        }
    }
    Ok(())
}
