//! Checks of the settings that go together with a mode.

use super::check_sql::check_sql;
use super::error::PackageFaultKind;
use super::faults::Faults;
use super::flow::key_column;
use super::name::{NameFault, valid};
use super::replace::{Keep, Replace, ReplaceBy};
use super::scd::check_scd;
use super::{Flow, Mode, OneOrMany};

/// Checks the settings that belong to a mode.
pub(super) fn check_mode(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if flow.mode != Mode::Replace && flow.replace != Replace::default() {
        faults.add(
            &at("replace"),
            PackageFaultKind::Conflict {
                conflict: "`replace` configures which rows are replaced, but this flow's mode \
                           replaces none"
                    .to_owned(),
                mend: "add `mode = \"replace\"`, or remove `replace`".to_owned(),
            },
        );
    }
    if flow.replace.by == ReplaceBy::Rows
        && (!flow.replace.keep.is_no() || flow.replace.scope != Default::default())
    {
        faults.add(
            &at("replace"),
            PackageFaultKind::Conflict {
                conflict:
                    "`by = \"rows\"` deletes the rows of a plain table, so there is no old table \
                           to keep, and no partitions"
                        .to_owned(),
                mend: "remove `by`, or `scope` and `keep`".to_owned(),
            },
        );
    }
    check_key(flow, at, faults);
    check_scd(flow, at, faults);
    check_sql(flow, at, faults);
    if let Keep::Name(name) = &flow.replace.keep
        && let Err(NameFault { cause, mend }) = valid(name)
    {
        faults.value(&at("replace.keep"), name, &cause, &mend);
    }
}

fn check_key(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let columns = flow.key.as_ref().map_or(&[][..], OneOrMany::patterns);
    let conflict = match (flow.mode, columns.is_empty()) {
        (Mode::Upsert, true) => Some((
            "mode",
            "`mode = \"upsert\"` needs a key to find the rows of the target",
            "add `key = \"COLUMN\"`, or a list of columns",
        )),
        (Mode::Upsert, false) => None,
        (_, _) if flow.key.is_some() => Some((
            "key",
            "`key` is for `mode = \"upsert\"`, but this flow has another mode",
            "add `mode = \"upsert\"`, or remove `key`",
        )),
        _ => None,
    };
    if let Some((setting, conflict, mend)) = conflict {
        faults.add(
            &at(setting),
            PackageFaultKind::Conflict {
                conflict: conflict.to_owned(),
                mend: mend.to_owned(),
            },
        );
    }
    for text in columns {
        if let Err(kind) = key_column(text) {
            faults.add(&at("key"), kind);
        }
    }
    if flow.mode == Mode::Upsert && flow.partition_by.is_some() {
        faults.add(
            &at("partition_by"),
            PackageFaultKind::Conflict {
                conflict: "with `mode = \"upsert\"` the server chooses the partition of each row"
                    .to_owned(),
                mend: "remove `partition_by` and `bounds`".to_owned(),
            },
        );
    }
}
