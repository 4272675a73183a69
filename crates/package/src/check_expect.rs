//! Checks of trailers, control files and expected totals that read no files.

use std::collections::BTreeMap;

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::local_path::not_local;
use super::{Flow, RecordField};

/// Checks the expected totals of a flow's files.
pub(super) fn check_expect(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if let Some(trailer) = &flow.trailer {
        if trailer.starts_with.is_empty() {
            faults.value(
                &at("trailer.starts_with"),
                "",
                "every record begins with an empty text",
                "write a text that only the trailer begins with, such as \"TRL\"",
            );
        }
        check_field(
            &at("trailer.rows_field"),
            trailer.rows_field.as_ref(),
            false,
            faults,
        );
        for (column, field) in &trailer.sum_fields {
            check_field(
                &at(&format!("trailer.sum_fields.{column}")),
                Some(field),
                false,
                faults,
            );
        }
    }
    if let Some(expect) = &flow.expect
        && expect.rows.is_none()
        && expect.sums.is_empty()
    {
        conflict(
            &at("expect"),
            "`expect` expects nothing",
            "write the number of rows: expect = { rows = 1000 }",
            faults,
        );
    }
    let Some(control) = &flow.control_file else {
        return;
    };
    let names = [&control.suffix, &control.extension, &control.path];
    if names.iter().filter(|name| name.is_some()).count() != 1 {
        conflict(
            &at("control_file"),
            "a control file is named in one way",
            "write one of `suffix`, `extension` and `path`: control_file = { suffix = \".ctl\", \
             rows_field = 1 }",
            faults,
        );
    }
    if let Some((cause, mend)) = control.path.as_deref().and_then(not_local) {
        conflict(&at("control_file.path"), &cause, &mend, faults);
    }
    if control.rows_field.is_none() && control.sum_fields.is_empty() {
        conflict(
            &at("control_file"),
            "the flow reads no number from the control file",
            "name the field with the number of rows: rows_field = 2",
            faults,
        );
    }
    if control.file_field.is_some() && control.path.is_none() {
        conflict(
            &at("control_file.file_field"),
            "`file_field` is for a control file that has a line for each file of the flow",
            "remove `file_field`, or name that control file: path = \"totals.ctl\"",
            faults,
        );
    }
    check_field(
        &at("control_file.rows_field"),
        control.rows_field.as_ref(),
        true,
        faults,
    );
    let number = control.file_field.map(RecordField::Number);
    check_field(
        &at("control_file.file_field"),
        number.as_ref(),
        true,
        faults,
    );
    check_fields(&at("control_file.sum_fields"), &control.sum_fields, faults);
}

fn check_fields(path: &str, fields: &BTreeMap<String, RecordField>, faults: &mut Faults<'_>) {
    for (column, field) in fields {
        check_field(&format!("{path}.{column}"), Some(field), true, faults);
    }
}

fn check_field(path: &str, field: Option<&RecordField>, is_named: bool, faults: &mut Faults<'_>) {
    match field {
        Some(RecordField::Number(0)) => {
            faults.value(
                path,
                "0",
                "fields are counted from 1",
                "write 1 for the first field",
            );
        }
        Some(RecordField::Position([start, length])) if *start == 0 || *length == 0 => {
            faults.value(
                path,
                &format!("[{start}, {length}]"),
                "positions are counted from 1, and a length is at least 1",
                "write [1, 10] for the first ten characters",
            );
        }
        Some(RecordField::Name(name)) if !is_named || name.trim().is_empty() => {
            faults.value(
                path,
                name,
                "a field of a trailer has a number or a position; names are for control files",
                "write the number of the field, or [start, length]",
            );
        }
        _ => {}
    }
}

fn conflict(path: &str, conflict: &str, mend: &str, faults: &mut Faults<'_>) {
    faults.add(
        path,
        PackageFaultKind::Conflict {
            conflict: conflict.to_owned(),
            mend: mend.to_owned(),
        },
    );
}
