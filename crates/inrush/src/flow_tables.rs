//! Tables and queries of a database as the inputs of flows (`source = ...` in a package).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_engine::plan::PlanError;
use inrush_engine::plan::flow_inputs::{
    FlowAsked, FlowInputs, InputForm, OpenInputs, TypedField, TypedInputs,
};
use inrush_package::{ColumnDetail, FlowSource, TableName};
use inrush_rows::cancel::Stop;
use inrush_rows::plural::counted;
use inrush_source::{Source, SourceError};
use inrush_source_postgres::{DatabaseAddress, PostgresSource, Rows, Settings};

use crate::ConnectionDefaults;
use crate::flow_files::form_of_typed_rows;
use crate::flow_since::{self, Beginning};

/// Connections where the package does not limit them: as many as there may be streams, and one for the snapshot.
const CONNECTIONS_MAX: usize = 1_025;

/// The tables and queries of all flows of a run. Each is opened once: all plans of a run see the same snapshot.
#[derive(Default)]
pub struct FlowTables {
    defaults: ConnectionDefaults,
    stop: Stop,
    /// By the name of the flow, and where it begins: another run may have moved its mark since the last plan.
    opened: Mutex<BTreeMap<String, OpenedTable>>,
}

/// A source, and the value at which it begins, if it is read incrementally.
type OpenedTable = (Option<String>, Arc<PostgresSource>);

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

    /// The source of a flow, at its snapshot.
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
        let from = beginning.and_then(|beginning| beginning.range.from.clone());
        if let Some((before, known)) = opened.get(asked.name)
            && *before == from
        {
            return Ok(Arc::clone(known));
        }
        let settings = Settings {
            since: beginning.map(|beginning| beginning.range.clone()),
            ..self.settings(asked, source, address)?
        };
        let source = Arc::new(PostgresSource::open(&settings, &self.stop)?);
        opened.insert(asked.name.to_owned(), (from, Arc::clone(&source)));
        Ok(source)
    }

    fn address(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
    ) -> Result<DatabaseAddress, PlanError> {
        let url = asked.connections.get(&source.connection);
        let url = url.map_or("", |connection| connection.address());
        DatabaseAddress::parse(url, &self.defaults).map_err(|error| {
            PlanError::Source(SourceError::Input {
                input: Path::new(&source.connection).to_path_buf(),
                what: error.to_string(),
                fix: error
                    .hint()
                    .unwrap_or_else(|| "correct the URL of the connection".to_owned()),
            })
        })
    }

    fn settings(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        address: DatabaseAddress,
    ) -> Result<Settings, PlanError> {
        let rows = match (&source.table, &source.query) {
            (Some(table), _) => {
                let TableName { schema, name } =
                    TableName::parse(table).map_err(|fault| PlanError::Mismatch {
                        flow: asked.name.to_owned(),
                        what: fault.to_string(),
                        hint: "correct `table` of the source".to_owned(),
                    })?;
                Rows::Table { schema, name }
            }
            (None, query) => Rows::Query(query.clone().unwrap_or_default()),
        };
        Ok(Settings {
            address,
            rows,
            columns: source.columns.clone(),
            filter: source.filter.clone(),
            max_connections: source.max_connections.map_or(CONNECTIONS_MAX, usize::from),
            is_stable: source.stable,
            since: None,
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
        notes.extend(told(&opened, source));
        let mut nothing_new = None;
        if let (Some(beginning), Some(since), Some(found)) =
            (&beginning, &source.since, opened.since())
        {
            notes.extend(flow_since::told(asked, since, beginning, found));
            nothing_new = flow_since::nothing_new(asked, beginning, found);
        }
        let (dialect, format) = form_of_typed_rows(&asked.flow.format)?;
        let mut details: Vec<ColumnDetail> = asked.flow.column_details()?;
        if details.is_empty() && asked.filled.is_none() {
            details = columns_of_target(&opened);
        }
        let header = opened.columns()?.into_iter().map(|column| column.name);
        Ok(FlowInputs {
            dialect,
            format,
            reject_hint: None,
            header: Some(header.collect()),
            header_input: Some(Arc::clone(opened.input(0).name())),
            details,
            first_field_count: None,
            nothing_new,
            opener: Box::new(Opened(opened)),
        })
    }
}

/// How the rows are read, for the plan.
fn told(opened: &PostgresSource, source: &FlowSource) -> Vec<String> {
    let inputs = opened.input_count() as u64;
    let mut notes = vec![format!(
        "rows are read from {}, {}, at one snapshot",
        opened.describe(),
        match source.query {
            Some(_) => "by one stream".to_owned(),
            None => format!("{} in ranges of pages", counted(inputs, "table")),
        }
    )];
    notes.extend(match (&source.since, source.stable) {
        (Some(_), _) => None,
        (None, true) => Some(
            "the rows are declared stable: a run that is resumed keeps what was loaded".to_owned(),
        ),
        (None, false) => Some(
            "a run that is resumed compares what was loaded with the rows then, and needs --again if they differ"
                .to_owned(),
        ),
    });
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

/// An opened source, until the plan has its columns.
struct Opened(Arc<PostgresSource>);

impl OpenInputs for Opened {
    fn typed(&self) -> Option<TypedInputs> {
        let columns = self.0.columns().ok()?.into_iter();
        let field = |column: inrush_source::SourceColumn| {
            Some(TypedField {
                name: column.name,
                data_type: column.data_type?,
                is_uuid: column.is_uuid,
            })
        };
        Some(TypedInputs {
            kind: "table",
            columns: columns.map(field).collect::<Option<_>>()?,
        })
    }

    fn open(&mut self, _form: InputForm<'_>) -> Arc<dyn Source> {
        self.0.clone()
    }
}
