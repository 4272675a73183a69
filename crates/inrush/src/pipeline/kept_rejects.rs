//! Rejects of a piece of work: all go into the run's folder, the first ones are told, and too many
//! end the run.

use super::context::Context;
use crate::error::Error;
use crate::event::Event;
use crate::plan::FlowPlan;
use crate::reject::Reject;
use crate::report::RejectFile;

/// Rejects of a piece of work that are told as events and stand in the report; all are in the
/// run's folder.
const REJECTS_TOLD: usize = 10;

/// Where the rejects of a piece of work go.
pub struct KeptRejects<'a> {
    context: &'a Context<'a>,
    flow: &'a FlowPlan,
    flow_index: usize,
    file: RejectFile,
    told: Vec<Reject>,
}

impl<'a> KeptRejects<'a> {
    /// Begins without any; `file` is the piece of work's own.
    pub fn new(
        context: &'a Context<'a>,
        flow: &'a FlowPlan,
        flow_index: usize,
        file: RejectFile,
    ) -> KeptRejects<'a> {
        KeptRejects {
            context,
            flow,
            flow_index,
            file,
            told: Vec::new(),
        }
    }

    /// Keeps and counts rejects, and leaves the list empty.
    pub fn keep(&mut self, rejects: &mut Vec<Reject>) -> Result<(), Error> {
        self.file.keep(rejects)?;
        for reject in rejects.iter() {
            if self.told.len() == REJECTS_TOLD {
                break;
            }
            self.context.notice(Event::Rejected {
                flow: self.flow.name.clone(),
                place: reject.location.to_string(),
                column: reject.column.as_deref().map(str::to_owned),
                code: code_word(reject),
                reason: reject.reason.clone(),
            });
            self.told.push(reject.clone());
        }
        let counted = self.context.run.rejects[self.flow_index].add(&self.flow.name, rejects);
        rejects.clear();
        counted.inspect_err(|_| {
            // The rows that led here stay readable for whoever mends the file.
            let _ = self.file.finish();
        })
    }

    /// Writes all of them to the end.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.file.finish()?;
        Ok(())
    }

    /// The rejects that stand in the report.
    pub fn told(self) -> Vec<Reject> {
        self.told
    }
}

fn code_word(reject: &Reject) -> String {
    match serde_json::to_value(reject.code) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{:?}", reject.code),
    }
}
