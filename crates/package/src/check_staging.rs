//! Checks of the settings that cannot be combined with `staging = false`, which writes the rows of all flows directly
//! to existing targets, in one transaction.

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::{Bounds, Flow, IndexPolicy, Mode, Package};

/// Checks every flow of a package with `staging = false`.
pub(super) fn check_staging(package: &Package, faults: &mut Faults<'_>) {
    if package.run.staging {
        return;
    }
    if package.run.slot_bytes_max.is_some() {
        faults.add(
            "run.slot_bytes_max",
            PackageFaultKind::Conflict {
                conflict:
                    "a logical slot retains the WAL of a transaction until it ends, and with \
                           `staging = false` the whole load is one transaction: it would wait for \
                           itself"
                        .to_owned(),
                mend: "remove `slot_bytes_max` or `staging`".to_owned(),
            },
        );
    }
    for (index, flow) in package.flows.iter().enumerate() {
        for (setting, conflict, mend) in conflicts(flow) {
            faults.add(
                &format!("flow[{index}].{setting}"),
                PackageFaultKind::Conflict {
                    conflict: conflict.to_owned(),
                    mend: mend.to_owned(),
                },
            );
        }
    }
}

/// The settings that it cannot be combined with: the reason and the fix.
fn conflicts(flow: &Flow) -> Vec<(&'static str, &'static str, &'static str)> {
    let all = [
        (
            flow.mode != Mode::Append,
            "mode",
            "`staging = false` in [run] appends the rows of all flows directly to their targets, \
             but this flow has another mode",
            "use `mode = \"append\"`, or remove `staging`",
        ),
        (
            !flow.atomic,
            "atomic",
            "`atomic = false` commits rows split by split, and `staging = false` in [run] all of \
             them at once",
            "remove one of them",
        ),
        (
            flow.partition_by.is_some(),
            "partition_by",
            "with `staging = false` in [run] the server chooses the partition of each row",
            "remove `partition_by` or `staging`",
        ),
        (
            flow.bounds != Bounds::default(),
            "bounds",
            "with `staging = false` in [run] the server chooses the partition of each row",
            "remove `bounds` or `staging`",
        ),
        (
            flow.pre_sql.is_some() && flow.atomic,
            "pre_sql",
            "`pre_sql` runs after all rows are loaded, and with `staging = false` in [run] they \
             are in the target by then",
            "run the statement by hand before the load, or remove `staging`",
        ),
        (
            flow.indexes == IndexPolicy::Rebuild,
            "indexes",
            "indexes are dropped before rows are copied from staging tables, and with \
             `staging = false` in [run] there are no staging tables",
            "remove `indexes` or `staging`",
        ),
    ];
    let asked = all.into_iter().filter(|(is_asked, ..)| *is_asked);
    asked
        .map(|(_, setting, conflict, mend)| (setting, conflict, mend))
        .collect()
}
