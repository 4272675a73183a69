//! The ETL world record of 2009, and the repetition of 2016, at any scale.
//!
//! - Before files are made, `space` checks the free space of the disks, and the load is planned with `stand_ins`.
//! - `generating` makes files, in a `disposable` folder if none is named; `data` finds them again.
//! - `package` says how they are loaded; `transforms` has the steps that rows go through on request.
//! - `measuring` loads them by the library's own run into a `database`: a server, or a `columnstore` on this machine.
//! - `proof` compares the loaded rows with dbgen's.
//! - `results` keeps the measurements; `needs` says what the published workloads would take here.
//! - `summary` and `chart` show the results in words and pictures, `markdown` makes a page of them, and
//!   `results_folder` writes it.

pub mod chart;
mod columnstore;
mod data;
mod database;
mod disposable;
mod generating;
mod manifest;
mod markdown;
mod measuring;
mod needs;
mod package;
mod proof;
mod published;
mod rates;
mod results;
mod results_folder;
mod selection;
mod settings;
mod shell_word;
pub mod space;
mod stand_ins;
pub mod summary;
mod transforms;

pub use columnstore::Columnstore;
pub use data::{DataSet, TableFiles, no_files};
pub use database::{Database, Server};
pub use disposable::Disposable;
pub use generating::Job;
pub use manifest::{MANIFEST, Manifest};
pub use measuring::{Host, Load, Measurement, plan_hint};
pub use needs::RecordNeeds;
pub use package::package;
pub use proof::Expected;
pub use published::PublishedFigures;
pub use rates::Rates;
#[cfg(test)]
pub(crate) use results::results_schema;
pub use results::{
    DataResult, GeneratedResult, MachineResult, PointResult, ProofResult, Results, RunResult,
    SettingsResult, TableData, TableResult,
};
pub use results_folder::try_folders;
pub use selection::Selection;
pub use settings::{Order, Settings};
pub use shell_word::quoted;
pub use stand_ins::StandIns;
pub use transforms::{References, TableSteps};
