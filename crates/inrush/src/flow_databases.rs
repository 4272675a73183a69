//! Tables and queries of DuckDB, SQLite and other databases with an ADBC driver as the inputs of flows (`source = ...` in a
//! package).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use inrush_destination::Address;
use inrush_package::{ColumnDetail, Connection, FlowSource};
use inrush_plan::PlanError;
use inrush_plan::reading::flow_inputs::{FlowAsked, FlowInputs};
use inrush_rows::cancel::Stop;
use inrush_sniff::tables::type_name;
use inrush_source::Source;
use inrush_source_adbc::{AdbcSource, Column, Databases, file_of};

use crate::flow_since::{self, Beginning};
use crate::flow_source::{
    Paces, STABLE_NOTE, is_known_type, rate_note, refuse_what_needs_postgresql, settings_of,
    typed_inputs, types_note,
};

/// The tables and queries of all flows of a run. Each is opened once: all plans of a run see the same rows.
#[derive(Debug)]
pub struct FlowDatabases {
    site_packages: Option<PathBuf>,
    stop: Stop,
    databases: Databases,
    paces: Paces,
    /// The sources by the names of their flows. Each has the value at which it begins, because another run may have
    /// moved the mark since the last plan.
    opened: Mutex<BTreeMap<String, OpenedSource>>,
}

/// A source, and the value at which it begins, if it is read incrementally.
type OpenedSource = (Option<String>, Arc<AdbcSource>);

impl FlowDatabases {
    /// Tables whose reads end when the run is asked to stop. Drivers are looked for in this folder of Python packages.
    pub fn new(site_packages: Option<&Path>, stop: &Stop) -> FlowDatabases {
        FlowDatabases {
            site_packages: site_packages.map(Path::to_owned),
            stop: stop.clone(),
            databases: Databases::default(),
            paces: Paces::default(),
            opened: Mutex::default(),
        }
    }

    /// The source of a flow.
    pub fn open(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        connection: &Connection,
    ) -> Result<Arc<AdbcSource>, PlanError> {
        Ok(self.open_range(asked, source, connection)?.0)
    }

    /// The source of a flow, and the beginning of its range.
    fn open_range(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        connection: &Connection,
    ) -> Result<(Arc<AdbcSource>, Option<Beginning>), PlanError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if source.since.is_none()
            && let Some((_, known)) = opened.get(asked.name)
        {
            return Ok((Arc::clone(known), None));
        }
        refuse_what_needs_postgresql(asked, source, "needs a source in PostgreSQL")?;
        let address = self.address(asked, connection);
        let target = asked.package.connection_of(asked.flow).ok();
        let target = target.and_then(|name| asked.package.connections.get(name));
        let target = self.address(asked, target.unwrap_or(connection));
        let is_in_target = |file: &PathBuf| file_of(&target).as_ref() == Some(file);
        let own_file = file_of(&address).filter(is_in_target);
        if let Some(file) = own_file.as_ref().filter(|_| !asked.is_reference) {
            return Err(PlanError::Mismatch {
                flow: asked.name.to_owned(),
                what: format!("{} is its source and its target", file.display()),
                hint: "load into another file, or read a copy of it; within one file the database itself copies rows"
                    .to_owned(),
            });
        }
        let database = self.databases.open(&address, &self.stop)?;
        let beginning = flow_since::beginning(asked, source, &database.identity.join(" "))?;
        let since = beginning.as_ref().map(|beginning| beginning.range.clone());
        let from = since.as_ref().and_then(|since| since.from.clone());
        if let Some((before, known)) = opened.get(asked.name)
            && *before == from
        {
            return Ok((Arc::clone(known), beginning));
        }
        let settings = settings_of(asked, source, &self.paces, since)?;
        let source = Arc::new(AdbcSource::open(&database, &settings, &self.stop)?);
        // A reference in the target's file is closed after it was read: its transaction would keep the load from writing.
        if own_file.is_none() {
            opened.insert(asked.name.to_owned(), (from, Arc::clone(&source)));
        }
        Ok((source, beginning))
    }

    fn address<'a>(&'a self, asked: &FlowAsked<'a>, connection: &'a Connection) -> Address<'a> {
        Address {
            url: connection.address(),
            options: &connection.options,
            folder: asked.folder,
            site_packages: self.site_packages.as_deref(),
            ledger_schema: "",
        }
    }

    /// The inputs of a flow.
    pub fn look(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        connection: &Connection,
        notes: &mut Vec<String>,
    ) -> Result<FlowInputs, PlanError> {
        let (opened, beginning) = self.open_range(asked, source, connection)?;
        notes.extend(reading_notes(&opened, source));
        let (mut nothing_new, range) = (None, opened.since());
        if let (Some(beginning), Some(since), Some(found)) = (&beginning, &source.since, range) {
            notes.extend(flow_since::range_notes(asked, since, beginning, found));
            nothing_new = flow_since::nothing_new(asked, beginning, found);
        }
        let columns = opened.source_columns().iter().map(of_new_target);
        let columns: Vec<ColumnDetail> = columns.collect();
        notes.extend(types_note(asked, &*opened, &columns, |_, declared| {
            is_known_type(declared)
        })?);
        Ok(FlowInputs {
            nothing_new,
            ..typed_inputs(asked, opened, columns)?
        })
    }
}

/// How the rows are read, for the plan.
fn reading_notes(opened: &AdbcSource, source: &FlowSource) -> Vec<String> {
    let by = match (opened.key(), opened.has_row_ids()) {
        (Some(key), _) => format!("in ranges of `{key}`"),
        (None, true) => "in ranges of its rowid".to_owned(),
        (None, false) => "by one stream".to_owned(),
    };
    let mut notes = vec![format!("rows are read from {}, {by}", opened.describe())];
    notes.extend(rate_note(opened));
    notes.extend(opened.notes());
    notes.extend(match (&source.since, source.stable) {
        (Some(_), _) => None,
        (None, true) => Some(STABLE_NOTE.to_owned()),
        (None, false) => Some(
            "a resumed run first compares the loaded rows with the source, unless the file is unchanged; a table whose \
             rows differ is loaded again"
                .to_owned(),
        ),
    });
    notes
}

/// A column of a new target.
pub fn of_new_target(column: &Column) -> ColumnDetail {
    let told = column.sql_type.clone();
    ColumnDetail {
        type_name: told.or_else(|| type_name(&column.data_type, column.is_uuid)),
        nullable: !column.not_null,
        ..ColumnDetail::named(&column.name)
    }
}
