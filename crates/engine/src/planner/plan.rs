//! The plan of a package: its traits, and the parts from which a destination makes its own plan.

pub use crate::plan::contents::ContentChecks;
pub use crate::plan::key_start::KeyStart;
pub use crate::plan::load_flow::{LoadFlow, Writes};
pub use crate::plan::load_unit::{LoadUnit, Portions};
pub use crate::plan::long_units::share_among;
pub use crate::plan::memory::{LoadMemory, MemoryBound};
pub use crate::plan::options::{PlanOptions, PlanRefusal};
pub use crate::plan::pieces::wanted_bytes;
pub use crate::plan::places::UnitPlace;
pub use crate::run::plan::{LedgerRecords, LoadPlan, PlanFacts};

/// The abilities that a package asks for.
pub mod abilities {
    pub use crate::plan::abilities::require;
}

/// Files that have changed since a stopped run loaded a part of them.
pub mod changed {
    pub use crate::plan::changed::{FilesBefore, PlannedFiles, note, refuse};
}

/// The earlier run that a plan continues, or that leaves it nothing to do.
pub mod earlier {
    pub use crate::plan::earlier::{EarlierRun, EarlierWork, find};
    pub use crate::plan::package_runs::PackageRuns;
}

/// Flows that load the outputs of one source.
pub mod outputs {
    pub use crate::plan::outputs::settle;
}

/// The keys of packages, files, splits and units.
pub mod identity {
    pub use crate::plan::identity::causes::possible_changes;
    pub use crate::plan::identity::{
        another_version, description, digest, digest_of_lines, file_key, golden,
        is_of_another_version, part_key, run_key, split_key, unit_key,
    };
}

/// Where the columns of a plan come from.
pub mod lineage {
    pub use crate::lineage::{RunLineage, of_flows};
}

/// The keys of partitions: declared bounds, and the keys of first rows.
pub mod partition_keys {
    pub use crate::plan::partition_keys::{
        bound_text, bound_value, first_keys, key_text, step_around,
    };
}

/// The parts of a printed plan that all destinations have.
pub mod plan_text {
    pub use crate::plan::plan_text::{
        TARGET_LOADED, fmt_memory, fmt_notes, fmt_order, fmt_package, fmt_reading,
        fmt_type_changes, inputs_words, kept_words, reject_limit, size_words, split_words,
    };
}

/// The script of a plan.
pub mod script {
    pub use crate::plan::script::{ScriptPart, fmt_script};
}

/// What a flow reads: its inputs, and its columns with the types of the destination.
pub mod reading {
    pub use crate::plan::columns::{KnownColumns, TargetColumns};
    pub use crate::plan::flow_reading::{FlowReading, ReadingChecks, ReadingRequest};
    pub use crate::plan::resolved_columns::{ColumnTyped, TargetTypes};
}

/// Rows that are new since a mark.
pub mod since {
    pub use crate::plan::since::sentences_if_all;
}

/// The steps that rows pass before they are loaded.
pub mod steps {
    pub use crate::plan::steps::{AskedMembers, MemberKey, MemberNumbers, Members, StepPlan};
}
