//! Tables and queries of SQL Server as the inputs of flows (`source = ...` in a package).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_package::{ColumnDetail, Connection, FlowSource};
use inrush_plan::PlanError;
use inrush_plan::reading::flow_inputs::{FlowAsked, FlowInputs};
use inrush_rows::cancel::Stop;
use inrush_sniff::tables::type_name;
use inrush_source::{Source, SourceError};
use inrush_source_sqlserver::{SessionOptions, SqlServerSource};

use crate::flow_since::{self, Beginning};
use crate::flow_source::{
    Paces, STABLE_NOTE, rate_note, refuse_what_needs_postgresql, settings_of, typed_inputs,
    types_note,
};

/// The tables and queries of all flows of a run. Each is opened once.
#[derive(Debug)]
pub struct FlowSqlServer {
    stop: Stop,
    paces: Paces,
    /// The sources by the names of their flows. Each has the value at which it begins, because another run may have
    /// moved the mark since the last plan.
    opened: Mutex<BTreeMap<String, OpenedSource>>,
}

/// A source, and the value at which it begins, if it is read incrementally.
type OpenedSource = (Option<String>, Arc<SqlServerSource>);

impl FlowSqlServer {
    /// Tables whose reads end when the run is asked to stop.
    pub fn new(stop: &Stop) -> FlowSqlServer {
        FlowSqlServer {
            stop: stop.clone(),
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
    ) -> Result<Arc<SqlServerSource>, PlanError> {
        Ok(self.open_range(asked, source, connection)?.0)
    }

    /// The source of a flow, and the beginning of its range.
    fn open_range(
        &self,
        asked: &FlowAsked<'_>,
        source: &FlowSource,
        connection: &Connection,
    ) -> Result<(Arc<SqlServerSource>, Option<Beginning>), PlanError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        refuse_what_needs_postgresql(asked, source, "is not available for a source in SQL Server")?;
        let options = options(asked, source, connection)?;
        let place = inrush_source_sqlserver::place_of(&options);
        let beginning = flow_since::beginning(asked, source, &place)?;
        let since = beginning.as_ref().map(|beginning| beginning.range.clone());
        let from = since.as_ref().and_then(|since| since.from.clone());
        if let Some((before, known)) = opened.get(asked.name)
            && *before == from
        {
            return Ok((Arc::clone(known), beginning));
        }
        let settings = settings_of(asked, source, &self.paces, since)?;
        let source = Arc::new(SqlServerSource::open(&options, &settings, &self.stop)?);
        opened.insert(asked.name.to_owned(), (from, Arc::clone(&source)));
        Ok((source, beginning))
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
        notes.push(match opened.splits_max() {
            1 => format!("rows are read from {}, by one stream", opened.describe()),
            _ => format!("rows are read from {}", opened.describe()),
        });
        notes.extend(rate_note(&*opened));
        notes.extend(opened.notes());
        notes.extend(match (&source.since, source.stable) {
            (Some(_), _) => None,
            (None, true) => Some(STABLE_NOTE.to_owned()),
            (None, false) => Some(
                "a resumed run first compares the loaded rows with the source; a table whose rows differ is loaded again"
                    .to_owned(),
            ),
        });
        let (mut nothing_new, range) = (None, opened.since());
        if let (Some(beginning), Some(since), Some(found)) = (&beginning, &source.since, range) {
            notes.extend(flow_since::range_notes(asked, since, beginning, found));
            nothing_new = flow_since::nothing_new(asked, beginning, found);
        }
        let columns = opened.source_columns().iter();
        let columns = columns.map(|column| ColumnDetail {
            type_name: type_name(&column.data_type, column.is_uuid),
            nullable: !column.not_null,
            ..ColumnDetail::named(&column.name)
        });
        let columns: Vec<ColumnDetail> = columns.collect();
        let has_counterpart =
            |index: usize, _: &str| opened.source_columns()[index].has_counterpart();
        notes.extend(types_note(asked, &*opened, &columns, has_counterpart)?);
        Ok(FlowInputs {
            nothing_new,
            ..typed_inputs(asked, opened, columns)?
        })
    }
}

/// The session's options. Options that are only for loads are ignored, because the connection may also be a target.
fn options(
    asked: &FlowAsked<'_>,
    source: &FlowSource,
    connection: &Connection,
) -> Result<SessionOptions, PlanError> {
    let options = inrush_source_sqlserver::session_options(
        connection.address(),
        &connection.options,
        asked.folder,
    );
    options.map_err(|(what, fix)| {
        PlanError::from(SourceError::Unsuitable {
            input: source.connection.clone().into(),
            what,
            fix,
        })
    })
}
