//! The DuckDB instance of a run: in memory, for all streams, with settings that no expression can change.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use adbc_core::error::Result as AdbcResult;
use inrush_adbcclient::driver_library;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::database::{self, Instance};
use inrush_adbcclient::duckdb::functions::{self, Functions};

use crate::answers::Answers;
use crate::lookup::Reference;
use crate::room;

/// The most bytes of DuckDB's buffers for all streams together. This does not include the texts that functions make:
/// these have a limit of their own ([`room`](crate::room)).
pub const BUFFER_BYTES_MAX: u64 = 256 << 20;

/// The measured bytes of memory of DuckDB's library, including the data that it keeps for each database.
pub const LIBRARY_BYTES: u64 = 64 << 20;

/// Settings that are given before the database opens. With them the database reads and writes no files, loads no
/// extensions, and starts no threads, because each stream evaluates on its own thread.
const OPTIONS: [(&str, &str); 4] = [
    ("threads", "1"),
    ("enable_external_access", "false"),
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
];

/// Settings for all connections. The results must not depend on the machine, and no error may become NULL or infinity.
///
/// Common subexpressions are not shared, because DuckDB takes them out of TRY, and then a failing row fails the
/// statement.
const SETTINGS: [(&str, &str); 8] = [
    ("TimeZone", "'UTC'"),
    ("Calendar", "'gregorian'"),
    ("default_collation", "''"),
    ("integer_division", "false"),
    ("error_on_division_by_zero", "true"),
    ("ieee_floating_point_ops", "false"),
    ("arrow_output_version", "'1.4'"),
    ("disabled_optimizers", "'common_subexpressions'"),
];

/// The statements that give a session of another database the settings on which results of expressions depend.
pub(crate) fn session_settings() -> Vec<String> {
    let of_results = SETTINGS
        .iter()
        .filter(|(name, _)| !OF_THE_RUNNER.contains(name));
    of_results
        .map(|(name, value)| format!("SET SESSION {name} = {value}"))
        .collect()
}

/// The settings that only the runner's statements need.
const OF_THE_RUNNER: [&str; 2] = ["arrow_output_version", "disabled_optimizers"];

/// An open instance, from which each stream takes a connection.
pub struct Evaluator {
    instance: Arc<Instance>,
    /// References that were read, by their declaration: the plans of a run share them.
    references: Mutex<BTreeMap<String, Arc<Reference>>>,
    /// DuckDB's answers about expressions.
    pub(crate) answers: Answers,
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Evaluator").field(&self.version()).finish()
    }
}

/// The reason why no evaluator can be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct EvaluatorError {
    /// The cause, in words.
    pub what: String,
    /// How to fix it.
    pub hint: String,
}

impl Evaluator {
    /// Opens DuckDB with the library that this process uses already, or else with the library of the wheel in
    /// `site_packages` (the folder of installed Python packages).
    pub fn find(site_packages: Option<&Path>) -> Result<Evaluator, EvaluatorError> {
        let hint = |own: Option<&str>| {
            own.unwrap_or("install DuckDB for the Python that runs the command: pip install duckdb")
                .to_owned()
        };
        let functions = match functions::loaded() {
            Some(functions) => Ok(functions),
            None => driver_library::duckdb_library(None, site_packages)
                .and_then(|library| functions::load(&library)),
        };
        let functions = functions.map_err(|error| EvaluatorError {
            what: format!("steps need DuckDB, and its library cannot be used: {error}"),
            hint: hint(error.hint()),
        })?;
        Evaluator::open(functions).map_err(|error| EvaluatorError {
            what: format!(
                "steps need DuckDB, which cannot be opened: {}",
                error.message
            ),
            hint: "use the version of DuckDB that Inrush is installed with: pip install -U inrush"
                .to_owned(),
        })
    }

    /// Opens DuckDB in memory, with the functions of the loaded library.
    pub fn open(functions: &'static Functions) -> AdbcResult<Evaluator> {
        let mut options: BTreeMap<String, String> = OPTIONS
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        options.insert("memory_limit".to_owned(), format!("{BUFFER_BYTES_MAX}B"));
        let evaluator = Evaluator {
            instance: database::open(functions, ":memory:", &options)?,
            references: Mutex::default(),
            answers: Answers::default(),
        };
        let link = evaluator.connect()?;
        for (name, value) in SETTINGS {
            link.query(&format!("SET GLOBAL {name} = {value}"))?;
        }
        room::add_checks(&link)?;
        link.query("SET GLOBAL lock_configuration = true")?;
        Ok(evaluator)
    }

    /// Another connection.
    pub fn connect(&self) -> AdbcResult<Arc<Link>> {
        Link::open(Arc::clone(&self.instance))
    }

    /// The version of DuckDB.
    pub fn version(&self) -> String {
        self.instance.version()
    }

    /// The reference with this declaration. It is read once, and all plans and streams share it.
    pub fn reference<E>(
        &self,
        declaration: &str,
        read: impl FnOnce() -> Result<Reference, E>,
    ) -> Result<Arc<Reference>, E> {
        let mut references = self
            .references
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = references.get(declaration) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(read()?);
        references.insert(declaration.to_owned(), Arc::clone(&made));
        Ok(made)
    }
}
