//! A flow's reading is found here: its inputs, its columns with the types of the destination, its source and its steps.

use std::sync::Arc;

use inrush_package::{Flow, Package};
use inrush_rows::column::Column;
use inrush_source::Source;

use crate::earlier::package_runs::PackageRuns;
use crate::options::PlanOptions;
use crate::reading::columns::KnownColumns;
use crate::reading::expect::{self, ExpectPlan};
use crate::reading::flow_inputs::{FlowAsked, FlowInputs};
use crate::reading::resolved_columns::{ResolvedColumns, TargetTypes, resolve};
use crate::steps::{AskedSteps, StepPlan};
use crate::verify::{DestinationSums, VerifyPlan};
use crate::{PlanError, Reading, reading::range_marks};

/// A flow that is to be read into a target.
#[derive(Clone, Copy)]
pub struct ReadingRequest<'a> {
    /// The package.
    pub package: &'a Package,
    /// The flow.
    pub flow: &'a Flow,
    /// Its name.
    pub name: &'a str,
    /// The target as SQL names it.
    pub target: &'a str,
    /// The options of the plan besides the package.
    pub options: &'a PlanOptions<'a>,
    /// The earlier runs of the package.
    pub runs: &'a PackageRuns<'a>,
}

/// The checks of what a flow has read.
pub struct ReadingChecks {
    /// The sums that are computed over the rows.
    pub verify: VerifyPlan,
    /// The numbers that are promised for the files.
    pub expect: ExpectPlan,
}

/// What a flow reads.
pub struct FlowReading {
    /// The examined inputs.
    pub inputs: FlowInputs,
    /// The inputs as a source.
    pub source: Arc<dyn Source>,
    /// The columns that are loaded, in the package's order, or else in that of the inputs; derived ones come last.
    pub columns: Vec<Column>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
    /// The steps of the flow, if it has any.
    pub steps: Option<Arc<StepPlan>>,
}

impl FlowReading {
    /// Finds the inputs of a flow, and resolves their columns. Values of the partition key (`key`) are never NULL. Returns the
    /// types of the columns too. Notes for the user are added to `notes`.
    pub fn of<S: TargetTypes>(
        request: &ReadingRequest<'_>,
        key: Option<&str>,
        types: &mut S,
        notes: &mut Vec<String>,
    ) -> Result<(FlowReading, Vec<S::Type>), S::Error> {
        let ReadingRequest {
            package,
            flow,
            name,
            options,
            runs,
            ..
        } = *request;
        let target_columns = types.target_columns();
        let steps = AskedSteps::of(package, flow, name, options)?;
        let filled = target_columns.as_ref().map(|names| match &steps {
            Some(steps) => steps.filled_by_source(names),
            None => names.filled.clone(),
        });
        let target = request.target;
        let since = match flow.source.as_ref().and_then(|it| it.since.as_ref()) {
            Some(_) => {
                let stopped = runs.since_stopped(target)?;
                Some(options.since(runs.since_marks(target)?, stopped))
            }
            None => None,
        };
        let ranges = match range_marks::are_asked(flow) {
            true => options.ranges(flow, runs.ranges(target)?),
            false => Vec::new(),
        };
        let asked = FlowAsked {
            flow,
            name,
            folder: options.folder,
            package,
            filled: filled.as_deref(),
            since: since.as_ref(),
            ranges: &ranges,
            is_reference: false,
        };
        let mut inputs = options.sources.look(&asked, notes)?;
        if !S::TAKES_NATIVE {
            inputs.refuse_native(name)?;
        }
        let known = KnownColumns {
            key,
            ..inputs.known(&asked, target, target_columns.as_ref(), steps.as_ref())
        };
        let mut resolved = resolve(types, &known, &inputs.natives())?;
        notes.extend(known.note_of_unpivoted());
        let field_count = resolved.field_count;
        let source = inputs.settle(flow, name, resolved.filled_by_source(), field_count)?;
        let steps = resolved.steps(&*source)?;
        expect::refuse_sums_with_steps(flow, name)?;
        let ResolvedColumns { columns, types, .. } = resolved;
        let reading = FlowReading {
            inputs,
            source,
            columns,
            field_count,
            steps,
        };
        Ok((reading, types))
    }

    /// The sums that are computed over the rows, and the numbers that are promised for the files. `types` are the names of the
    /// columns' types, and `sums` are those of the destination.
    pub fn checks<'t>(
        &self,
        request: &ReadingRequest<'_>,
        types: impl Iterator<Item = &'t String>,
        sums: Option<Arc<dyn DestinationSums>>,
    ) -> Result<ReadingChecks, PlanError> {
        let ReadingRequest {
            flow,
            name,
            options,
            ..
        } = *request;
        let mut verify = VerifyPlan::new(&self.columns, types, sums);
        verify.summed = expect::places(name, &expect::summed(flow), &verify)?;
        let delimiter = self.inputs.delimiter();
        let expect = expect::plan(flow, name, options.folder, &*self.source, delimiter)?;
        Ok(ReadingChecks { verify, expect })
    }

    /// The reading as the run does it, with these checks.
    pub fn planned(
        self,
        request: &ReadingRequest<'_>,
        ReadingChecks { verify, expect }: ReadingChecks,
    ) -> Reading {
        let FlowReading {
            inputs,
            source,
            columns,
            field_count,
            steps,
        } = self;
        Reading {
            name: request.name.to_owned(),
            target: request.target.to_owned(),
            source,
            columns,
            steps,
            field_count,
            header: inputs.header,
            dialect: inputs.dialect,
            format: inputs.format,
            reject_hint: inputs.reject_hint,
            reject_limit: request.flow.rejects,
            verify,
            expect,
        }
    }
}
