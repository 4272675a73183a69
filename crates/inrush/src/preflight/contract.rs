//! A preflight of a load into a destination that is reached by the contract. What it takes is measured by loading the
//! sample into another one of its kind, beside it, which is thrown away; where there is no other (a driver that goes to a
//! server), it is said not to be measured.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use inrush_destination::address::Kind;
use inrush_destination::{
    Address, Destination, NewRun, OpenRun, TargetPlan, UnitRecord, UnitStream, WriteMode,
};

use super::at_once::own_cpu_s;
use super::decode;
use super::destination::Took;
use super::model::{self, Beside, Piece, Schedule, Seen, Shared, Speed};
use super::read::{self, ReadWish};
use super::result::{FilesFound, PreflightReport, Step, StepFound};
use super::sample;
use super::steps::{self, FlowFound};
use super::together::{BesideRows, Together, client_share};
use super::walk::{self, Making, Portions, Walked};
use super::{READ_PATIENCE, STEP_PATIENCE, TOGETHER_PATIENCE, Wish, findings, shared_of};
use crate::error::Error;
use crate::meter::nanoseconds;
use crate::package::Package;
use crate::pipeline::contract::prepare;
use crate::pipeline::{RunOptions, plan_options, runtime};
use crate::plan::contract::{self, ContractFlow, Earlier};
use crate::plan::routing::KeyScans;
use crate::plan::{ContentChecks, ContractPlan, Obstacles, PlanError, PlanOptions};
use crate::report::Prediction;
use crate::source::{Pipes, Shard};

/// Flows that are measured: the largest.
const FLOWS_MAX: usize = 4;

/// Text of the batches that the destination is measured with alone.
const KEPT_TEXT_BYTES: u64 = 32 << 20;

/// The folder that a preflight makes beside the destination, and takes away again: for whoever ends the process.
pub fn scratch_folder(package: &Package, options: &RunOptions<'_>) -> Option<PathBuf> {
    let connection = package.single_connection().ok()?;
    let place = match Kind::of(connection.address())? {
        Kind::DuckDb(file) | Kind::Parquet(file) => options.folder.join(file),
        Kind::Adbc(_) => return None,
    };
    let name = format!(".inrush-preflight-{}", std::process::id());
    Some(place.parent().unwrap_or(Path::new("")).join(name))
}

/// Measures, and predicts the run.
pub fn preflight(
    package: &Package,
    options: &RunOptions<'_>,
    wish: &Wish,
) -> Result<PreflightReport, Error> {
    let begun = Instant::now();
    let mut report = super::frame(package, options);
    let runtime = runtime()?;
    let reached = prepare::reach(package, options);
    let destination = match reached {
        Ok(destination) => destination,
        Err(error @ Error::Contract(inrush_destination::Error::Address { .. })) => {
            return Err(error);
        }
        Err(error) => {
            report.findings.push(findings::of_error(&error));
            report.took_s = begun.elapsed().as_secs_f64();
            return Ok(report);
        }
    };
    let pipes = Pipes::new(options.stop.clone());
    let key_scans = KeyScans::default();
    let contents = ContentChecks::default();
    let obstacles = Obstacles::default();
    let plan_options = PlanOptions {
        obstacles: Some(&obstacles),
        ..plan_options(options, &pipes, &key_scans, &contents, false)
    };
    let planning = Instant::now();
    let building = contract::build(destination.as_ref(), package, &plan_options);
    let plan = runtime.block_on(building);
    let plan_s = planning.elapsed().as_secs_f64();
    for error in obstacles.take() {
        report.findings.push(findings::of_refusal(&error));
    }
    match plan {
        Ok(plan) => {
            report.destination.clone_from(&plan.destination);
            report.streams = plan.streams;
            report
                .findings
                .extend(plan.notes.iter().map(findings::tells));
            match &plan.earlier {
                Earlier::Loaded(run) => report.findings.push(findings::tells(format!(
                    "these files are loaded already, by run {}: a run would do nothing",
                    run.record.name
                ))),
                _ if plan.flows.is_empty() => {}
                _ => {
                    let preflight = Preflight {
                        package,
                        plan: &plan,
                        options,
                        wish,
                        plan_s,
                    };
                    match preflight.measure(&mut report) {
                        Ok(()) => {}
                        Err(
                            error @ (Error::Source(_)
                            | Error::Header { .. }
                            | Error::Convert { .. }),
                        ) => report.findings.push(findings::of_error(&error)),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Err(error @ PlanError::Package(_)) => return Err(error.into()),
        Err(error) => match Error::from(error) {
            Error::Interrupted => return Err(Error::Interrupted),
            error => report.findings.push(findings::of_error(&error)),
        },
    }
    super::order(&mut report);
    report.took_s = begun.elapsed().as_secs_f64();
    Ok(report)
}

struct Preflight<'a> {
    package: &'a Package,
    plan: &'a ContractPlan,
    options: &'a RunOptions<'a>,
    wish: &'a Wish,
    plan_s: f64,
}

impl Preflight<'_> {
    fn measure(&self, report: &mut PreflightReport) -> Result<(), Error> {
        let plan = self.plan;
        let mut flows = self.flows()?;
        let places: Vec<_> = steps::portions(&flows)
            .map(|portion| portion.place.clone())
            .collect();
        let wish = ReadWish {
            streams: plan.streams,
            chunk_bytes: plan.settings.chunk_bytes as usize,
            patience: READ_PATIENCE,
            cold: self.wish.cold,
        };
        let read = read::measure(&places, &wish, &self.options.stop)?;
        steps::keep_read(&mut flows, &read.is_read);
        let parts = flows.len().max(1) as f64;
        let patience = STEP_PATIENCE.div_f64(parts);
        for found in &mut flows {
            self.decode(found, patience)?;
        }
        let mut why_not = None;
        let scratch = scratch_folder(self.package, self.options);
        match &scratch {
            None => {
                why_not = Some(
                    "a driver goes to a place that has no other one beside it to be thrown away"
                        .to_owned(),
                );
            }
            Some(folder) => {
                let scratch = Scratch::make(self, folder);
                let measured =
                    scratch.and_then(|scratch| self.destination(&scratch, &mut flows, parts));
                match measured {
                    Ok(()) => {}
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(error) => why_not = Some(findings::words(&error)),
                }
            }
        }
        for found in &flows {
            let reading = &plan.flows[found.index].reading;
            report
                .findings
                .extend(steps::rejected(reading, found.decoded.as_ref()));
        }
        report.files = self.files(&flows, read.cached_share);
        let why_not = why_not.unwrap_or_else(|| "no row of the sample came so far".to_owned());
        report.steps = steps::client(&flows, &read, plan.streams);
        report.steps.push(StepFound::not_measured(
            Step::Network,
            "the destination is no server",
        ));
        report
            .steps
            .push(steps::destination(&flows, plan.streams, &why_not));
        report.steps.push(steps::together(&flows, &why_not));
        if flows.iter().any(FlowFound::has_speed) {
            self.predict(
                report,
                &flows,
                &shared_of(&flows, &read, self.stored_bytes()),
            )?;
        }
        Ok(())
    }

    fn is_kept(&self, key: &str) -> bool {
        match &self.plan.earlier {
            Earlier::Stopped { kept, .. } => kept.contains(key),
            _ => false,
        }
    }

    /// The file ranges of a flow that are left to load.
    fn left<'f>(&'f self, flow: &'f ContractFlow) -> impl Iterator<Item = &'f Shard> {
        let left = flow.units.iter().filter(|unit| !self.is_kept(&unit.key));
        left.map(|unit| &unit.shard)
    }

    fn stored_bytes(&self) -> f64 {
        let shards = self.plan.flows.iter().flat_map(|flow| self.left(flow));
        shards.map(|shard| shard.size_bytes() as f64).sum()
    }

    fn flows(&self) -> Result<Vec<FlowFound>, Error> {
        let mut found = Vec::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let shards: Vec<Shard> = self.left(flow).cloned().collect();
            let stored_bytes: u64 = shards.iter().map(Shard::size_bytes).sum();
            if stored_bytes == 0 {
                continue;
            }
            let dialect = &flow.reading.dialect;
            let portions = sample::portions(&[shards], dialect, self.plan.streams)?;
            found.push(FlowFound {
                index,
                stored_bytes: stored_bytes as f64,
                works: portions.into_iter().map(|own| (0, own)).collect(),
                ..FlowFound::default()
            });
        }
        found.sort_by(|a, b| b.stored_bytes.total_cmp(&a.stored_bytes));
        found.truncate(FLOWS_MAX);
        Ok(found)
    }

    fn making<'f>(&self, flow: &'f ContractFlow) -> Making<'f> {
        Making {
            reading: &flow.reading,
            chunk_bytes: self.plan.settings.chunk_bytes as usize,
            batch_rows: self.plan.batch_rows,
        }
    }

    fn decode(&self, found: &mut FlowFound, patience: Duration) -> Result<(), Error> {
        let flow = &self.plan.flows[found.index];
        let making = self.making(flow);
        let portions = found.spread();
        let converter = || walk::converter(&flow.reading);
        let stop = &self.options.stop;
        let measure = |threads| {
            let ways: (decode::MakeConverter<'_>, decode::MakeEncoder<'_>) = (&converter, &|| None);
            decode::measure(&making, &portions, threads, patience, ways, stop)
        };
        found.decoded = Some(measure(1)?);
        if self.plan.streams > 1 {
            found.decoded_all = Some(measure(self.plan.streams)?);
        }
        Ok(())
    }

    fn destination(
        &self,
        scratch: &Scratch,
        flows: &mut [FlowFound],
        parts: f64,
    ) -> Result<(), Error> {
        let streams = self.plan.streams;
        for found in flows {
            let batches = self.batches(found)?;
            // Rows that are all rejected leave batches without any.
            if batches.0.iter().all(|batch| batch.num_rows() == 0) {
                continue;
            }
            let patience = STEP_PATIENCE.div_f64(parts);
            let one = self.write(scratch, found.index, &batches, 1, patience)?;
            found.destination_all = Some(match streams {
                1 => one,
                _ => self.write(scratch, found.index, &batches, streams, patience)?,
            });
            found.destination = Some(one);
            let patience = TOGETHER_PATIENCE.div_f64(parts);
            if streams > 1 {
                found.together = Some(self.together(scratch, found, 1, patience / 2)?);
            }
            let all = self.together(scratch, found, streams, patience)?;
            found.together = found.together.take().or_else(|| Some(all.clone()));
            found.together_all = Some(all);
        }
        Ok(())
    }

    /// Rows that are converted before they are written, and the text that they were made of.
    fn batches(&self, found: &FlowFound) -> Result<(Vec<RecordBatch>, u64), Error> {
        let flow = &self.plan.flows[found.index];
        let making = self.making(flow);
        let mut converter = walk::converter(&flow.reading)?;
        let mut batches = Vec::new();
        let mut text_bytes = 0;
        for portion in found.spread() {
            if text_bytes >= KEPT_TEXT_BYTES {
                break;
            }
            let mut walk = walk::portion(&making, &mut converter, &portion)?;
            while let Some(batch) = walk.next_batch()? {
                batches.push(batch);
                if text_bytes + walk.text_bytes() >= KEPT_TEXT_BYTES {
                    break;
                }
            }
            text_bytes += walk.end().meter.text_bytes;
        }
        Ok((batches, text_bytes))
    }

    /// Writes rows that are at hand, by so many streams at once.
    fn write(
        &self,
        scratch: &Scratch,
        flow: usize,
        (batches, text_bytes): &(Vec<RecordBatch>, u64),
        streams: usize,
        patience: Duration,
    ) -> Result<Took, Error> {
        let per_batch = *text_bytes as f64 / batches.len().max(1) as f64;
        let write =
            |target: &str, number: usize, stream: &mut dyn UnitStream| -> Result<Took, Error> {
                let begun = Instant::now();
                let (mut rows, mut written) = (0, 0_u64);
                for batch in batches.iter().cycle().skip(number * 7) {
                    rows += batch.num_rows() as u64 - stream.write(batch)?.len() as u64;
                    written += 1;
                    let is_stopped = self.options.stop.asked().is_some();
                    if begun.elapsed() >= patience || is_stopped {
                        break;
                    }
                }
                if self.options.stop.asked().is_some() {
                    return Err(Error::Interrupted);
                }
                commit(stream, target, number, rows)?;
                let took_s = begun.elapsed().as_secs_f64();
                // Told in bytes of text: nobody sees what such a destination is sent.
                let sent_bytes = written as f64 * per_batch;
                Ok(Took {
                    sent_bytes_s: sent_bytes / took_s.max(1e-9),
                    sent_bytes: sent_bytes as u64,
                    took_s,
                })
            };
        let mut found = Took::default();
        for one in scratch.run(self, flow, streams, &write)?.0 {
            found.sent_bytes += one.sent_bytes;
            found.sent_bytes_s += one.sent_bytes_s;
            found.took_s = found.took_s.max(one.took_s);
        }
        Ok(found)
    }

    /// All steps at once, by so many streams.
    fn together(
        &self,
        scratch: &Scratch,
        found: &FlowFound,
        streams: usize,
        patience: Duration,
    ) -> Result<Together, Error> {
        let flow = &self.plan.flows[found.index];
        let making = self.making(flow);
        let portions = Portions::new(found.spread());
        let cpu_before = own_cpu_s();
        let begun = Instant::now();
        let load =
            |target: &str, number: usize, stream: &mut dyn UnitStream| -> Result<Tried, Error> {
                let mut converter = walk::converter(&flow.reading)?;
                let mut tried = Tried::default();
                let begun = Instant::now();
                let mut refused = 0;
                'all: while let Some(portion) = portions.take() {
                    let mut walk = walk::portion(&making, &mut converter, portion)?;
                    while let Some(batch) = walk.next_batch()? {
                        let writing = Instant::now();
                        refused += stream.write(&batch)?.len() as u64;
                        tried.wait_ns += nanoseconds(writing.elapsed());
                        if self.options.stop.asked().is_some() {
                            return Err(Error::Interrupted);
                        }
                        if begun.elapsed() >= patience {
                            drop(batch);
                            tried.walked.add(walk.end());
                            break 'all;
                        }
                    }
                    tried.walked.add(walk.end());
                }
                tried.took_s = begun.elapsed().as_secs_f64();
                let committing = Instant::now();
                let rows = tried.walked.meter.rows - refused;
                commit(stream, target, number, rows)?;
                tried.commit_s = committing.elapsed().as_secs_f64();
                Ok(tried)
            };
        let (all, publish_s) = scratch.run(self, found.index, streams, &load)?;
        let took_s = begun.elapsed().as_secs_f64().max(1e-9);
        let mut together = Together {
            took_s,
            client_cores: (own_cpu_s() - cpu_before) / took_s,
            ..Together::default()
        };
        for mut tried in all {
            let own_s = tried.took_s.max(1e-9);
            together.stream_s += own_s;
            together.text_bytes_s += tried.walked.meter.text_bytes as f64 / own_s;
            together.rows_s += tried.walked.meter.rows as f64 / own_s;
            tried.walked.meter.send_wait_ns += tried.wait_ns;
            together.beside.ready_s += tried.commit_s / streams as f64;
            together.walked.add(tried.walked);
        }
        together.beside = BesideRows {
            rows: together.walked.meter.rows as f64 / streams as f64,
            copy_s: Some(publish_s),
            ..together.beside
        };
        Ok(together)
    }

    fn files(&self, flows: &[FlowFound], cached_share: Option<f64>) -> FilesFound {
        let mut found = FilesFound {
            cached_share,
            ..FilesFound::default()
        };
        let (mut text, mut rows) = (0.0, 0.0);
        let mut paths = std::collections::BTreeSet::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let stored: u64 = flow.shards().map(Shard::size_bytes).sum();
            found.stored_bytes += stored;
            paths.extend(flow.shards().map(|shard| shard.file.path.as_path()));
            let like = steps::like(flows, index);
            text += stored as f64 * like.map_or(1.0, FlowFound::text_of_stored);
            rows += stored as f64 * like.map_or(0.0, FlowFound::rows_of_stored);
        }
        found.count = paths.len();
        found.text_bytes = text.round() as u64;
        found.rows = (rows > 0.0).then_some(rows.round() as u64);
        found
    }

    fn predict(
        &self,
        report: &mut PreflightReport,
        flows: &[FlowFound],
        shared: &Shared,
    ) -> Result<(), Error> {
        let plan = self.plan;
        let measured: Vec<&FlowFound> = flows
            .iter()
            .filter(|flow| flow.together_all.is_some())
            .collect();
        let speeds: Vec<Speed> = measured
            .iter()
            .map(|flow| Speed {
                one: flow.together.as_ref().map_or(1.0, |one| one.text_bytes_s),
                all: flow
                    .together_all
                    .as_ref()
                    .map_or(1.0, |all| all.text_bytes_s),
            })
            .collect();
        let mut pieces = Vec::new();
        let mut switch_s = 0.0;
        for (index, flow) in plan.flows.iter().enumerate() {
            let place = measured
                .iter()
                .position(|flow| flow.index == index)
                .unwrap_or(0);
            let like = measured[place];
            let Some(tried) = &like.together_all else {
                continue;
            };
            let tried_text = (tried.walked.meter.text_bytes as f64).max(1.0);
            let mut whole = 0.0;
            for shard in self.left(flow) {
                let text_bytes = shard.size_bytes() as f64 * like.text_of_stored();
                whole += text_bytes;
                // A COMMIT flushes what it is for.
                let times = text_bytes / (tried_text / plan.streams as f64);
                pieces.push(Piece {
                    flow: place,
                    text_bytes,
                    beside: Beside {
                        server_s: 0.0,
                        flush_s: tried.beside.ready_s * times,
                    },
                });
            }
            switch_s += tried.beside.copy_s.unwrap_or(0.0) * whole / tried_text;
        }
        pieces.sort_by(|a, b| b.text_bytes.total_cmp(&a.text_bytes));
        let schedule: Schedule = model::schedule(&pieces, &speeds, plan.streams);
        let tried = measured[0].together_all.as_ref();
        let seen = Seen {
            client_share: tried.map_or(0.0, client_share),
            client_cores: tried.map_or(0.0, |tried| tried.client_cores),
            // Its threads are the loader's.
            server_cores: None,
            cores: super::cores() as f64,
            network: None,
            destination: None,
            streams: plan.streams,
        };
        let answer = model::answer(&schedule, shared, &seen);
        let mut leaves_out = Vec::new();
        if plan.flows.iter().any(|flow| flow.facts.is_some()) {
            leaves_out.push(
                "what a target that has rows adds to publishing: the trial's was new".to_owned(),
            );
        }
        let prediction = Prediction {
            made_at: report.made_at.clone(),
            streams: plan.streams,
            stored_bytes: report.files.stored_bytes,
            predicted_s: self.plan_s + answer.load_s + switch_s,
            plan_s: self.plan_s,
            load_s: answer.load_s,
            switch_s,
            analyze_s: 0.0,
            limiting: answer.limiting,
            because: answer.because,
            leaves_out,
        };
        super::leave(report, self.options, &plan.run_key, &prediction);
        report.prediction = Some(prediction);
        Ok(())
    }
}

/// What a stream came through.
#[derive(Default)]
struct Tried {
    walked: Walked,
    wait_ns: u64,
    took_s: f64,
    commit_s: f64,
}

/// Destinations that are thrown away, in a folder beside the real one: on the same disk.
struct Scratch {
    folder: PathBuf,
    is_parquet: bool,
}

impl Scratch {
    fn make(preflight: &Preflight<'_>, folder: &Path) -> Result<Scratch, Error> {
        let connection = preflight.package.single_connection()?;
        let is_parquet = matches!(Kind::of(connection.address()), Some(Kind::Parquet(_)));
        std::fs::create_dir(folder).map_err(|source| Error::Folder {
            path: folder.display().to_string(),
            source,
        })?;
        Ok(Scratch {
            folder: folder.to_owned(),
            is_parquet,
        })
    }

    /// Lets streams load into a destination of its own, which is removed then; also the seconds of publishing.
    fn run<T: Send>(
        &self,
        preflight: &Preflight<'_>,
        flow: usize,
        streams: usize,
        work: &(impl Fn(&str, usize, &mut dyn UnitStream) -> Result<T, Error> + Sync),
    ) -> Result<(Vec<T>, f64), Error> {
        // What stands beside its file, such as a log, goes with the folder.
        let folder = self.folder.join("one");
        let place = folder.join("sample");
        std::fs::create_dir(&folder).map_err(|source| Error::Folder {
            path: folder.display().to_string(),
            source,
        })?;
        let done = self.run_in(&place, preflight, flow, streams, work);
        // What cannot be removed now is taken away with the whole folder.
        let _ = std::fs::remove_dir_all(&folder);
        done
    }

    fn run_in<T: Send>(
        &self,
        place: &Path,
        preflight: &Preflight<'_>,
        flow: usize,
        streams: usize,
        work: &(impl Fn(&str, usize, &mut dyn UnitStream) -> Result<T, Error> + Sync),
    ) -> Result<(Vec<T>, f64), Error> {
        let (package, options, plan) = (preflight.package, preflight.options, preflight.plan);
        let connection = package.single_connection()?;
        let absolute = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let kind = if self.is_parquet { "parquet" } else { "duckdb" };
        let destination: Box<dyn Destination> = inrush_destination::open(&Address {
            url: &format!("{kind}:{}", absolute.display()),
            options: &connection.options,
            folder: Path::new("/"),
            site_packages: options.site_packages.as_deref(),
            ledger_schema: &package.run.ledger_schema,
        })?;
        let planned = &plan.flows[flow].target;
        let target = TargetPlan {
            name: destination.target_name(None, &planned.name.name)?,
            mode: WriteMode::Create,
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
            ..planned.clone()
        };
        let open: Box<dyn OpenRun> = destination.begin(
            &NewRun {
                run_key: plan.run_key.clone(),
                name: "inrush_preflight".to_owned(),
                package: plan.package.clone(),
                package_hash: plan.package_hash.clone(),
                holder: "inrush preflight".to_owned(),
                started_at_microseconds: 0,
                takes_over: None,
            },
            std::slice::from_ref(&target),
        )?;
        let results: Vec<Result<T, Error>> = std::thread::scope(|scope| {
            let (open, name) = (open.as_ref(), target.name.sql.as_str());
            let begin = |number: usize| {
                scope.spawn(move || {
                    let mut stream = open.open_stream()?;
                    stream.begin_unit(0, &key(number))?;
                    work(name, number, stream.as_mut())
                })
            };
            let threads: Vec<_> = (0..streams).map(begin).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T, Error>>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let found: Vec<T> = results.into_iter().collect::<Result<_, Error>>()?;
        let publishing = Instant::now();
        open.publish(&|_| {})?;
        Ok((found, publishing.elapsed().as_secs_f64()))
    }
}

/// Commits the rows of a stream, of which the destination has its own count.
fn commit(
    stream: &mut dyn UnitStream,
    target: &str,
    number: usize,
    rows: u64,
) -> Result<(), Error> {
    stream.commit_unit(&UnitRecord {
        key: key(number),
        target: target.to_owned(),
        rows_loaded: rows,
        detail: String::new(),
    })?;
    Ok(())
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody is left who could be told that it failed.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn key(number: usize) -> String {
    format!("inrush_preflight_{number}")
}
