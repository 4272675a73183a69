//! The abilities of a destination. The plan refuses a package that needs an ability which the destination lacks, and
//! lists the promises that the destination does not make.
//!
//! The macro below has the table of all abilities: each with its name, the setting that asks for it, what a destination
//! with it can do, and the fix. The text of a refusal is built from this table, and so is the table in
//! docs/specs/destination.md.

use std::collections::BTreeSet;

use crate::error::Error;

/// The abilities of a destination. Its driver refuses a package that asks for any other ability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// How many streams may fill it at the same time.
    pub streams: Streams,
    /// The targets that become visible in one step.
    pub published_together: PublishedTogether,
    /// The abilities that packages may ask for. The destination lacks every ability that is not listed.
    pub can: BTreeSet<Ability>,
    /// True if names that differ only in case are one name.
    pub folds_names: bool,
    /// Bytes of text that a split of a large file should have at least, so that the cost of each commit is small in
    /// comparison. If a file is fed to all streams, each stream commits this much at a time.
    pub unit_bytes: u64,
    /// True if the rows of one unit can be removed from staging. Otherwise, if one unit must be loaded again, all units
    /// of its target are.
    pub removes_units_alone: bool,
    /// The best number of rows in a batch.
    pub batch_rows: u32,
    /// The most bytes that a stream buffers, in addition to the current batch.
    pub stream_buffer_bytes: u64,
    /// Additional memory of this process that the destination uses.
    pub own_memory: OwnMemory,
    /// The promises that it does not keep, in sentences for the plan.
    pub not_promised: Vec<String>,
}

impl Abilities {
    /// The abilities that it lacks, in the order of the table.
    pub fn lacking(&self) -> impl Iterator<Item = Ability> {
        let lacks = |ability: &Ability| !self.can.contains(ability);
        Ability::ALL.iter().copied().filter(lacks)
    }
}

/// How many streams may fill a destination at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Only one.
    One,
    /// Any number.
    Many,
}

/// The targets that become visible to readers in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedTogether {
    /// All targets of the run.
    Run,
    /// Each target by itself, one after the other.
    Target,
}

/// Memory that a destination's library uses in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnMemory {
    /// All of its memory is counted elsewhere.
    None,
    /// Unknown: a foreign driver may use any amount.
    Unknown,
    /// It has a limit.
    Limited {
        /// Bytes of the library, and of memory that the limit does not include.
        library_bytes: u64,
        /// The most bytes of its buffers.
        buffers_bytes_max: u64,
        /// The option that sets this limit.
        setting: String,
    },
}

/// The texts of an ability.
#[derive(Clone, Copy, Debug)]
pub struct AbilityText {
    /// Its name, in lists.
    pub name: &'static str,
    /// The setting of a package, or the command, that asks for it.
    pub asked_by: &'static str,
    /// The ability in words: the end of "it can ...".
    pub does: &'static str,
    /// What a user can do instead if the ability is lacking.
    pub fix: &'static str,
}

macro_rules! abilities {
    ($($(#[$doc:meta])* $ability:ident { $name:literal, $asked_by:literal, $does:literal, $fix:literal })*) => {
        /// An ability that a package may ask for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Ability {
            $($(#[$doc])* $ability,)*
        }

        impl Ability {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Ability] = &[$(Ability::$ability),*];

            /// Its texts.
            pub const fn text(self) -> AbilityText {
                match self {
                    $(Ability::$ability => AbilityText {
                        name: $name,
                        asked_by: $asked_by,
                        does: $does,
                        fix: $fix,
                    },)*
                }
            }
        }
    };
}

abilities! {
    /// `mode = "create"`.
    Create {
        "create", "mode = \"create\"", "make a table or fill an empty one",
        "use mode = \"append\" with a table that exists"
    }
    /// `mode = "append"`.
    Append {
        "append", "mode = \"append\"", "add rows to a table that exists",
        "load into a new table with mode = \"create\""
    }
    /// `mode = "replace"`.
    Replace {
        "replace", "mode = \"replace\"", "replace the rows of a table",
        "empty the table yourself, and use mode = \"append\""
    }
    /// The rows of a target are replaced, and the table with all that depends on it stays.
    ReplaceByRows {
        "replace by rows", "replace = { by = \"rows\" }", "replace the rows of a table and keep the table itself",
        "leave `by` out: a new table takes the place of the old one"
    }
    /// The partitions that new rows fall into are replaced, and the others stay.
    ReplacePartitions {
        "replace partitions", "replace = { scope = \"partitions\" }", "replace some partitions of a table and keep the others",
        "load each partition into a table of its own"
    }
    /// The rows that are replaced are kept.
    KeepReplaced {
        "keep", "replace = { keep = true }", "keep the rows that it replaces",
        "leave `keep` out, and copy the table away before it is replaced"
    }
    /// `mode = "upsert"`.
    Upsert {
        "upsert", "mode = \"upsert\"", "merge rows into a table by their key",
        "load into a table of its own with mode = \"replace\", and merge it yourself"
    }
    /// `mode = "upsert"` with `scd`.
    Versions {
        "versions", "scd", "keep versions of rows",
        "leave `scd` out, and keep the versions yourself"
    }
    /// Rows that a constraint of the target refuses become rejects.
    RejectRefused {
        "reject refused rows", "rejects", "reject single rows that a constraint of an existing table refuses",
        "nothing is refused: such a row fails the whole load, and nothing is published"
    }
    /// Lookups of a flow add the members that their reference lacks, in the step that publishes the rows.
    AddMembers {
        "add members", "unmatched = \"add\"", "add members to the reference of a lookup",
        "use unmatched = \"reject\", add the members yourself, and replay the rejects"
    }
    /// A new target gets the indexes and unique constraints of the table that it is read from.
    SourceIndexes {
        "source indexes", "source.indexes, --with-indexes", "give a new table the indexes of its source",
        "remove --with-indexes, or `indexes` of the source in a package"
    }
    /// A new target is partitioned like the table that it is read from.
    SourcePartitions {
        "source partitions", "source.partitions, --with-partitions", "give a new table the partitions of its source",
        "remove --with-partitions, or `partitions` of the source in a package"
    }
    /// Rows are put into partitions by the values of a column.
    Partitions {
        "partitions", "partition_by", "divide a table into partitions",
        "leave `partition_by` out"
    }
    /// Partitions have bounds that the package declares.
    Bounds {
        "bounds", "bounds", "make partitions with declared bounds",
        "leave `bounds` out"
    }
    /// Each file is cut into partitions at rows where its key changes.
    Parts {
        "parts", "bounds = { parts = N }", "cut a file into partitions",
        "list the bounds, or use bounds = { every = ... }"
    }
    /// Each row goes to its own partition, whichever file it comes from.
    Routing {
        "routing", "routing = true", "put each row into its own partition",
        "leave `routing` out"
    }
    /// Rows are written directly to the target and are visible as soon as their transaction commits.
    DirectWrites {
        "direct writes", "atomic = false", "write rows directly to the target, split by split",
        "leave `atomic` out: rows become visible all at once"
    }
    /// Rows of all flows are written directly to their targets, in one transaction.
    OneTransaction {
        "one transaction", "staging = false", "load without staging tables, in one transaction",
        "leave `staging` out: rows are staged, and become visible all at once"
    }
    /// Statements of the user run in the publishing transaction.
    UserSql {
        "user SQL", "pre_sql, post_sql", "run your statements in the step that publishes the rows",
        "leave `pre_sql` and `post_sql` out, and run the statements yourself"
    }
    /// A target may be loaded without its INSERT triggers.
    SkipTriggers {
        "skip triggers", "triggers = \"skip\"", "load a target without its INSERT triggers",
        "leave `triggers` out"
    }
    /// Indexes of the target are dropped before its rows are copied, and built again afterwards.
    RebuildIndexes {
        "rebuild indexes", "indexes = \"rebuild\"", "drop the indexes of a target and build them again",
        "leave `indexes` out: each row is added to the indexes when it is loaded"
    }
    /// The statistics of the targets are updated after the publish, for the plans of later queries
    /// ([`OpenRun::analyze`](crate::OpenRun::analyze)).
    Analyze {
        "analyze", "analyze = true", "update the statistics of its tables",
        "leave `analyze` out"
    }
    /// A sum of each column is compared.
    VerifySums {
        "verify sums", "verify = \"sums\"", "sum up the values of its columns",
        "use verify = \"count\": the destination counts the rows of each unit, and all rows"
    }
    /// A hash of every row is compared.
    VerifyRows {
        "verify rows", "verify = \"rows\"", "hash the values of its rows",
        "use verify = \"sums\"; or verify = \"count\", which counts the rows of each unit, if the destination lacks sums, too"
    }
    /// Streams send no more bytes in a second than the package allows.
    RateLimit {
        "rate limit", "rate_bytes_max", "limit the bytes that are sent in a second",
        "leave `rate_bytes_max` out"
    }
    /// Streams pause while a standby is too far behind.
    ReplicaLag {
        "replica lag", "replica_lag_bytes_max", "report how far its standbys are behind",
        "leave `replica_lag_bytes_max` out"
    }
    /// Streams pause while a replication slot holds back too many bytes of WAL.
    SlotBytes {
        "slot bytes", "slot_bytes_max", "report how much its replication slots hold back",
        "leave `slot_bytes_max` out"
    }
    /// The server stores rows by an extension of Inrush.
    ServerCopy {
        "server copy", "server_copy", "store rows by an extension of its server",
        "leave `server_copy` out"
    }
    /// A finished run can be undone.
    Undo {
        "undo", "inrush undo", "undo a run, because it does not keep the rows that a run replaces",
        "delete the rows yourself; a column with the run's number (`source = \"run\"`) tells them apart"
    }
    /// Processes on several hosts load units of one run ([`Destination::join`](crate::Destination::join)).
    SeveralHosts {
        "several hosts", "inrush run --shares", "let processes on several hosts load units of one run",
        "leave --shares out: one process loads all units"
    }
    /// `inrush status` says how many bytes the staged rows of a run take.
    StagedBytes {
        "staged bytes", "inrush status", "report how many bytes the staged rows of a run take",
        "nothing is refused: the size is left out"
    }
}

impl Ability {
    /// Why a package is refused if it asks for an ability that the destination lacks.
    pub fn refusal(self) -> String {
        let AbilityText { asked_by, does, .. } = self.text();
        format!("this destination cannot {does} (`{asked_by}`)")
    }

    /// The refusal as an error, with the fix.
    pub fn refused(self) -> Error {
        Error::Unsuitable {
            what: self.refusal(),
            hint: self.text().fix.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- abilities: written by `INRUSH_BLESS=1 cargo test -p inrush-destination abilities` -->\n";
    const END: &str = "<!-- end of abilities -->\n";

    fn table() -> String {
        let rows = Ability::ALL.iter().map(|ability| {
            let AbilityText {
                name,
                asked_by,
                fix,
                ..
            } = ability.text();
            format!(
                "| {name} | `{asked_by}` | {} | {fix} |\n",
                ability.refusal()
            )
        });
        format!(
            "| ability | asked for by | refused as | the fix |\n|---|---|---|---|\n{}",
            rows.collect::<String>()
        )
    }

    #[test]
    fn the_page_has_the_abilities() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/specs/destination.md");
        let page = std::fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("the table begins");
        let (_, after) = rest.split_once(END).expect("the table ends");
        let written = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
        if std::env::var_os("INRUSH_BLESS").is_some() {
            std::fs::write(&path, &written).expect("the page can be written");
            return;
        }
        assert!(
            page == written,
            "docs/specs/destination.md is not what the code says; write it again: \
             INRUSH_BLESS=1 cargo test -p inrush-destination abilities"
        );
    }

    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<&str> = Ability::ALL
            .iter()
            .map(|ability| ability.text().name)
            .collect();
        assert_eq!(names.len(), Ability::ALL.len());
    }
}
