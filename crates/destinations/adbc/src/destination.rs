//! A database that is reached through an ADBC driver or DuckDB's C functions, as a destination.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adbc_driver_manager::ManagedDriver;
use inrush_adbcclient::secrets::Secrets;
use inrush_adbcclient::{driver_library, duckdb_file};
use inrush_destination::{
    Abilities, Ability, Address, ColumnForm, Destination, Error, GivenSteps, MembersPlan, NewRun,
    OpenRun, OwnMemory, PastRun, PublishStep, PublishedTogether, ResolvedType, Result, RunLedger,
    RunRecord, RunState, RunSteps, StepsRequest, TargetFacts, TargetName, TargetPlan, UndoRequest,
    UndoneRun, UnitRecord,
};
use inrush_rows::ids::RunKey;

use crate::adbc_connection;
use crate::catalog;
use crate::connection::AdbcDatabase;
use crate::duckdb;
use crate::given;
use crate::interrupt::Interrupt;
use crate::ledger::{AdbcLedger, StoredRun};
use crate::lock;
use crate::members;
use crate::merge;
use crate::own_memory;
use crate::queue::QUEUE_BYTES_MAX;
use crate::quirks::{Quirks, Vendor};
use crate::run::AdbcRun;
use crate::session::{self, AdbcSession};
use crate::shared_database::{Claim, SharedDatabase};
use crate::sql;
use crate::staging;
use crate::steps;
use crate::sums;
use crate::types;
use crate::undo;

/// A database as a destination.
struct AdbcDestination {
    control: Mutex<AdbcSession>,
    described: String,
    abilities: Abilities,
    schema: Option<String>,
    shared: Arc<SharedDatabase>,
    /// True if the URL names a file of DuckDB.
    is_file: bool,
    /// The file, if opening has created it.
    made: Option<duckdb::file::MadeFile>,
}

/// Opens a file of DuckDB, or creates it.
pub fn open_duckdb(address: &Address<'_>, file: &Path) -> Result<Box<dyn Destination>> {
    let mut options = address.options.clone();
    let driver = options
        .remove("driver")
        .map(|driver| address.folder.join(driver));
    let driver = driver.as_deref().map(Path::to_string_lossy);
    let library = driver_library::duckdb_library(driver.as_deref(), address.site_packages)?;
    duckdb::file::is_possible(file)?;
    let path = file.to_str().ok_or_else(|| Error::Address {
        what: format!("the path {} is not UTF-8", file.display()),
        hint: "DuckDB needs a path in UTF-8: rename it".to_owned(),
    })?;
    // Rows of a table have no order, and keeping one would cost a third of the speed of INSERT.
    options
        .entry("preserve_insertion_order".to_owned())
        .or_insert_with(|| "false".to_owned());
    let mut way = duckdb_way(&library)?;
    let opening = duckdb_file::opening();
    duckdb_file::not_open_here(file)?;
    let was_there = file.symlink_metadata().is_ok();
    let database = match &mut way {
        DuckDbWay::Functions(functions) => duckdb::open(functions, path, &options),
        DuckDbWay::Driver(driver) => {
            options.insert("path".to_owned(), path.to_owned());
            adbc_connection::open(driver, &options)
        }
    };
    let database = database.map_err(|error| duckdb_file::cannot_open(file, &error.message))?;
    let made = match was_there {
        true => None,
        false => duckdb::file::MadeFile::opened(file),
    };
    drop(opening);
    let mut place = file.display().to_string();
    if matches!(way, DuckDbWay::Driver(_)) {
        place.push_str(", through its ADBC driver");
    }
    let mut destination = AdbcDestination::open(address, database, &place)?;
    (destination.is_file, destination.made) = (true, made);
    Ok(Box::new(destination))
}

/// How DuckDB's library is called.
enum DuckDbWay {
    Functions(&'static duckdb::Functions),
    Driver(ManagedDriver),
}

/// Through its C functions. If the library does not export them, or this process has loaded another DuckDB library, its
/// ADBC driver is used.
fn duckdb_way(library: &Path) -> Result<DuckDbWay> {
    match duckdb::load(library) {
        Ok(functions) => Ok(DuckDbWay::Functions(functions)),
        Err(_) if duckdb::is_driver(library, driver_library::DUCKDB_ENTRYPOINT) => {
            driver_library::load_duckdb(library).map(DuckDbWay::Driver)
        }
        Err(unloaded) => Err(unloaded),
    }
}

/// The folder of a database of SQLite, if it does not exist. SQLite itself only reports that it is out of memory.
fn missing_folder(driver: &str, options: &BTreeMap<String, String>) -> Option<PathBuf> {
    if !driver.to_lowercase().contains("sqlite") {
        return None;
    }
    let uri = options.get("uri")?;
    let path = match uri.strip_prefix("file:") {
        Some(rest) => rest.split('?').next().unwrap_or_default(),
        None => uri,
    };
    let folder = Path::new(path).parent()?;
    let is_named = !folder.as_os_str().is_empty();
    (is_named && !folder.exists()).then(|| folder.to_owned())
}

/// Opens a database through a driver.
pub fn open_driver(address: &Address<'_>, name: &str) -> Result<Box<dyn Destination>> {
    let mut options = address.options.clone();
    let entrypoint = options.remove("entrypoint");
    let mut driver = driver_library::load(
        name,
        entrypoint.as_deref(),
        address.folder,
        address.site_packages,
    )?;
    let secrets = Secrets::of(&options);
    // DuckDB's library locks its file when it is used as a driver, too.
    let duckdb_file = match name.to_lowercase().contains("duckdb") {
        true => options.get("path").map(Path::new),
        false => None,
    };
    let refused = |error: adbc_core::error::Error| {
        if let Some(file) = duckdb_file
            && duckdb_file::is_locked(&error.message)
        {
            return duckdb_file::cannot_open(file, &error.message);
        }
        if let Some(folder) = missing_folder(name, address.options) {
            return Error::Address {
                what: format!(
                    "the ADBC driver {name} cannot open a database: the folder {} does not exist",
                    folder.display()
                ),
                hint: "make the folder, or correct the path in the option uri".to_owned(),
            };
        }
        Error::Address {
            what: format!(
                "the ADBC driver {name} cannot open a database: {}",
                error.message.trim()
            ),
            hint: "the connection's options, such as uri, are passed to the driver unchanged: \
                   correct them as its message says"
                .to_owned(),
        }
    };
    let opening = match duckdb_file {
        Some(file) => {
            let opening = duckdb_file::opening();
            duckdb_file::not_open_here(file)?;
            Some(opening)
        }
        None => None,
    };
    let database = adbc_connection::open(&mut driver, &options)
        .map_err(|error| secrets.blank_error(refused(error)))?;
    drop(opening);
    let place = format!("through the ADBC driver {name}");
    let destination = AdbcDestination::open(address, database, &place)
        .map_err(|error| secrets.blank_error(error))?;
    Ok(Box::new(destination))
}

impl AdbcDestination {
    fn open(
        address: &Address<'_>,
        database: Box<dyn AdbcDatabase>,
        place: &str,
    ) -> Result<AdbcDestination> {
        let interrupt = Arc::new(Interrupt::default());
        let (vendor, version) = database
            .vendor()
            .map_err(|error| session::refused(&interrupt, "cannot connect", &error))?;
        let quirks = Quirks::of(&vendor);
        let product = match quirks.vendor {
            Vendor::DuckDb => "DuckDB",
            Vendor::Sqlite => "SQLite",
            Vendor::Postgres => "PostgreSQL",
            Vendor::Other => "this database",
        };
        let mut control = AdbcSession::open(&*database, quirks, &interrupt)?;
        let threads = match quirks.threads {
            Some(setting) => {
                let statement = format!("SELECT current_setting('{setting}')");
                control.number("cannot read the number of threads", &statement)?
            }
            None => None,
        };
        let own_memory = own_memory::ask(&mut control, quirks)?;
        // Members can be added in DuckDB only if a source in this process can read the reference from the open file.
        let adds_members = match quirks.vendor {
            Vendor::DuckDb => database.is_shared(),
            vendor => vendor == Vendor::Sqlite,
        };
        staging::check_name(quirks, product, "schema", address.ledger_schema)?;
        let shared = Arc::new(SharedDatabase {
            quirks,
            product,
            ledger: AdbcLedger::new(quirks, address.ledger_schema),
            threads,
            held: Mutex::new(HashSet::new()),
            database,
        });
        if quirks.vendor == Vendor::Other {
            understands_texts(&mut control, &vendor)?;
        }
        if quirks.vendor == Vendor::Sqlite && lock::database_file(&mut control)?.is_none() {
            return Err(Error::Address {
                what: "no file is named, so SQLite would keep the rows in memory and lose them at \
                       the end of this command"
                    .to_owned(),
                hint:
                    "name a file: --option uri=FILE, or options = { uri = \"FILE\" } in a package"
                        .to_owned(),
            });
        }
        if quirks.vendor == Vendor::DuckDb && !duckdb::file::is_open(&mut control)? {
            return Err(Error::Address {
                what: "no file is named, so DuckDB would keep the rows in memory and lose them at the end of this \
                       command"
                    .to_owned(),
                hint: "name a file: --option path=FILE, or options = { path = \"FILE\" } in a package; duckdb:FILE \
                       needs no option"
                    .to_owned(),
            });
        }
        let schema = match quirks.current_schema {
            Some(statement) => {
                let rows = control.rows("cannot look up the default schema", statement)?;
                rows.into_iter().flatten().next().flatten()
            }
            None => None,
        };
        let called = if quirks.vendor == Vendor::Other {
            vendor.as_str()
        } else {
            product
        };
        Ok(AdbcDestination {
            control: Mutex::new(control),
            described: format!("{called} {version}, {place}").replace(" ,", ","),
            abilities: abilities(quirks, own_memory, adds_members),
            schema,
            shared,
            is_file: false,
            made: None,
        })
    }

    fn control(&self) -> MutexGuard<'_, AdbcSession> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The targets of a switched run that do not have its rows any more.
    fn gone(&self, session: &mut AdbcSession, stored: &StoredRun) -> Result<Vec<String>> {
        let mut gone = Vec::new();
        if stored.record.state != RunState::Switched {
            return Ok(gone);
        }
        for (target, loaded) in stored.record.targets.iter().zip(&stored.loaded) {
            let holds = match sql::parse_names(target) {
                Some((schema, name)) => {
                    let found =
                        catalog::kind(session, self.shared.quirks, schema.as_deref(), &name)?;
                    let name = TargetName {
                        schema,
                        name,
                        sql: target.clone(),
                    };
                    match loaded {
                        // Other rows have replaced them.
                        None => false,
                        Some(loaded) => {
                            found.is_some_and(|found| found.kind == "table")
                                && (*loaded == 0 || catalog::rows_up_to(session, &name, 1)? > 0)
                        }
                    }
                }
                None => false,
            };
            if !holds {
                gone.push(target.clone());
            }
        }
        Ok(gone)
    }
}

/// Refuses a database that does not read string literals as in the SQL standard, because texts in its ledger would be
/// changed.
fn understands_texts(session: &mut AdbcSession, vendor: &str) -> Result<()> {
    let asked = "a\\b'c";
    let rows = session.rows(
        "cannot test how the database reads texts",
        &format!("SELECT {}", sql::text(asked)),
    )?;
    match rows.into_iter().flatten().flatten().next() {
        Some(answer) if answer == asked => Ok(()),
        _ => Err(Error::Unsuitable {
            what: format!("{vendor} does not read backslashes in texts as ordinary characters"),
            hint: "make it read texts as in the SQL standard, for example by sql_mode NO_BACKSLASH_ESCAPES"
                .to_owned(),
        }),
    }
}

fn abilities(quirks: &Quirks, own_memory: OwnMemory, adds_members: bool) -> Abilities {
    let mut can = abilities_of(quirks);
    if adds_members {
        can.insert(Ability::AddMembers);
    }
    Abilities {
        streams: quirks.streams,
        published_together: PublishedTogether::Run,
        can,
        folds_names: quirks.folds_names,
        unit_bytes: quirks.unit_bytes,
        removes_units_alone: false,
        batch_rows: quirks.batch_rows,
        stream_buffer_bytes: QUEUE_BYTES_MAX as u64,
        own_memory,
        not_promised: quirks
            .not_promised
            .iter()
            .map(|&said| said.to_owned())
            .collect(),
    }
}

fn abilities_of(quirks: &Quirks) -> BTreeSet<Ability> {
    let mut can = BTreeSet::from([
        Ability::Create,
        Ability::Append,
        Ability::Replace,
        Ability::ReplaceByRows,
        Ability::UserSql,
    ]);
    if quirks.merges {
        can.extend([Ability::Upsert, Ability::Versions]);
    }
    if quirks.finds_refused_rows {
        can.insert(Ability::RejectRefused);
    }
    if quirks.table_bytes.is_some() {
        can.insert(Ability::StagedBytes);
    }
    if quirks.analyzes {
        can.insert(Ability::Analyze);
    }
    if quirks.undoes {
        can.extend([Ability::KeepReplaced, Ability::Undo]);
    }
    if sums::are_made_by(quirks.vendor) {
        can.insert(Ability::VerifySums);
    }
    can
}

impl Drop for AdbcDestination {
    fn drop(&mut self) {
        let Some(made) = self.made.take().filter(duckdb::file::MadeFile::is_unwanted) else {
            return;
        };
        // Another process may have loaded into the file and closed it before it was opened here.
        let count = "SELECT count(*) FROM information_schema.tables \
                     WHERE table_catalog = current_database()";
        let tables = self.control().number("cannot look into the file", count);
        if matches!(tables, Ok(Some(0))) {
            made.remove();
        }
    }
}

impl Destination for AdbcDestination {
    fn describe(&self) -> String {
        self.described.clone()
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn evaluates_steps(&self) -> bool {
        given::evaluates(&self.shared)
    }

    fn refuses_steps(&self, steps: &GivenSteps) -> Result<Option<String>> {
        given::refusal(&self.shared, &mut self.control(), steps)
    }

    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName> {
        let (quirks, product) = (self.shared.quirks, self.shared.product);
        staging::check_name(quirks, product, "table", name)?;
        let schema = match (schema, quirks.vendor) {
            (Some(given), Vendor::Sqlite) if given.eq_ignore_ascii_case("main") => None,
            (Some(given), Vendor::Sqlite) => {
                return Err(Error::Unsuitable {
                    what: format!("{given}.{name}: tables of SQLite have no schema"),
                    hint: format!("write {name} without a schema"),
                });
            }
            (Some(given), _) => {
                staging::check_name(quirks, product, "schema", given)?;
                Some(given.to_owned())
            }
            (None, _) => self.schema.clone(),
        };
        if let Some(schema) = schema.as_deref().filter(|_| quirks.has_schemas())
            && !catalog::schema_exists(&mut self.control(), schema)?
        {
            return Err(Error::Unsuitable {
                what: format!("the schema {schema} of the table {name} does not exist"),
                hint: format!(
                    "make it: CREATE SCHEMA {}; or name another schema (--into-schema of a copy)",
                    sql::identifier(schema)
                ),
            });
        }
        let quirks = self.shared.quirks;
        let name = match quirks.folds_names {
            true => catalog::kind(&mut self.control(), quirks, schema.as_deref(), name)?
                .map_or_else(|| name.to_owned(), |found| found.name),
            false => name.to_owned(),
        };
        Ok(TargetName {
            sql: match &schema {
                Some(schema) => format!("{}.{}", sql::identifier(schema), sql::identifier(&name)),
                None => sql::identifier(&name),
            },
            schema,
            name,
        })
    }

    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType> {
        types::resolve(self.shared.quirks.vendor, self.shared.product, type_name)
    }

    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>> {
        catalog::target(&mut self.control(), self.shared.quirks, name)
    }

    fn check_members(&self, members: &MembersPlan) -> Result<()> {
        members::check(&mut self.control(), self.shared.quirks, members)
    }

    fn check_merge(&self, target: &TargetPlan) -> Result<()> {
        merge::check(&mut self.control(), self.shared.quirks, target)
    }

    fn steps(&self, request: &StepsRequest<'_>) -> Result<RunSteps> {
        steps::of_run(&self.shared, &mut self.control(), request)
    }

    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>> {
        if let Some(made) = &self.made {
            made.keep();
        }
        Ok(Box::new(AdbcRun::begin(&self.shared, run, targets)?))
    }

    fn sum_forms(&self, target: &TargetPlan) -> Result<Vec<ColumnForm>> {
        sums::forms(self.shared.quirks.vendor, &mut self.control(), target)
    }

    /// Only a file of DuckDB can have a temporary database beside it; a driver's options may name any location.
    fn scratch(&self, folder: &Path) -> Option<String> {
        let file = folder.join("sample");
        let url = || format!("duckdb:{}", file.display());
        self.is_file.then(url)
    }
}

impl RunLedger for AdbcDestination {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        let mut session = self.control();
        let ledger = &self.shared.ledger;
        if !ledger.exists(&mut session, self.shared.quirks)? {
            return Ok(Vec::new());
        }
        let mut past = Vec::new();
        for stored in ledger.runs(&mut *session, run_key)? {
            past.push(PastRun {
                gone: self.gone(&mut session, &stored)?,
                record: stored.record,
            });
        }
        Ok(past)
    }

    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        let ledger = &self.shared.ledger;
        ledger.units(&mut *self.control(), run.run_id, see)
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        self.shared.is_held(&mut self.control(), run)
    }

    fn lineage(&self, run: &RunRecord) -> Result<Option<String>> {
        let (ledger, quirks) = (&self.shared.ledger, self.shared.quirks);
        ledger.lineage(&mut self.control(), quirks, run.run_id)
    }

    fn staged_bytes(&self, run: &RunRecord) -> Result<Option<u64>> {
        let mut session = self.control();
        let quirks = self.shared.quirks;
        let Some(stored) = self.shared.ledger.run(&mut *session, run.run_id)? else {
            return Ok(None);
        };
        let mut all = 0;
        for (schema, table) in &stored.staging {
            match catalog::table_bytes(&mut session, quirks, schema.as_deref(), table)? {
                Some(bytes) => all += bytes,
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    fn staging_tables(&self, run: &RunRecord) -> Result<Vec<String>> {
        let stored = self.shared.ledger.run(&mut *self.control(), run.run_id)?;
        let tables = stored.into_iter().flat_map(|stored| stored.staging);
        let quoted =
            |(schema, table): (Option<String>, String)| staging::quoted(schema.as_deref(), &table);
        Ok(tables.map(quoted).collect())
    }

    fn discard(&self, run: &PastRun) -> Result<()> {
        let ledger = &self.shared.ledger;
        let run = &run.record;
        let _claim = Claim::take(&self.shared, &run.run_key)?;
        let mut session = self.shared.session(&Arc::new(Interrupt::default()))?;
        let holder = format!("process {}, which gives it up", std::process::id());
        let _held = self.shared.hold(&mut session, &run.run_key, &holder)?;
        session.begin()?;
        // Dropping a session rolls its open transaction back.
        ledger.fence(&mut session, run)?;
        if let Some(stored) = ledger.run(&mut session, run.run_id)? {
            for (schema, table) in &stored.staging {
                staging::remove(&mut session, schema.as_deref(), table)?;
            }
        }
        ledger.mark_discarded(&mut session, run.run_id)?;
        session.commit("cannot give up the run")
    }

    fn undo(
        &self,
        request: &UndoRequest<'_>,
        reached: &dyn Fn(PublishStep),
    ) -> Result<Option<UndoneRun>> {
        if !self.abilities.can.contains(&Ability::Undo) {
            return Ok(None);
        }
        let run_key = &request.run.run_key;
        let _claim = Claim::take(&self.shared, run_key)?;
        let mut session = self.shared.session(&Arc::new(Interrupt::default()))?;
        let _held = self.shared.hold(&mut session, run_key, request.by)?;
        undo::undo(&self.shared, &mut session, request, reached).map(Some)
    }
}
