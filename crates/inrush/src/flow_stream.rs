//! A stream of Arrow batches that a program hands over, as the input of the only flow of a run. The flow names the stream in
//! the same way as standard input, which can also be read only once.

use std::path::Path;
use std::sync::Arc;

use inrush_plan::PlanError;
use inrush_plan::reading::flow_inputs::{FlowAsked, FlowInputs, Sources};
use inrush_rows::cancel::Stop;
use inrush_source_adbc::RowStream;
use inrush_transform::evaluator::{Evaluator, EvaluatorError};

use crate::flow_databases::of_new_target;
use crate::flow_source::typed_inputs;
use crate::flow_steps::FlowSteps;

/// The rows of a run's only flow.
#[derive(Debug)]
pub struct FlowStream {
    rows: RowStream,
    stop: Stop,
    steps: FlowSteps,
}

impl FlowStream {
    /// Rows whose reads end when the run is asked to stop.
    pub fn new(rows: &RowStream, site_packages: Option<&Path>, stop: &Stop) -> FlowStream {
        FlowStream {
            rows: rows.clone(),
            stop: stop.clone(),
            steps: FlowSteps::new(site_packages),
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
            "rows come from a program as an Arrow stream, which can be read only once: a load that stops is not resumed"
                .to_owned(),
        );
        let columns = self.rows.columns().iter().map(of_new_target).collect();
        typed_inputs(asked, Arc::from(self.rows.source(&self.stop)), columns)
    }

    fn find(&self, _asked: &FlowAsked<'_>) -> Result<(), PlanError> {
        Ok(())
    }

    fn step_evaluator(&self) -> Result<Arc<Evaluator>, EvaluatorError> {
        self.steps.evaluator()
    }
}
