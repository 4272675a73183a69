//! Packages: the TOML files that a user writes.
//!
//! `read` parses a text into types, after [`schema_check`] has checked every key against the [`schema`]. `parameters`
//! inserts parameters and environment variables into every text that [`texts`] visits. `check` finds settings that
//! contradict each other. Each of these passes reports all of its faults at once, with their lines.

mod bounds;
mod braces;
mod check;
mod check_direct_writes;
mod check_expect;
mod check_flow;
mod check_modes;
mod check_names;
mod check_sql;
mod column_check;
mod columns;
mod connection;
mod error;
mod expect;
mod faults;
mod flow;
mod flow_source;
mod format;
mod format_settings;
mod local_path;
mod lookup;
mod name;
mod open_lineage;
mod output;
mod package_hash;
mod parameters;
mod place;
mod read;
mod replace;
mod scd;
mod schema;
mod schema_check;
pub mod secrets;
mod since;
mod sql_lexer;
mod sql_value;
mod step;
mod texts;
mod trust;
mod type_text;
mod types;
mod url_passwords;
mod write;

#[cfg(test)]
mod flat_files_page_test;
#[cfg(test)]
mod sample_tests;
#[cfg(test)]
mod write_tests;

pub use bounds::BoundsStep;
pub use braces::{Environment, escape_braces};
pub use check::URLS;
pub use column_check::ALL_OTHERS;
pub use columns::split_columns;
pub use connection::Connection;
pub use error::{PackageError, PackageFault, PackageFaultKind};
pub use expect::{ControlFile, Expect, RecordField, Trailer};
pub use flow_source::{FlowSource, SOURCE_CONNECTIONS_MIN, UnchangedBy};
pub use format_settings::*;
pub use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
pub use local_path::not_local;
pub use lookup::{
    Fold, LookupSource, REFERENCE_BYTES_MAX, Unmatched, UnmatchedDefault, UnmatchedWord,
};
pub use name::{NAME_BYTES_MAX, TableName, dotted_names, quoted_where_needed};
pub use open_lineage::{JOB_NAMESPACE, OpenLineage};
pub use output::{Output, OutputElse};
pub use parameters::Overrides;
pub use place::{Line, PackageOrigin, Place};
pub use replace::{Keep, Replace, ReplaceBy, ReplaceScope};
pub use scd::{Scd, ScdColumns};
pub use schema::json_schema;
pub use since::{Since, SinceNulls};
pub use step::{CheckElse, DISTINCT_BYTES_MAX, Step, Unpivot};
pub use types::*;
pub use url_passwords::{names_secret, password_takes, redacted_url, url_has_password};
pub use write::Comments;
