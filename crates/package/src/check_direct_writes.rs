//! Checks of the settings that cannot be combined with direct writes. `staging = false` writes the rows of all flows to
//! existing targets in one transaction; `atomic = false` commits them split by split.

use inrush_destination::address::DestinationKind;

use super::error::{PackageError, PackageFaultKind};
use super::faults::Faults;
use super::{Bounds, Connection, Flow, IndexPolicy, Mode, Package};

/// A setting, why it cannot be combined, and the fix.
type Conflict = (&'static str, &'static str, &'static str);

impl Package {
    /// Checks the settings that cannot be combined with direct writes.
    ///
    /// [`Package::check`] does so for PostgreSQL, which has direct writes. Any other destination is asked first whether it
    /// has them, by its plan. Otherwise the fix of a conflict would only lead to another refusal.
    pub fn check_direct_writes(&self) -> Result<(), PackageError> {
        let mut faults = Faults::of(self);
        check_direct_writes(self, &mut faults);
        faults.into_result()
    }

    /// True if the flows load into PostgreSQL, or if no connection says what they load into.
    pub(super) fn loads_into_postgres(&self) -> bool {
        let connection = self.single_connection();
        connection.map_or(true, is_postgres)
    }
}

/// True if a connection leads to PostgreSQL.
pub(super) fn is_postgres(connection: &Connection) -> bool {
    DestinationKind::of(connection.address()).is_none()
}

/// Checks every flow of a package.
pub(super) fn check_direct_writes(package: &Package, faults: &mut Faults<'_>) {
    let has_staging = package.run.staging;
    if !has_staging && package.run.slot_bytes_max.is_some() {
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
        let mut conflicts = Vec::new();
        if !flow.atomic {
            conflicts.extend(conflicts_of_atomic(flow));
        }
        if !has_staging {
            conflicts.extend(conflicts_of_staging(flow));
        }
        for (setting, conflict, mend) in conflicts {
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

/// The settings that cannot be combined with `staging = false`: the reason and the fix.
fn conflicts_of_staging(flow: &Flow) -> Vec<Conflict> {
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
    those_asked(all)
}

/// The settings that cannot be combined with `atomic = false`.
fn conflicts_of_atomic(flow: &Flow) -> Vec<Conflict> {
    let all = [
        (
            flow.mode != Mode::Append,
            "atomic",
            "`atomic = false` appends rows directly to the target, but this flow has another mode",
            "add `mode = \"append\"`, or remove `atomic`",
        ),
        (
            flow.partition_by.is_some(),
            "partition_by",
            "with `atomic = false` the server chooses the partition of each row",
            "remove `partition_by` and `bounds`",
        ),
        (
            flow.pre_sql.is_some(),
            "pre_sql",
            "`pre_sql` runs in the transaction of the switch, and with `atomic = false` rows are written to the target \
             before the switch",
            "run the statement by hand before the load, or remove `atomic`",
        ),
    ];
    those_asked(all)
}

fn those_asked<const COUNT: usize>(
    all: [(bool, &'static str, &'static str, &'static str); COUNT],
) -> Vec<Conflict> {
    let asked = all.into_iter().filter(|(is_asked, ..)| *is_asked);
    asked
        .map(|(_, setting, conflict, mend)| (setting, conflict, mend))
        .collect()
}
