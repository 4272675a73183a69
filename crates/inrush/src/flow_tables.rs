//! Tables and queries of PostgreSQL as the inputs of flows (`source = ...` in a package).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_engine::error::Error;
use inrush_package::{
    ColumnDetail, Connection, FlowSource, UnchangedBy, quoted_where_needed, redacted_url,
};
use inrush_plan::PlanError;
use inrush_plan::reading::flow_inputs::{FlowAsked, FlowInputs};
use inrush_rows::cancel::Stop;
use inrush_rows::plural::counted;
use inrush_source::{RangesMark, Source, SourceError, unsuitable};
use inrush_source_postgres::{
    Database, DatabaseAddress, PostgresSource, ProvenRanges, Settings, StructureAsked,
    TablePattern, Wanted,
};

use crate::ConnectionDefaults;
use crate::flow_since::{self, Beginning};
use crate::flow_source::{
    STABLE_NOTE, is_known_type, limits_of, rate_note, rows_of, takes_columns_of_source,
    typed_inputs, types_note,
};
use crate::registry::is_server_of_source;

/// The number of connections if the package does not limit it: as many as there may be streams, and one for the
/// snapshot.
const CONNECTIONS_MAX: usize = 1_025;

/// The tables and queries of all flows of a run. Each is opened once. All that are read from one connection share one
/// snapshot, so all plans of a run see the same rows.
#[derive(Default)]
pub struct FlowTables {
    defaults: ConnectionDefaults,
    stop: Stop,
    opened: Mutex<OpenedTables>,
}

#[derive(Default)]
struct OpenedTables {
    /// The databases by the names of their connections.
    databases: BTreeMap<String, Arc<Database>>,
    /// The tables by the name of the flow and by the beginning of its range: another run may have moved its mark since
    /// the last plan.
    sources: BTreeMap<String, OpenedTable>,
}

/// A table or query that is open.
struct OpenedTable {
    /// The rows that earlier runs had loaded from it when it was opened.
    loaded: EarlierLoads,
    source: Arc<PostgresSource>,
}

/// The rows that earlier runs have loaded from a source.
#[derive(PartialEq)]
struct EarlierLoads {
    /// The value at which an incremental load begins.
    since: Option<String>,
    /// The loaded ranges of the source's key.
    ranges: Vec<RangesMark>,
}

impl std::fmt::Debug for FlowTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowTables").finish_non_exhaustive()
    }
}

impl FlowTables {
    /// Tables whose reads end when the run is asked to stop. `defaults` fill the gaps of URLs.
    pub fn new(defaults: &ConnectionDefaults, stop: &Stop) -> FlowTables {
        FlowTables {
            defaults: defaults.clone(),
            stop: stop.clone(),
            opened: Mutex::default(),
        }
    }

    /// The source of a flow, at the snapshot of its connection.
    pub fn open(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
    ) -> Result<Arc<PostgresSource>, PlanError> {
        let address = self.address(asked, source)?;
        let beginning = flow_since::beginning(asked, source, &address.describe_database())?;
        self.open_from(asked, source, address, beginning.as_ref())
    }

    fn open_from(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        address: DatabaseAddress,
        beginning: Option<&Beginning>,
    ) -> Result<Arc<PostgresSource>, PlanError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = EarlierLoads {
            since: beginning.and_then(|beginning| beginning.range.from.clone()),
            ranges: asked.ranges.to_vec(),
        };
        let known = opened.sources.get(asked.name);
        if let Some(known) = known
            && known.loaded == loaded
        {
            return Ok(Arc::clone(&known.source));
        }
        if known.is_some() {
            // The mark has moved, or another run has ended. The rows above the mark may be newer than the snapshot, so a new one is
            // taken.
            opened.databases.remove(&source.connection);
        }
        let settings = Settings {
            since: beginning.map(|beginning| beginning.range.clone()),
            ..self.settings(asked, source, address)?
        };
        let database = match opened.databases.get(&source.connection) {
            Some(known) => Arc::clone(known),
            None => {
                let database = self.open_database(asked, source, &settings)?;
                let name = source.connection.clone();
                opened.databases.insert(name, Arc::clone(&database));
                database
            }
        };
        let source = Arc::new(PostgresSource::open_in(&database, &settings, &self.stop)?);
        let opened_table = OpenedTable {
            loaded,
            source: Arc::clone(&source),
        };
        opened.sources.insert(asked.name.to_owned(), opened_table);
        Ok(source)
    }

    fn address(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
    ) -> Result<DatabaseAddress, PlanError> {
        let url = asked.package.connections.get(&source.connection);
        let url = url.map_or("", |connection| connection.address());
        Ok(address_of(&source.connection, url, &self.defaults)?)
    }

    /// The database of a flow, with the tables of all flows that read it.
    fn open_database(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        settings: &Settings,
    ) -> Result<Arc<Database>, PlanError> {
        let flows = asked.package.flows.iter();
        let of_connection = flows
            .filter_map(|flow| flow.source.as_ref())
            .filter(|other| other.connection == source.connection);
        let lookups = asked.package.flows.iter().flat_map(|flow| &flow.steps);
        let lookups = lookups.filter_map(|step| step.lookup.as_ref()?.flow("", Vec::new()).source);
        let lookups: Vec<FlowSource> = lookups
            .filter(|other| other.connection == source.connection)
            .collect();
        // The rows of this flow come first. A fault of another flow is reported when that flow is planned.
        let mut wanted = vec![settings.wanted()];
        for other in of_connection.chain(&lookups) {
            if let Ok(rows) = rows_of(asked.name, other) {
                let bound_by = other.since.as_ref().map(flow_since::bound_by);
                let other = Wanted { rows, bound_by };
                if !wanted.contains(&other) {
                    wanted.push(other);
                }
            }
        }
        let limits = settings.limits;
        Ok(Database::open(
            &settings.address,
            &wanted,
            limits,
            &self.stop,
        )?)
    }

    fn settings(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        address: DatabaseAddress,
    ) -> Result<Settings, PlanError> {
        let place = address.describe_database();
        Ok(Settings {
            address,
            rows: rows_of(asked.name, source)?,
            columns: source.columns.clone(),
            filter: source.filter.clone(),
            split_by: source.split_by.clone(),
            split_nulls: source.split_nulls,
            limits: limits_of(asked.package, &source.connection, CONNECTIONS_MAX),
            is_stable: source.stable,
            proven: match (source.unchanged_by, asked.is_reference) {
                (Some(UnchangedBy::Sums), false) => Some(ProvenRanges {
                    of: ranges_of(source, &place),
                    known: asked.ranges.to_vec(),
                }),
                _ => None,
            },
            since: None,
            structure: match takes_columns_of_source(asked)? {
                true => StructureAsked {
                    indexes: source.indexes,
                    partitions: source.partitions,
                },
                false => StructureAsked::default(),
            },
        })
    }

    /// The inputs of a flow.
    pub fn look(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        notes: &mut Vec<String>,
    ) -> Result<FlowInputs, PlanError> {
        let address = self.address(asked, source)?;
        let beginning = flow_since::beginning(asked, source, &address.describe_database())?;
        let opened = self.open_from(asked, source, address, beginning.as_ref())?;
        for note in reading_notes(&opened, source) {
            // Flows that read one server have its notes in common.
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let mut nothing_new = None;
        if let (Some(beginning), Some(since), Some(found)) =
            (&beginning, &source.since, opened.since())
        {
            notes.extend(flow_since::range_notes(asked, since, beginning, found));
            nothing_new = flow_since::nothing_new(asked, beginning, found);
        }
        let (primary_key, collations, structure) = match takes_columns_of_source(asked)? {
            true => (
                opened.primary_key().to_vec(),
                opened.collations(),
                opened.structure().cloned(),
            ),
            false => (Vec::new(), Vec::new(), None),
        };
        if structure.is_none() && (source.indexes || source.partitions) {
            notes.push(format!(
                "{}: the target exists, and keeps its own indexes and partitions",
                asked.name
            ));
        }
        let columns = columns_of_target(&opened);
        notes.extend(types_note(asked, &*opened, &columns, |_, declared| {
            is_known_type(declared)
        })?);
        Ok(FlowInputs {
            primary_key,
            structure,
            collations,
            nothing_new,
            ..typed_inputs(asked, opened, columns)?
        })
    }
}

/// The table or query whose ranges earlier runs have loaded, with its condition, as marks name it.
fn ranges_of(source: &FlowSource, place: &str) -> String {
    let of = flow_since::name_of_read(source, place);
    match &source.filter {
        Some(filter) => format!("{of} WHERE {}", filter.trim()),
        None => of,
    }
}

/// The address of a connection. An error names the connection.
pub fn address_of(
    name: &str,
    url: &str,
    defaults: &ConnectionDefaults,
) -> Result<DatabaseAddress, SourceError> {
    if !is_server_of_source(url) {
        return Err(unsuitable(
            Path::new(name),
            format!("rows cannot be read from {}", redacted_url(url)),
            "write postgresql://USER@HOST/DATABASE, mssql://USER@HOST/DATABASE, FILE.duckdb or adbc:DRIVER",
        ));
    }
    DatabaseAddress::parse(url, defaults).map_err(|error| SourceError::Input {
        input: Path::new(name).to_path_buf(),
        what: error.to_string(),
        fix: error
            .hint()
            .unwrap_or_else(|| "correct the URL of the connection".to_owned()),
    })
}

/// The tables of a database that match `names`, in the notation of a package. A name that is not a pattern is kept as
/// it is. A table that matches several names is listed once. Patterns leave out the tables of the schemas `without`.
pub fn tables_like(
    connection: &Connection,
    names: &[String],
    without: &[&str],
    defaults: &ConnectionDefaults,
    stop: &Stop,
) -> Result<Vec<String>, Error> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let tables = match TablePattern::read(name) {
            None => vec![name.clone()],
            Some(_) if !is_server_of_source(connection.address()) => {
                return Err(PlanError::Source(unsuitable(
                    Path::new(name),
                    "patterns are looked up in PostgreSQL only",
                    "name each table: --table A --table B",
                ))
                .into());
            }
            Some(pattern) => {
                let address = address_of("--from", connection.address(), defaults);
                let tables = address.and_then(|it| tables_like_of(&it, pattern, without, stop));
                tables.map_err(PlanError::Source)?
            }
        };
        all.extend(tables);
    }
    let mut seen = BTreeSet::new();
    all.retain(|table| seen.insert(table.clone()));
    Ok(all)
}

fn tables_like_of(
    address: &DatabaseAddress,
    pattern: TablePattern,
    without: &[&str],
    stop: &Stop,
) -> Result<Vec<String>, SourceError> {
    let found = inrush_source_postgres::tables_like(address, &[pattern], without, stop)?;
    let name = |(schema, name): (String, String)| {
        let (schema, name) = (quoted_where_needed(&schema), quoted_where_needed(&name));
        format!("{schema}.{name}")
    };
    Ok(found.into_iter().map(name).collect())
}

/// How the rows are read, for the plan.
fn reading_notes(opened: &PostgresSource, source: &FlowSource) -> Vec<String> {
    let inputs = opened.input_count() as u64;
    let has_no_pages = inputs == 1 && !matches!(opened.input(0).whole_because(), Ok(None));
    let mut notes = vec![format!(
        "rows are read from {}, {}, at one snapshot",
        opened.describe(),
        match (opened.split_by(), &source.query) {
            (Some(column), _) => format!("in ranges of `{column}`"),
            (None, Some(_)) => "by one stream".to_owned(),
            // A view or a foreign table has no pages.
            (None, None) if has_no_pages => "by one stream".to_owned(),
            (None, None) => format!("{} in ranges of pages", counted(inputs, "table")),
        }
    )];
    notes.extend(match (&source.since, source.stable) {
        (Some(_), _) => None,
        (None, true) => Some(STABLE_NOTE.to_owned()),
        (None, false) if source.unchanged_by.is_some() => Some(
            "the server counts and hashes the rows of each range after they were read. A resumed run keeps the ranges whose count and \
             sum of hashes are still the same, and reads the others again"
                .to_owned(),
        ),
        (None, false) => Some(
            "a resumed run first compares the loaded rows with the source; a table whose rows differ is loaded again"
                .to_owned(),
        ),
    });
    notes.extend(rate_note(opened));
    notes.extend(opened.notes());
    notes
}

/// The columns of a new target: those of the source.
fn columns_of_target(opened: &PostgresSource) -> Vec<ColumnDetail> {
    let column = |column: &inrush_source_postgres::Column| ColumnDetail {
        type_name: Some(column.sql_type.clone()),
        nullable: !column.not_null,
        ..ColumnDetail::named(&column.name)
    };
    opened.source_columns().iter().map(column).collect()
}
