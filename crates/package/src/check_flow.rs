//! Checks of one flow that need no database.

use std::collections::HashMap;

use inrush_rows::suggest::suggestion;
use inrush_rows::time_zone::{offset_after_name, time_zone};

use super::check_expect::check_expect;
use super::check_modes::check_mode;
use super::column_check::{check_column, check_separators};
use super::error::PackageFaultKind;
use super::faults::Faults;
use super::local_path::not_local;
use super::name::{TableName, quoted_where_needed};
use super::step::check_steps;
use super::{BoundValue, Bounds, ColumnDetail, ColumnSpec, Flow, Format, OneOrMany, SourceWord};

/// Checks one flow.
pub(super) fn check_flow(index: usize, flow: &Flow, faults: &mut Faults<'_>) {
    let at = |setting: &str| format!("flow[{index}].{setting}");
    check_files(flow, &at, faults);
    check_rejects(flow, &at, faults);
    if let Err(kind) = TableName::parse(&flow.table) {
        faults.add(&at("table"), kind);
    }
    check_separators(
        &flow.format.decimal_separator,
        &flow.format.group_separator,
        &|setting| at(&format!("format.{setting}")),
        faults,
    );
    let columns = check_columns(&flow.columns, &flow.format, &at, faults);
    check_partitions(flow, columns.as_deref(), &at, faults);
    check_routing(flow, &at, faults);
    check_expect(flow, &at, faults);
    check_mode(flow, &at, faults);
    check_steps(flow, columns.as_deref().unwrap_or_default(), &at, faults);
}

fn check_files(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let files = flow.files.patterns();
    if flow.source.is_some() {
        return;
    }
    if files.is_empty() || files.iter().any(|file| file.trim().is_empty()) {
        faults.value(
            &at("files"),
            files.first().map_or("[]", String::as_str),
            "it names no file",
            "write a path or a glob, for example \"data/orders.*.tbl\"",
        );
        return;
    }
    for file in files {
        if let Some((cause, mend)) = not_local(file) {
            faults.value(&at("files"), &shown_scheme(file), &cause, &mend);
            return;
        }
    }
    // The same settings may be right for one name and wrong for another; one message is enough.
    for file in files {
        if let Err(fault) = flow.format.dialect_checked(file) {
            faults.add(&at(&format!("format.{}", fault.setting)), *fault.kind);
            return;
        }
    }
}

/// A remote address, without the part that may be a secret.
fn shown_scheme(path: &str) -> String {
    format!("{}:...", path.split(':').next().unwrap_or_default())
}

fn check_rejects(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if let Some(share) = flow.rejects.share_max
        && !(0.0..=1.0).contains(&share)
    {
        faults.value(
            &at("rejects.share_max"),
            &share.to_string(),
            "the value must be a share of all rows, between 0 and 1",
            "write 0.01 for one row in a hundred",
        );
    }
}

/// Checks the columns of a flow or of a reference. Returns them if all can be parsed.
pub(super) fn check_columns(
    specs: &[ColumnSpec],
    format: &Format,
    at: &dyn Fn(&str) -> String,
    faults: &mut Faults<'_>,
) -> Option<Vec<ColumnDetail>> {
    let mut columns = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (item, spec) in specs.iter().enumerate() {
        let path = at(&format!("columns[{item}]"));
        let detail = match spec.detail() {
            Ok(detail) => detail,
            Err(kind) => {
                let path = match &kind {
                    PackageFaultKind::Value { setting, .. } if setting != "columns" => {
                        format!("{path}.{setting}")
                    }
                    _ => path,
                };
                faults.add(&path, kind);
                continue;
            }
        };
        match seen.get(&detail.name) {
            // Skipped fields may have any name.
            _ if detail.skip => {}
            Some(first) => {
                let kind = PackageFaultKind::Duplicate {
                    what: "the column",
                    name: detail.name.clone(),
                    first_line: faults.line(&at(&format!("columns[{first}]"))),
                    mend: "a column is filled by one field; remove one of them",
                };
                faults.add(&path, kind);
            }
            None => {
                seen.insert(detail.name.clone(), item);
            }
        }
        check_column(&detail, format, &path, faults);
        check_dates(&detail, &path, faults);
        columns.push(detail);
    }
    (columns.len() == specs.len()).then_some(columns)
}

/// Checks the formats of dates and their zone.
fn check_dates(detail: &ColumnDetail, path: &str, faults: &mut Faults<'_>) {
    let formats = detail.format.as_ref().map_or(&[][..], OneOrMany::patterns);
    for (item, format) in formats.iter().enumerate() {
        let path = match detail.format {
            Some(OneOrMany::Many(_)) => format!("{path}.format[{item}]"),
            _ => format!("{path}.format"),
        };
        if !format.contains('%') {
            faults.value(
                &path,
                format,
                "it contains no code of strftime, such as %Y",
                "write it like \"%d/%m/%Y\" or \"%Y%m%d %H:%M:%S\"",
            );
        }
        if format.contains("%y") && detail.year_pivot.is_none() {
            faults.value(
                &path,
                format,
                "a two-digit year (%y) has no century",
                "add the first year that it can mean: with year_pivot = 1970, the years are 1970 to 2069",
            );
        }
    }
    if detail.format.is_some() && formats.is_empty() {
        faults.value(
            &format!("{path}.format"),
            "[]",
            "it lists no format",
            "write at least one format, or remove `format` for ISO 8601",
        );
    }
    if detail.year_pivot.is_some() && detail.format.is_none() {
        faults.add(
            &format!("{path}.year_pivot"),
            PackageFaultKind::Conflict {
                conflict: "`year_pivot` is for two-digit years, but no `format` has one".to_owned(),
                mend: "add a format with %y, such as \"%d.%m.%y\", or remove `year_pivot`"
                    .to_owned(),
            },
        );
    }
    if let Some(zone) = &detail.zone
        && time_zone(zone).is_none()
    {
        let mend = match (offset_after_name(zone), near_zone(zone)) {
            (Some(offset), _) => format!(
                "write `{offset}` for clocks that are {} UTC",
                match offset.as_bytes()[0] {
                    b'-' => "behind",
                    _ => "ahead of",
                }
            ),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "write it like \"Europe/Vienna\", \"+01:00\" or \"UTC\"".to_owned(),
        };
        faults.value(
            &format!("{path}.zone"),
            zone,
            "the IANA database has no time zone of that name",
            &mend,
        );
    }
}

/// The zone that was likely meant. Only the cities are compared: `Europe/` is the same in too many zones.
fn near_zone(zone: &str) -> Option<String> {
    let city = |zone: &str| zone.rsplit('/').next().unwrap_or(zone).to_owned();
    let known: Vec<String> = jiff::tz::db()
        .available()
        .map(|name| name.to_string())
        // The signs of these zones are the opposite of what most people expect.
        .filter(|name| !name.starts_with("Etc/GMT"))
        .collect();
    let cities: Vec<String> = known.iter().map(|name| city(name)).collect();
    let near = suggestion(&city(zone), cities.iter().map(String::as_str))?;
    known.into_iter().find(|name| city(name) == near)
}

fn check_partitions(
    flow: &Flow,
    columns: Option<&[ColumnDetail]>,
    at: &dyn Fn(&str) -> String,
    faults: &mut Faults<'_>,
) {
    let Some(text) = &flow.partition_by else {
        if flow.bounds != Bounds::default() {
            faults.add(
                &at("bounds"),
                PackageFaultKind::Conflict {
                    conflict: "`bounds` needs `partition_by`".to_owned(),
                    mend: "add `partition_by = \"COLUMN\"`, or remove `bounds`".to_owned(),
                },
            );
        }
        return;
    };
    match flow.partition_column_checked() {
        Err(kind) => faults.add(&at("partition_by"), kind),
        // A step may derive the key.
        Ok(Some(column)) if flow.derives(&column) => {}
        Ok(Some(column)) => check_key(text, &column, columns.unwrap_or_default(), at, faults),
        Ok(None) => {}
    }
    match &flow.bounds {
        Bounds::Word(_) => {}
        Bounds::Every(every) => {
            if let Err(kind) = every.step() {
                faults.add(&at("bounds.every"), kind);
            }
        }
        Bounds::List(values) => check_bounds_list(values, at, faults),
        Bounds::Parts(parts) => {
            if !(1..=10_000).contains(&parts.parts) {
                faults.value(
                    &at("bounds.parts"),
                    &parts.parts.to_string(),
                    "the number of partitions is out of range",
                    "write a number from 1 to 10000",
                );
            }
        }
    }
}

/// Parts are cut from files that are sorted by their key, so each row is already in its part.
fn check_routing(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if flow.routing == Some(true) && matches!(flow.bounds, Bounds::Parts(_)) {
        faults.add(
            &at("routing"),
            PackageFaultKind::Conflict {
                conflict:
                    "`routing` is for rows in any order, but `bounds = { parts = N }` is for \
                           files that are sorted by the key"
                        .to_owned(),
                mend:
                    "remove one of them, or declare the partitions: bounds = { every = \"1 month\" \
                       } or a list of values"
                        .to_owned(),
            },
        );
    }
}

/// If the package lists the columns, the key must be one that a field or a constant fills.
fn check_key(
    text: &str,
    key: &str,
    columns: &[ColumnDetail],
    at: &dyn Fn(&str) -> String,
    faults: &mut Faults<'_>,
) {
    let loaded = columns.iter().filter(|column| !column.skip);
    match loaded.clone().find(|column| column.name == key) {
        Some(column) => match column.source {
            None | Some(SourceWord::Constant) => return,
            Some(_) => {
                return faults.value(
                    &at("partition_by"),
                    text,
                    "its values are not in the files, so the partition of a row cannot be told from the file",
                    "name a column that a field or a constant fills",
                );
            }
        },
        None if columns.is_empty() => return,
        None if columns.iter().any(|column| column.name == key) => {
            return faults.value(
                &at("partition_by"),
                text,
                "the field is skipped, but the partition key must be loaded",
                "give the column a type instead of `skip`",
            );
        }
        None => {}
    }
    let names = loaded.map(|column| column.name.as_str());
    let mend = match suggestion(key, names) {
        Some(near) => format!("did you mean `{}`?", quoted_where_needed(&near)),
        None => "name one of the flow's columns".to_owned(),
    };
    faults.value(
        &at("partition_by"),
        text,
        "it is not among the flow's `columns`",
        &mend,
    );
}

fn check_bounds_list(values: &[BoundValue], at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if values.len() < 2 {
        faults.add(
            &at("bounds"),
            PackageFaultKind::Conflict {
                conflict: format!(
                    "`bounds` has {} value{}; a partition needs two",
                    values.len(),
                    if values.len() == 1 { "" } else { "s" }
                ),
                mend: "N + 1 values in ascending order bound N partitions; the last value is the \
                       exclusive end of the last partition"
                    .to_owned(),
            },
        );
    }
    for (item, pair) in values.windows(2).enumerate() {
        let path = at(&format!("bounds[{}]", item + 1));
        let (before, value) = (shown(&pair[0]), shown(&pair[1]));
        let cause = match (&pair[0], &pair[1]) {
            (BoundValue::Integer(before), BoundValue::Integer(value)) if before < value => continue,
            // Texts are not compared here, because the column's type and collation decide which is greater.
            (BoundValue::Text(before), BoundValue::Text(value)) if before != value => continue,
            (BoundValue::Integer(_), BoundValue::Integer(_))
            | (BoundValue::Text(_), BoundValue::Text(_)) => {
                format!("it is not greater than {before}, the value before it")
            }
            _ => format!("the value before it, {before}, is of another type"),
        };
        faults.value(
            &path,
            &value,
            &cause,
            "write values of one type, in ascending order",
        );
    }
}

fn shown(value: &BoundValue) -> String {
    match value {
        BoundValue::Integer(number) => number.to_string(),
        BoundValue::Text(text) => text.clone(),
    }
}
