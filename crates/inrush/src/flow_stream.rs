//! A stream of Arrow batches that a program hands over, as the input of the only flow of a run. The flow names it as it names
//! standard input, which is read once, too.

use std::sync::Arc;

use inrush_engine::plan::PlanError;
use inrush_engine::plan::flow_inputs::{FlowAsked, FlowInputs, Sources};
use inrush_package::ColumnDetail;
use inrush_rows::cancel::Stop;
use inrush_source_adbc::RowStream;

use crate::flow_databases::{Opened, of_new_target};
use crate::flow_files::form_of_typed_rows;

/// The rows of a run's only flow.
#[derive(Debug)]
pub struct FlowStream {
    rows: RowStream,
    stop: Stop,
}

impl FlowStream {
    /// Rows whose reads end when the run is asked to stop.
    pub fn new(rows: &RowStream, stop: &Stop) -> FlowStream {
        FlowStream {
            rows: rows.clone(),
            stop: stop.clone(),
        }
    }
}

impl Sources for FlowStream {
    fn look(
        &self,
        asked: &FlowAsked<'_>,
        notes: &mut Vec<String>,
    ) -> Result<FlowInputs, PlanError> {
        notes.push(
            "rows come from a program as an Arrow stream, which gives them once: a load that stops is not resumed"
                .to_owned(),
        );
        let (dialect, format) = form_of_typed_rows(&asked.flow.format)?;
        let mut details: Vec<ColumnDetail> = asked.flow.column_details()?;
        if details.is_empty() && asked.filled.is_none() {
            details = self.rows.columns().iter().map(of_new_target).collect();
        }
        let source = self.rows.source(&self.stop);
        let header = self.rows.columns().iter();
        Ok(FlowInputs {
            dialect,
            format,
            reject_hint: None,
            header: Some(header.map(|column| column.name.clone()).collect()),
            header_input: Some(Arc::clone(source.input(0).name())),
            details,
            first_field_count: None,
            primary_key: Vec::new(),
            nothing_new: None,
            opener: Box::new(Opened(source)),
        })
    }

    fn find(&self, _asked: &FlowAsked<'_>) -> Result<(), PlanError> {
        Ok(())
    }
}
