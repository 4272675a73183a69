//! The types of the results file. Its schema (docs/bench-etlwr.schema.json) is generated from these types.

use inrush::preflight::capacity::CostsFound;
use inrush::report::{EmbeddedReport, RunReport, ServerReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use super::needs::{self, RecordNeeds};
use super::published::{PublishedFigures, published};
use super::rates::Rates;
use super::transforms::TableSteps;
use crate::statistics::median;

/// The version of the results file's format. A change of meaning raises it.
pub const RESULTS_VERSION: u32 = 1;

/// The results of a repetition of the record workload.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Results {
    /// The version of this file's format.
    pub results_version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// `etlwr`.
    pub workload: String,
    /// The command that does the same again.
    pub command: String,
    /// The start of the first run, RFC 3339.
    pub started_at: String,
    /// The end of the last run, RFC 3339.
    pub finished_at: String,
    /// `true`: the file has all requested runs. `false`: runs are in progress, or were stopped.
    pub complete: bool,
    /// The database is a columnstore on this machine, and not a PostgreSQL server.
    pub columnstore: bool,
    /// The loaded data.
    pub data: DataResult,
    /// The settings of the load.
    pub settings: SettingsResult,
    /// The machine that the loader ran on.
    pub machine: MachineResult,
    /// The number of cores of all machines involved, if known.
    pub cores_in_all: Option<u32>,
    /// The URL of the destination, without a password.
    pub destination: String,
    /// The server and the settings that matter to a load.
    pub server: ServerReport,
    /// The embedded server, if there was one.
    pub embedded: Option<EmbeddedReport>,
    /// The generation of the files, if this command generated them.
    pub generated: Option<GeneratedResult>,
    /// The runs, in the order in which they ran.
    pub runs: Vec<RunResult>,
    /// Seconds by the number of streams, the fewest streams first, as in figure 9 of the paper of 2016.
    pub curve: Vec<PointResult>,
    /// The loads with steps: the steps, and the times; absent without `--transforms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transforms: Option<TransformsResult>,
    /// What the accounts of the record runs say.
    pub published: Vec<PublishedFigures>,
    /// The time that the workloads of 2009 and 2016 would take, by the measured costs; empty if the meters measured
    /// nothing.
    pub needs: Vec<RecordNeeds>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// The loaded data.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DataResult {
    /// The scale of the files.
    pub files_of: Manifest,
    /// The folders of the files.
    pub folders: Vec<String>,
    /// The parts that were loaded.
    pub parts: Vec<u32>,
    /// The tables, in the sequence of 2009.
    pub tables: Vec<TableData>,
    /// The number of all files.
    pub files: usize,
    /// Bytes of text of all files.
    pub bytes: u64,
}

/// The files of a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableData {
    /// The table.
    pub table: String,
    /// Its files.
    pub files: usize,
    /// Bytes of text in them.
    pub bytes: u64,
}

/// The settings of the load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SettingsResult {
    /// `sequence`: table by table, as each stream of 2009 did; `largest_first`: the largest parts of
    /// all tables first.
    pub order: String,
    /// How each part was verified before its COMMIT: `count`, `sums` or `rows`.
    pub verify: String,
    /// The tables were analyzed; the time of ANALYZE does not count.
    pub analyze: bool,
    /// The requested numbers of streams.
    pub streams: Vec<u16>,
    /// How often each number of streams was measured.
    pub rounds: u16,
}

/// The loads whose rows went through steps: what the workload of 2009 left out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TransformsResult {
    /// The steps of each table.
    pub tables: Vec<TableSteps>,
    /// Seconds by the number of streams, the fewest streams first.
    pub curve: Vec<PointResult>,
    /// The comparison with the loads without steps, in the order of the curve.
    pub beside_plain: Vec<StepsCost>,
}

/// The cost of the steps with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepsCost {
    /// The number of streams.
    pub streams: u16,
    /// The median of the seconds divided by that without steps.
    pub seconds_ratio: f64,
    /// The mean CPU seconds of the loader divided by those without steps.
    pub loader_cpu_ratio: f64,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineResult {
    /// Cores that the loader may use.
    pub cores: usize,
    /// The processor's name.
    pub processor: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The kernel.
    pub kernel: String,
}

/// The generation of files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GeneratedResult {
    /// Seconds that it took.
    pub seconds: f64,
    /// The number of requested files.
    pub files: usize,
    /// The number of files that were generated; the other files existed.
    pub files_made: usize,
    /// Bytes of all requested files.
    pub bytes: u64,
    /// Bytes of the generated files.
    pub bytes_made: u64,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunResult {
    /// The name of the run and of its folder.
    pub run: String,
    /// The path of its report.
    pub report: Option<String>,
    /// The requested number of streams.
    pub streams: u16,
    /// The number of streams that had work.
    pub streams_used: usize,
    /// The round, counted from 1.
    pub round: u16,
    /// Its rows went through steps.
    pub transforms: bool,
    /// This run resumed an earlier run, so it is not measured.
    pub resumed: bool,
    /// The measured seconds: loading and switching.
    pub seconds: f64,
    /// Seconds from the start of the first stream to the end of the last stream.
    pub load_s: f64,
    /// Seconds of checking the account and switching.
    pub switch_s: f64,
    /// Seconds of ANALYZE, which do not count.
    pub analyze_s: f64,
    /// Seconds from the start of the run to its end, including planning.
    pub total_s: f64,
    /// CPU seconds of the loader, user and system.
    pub loader_cpu_s: f64,
    /// Seconds that the streams were in the steps, of all streams together.
    pub steps_s: f64,
    /// Rows that were loaded.
    pub rows: u64,
    /// Bytes of text that were loaded.
    pub bytes: u64,
    /// The size of all tables in the database, in bytes; of a columnstore that of its file or folder.
    pub stored_bytes: u64,
    /// The loading rates.
    pub rates: Option<Rates>,
    /// The line of its report's verdict: what limited the run.
    pub verdict: Option<String>,
    /// Its costs by its own meters; absent if they measured nothing.
    pub costs: Option<CostsFound>,
    /// The loaded tables.
    pub tables: Vec<TableResult>,
    /// The comparison of the loaded rows with dbgen's rows.
    pub proof: ProofResult,
}

/// A table that was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableResult {
    /// The table.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Bytes of its text.
    pub bytes: u64,
    /// Its partitions.
    pub partitions: usize,
    /// The size of the table in the database, in bytes; absent if the database does not report it for each table.
    pub stored_bytes: Option<u64>,
}

/// The comparison of the loaded rows with dbgen's rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProofResult {
    /// By the server's count, each part of each table has as many rows as dbgen's part, and
    /// is a partition.
    pub rows_are_dbgens: bool,
    /// How the values were compared with the files: `count`, `sums` or `rows` of each part before its COMMIT; in a
    /// columnstore, `sums` are compared for whole tables before the switch.
    pub verified: String,
    /// The differences found.
    pub differences: Vec<String>,
}

/// A point of the curve: all runs with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointResult {
    /// The number of streams.
    pub streams: u16,
    /// The number of measured runs.
    pub runs: usize,
    /// The median of their seconds.
    pub seconds: f64,
    /// The mean of the loader's CPU seconds.
    pub loader_cpu_s: f64,
    /// The mean of the seconds that their streams were in steps.
    pub steps_s: f64,
    /// The seconds of the fastest run.
    pub seconds_least: f64,
    /// The seconds of the slowest run.
    pub seconds_most: f64,
    /// The speed divided by the speed of the point with the fewest streams.
    pub speedup: f64,
    /// The loading rates, by the median.
    pub rates: Rates,
}

impl Results {
    /// Results with the facts of the machine, the server and the data that a first run gives.
    pub fn begin(begun: Begun<'_>, report: &RunReport) -> Results {
        Results {
            results_version: RESULTS_VERSION,
            inrush_version: report.inrush_version.clone(),
            workload: "etlwr".to_owned(),
            command: begun.command.to_owned(),
            started_at: report.started_at.clone(),
            finished_at: report.finished_at.clone(),
            complete: false,
            columnstore: begun.columnstore,
            data: begun.data,
            settings: begun.settings,
            machine: MachineResult {
                cores: report.machine.cores,
                processor: report.machine.processor.clone(),
                memory_bytes: report.machine.memory_bytes,
                kernel: report.machine.kernel.clone(),
            },
            cores_in_all: begun.cores_in_all,
            destination: report.destination.clone(),
            server: report.server.clone(),
            embedded: report.embedded.clone(),
            generated: begun.generated,
            runs: Vec::new(),
            curve: Vec::new(),
            transforms: (!begun.transforms.is_empty()).then(|| TransformsResult {
                tables: begun.transforms,
                curve: Vec::new(),
                beside_plain: Vec::new(),
            }),
            published: published(),
            needs: Vec::new(),
            notes: begun.notes,
        }
    }

    /// Adds a run.
    pub fn push(&mut self, run: RunResult, finished_at: &str) {
        self.finished_at = finished_at.to_owned();
        self.runs.push(run);
        let is_with_steps = |run: &&RunResult| run.transforms;
        let (with_steps, plain): (Vec<&RunResult>, _) = self.runs.iter().partition(is_with_steps);
        self.curve = curve(&plain, self.cores_in_all);
        self.needs = needs::needs(&plain, &self.published, self.columnstore);
        if let Some(transforms) = &mut self.transforms {
            transforms.curve = curve(&with_steps, self.cores_in_all);
            transforms.beside_plain = beside_plain(&transforms.curve, &self.curve);
        }
    }

    /// Adds a note, unless the results have it already.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The point with the fewest seconds.
    pub fn best(&self) -> Option<&PointResult> {
        fastest(&self.curve)
    }
}

/// The point of a curve with the fewest seconds.
pub(super) fn fastest(curve: &[PointResult]) -> Option<&PointResult> {
    let points = curve.iter();
    points.min_by(|one, other| one.seconds.total_cmp(&other.seconds))
}

/// The facts that are known before a first run ends.
pub struct Begun<'a> {
    /// The command that does the same again.
    pub command: &'a str,
    /// The database is a columnstore.
    pub columnstore: bool,
    /// The data to load.
    pub data: DataResult,
    /// The settings of the load, for the results.
    pub settings: SettingsResult,
    /// Cores of all machines that take part.
    pub cores_in_all: Option<u32>,
    /// The generation of the files, if this command made them.
    pub generated: Option<GeneratedResult>,
    /// The steps of each table; empty if rows go through none.
    pub transforms: Vec<TableSteps>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// The points with steps, each compared with the point without steps that has the same number of streams.
fn beside_plain(with_steps: &[PointResult], plain: &[PointResult]) -> Vec<StepsCost> {
    let costs = with_steps.iter().filter_map(|point| {
        let mut plain = plain.iter();
        let plain = plain.find(|plain| plain.streams == point.streams)?;
        Some(StepsCost {
            streams: point.streams,
            seconds_ratio: point.seconds / plain.seconds.max(1e-9),
            loader_cpu_ratio: point.loader_cpu_s / plain.loader_cpu_s.max(1e-9),
        })
    });
    costs.collect()
}

/// A point for each number of streams.
fn curve(runs: &[&RunResult], cores: Option<u32>) -> Vec<PointResult> {
    let measured = runs.iter().filter(|run| run.rates.is_some());
    let measured: Vec<&RunResult> = measured.copied().collect();
    let mut streams: Vec<u16> = measured.iter().map(|run| run.streams).collect();
    streams.sort_unstable();
    streams.dedup();
    let mut points: Vec<PointResult> = Vec::new();
    for streams in streams {
        let own = measured.iter().filter(|run| run.streams == streams);
        let bytes = own.clone().map(|run| run.bytes).max().unwrap_or(0);
        let loader_cpu_s = own.clone().map(|run| run.loader_cpu_s).sum::<f64>();
        let steps_s = own.clone().map(|run| run.steps_s).sum::<f64>();
        let mut seconds: Vec<f64> = own.map(|run| run.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let median = median(&seconds);
        points.push(PointResult {
            streams,
            runs: seconds.len(),
            loader_cpu_s: loader_cpu_s / seconds.len() as f64,
            steps_s: steps_s / seconds.len() as f64,
            seconds: median,
            seconds_least: seconds[0],
            seconds_most: seconds[seconds.len() - 1],
            speedup: points.first().map_or(median, |first| first.seconds) / median.max(1e-9),
            rates: Rates::new(bytes as f64, median, cores),
        });
    }
    points
}

/// The JSON schema of the results file.
#[cfg(test)]
pub fn results_schema() -> serde_json::Value {
    schemars::schema_for!(Results).to_value()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run of this number of streams and this time.
    pub fn run(streams: u16, seconds: f64, resumed: bool) -> RunResult {
        RunResult {
            run: format!("20260101T000000Z-etlwr-{streams}"),
            report: None,
            streams,
            streams_used: usize::from(streams),
            round: 1,
            transforms: false,
            resumed,
            seconds,
            load_s: seconds,
            switch_s: 0.0,
            analyze_s: 0.0,
            total_s: seconds,
            loader_cpu_s: 1.0,
            steps_s: 0.0,
            rows: 10,
            bytes: 100_000_000,
            stored_bytes: 120_000_000,
            rates: (!resumed).then(|| Rates::new(1e8, seconds, Some(2))),
            verdict: None,
            costs: None,
            tables: Vec::new(),
            proof: ProofResult {
                rows_are_dbgens: true,
                verified: "sums".to_owned(),
                differences: Vec::new(),
            },
        }
    }

    #[test]
    fn the_curve_is_made_of_medians() {
        let runs = [
            run(4, 3.0, false),
            run(1, 8.0, false),
            run(4, 1.0, false),
            run(2, 5.0, true),
            run(4, 2.0, false),
            run(1, 6.0, false),
        ];
        let points = curve(&runs.each_ref(), Some(2));
        let seen: Vec<_> = points
            .iter()
            .map(|point| (point.streams, point.runs, point.seconds, point.speedup))
            .collect();
        // A run that resumed another run is not a measurement.
        assert_eq!(seen, [(1, 2, 7.0, 1.0), (4, 3, 2.0, 3.5)]);
        assert_eq!(
            (points[1].seconds_least, points[1].seconds_most),
            (1.0, 3.0)
        );
        assert_eq!(points[1].rates.mb_per_s_per_core, Some(25.0));
        assert!(curve(&[&runs[3]], None).is_empty());
    }

    #[test]
    fn loads_with_steps_are_compared_with_those_of_as_many_streams() {
        let plain = [run(1, 8.0, false), run(2, 4.0, false)];
        let with_steps = [run(2, 5.0, false), run(4, 3.0, false)];
        let costs = beside_plain(
            &curve(&with_steps.each_ref(), None),
            &curve(&plain.each_ref(), None),
        );
        let [cost] = costs.as_slice() else {
            panic!("{costs:?}");
        };
        assert_eq!(
            (cost.streams, cost.seconds_ratio, cost.loader_cpu_ratio),
            (2, 1.25, 1.0)
        );
    }
}
