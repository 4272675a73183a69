//! The contract of a destination: traits, abilities, errors, and the addresses of destinations.
//!
//! [`contract`] has the traits, except for the trait of the ledger, which is in [`run_ledger`]. The specification
//! `docs/specs/destination.md` states their promises with MUST and SHOULD, and the conformance suite tests every
//! destination against them. Arrow is the only type system here: a destination gets columns as `ColumnType`, and
//! batches of their Arrow types (`ColumnType::arrow`). Nothing here knows of files, of packages or of the engine.

pub mod abilities;
pub mod account;
pub mod address;
pub mod calendar_text;
pub mod changes;
pub mod clients;
pub mod committed;
pub mod contract;
mod difference;
pub mod error;
pub mod expected_load;
pub mod given_numbers;
pub mod given_steps;
pub mod json_text;
pub mod layout;
pub mod ledger_records;
pub mod ledger_row;
pub mod loading;
pub mod measured_plan;
pub mod members;
pub mod merge;
pub mod publishing;
pub mod rows_not_taken;
pub mod run_ledger;
pub mod sampling;
mod sharers;
pub mod split_record;
pub mod sql_ledger;
pub mod staging_name;
pub mod steps;
pub mod sums;
pub mod target;
pub mod trial;
pub mod trial_load;
pub mod undo;

pub use abilities::{Abilities, Ability, AbilityText, OwnMemory, PublishedTogether, Streams};
pub use account::Account;
pub use address::Address;
pub use committed::{CommittedRecord, CountedUnit, StagedRows, StoredWay, UnitAtEnd};
pub use contract::{
    CancelRun, CompleteUnit, Destination, FedEnd, LoadMethod, OpenRun, UnitPart, UnitStream,
    WrittenSplits,
};
pub use difference::Difference;
pub use error::{Error, Result};
pub use expected_load::{ExpectedLoad, LoadVolume};
pub use given_steps::{GivenColumn, GivenSteps};
pub use layout::{Filling, Layout, LayoutError, PublishesInto, SplitFacts, UnitLayout};
pub use ledger_records::{
    LoadedInput, NewRun, PastRun, Replaced, RunRecord, RunState, UnitRecord, UnitTotal,
};
pub use ledger_row::LedgerRow;
pub use loading::{LoadWatch, MeteredPhase, StreamMeter, StreamSetup, Unmetered, Watched};
pub use measured_plan::{
    Available, LogSpeed, MeasuredLoad, MeasuredPlan, NetworkSpeed, PieceOfWork,
    SecondsAroundStreams, SecondsBesideRows, TriedTarget,
};
pub use members::{AddedMembers, MEMBERS_BYTES_MAX, MemberNumbers, MembersPlan};
pub use publishing::{
    MergedRows, NoSource, PublishStep, Published, PublishedPartition, RefusedStagedRow,
    ReloadedUnits, RowsInSource,
};
pub use rows_not_taken::{Adapted, Misfit, RefusedRow, Written};
pub use run_ledger::RunLedger;
pub use sampling::{ServerFigures, SessionSampler};
pub use split_record::{SplitRecord, TouchedFile};
pub use steps::{Action, RunSteps, StatementEnd, Step, StepsRequest, StepsTarget, Times};
pub use sums::{ColumnForm, ExactSum, StagedSums};
pub use target::{
    ColumnPlan, MergePlan, ReplacedRows, ResolvedType, TargetColumn, TargetFacts, TargetName,
    TargetPlan, VersionColumns, WriteMode,
};
pub use trial::{Finds, LOOKING_FOR_REFUSED, RefusalCause, TrialTest, refused_rows};
pub use trial_load::{AfterRows, EncodeRows, TrialLoad, TrialPlace, TrialScope, TrialStream};
pub use undo::{UndoRequest, UndoTarget, UndoneRun, UndoneTarget, undo_targets};
