//! The events of a run.

use std::path::PathBuf;

use inrush_engine::error::Error;
use inrush_engine::report::{Outcome, RunReport, TableReport};
use inrush_package::Package;
use inrush_plan::lineage::{FlowLineage, ReferenceColumn, RunLineage};
use inrush_rows::hexadecimal::hexadecimal;
use inrush_rows::ids::RunName;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::column_lineage::{column_lineage, field_name};
use crate::datasets::Dataset;
use crate::facets::{self, PRODUCER};

/// The schema of the events.
const SCHEMA: &str = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent";

/// The job to which the runs belong.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Its namespace.
    pub namespace: String,
    /// Its name: that of the package.
    pub name: String,
}

/// The facts that all events of a run share.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    /// The job.
    pub job: Job,
    /// The run.
    pub run: RunName,
    /// The origin of its columns.
    pub lineage: RunLineage,
    /// The URL of each flow's target, without a password.
    pub targets: Vec<String>,
    /// Relative paths begin here.
    pub folder: PathBuf,
}

impl Job {
    /// The event of a run that failed before it was in the ledger. It has no name, so its id is made from the time.
    pub(crate) fn refused(&self, error: &Error) -> Value {
        let now = Timestamp::now().to_string();
        self.event(
            failure_word(error),
            &now,
            failure_facets(error),
            Default::default(),
        )
    }

    /// The event of a run that has a report but did not begin. `None` if it did not fail either: its files were already
    /// loaded.
    pub(crate) fn refused_with_report(&self, report: &RunReport) -> Option<Value> {
        report.error.as_ref()?;
        let run = report.run.as_str();
        Some(self.event(
            end_word(report),
            run,
            end_facets(report),
            Default::default(),
        ))
    }

    fn event(
        &self,
        word: &str,
        run: &str,
        mut facets: Map<String, Value>,
        (inputs, outputs): (Vec<Value>, Vec<Value>),
    ) -> Value {
        facets.insert("processing_engine".to_owned(), facets::processing_engine());
        json!({
            "eventType": word,
            "eventTime": Timestamp::now().to_string(),
            "producer": PRODUCER,
            "schemaURL": SCHEMA,
            "run": { "runId": self.run_id(run), "facets": facets },
            "job": {
                "namespace": self.namespace,
                "name": self.name,
                "facets": { "jobType": facets::job_type() },
            },
            "inputs": inputs,
            "outputs": outputs,
        })
    }

    /// A UUID of version 8, made from the name of the run, so that a resumed run keeps it.
    fn run_id(&self, run: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.namespace.as_str(), &self.name, run] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut bytes: [u8; 16] = std::array::from_fn(|at| digest[at]);
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let digits = hexadecimal(&bytes);
        format!(
            "{}-{}-{}-{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..]
        )
    }
}

impl RunFacts {
    /// The facts of a run that begins.
    pub(crate) fn new(
        package: &Package,
        job: &Job,
        run: &RunName,
        lineage: &RunLineage,
        folder: PathBuf,
    ) -> RunFacts {
        let url = |flow: &FlowLineage| {
            let mut flows = package.flows.iter();
            let declared = flows.find(|declared| declared.shown_name() == flow.flow);
            let named = declared.and_then(|declared| declared.connection.as_ref());
            let connection = match named {
                Some(name) => package.connections.get(name),
                None => package.single_connection().ok(),
            };
            connection.map_or_else(String::new, inrush_package::Connection::redacted_url)
        };
        RunFacts {
            job: job.clone(),
            run: run.clone(),
            targets: lineage.flows.iter().map(url).collect(),
            lineage: lineage.clone(),
            folder,
        }
    }

    /// The event at the start.
    pub(crate) fn start(&self) -> Value {
        self.event("START", Map::new(), None)
    }

    /// An event while the run loads: the rows that were read so far.
    pub(crate) fn running(&self, rows_read: u64) -> Value {
        let mut facets = Map::new();
        facets.insert("inrush_progress".to_owned(), facets::of_progress(rows_read));
        self.event("RUNNING", facets, None)
    }

    /// The event at the end.
    pub(crate) fn end(&self, report: &RunReport) -> Value {
        self.event(end_word(report), end_facets(report), Some(report))
    }

    /// The event at the end of a run that has no report.
    pub(crate) fn end_without_report(&self, error: &Error) -> Value {
        self.event(failure_word(error), failure_facets(error), None)
    }

    fn event(&self, word: &str, facets: Map<String, Value>, report: Option<&RunReport>) -> Value {
        let flows = self.lineage.flows.iter().zip(&self.targets);
        let sources = self.lineage.flows.iter();
        let mut inputs: Vec<Value> = sources.map(|flow| self.input(flow, report)).collect();
        inputs.extend(self.references());
        let outputs = flows.map(|(flow, url)| self.output(flow, url, report));
        self.job
            .event(word, self.run.as_str(), facets, (inputs, outputs.collect()))
    }

    /// The references of all lookups, each once, with the columns that are read.
    fn references(&self) -> Vec<Value> {
        let mut found: Vec<(Dataset, Vec<&ReferenceColumn>)> = Vec::new();
        for step in self.lineage.flows.iter().flat_map(|flow| &flow.steps) {
            let Some(reference) = &step.reference else {
                continue;
            };
            let dataset = Dataset::of_source(reference, &self.folder);
            let at = found.iter().position(|(known, _)| *known == dataset);
            let at = at.unwrap_or_else(|| {
                found.push((dataset, Vec::new()));
                found.len() - 1
            });
            let columns = &mut found[at].1;
            for column in &step.reference_columns {
                if columns.iter().all(|known| known.name != column.name) {
                    columns.push(column);
                }
            }
        }
        let found = found.into_iter().map(|(dataset, columns)| {
            let fields = columns.iter();
            let fields = fields.map(|column| (column.name.as_str(), column.data_type.as_str()));
            let mut reference = json!({ "namespace": dataset.namespace, "name": dataset.name });
            if !columns.is_empty() {
                reference["facets"] = json!({ "schema": facets::schema(fields) });
            }
            reference
        });
        found.collect()
    }

    /// The source of a flow.
    fn input(&self, flow: &FlowLineage, report: Option<&RunReport>) -> Value {
        let source = Dataset::of_source(&flow.source, &self.folder);
        let fields = flow.read.iter().filter_map(|read| {
            let name = field_name(read)?;
            Some((name, read.data_type.as_str()))
        });
        let mut input = json!({
            "namespace": source.namespace,
            "name": source.name,
            "facets": { "schema": facets::schema(fields) },
        });
        if let Some(table) = table_of(report, flow) {
            let mut own = Map::new();
            own.insert(
                "dataQualityMetrics".to_owned(),
                facets::input_metrics(table),
            );
            if let Some(assertions) = facets::assertions(flow, table) {
                own.insert("dataQualityAssertions".to_owned(), assertions);
            }
            input["inputFacets"] = Value::Object(own);
        }
        input
    }

    fn output(&self, flow: &FlowLineage, url: &str, report: Option<&RunReport>) -> Value {
        let source = Dataset::of_source(&flow.source, &self.folder);
        let target = Dataset::of_table(url, &flow.target, &self.folder);
        let columns = flow.columns.iter();
        let columns = columns.map(|column| (column.name.as_str(), column.data_type.as_str()));
        let mut output = json!({
            "namespace": target.namespace,
            "name": target.name,
            "facets": {
                "schema": facets::schema(columns),
                "columnLineage": column_lineage(flow, &source, &self.folder),
            },
        });
        if let Some(table) = table_of(report, flow) {
            output["outputFacets"] =
                json!({ "outputStatistics": facets::output_statistics(table) });
        }
        output
    }
}

fn end_word(report: &RunReport) -> &'static str {
    match report.outcome {
        Outcome::Loaded | Outcome::AlreadyLoaded => "COMPLETE",
        Outcome::Failed => "FAIL",
        Outcome::Interrupted => "ABORT",
    }
}

fn end_facets(report: &RunReport) -> Map<String, Value> {
    let mut facets = Map::new();
    facets.insert("inrush_run".to_owned(), facets::of_run(report));
    if let Some(error) = &report.error {
        let error = facets::error_message(error, report.hint.as_deref());
        facets.insert("errorMessage".to_owned(), error);
    }
    facets
}

fn failure_word(error: &Error) -> &'static str {
    match error {
        Error::Interrupted => "ABORT",
        _ => "FAIL",
    }
}

fn failure_facets(error: &Error) -> Map<String, Value> {
    let message = facets::error_message(&error.to_string(), error.hint().as_deref());
    Map::from_iter([("errorMessage".to_owned(), message)])
}

fn table_of<'r>(report: Option<&'r RunReport>, flow: &FlowLineage) -> Option<&'r TableReport> {
    let mut tables = report?.tables.iter();
    tables.find(|table| table.flow == flow.flow)
}
