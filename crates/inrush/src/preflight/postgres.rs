//! A preflight of a load into a server of PostgreSQL.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::at_once::Server;
use super::decode;
use super::model::{self, Beside, Piece, Schedule, Seen, Shared, Speed};
use super::network::{self, Network};
use super::read::{self, ReadFound, ReadWish};
use super::result::{FilesFound, Finding, PreflightReport, Step, StepFound, Weight};
use super::sample::{self, Portion};
use super::steps::{self, FlowFound};
use super::together::{self, Together, Work};
use super::trial::Ground;
use super::wal::{self, Wal};
use super::walk::{Making, stamped};
use super::{
    READ_PATIENCE, STEP_PATIENCE, TOGETHER_PATIENCE, WAL_PATIENCE, Wish, findings, shared_of,
};
use crate::destination::postgres::catalog::TargetFacts;
use crate::destination::postgres::{Address, DestinationError, Session};
use crate::error::Error;
use crate::package::Package;
use crate::pipeline::encoder::Encoder;
use crate::pipeline::{RunOptions, plan_options, prepare, rows, runtime};
use crate::plan::routing::KeyScans;
use crate::plan::work_items::{self, Committed, WorkItem};
use crate::plan::{
    self, ContentChecks, Earlier, FlowPlan, Obstacles, Plan, PlanError, PlanOptions, Publish,
    UnitPlan, statistics,
};
use crate::report::Prediction;
use crate::source::{self, Pipes, ResolveOptions, Shard};

/// Flows that are measured: the largest. The others are taken to be like them.
const FLOWS_MAX: usize = 4;

/// Round trips of a transaction beside its rows: BEGIN, the fence, settings, COPY, the ledger's rows, COMMIT.
const TRIPS_OF_PIECE: f64 = 8.0;

/// Statements of the ledger before the streams begin and at the switch, in all.
const TRIPS_OF_RUN: f64 = 24.0;

/// What of the log is not flushed yet when a COMMIT comes, at most: a segment is flushed when it is full.
const WAL_SEGMENT_BYTES: f64 = 16_777_216.0;

/// Measures, and predicts the run.
pub fn preflight(
    package: &Package,
    options: &RunOptions<'_>,
    wish: &Wish,
) -> Result<PreflightReport, Error> {
    let begun = Instant::now();
    let runtime = runtime()?;
    let address = prepare::address(package, options)?;
    let mut report = super::frame(package, options);
    let session = match runtime.block_on(Session::open(&address, "inrush preflight")) {
        Ok(session) => session,
        Err(error @ DestinationError::Address { .. }) => return Err(error.into()),
        Err(error) => {
            report.findings.push(findings::of_error(&error.into()));
            report.findings.extend(missing_files(package, options));
            report.took_s = begun.elapsed().as_secs_f64();
            return Ok(report);
        }
    };
    let planning = Instant::now();
    let planned = runtime.block_on(plan_all(&session, &address, package, options))?;
    let plan_s = planning.elapsed().as_secs_f64();
    report.findings.extend(planned.findings);
    if let Some(plan) = planned.plan {
        report.destination.clone_from(&plan.destination);
        report.streams = plan.streams;
        report
            .findings
            .extend(runtime.block_on(findings::of_server(&session, &plan))?);
        let is_loaded = matches!(plan.earlier, Earlier::Loaded(_));
        if !is_loaded && !planned.is_held && !plan.flows.is_empty() {
            let preflight = Preflight {
                runtime: &runtime,
                address: &address,
                session: &session,
                plan: &plan,
                options,
                wish,
                plan_s,
            };
            match preflight.measure(&mut report) {
                Ok(()) => {}
                Err(error @ (Error::Source(_) | Error::Header { .. } | Error::Convert { .. })) => {
                    report.findings.push(findings::of_error(&error));
                }
                Err(error) => return Err(error),
            }
        }
    }
    runtime.block_on(session.close());
    super::order(&mut report);
    report.took_s = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// What planning brought.
struct Planned {
    plan: Option<Plan>,
    /// Another run of the package is at work.
    is_held: bool,
    findings: Vec<Finding>,
}

/// Plans, and gathers all that a run would be refused for. Only a package that is wrong in itself is an error.
async fn plan_all(
    session: &Session,
    address: &Address,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Planned, Error> {
    let pipes = Pipes::new(options.stop.clone());
    let key_scans = KeyScans::default();
    let contents = ContentChecks::default();
    let obstacles = Obstacles::default();
    let plan_options = PlanOptions {
        obstacles: Some(&obstacles),
        ..plan_options(options, &pipes, &key_scans, &contents, false)
    };
    let plan = plan::build(session, address, package, &plan_options).await;
    let mut found = Planned {
        plan: None,
        is_held: false,
        findings: Vec::new(),
    };
    for error in obstacles.take() {
        found.findings.push(findings::of_refusal(&error));
    }
    match plan {
        Ok(plan) => {
            let holder = findings::of_holder(session, &plan).await?;
            found.is_held = holder.is_some();
            found
                .findings
                .extend(findings::of_plan(&plan, found.is_held));
            found.findings.extend(holder);
            found.plan = Some(plan);
        }
        Err(error @ PlanError::Package(_)) => return Err(error.into()),
        Err(error) => match Error::from(error) {
            Error::Interrupted => return Err(Error::Interrupted),
            error => found.findings.push(findings::of_error(&error)),
        },
    }
    Ok(found)
}

/// Files that cannot be read, where there is no server to plan with.
fn missing_files(package: &Package, options: &RunOptions<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for flow in &package.flows {
        let Ok(encoding) = flow.format.text_encoding() else {
            continue;
        };
        let files = source::resolve_as(
            flow.files.patterns(),
            &options.folder,
            &ResolveOptions {
                compression: flow.format.compression,
                encoding,
                pipes: Pipes::new(options.stop.clone()),
                reader: flow.name.as_deref().unwrap_or(&flow.table),
            },
        );
        if let Err(error) = files {
            found.push(findings::of_refusal(&error.into()));
        }
    }
    found
}

/// A plan that is measured.
struct Preflight<'a> {
    runtime: &'a Runtime,
    address: &'a Address,
    session: &'a Session,
    plan: &'a Plan,
    options: &'a RunOptions<'a>,
    wish: &'a Wish,
    plan_s: f64,
}

/// What was measured at the server.
#[derive(Default)]
struct ServerFound {
    round_trip_s: f64,
    network: Option<Network>,
    wal: Option<Wal>,
    settings: findings::WalSettings,
    why_not: Vec<(Step, String)>,
    /// Rows of the sample that the server refuses, one of each flow.
    refused: Vec<Finding>,
}

impl Preflight<'_> {
    fn measure(&self, report: &mut PreflightReport) -> Result<(), Error> {
        let plan = self.plan;
        let items = self.items();
        let mut flows = self.flows(&items)?;
        let read = self.read(&mut flows)?;
        let patience = |seconds: Duration| seconds.div_f64(flows.len().max(1) as f64);
        let (step, whole) = (patience(STEP_PATIENCE), patience(TOGETHER_PATIENCE));
        for flow in &mut flows {
            self.decode(flow, step)?;
        }
        let mut server = ServerFound {
            round_trip_s: self.runtime.block_on(network::round_trip(self.session))?,
            settings: self
                .runtime
                .block_on(findings::WalSettings::ask(self.session))?,
            ..ServerFound::default()
        };
        let ground = self
            .runtime
            .block_on(Ground::find(self.session, &plan.settings.staging_schema))?;
        match &ground {
            None => {
                let why = "the role may make no table, not even a temporary one";
                for step in [Step::Network, Step::Destination, Step::Log, Step::Together] {
                    server.why_not.push((step, why.to_owned()));
                }
            }
            Some(ground) => {
                let at = Server {
                    runtime: self.runtime,
                    address: self.address,
                    plan,
                    ground,
                    stop: &self.options.stop,
                    patience: step,
                };
                self.measure_server(&at, &mut flows, &mut server, whole)?;
                if *ground == Ground::Temporary {
                    report.findings.push(findings::tells(
                        "the role may make temporary tables only: what the destination takes was measured with \
                         those, which write no WAL",
                    ));
                }
            }
        }
        for flow in &flows {
            report.findings.extend(steps::rejected(
                &plan.flows[flow.index].reading,
                flow.decoded.as_ref(),
            ));
        }
        report.findings.append(&mut server.refused);
        report.files = self.files(&flows, &read);
        report.steps = self.steps(&flows, &read, &server);
        self.predict(report, &items, &flows, &read, &server)
    }

    /// What is left to load, in the order in which streams take it.
    fn items(&self) -> Vec<WorkItem> {
        let committed = |unit: &UnitPlan| match &self.plan.earlier {
            Earlier::Stopped {
                kept, unfinished, ..
            } => match unfinished.get(&unit.key) {
                Some(shards) => Committed::Shards(Box::new(|key| shards.contains(key))),
                None if kept.contains(&unit.key) => Committed::All,
                None => Committed::Nothing,
            },
            _ => Committed::Nothing,
        };
        work_items::left(&self.plan.flows, self.plan.streams, committed)
    }

    fn unit(&self, item: &WorkItem) -> (&FlowPlan, &UnitPlan) {
        let flow = &self.plan.flows[item.flow];
        (flow, &flow.units[item.unit])
    }

    /// The flows that are measured, the largest first, each with its sample.
    fn flows(&self, items: &[WorkItem]) -> Result<Vec<FlowFound>, Error> {
        let mut found = Vec::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let own = items.iter().filter(|item| item.flow == index);
            let mut units: Vec<usize> = Vec::new();
            let mut stored_bytes = 0.0;
            for item in own {
                stored_bytes += self.stored_bytes(item);
                if !units.contains(&item.unit) && units.len() < self.plan.streams {
                    units.push(item.unit);
                }
            }
            if stored_bytes == 0.0 {
                continue;
            }
            let shards: Vec<Vec<Shard>> = units
                .iter()
                .map(|unit| flow.units[*unit].shards.clone())
                .collect();
            let portions = sample::portions(&shards, &flow.reading.dialect, self.plan.streams)?;
            found.push(FlowFound {
                index,
                stored_bytes,
                is_fed: shards.iter().flatten().any(|shard| shard.is_fed),
                works: units.into_iter().zip(portions).collect(),
                ..FlowFound::default()
            });
        }
        found.sort_by(|a, b| b.stored_bytes.total_cmp(&a.stored_bytes));
        found.truncate(FLOWS_MAX);
        Ok(found)
    }

    /// Stored bytes of a piece of work; of a file that is fed, a taker's part.
    fn stored_bytes(&self, item: &WorkItem) -> f64 {
        let (_, unit) = self.unit(item);
        let shards = &unit.shards[item.shards.clone()];
        let bytes: u64 = shards.iter().map(Shard::size_bytes).sum();
        match shards.iter().any(|shard| shard.is_fed) {
            true => bytes as f64 / self.plan.streams as f64,
            false => bytes as f64,
        }
    }

    /// Reads the sample. What is not in the page cache afterwards is no part of it any more.
    fn read(&self, flows: &mut [FlowFound]) -> Result<ReadFound, Error> {
        let places: Vec<_> = steps::portions(flows)
            .map(|portion| portion.place.clone())
            .collect();
        let wish = ReadWish {
            streams: self.plan.streams,
            chunk_bytes: self.plan.settings.chunk_bytes as usize,
            patience: READ_PATIENCE,
            cold: self.wish.cold,
        };
        let found = read::measure(&places, &wish, &self.options.stop)?;
        steps::keep_read(flows, &found.is_read);
        Ok(found)
    }

    fn decode(&self, found: &mut FlowFound, patience: Duration) -> Result<(), Error> {
        let flow = &self.plan.flows[found.index];
        let portions: Vec<Portion> = found.spread();
        let Some((unit, _)) = found.works.first() else {
            return Ok(());
        };
        let unit = &flow.units[*unit];
        let making = Making {
            reading: &flow.reading,
            chunk_bytes: self.plan.settings.chunk_bytes as usize,
            batch_rows: self.plan.settings.batch_rows as usize,
        };
        // A sample of several units meets bounds of several: those of one are no rejects of another.
        let converter = || match found.works.len() {
            1 => Ok(stamped(rows::converter(flow, unit)?)),
            _ => super::walk::converter(&flow.reading),
        };
        let encoder = || Some(Encoder::new(flow));
        let stop = &self.options.stop;
        let measure = |threads| {
            let ways: (decode::MakeConverter<'_>, decode::MakeEncoder<'_>) = (&converter, &encoder);
            decode::measure(&making, &portions, threads, patience, ways, stop)
        };
        found.decoded = Some(measure(1)?);
        if self.plan.streams > 1 {
            found.decoded_all = Some(measure(self.plan.streams)?);
        }
        Ok(())
    }

    fn measure_server(
        &self,
        at: &Server<'_>,
        flows: &mut [FlowFound],
        server: &mut ServerFound,
        whole: Duration,
    ) -> Result<(), Error> {
        let streams = self.plan.streams;
        let network = Server {
            patience: STEP_PATIENCE / 2,
            ..*at
        };
        server.network = told(
            network::measure(&network, streams),
            Step::Network,
            None,
            server,
        )?;
        for flow in flows.iter_mut() {
            let planned = &self.plan.flows[flow.index];
            let Some(decoded) = &flow.decoded else {
                continue;
            };
            if !decoded.encoded.blocks.is_empty() {
                let taken = |streams| {
                    super::destination::measure(at, flow.index, &decoded.encoded, streams)
                };
                let one = told(taken(1), Step::Destination, Some(planned), server)?;
                let all = match (&one, streams) {
                    (Some(_), 2..) => {
                        told(taken(streams), Step::Destination, Some(planned), server)?
                    }
                    _ => one,
                };
                (flow.destination, flow.destination_all) = (one, all);
            }
        }
        for flow in flows.iter_mut() {
            let planned = &self.plan.flows[flow.index];
            let works: Vec<Work> = self.works(flow);
            if works.is_empty() {
                continue;
            }
            let copies = matches!(&planned.publish, Publish::Insert | Publish::Upsert { .. })
                || matches!(&planned.publish, Publish::Route(route) if !route.is_new);
            let at = Server {
                patience: whole,
                ..*at
            };
            let one = match streams {
                1 => None,
                // Half as long: it says what a stream does that is left alone.
                _ => {
                    let at = Server {
                        patience: whole / 2,
                        ..at
                    };
                    let tried = together::measure(&at, flow.index, &works[..1], 1, false);
                    told(tried, Step::Together, Some(planned), server)?
                }
            };
            let before = self.runtime.block_on(wal::place(self.session));
            let tried = together::measure(&at, flow.index, &works, streams, copies);
            let mut all = told(tried, Step::Together, Some(planned), server)?;
            let after = self.runtime.block_on(wal::place(self.session));
            if let (Some(all), Some(before), Some(after)) = (&mut all, before, after) {
                all.wal_bytes = Some((after - before).unsigned_abs());
            }
            (flow.together, flow.together_all) = (one.or(all.clone()), all);
        }
        let wal = wal::measure(at, streams, WAL_PATIENCE);
        server.wal = told(wal, Step::Log, None, server)?;
        Ok(())
    }

    fn works(&self, found: &FlowFound) -> Vec<Work> {
        let flow = &self.plan.flows[found.index];
        let works = found.works.iter().map(|(unit, portions)| Work {
            unit: *unit,
            portions: portions.clone(),
            fed: flow.units[*unit]
                .shards
                .iter()
                .find(|shard| shard.is_fed)
                .cloned(),
        });
        works
            .filter(|work| work.fed.is_some() || !work.portions.is_empty())
            .collect()
    }

    fn files(&self, flows: &[FlowFound], read: &ReadFound) -> FilesFound {
        let units = self.plan.flows.iter().flat_map(|flow| &flow.units);
        let shards: Vec<&Shard> = units.flat_map(|unit| &unit.shards).collect();
        let mut paths: BTreeSet<&std::path::Path> = BTreeSet::new();
        for shard in &shards {
            paths.insert(&shard.file.path);
        }
        let stored_bytes: u64 = shards.iter().map(|shard| shard.size_bytes()).sum();
        let (text_bytes, rows) = self
            .plan
            .flows
            .iter()
            .enumerate()
            .map(|(index, flow)| {
                let shards = flow.units.iter().flat_map(|unit| &unit.shards);
                let stored: u64 = shards.map(Shard::size_bytes).sum();
                let like = steps::like(flows, index);
                (
                    stored as f64 * like.map_or(1.0, FlowFound::text_of_stored),
                    stored as f64 * like.map_or(0.0, FlowFound::rows_of_stored),
                )
            })
            .fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        FilesFound {
            count: paths.len(),
            stored_bytes,
            text_bytes: text_bytes.round() as u64,
            rows: (rows > 0.0).then_some(rows.round() as u64),
            cached_share: read.cached_share,
        }
    }

    fn steps(&self, flows: &[FlowFound], read: &ReadFound, server: &ServerFound) -> Vec<StepFound> {
        let mut found = steps::client(flows, read, self.plan.streams);
        let why_not = |step: Step| {
            let mut all = server.why_not.iter();
            all.find(|(of, _)| *of == step)
                .map_or("no row of the sample came so far", |(_, why)| why.as_str())
        };
        let text_of_sent = steps::text_of_sent(flows);
        found.push(match server.network {
            Some(network) => StepFound {
                step: Step::Network,
                one_bytes_s: Some(network.one_bytes_s * text_of_sent),
                all_bytes_s: Some(network.all_bytes_s * text_of_sent),
                rows_s: None,
                sample_bytes: network.bytes,
                took_s: network.took_s,
                note: Some(format!("round trip {:.2} ms", server.round_trip_s * 1e3)),
            },
            None => StepFound::not_measured(Step::Network, why_not(Step::Network)),
        });
        found.push(steps::destination(
            flows,
            self.plan.streams,
            why_not(Step::Destination),
        ));
        let text_of_table = self.text_of_table(flows);
        found.push(match (server.wal, text_of_table) {
            (Some(wal), Some(text_of_table)) => StepFound {
                step: Step::Log,
                one_bytes_s: None,
                all_bytes_s: Some(wal.all_bytes_s * text_of_table),
                rows_s: None,
                sample_bytes: (wal.bytes as f64 * text_of_table) as u64,
                took_s: wal.took_s,
                note: Some(format!(
                    "wal_level = {}; a COMMIT that has little to flush takes {:.1} ms",
                    self.plan.server.wal_level,
                    wal.commit_s * 1e3
                )),
            },
            _ => StepFound::not_measured(Step::Log, why_not(Step::Log)),
        });
        found.push(steps::together(flows, why_not(Step::Together)));
        found
    }

    fn predict(
        &self,
        report: &mut PreflightReport,
        items: &[WorkItem],
        flows: &[FlowFound],
        read: &ReadFound,
        server: &ServerFound,
    ) -> Result<(), Error> {
        let plan = self.plan;
        let measured: Vec<&FlowFound> = flows.iter().filter(|flow| flow.has_speed()).collect();
        if measured.is_empty() {
            return Ok(());
        }
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
        let pieces = self.pieces(items, &measured, server);
        let schedule = model::schedule(&pieces, &speeds, plan.streams);
        let text_bytes: f64 = pieces.iter().map(|piece| piece.text_bytes).sum();
        let sent_bytes = text_bytes / steps::text_of_sent(flows);
        let rate = plan.settings.rate_bytes_max;
        let volume = self.volume(&measured, text_bytes);
        let log_bytes_s = server.wal.map_or(0.0, |wal| wal.all_bytes_s);
        let shared = Shared {
            log_s: match server.settings.is_flushed && log_bytes_s > 0.0 {
                true => volume.1 / log_bytes_s,
                false => 0.0,
            },
            pace_s: rate.map_or(0.0, |rate| sent_bytes / rate as f64),
            ..shared_of(
                flows,
                read,
                items.iter().map(|item| self.stored_bytes(item)).sum(),
            )
        };
        let seen = self.seen(flows, &measured, server);
        let answer = model::answer(&schedule, &shared, &seen);
        let split_s = self.split_s(flows);
        let (switch_s, analyze_s) = self.after(&measured, server);
        let statement_s = self.statement_s(&measured, server);
        // The run plans twice: once before it has the package's lock, and once with it.
        let plan_s = 2.0 * self.plan_s + TRIPS_OF_RUN * statement_s;
        let load_s = answer.load_s + split_s;
        let prediction = Prediction {
            made_at: report.made_at.clone(),
            streams: plan.streams,
            stored_bytes: report.files.stored_bytes,
            predicted_s: plan_s + load_s + switch_s + analyze_s,
            plan_s,
            load_s,
            switch_s,
            analyze_s,
            limiting: answer.limiting,
            because: answer.because,
            leaves_out: self.leaves_out(&schedule),
        };
        self.tell_volume(report, volume, server);
        super::leave(report, self.options, &plan.run_key, &prediction);
        report.prediction = Some(prediction);
        Ok(())
    }

    /// The pieces of work with what each needs beside its rows.
    fn pieces(
        &self,
        items: &[WorkItem],
        measured: &[&FlowFound],
        server: &ServerFound,
    ) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            let place = measured.iter().position(|flow| flow.index == item.flow);
            let like = measured[place.unwrap_or(0)];
            let (flow, unit) = self.unit(item);
            let stored = self.stored_bytes(item);
            let text_bytes = stored * like.text_of_stored();
            let Some(tried) = &like.together_all else {
                continue;
            };
            let mut beside = Beside {
                server_s: TRIPS_OF_PIECE * server.round_trip_s,
                flush_s: 0.0,
            };
            if number < self.plan.streams {
                beside.server_s += tried.beside.connect_s;
            }
            let is_private = !unit.shared;
            let is_last = !items[number + 1..]
                .iter()
                .any(|other| (other.flow, other.unit) == (item.flow, item.unit));
            if is_private {
                beside.server_s += tried.beside.create_s;
            }
            if flow.publish != Publish::Straight && (is_private || is_last) {
                let own = items
                    .iter()
                    .filter(|other| (other.flow, other.unit) == (item.flow, item.unit));
                let text: f64 =
                    own.map(|own| self.stored_bytes(own)).sum::<f64>() * like.text_of_stored();
                beside.server_s += self.ready_s(flow, unit, tried, text);
            }
            beside.flush_s = self.flush_s(unit, tried, text_bytes, server);
            pieces.push(Piece {
                flow: place.unwrap_or(0),
                text_bytes,
                beside,
            });
        }
        pieces
    }

    /// What follows the rows of a unit, of so much text.
    fn ready_s(&self, flow: &FlowPlan, unit: &UnitPlan, tried: &Together, text: f64) -> f64 {
        let times =
            text / (tried.walked.meter.text_bytes as f64 / self.plan.streams as f64).max(1.0);
        let mut seconds = (tried.beside.measure_s + tried.beside.ready_s) * times;
        if statistics::of_unit(self.plan, flow, unit).is_some() {
            // It looks at so many rows, however many there are.
            seconds += tried.beside.analyze_s;
        }
        seconds
    }

    /// What a COMMIT waits for until it is on the disk.
    fn flush_s(
        &self,
        unit: &UnitPlan,
        tried: &Together,
        text_bytes: f64,
        server: &ServerFound,
    ) -> f64 {
        let Some(wal) = &server.wal else { return 0.0 };
        if !server.settings.is_flushed || wal.all_bytes_s <= 0.0 {
            return wal.commit_s;
        }
        let table =
            text_bytes * tried.table_bytes as f64 / (tried.walked.meter.text_bytes as f64).max(1.0);
        let bytes = match (self.plan.server.wal_level.as_str(), unit.shared) {
            // The table itself is flushed, or the log of rows whose trial needed none.
            ("minimal", _) => table,
            _ => table.min(WAL_SEGMENT_BYTES),
        };
        wal.commit_s + bytes / wal.all_bytes_s
    }

    /// Where the records of ranges begin is found in a pass over the files, where a few bytes do not tell it.
    fn split_s(&self, flows: &[FlowFound]) -> f64 {
        let mut seconds = 0.0;
        for (index, flow) in self.plan.flows.iter().enumerate() {
            if !source::needs_place(&flow.reading.dialect) {
                continue;
            }
            let shards = flow.units.iter().filter(|unit| unit.shared);
            let cut = shards
                .flat_map(|unit| &unit.shards)
                .filter(|shard| !shard.is_whole() && shard.file.table().is_none());
            let bytes: u64 = cut.map(Shard::size_bytes).sum();
            let scan = steps::like(flows, index)
                .and_then(FlowFound::scan_bytes_s)
                .filter(|scan| *scan > 0.0);
            let threads = self.plan.streams.min(super::cores()) as f64;
            seconds += scan.map_or(0.0, |scan| bytes as f64 / (scan * threads));
        }
        seconds
    }

    /// Seconds of a small statement.
    fn statement_s(&self, measured: &[&FlowFound], server: &ServerFound) -> f64 {
        let made = measured.first().and_then(|flow| {
            let (unit, _) = flow.works.first()?;
            let statements = self.plan.flows[flow.index].units[*unit].create.len() + 3;
            let tried = flow.together_all.as_ref()?;
            Some(tried.beside.create_s / statements as f64)
        });
        made.unwrap_or(0.0).max(server.round_trip_s)
    }

    /// Seconds of the switch, and of ANALYZE after it.
    fn after(&self, measured: &[&FlowFound], server: &ServerFound) -> (f64, f64) {
        let statement_s = self.statement_s(measured, server);
        let commit_s = server.wal.map_or(0.0, |wal| wal.commit_s);
        let mut switch_s =
            (self.plan.switch_statements().len() as f64 + TRIPS_OF_RUN) * statement_s + commit_s;
        let mut analyze_s = 0.0;
        for flow in measured {
            let planned = &self.plan.flows[flow.index];
            let Some(tried) = &flow.together_all else {
                continue;
            };
            let rows = flow.stored_bytes * flow.rows_of_stored();
            if let Some(copy_s) = tried.beside.copy_s {
                switch_s += copy_s * rows / tried.beside.rows.max(1.0);
            }
            if let Some(statement) = statistics::of_target(self.plan, planned) {
                let tables = match statement.contains(" ONLY ") {
                    true => 1,
                    false => planned.units.len(),
                };
                analyze_s += tried.beside.analyze_s * tables as f64;
            }
        }
        (switch_s, analyze_s)
    }

    fn seen(&self, flows: &[FlowFound], measured: &[&FlowFound], server: &ServerFound) -> Seen {
        let largest = measured[0];
        let tried = largest.together_all.as_ref();
        let text_of_sent = steps::text_of_sent(flows);
        Seen {
            client_share: tried.map_or(0.0, together::client_share),
            client_cores: tried.map_or(0.0, |tried| tried.client_cores),
            server_cores: tried.and_then(|tried| tried.server_cores),
            cores: super::cores() as f64,
            network: server
                .network
                .map(|network| network.all_bytes_s * text_of_sent),
            destination: largest
                .destination_all
                .map(|took| took.sent_bytes_s * largest.text_of_sent()),
            streams: self.plan.streams,
        }
    }

    /// Bytes of text for each byte of the tables that were tried.
    fn text_of_table(&self, flows: &[FlowFound]) -> Option<f64> {
        let tried = flows.iter().filter_map(|flow| flow.together_all.as_ref());
        let (text, table) = tried.fold((0, 0), |(text, table), tried| {
            (
                text + tried.walked.meter.text_bytes,
                table + tried.table_bytes,
            )
        });
        (table > 0).then(|| text as f64 / table as f64)
    }

    /// Bytes of the tables and of the server's log, for so much text.
    fn volume(&self, measured: &[&FlowFound], text_bytes: f64) -> (f64, f64) {
        let (mut tables, mut wal, mut text) = (0.0, 0.0, 0.0);
        for flow in measured {
            if let Some(tried) = &flow.together_all {
                tables += tried.table_bytes as f64;
                wal += tried.wal_bytes.unwrap_or(0) as f64;
                text += tried.walked.meter.text_bytes as f64;
            }
        }
        let times = text_bytes / f64::max(text, 1.0);
        let units = self.plan.flows.iter().flat_map(|flow| &flow.units);
        let bytes = |wanted: bool| -> f64 {
            let own = units.clone().filter(|unit| unit.shared || !wanted);
            own.map(|unit| unit.bytes_count as f64).sum()
        };
        if self.plan.server.wal_level == "minimal" {
            // Tables that several streams fill are committed before their rows, which the trial's were not.
            wal = wal.max(tables * bytes(true) / bytes(false).max(1.0));
        }
        (tables * times, wal * times)
    }

    /// What the volume means for the server's log and disk.
    fn tell_volume(
        &self,
        report: &mut PreflightReport,
        (tables, wal): (f64, f64),
        server: &ServerFound,
    ) {
        let kept_wal = wal.min(server.settings.max_wal_bytes);
        report
            .findings
            .extend(findings::of_wal(self.plan, wal, &server.settings));
        if self.plan.settings.disk_check {
            report
                .findings
                .extend(findings::of_disk(self.plan, tables, kept_wal));
        }
        let streams = self.plan.streams;
        if streams < super::cores() {
            report.findings.push(findings::tells(format!(
                "the run has {streams} of {} possible streams: as many as the package or --streams says, or as there \
                 are pieces of work",
                super::cores()
            )));
        }
    }

    fn leaves_out(&self, schedule: &Schedule) -> Vec<String> {
        let mut found = Vec::new();
        let has = |wanted: fn(&FlowPlan) -> bool| self.plan.flows.iter().any(wanted);
        if has(|flow| {
            flow.facts
                .as_ref()
                .is_some_and(|facts| !facts.foreign_keys.is_empty())
        }) {
            found.push("checking foreign keys at the switch".to_owned());
        }
        if has(|flow| matches!(flow.publish, Publish::Upsert { .. })) {
            found.push(
                "rows of the target that are merged with: the trial's table was empty".to_owned(),
            );
        }
        if has(|flow| {
            let triggers = |facts: &TargetFacts| !facts.insert_triggers.is_empty();
            flow.facts.as_ref().is_some_and(triggers)
        }) {
            found.push("triggers of the target".to_owned());
        }
        if has(|flow| {
            let has_indexes = |facts: &TargetFacts| facts.has_rows && !facts.indexes.is_empty();
            flow.publish == Publish::Insert && flow.facts.as_ref().is_some_and(has_indexes)
        }) {
            found.push(
                "indexes of the target that have rows already: the trial's began empty".to_owned(),
            );
        }
        if has(|flow| flow.replace.is_some()) {
            found.push("taking out what the new rows replace".to_owned());
        }
        if has(|flow| !flow.pre_sql.is_empty() || !flow.post_sql.is_empty()) {
            found.push("pre_sql and post_sql".to_owned());
        }
        if has(|flow| flow.publish == Publish::Straight) {
            found.push(
                "indexes of the target that grow while rows go into it: the trial's began empty"
                    .to_owned(),
            );
        }
        if self.plan.settings.replica_lag_bytes_max.is_some()
            || self.plan.settings.slot_bytes_max.is_some()
        {
            found.push("pauses for standbys and slots that are behind".to_owned());
        }
        if schedule.load_s > 60.0 {
            found.push(
                "what slows down with time, such as checkpoints, and disks that fall behind"
                    .to_owned(),
            );
        }
        found
    }
}

/// What could not be measured is told; the server's refusal of a trial is no failure of the preflight.
fn told<T>(
    result: Result<T, Error>,
    step: Step,
    flow: Option<&FlowPlan>,
    server: &mut ServerFound,
) -> Result<Option<T>, Error> {
    let error = match result {
        Ok(found) => return Ok(Some(found)),
        Err(Error::Destination(
            error @ (DestinationError::Refused { .. } | DestinationError::Connect { .. }),
        )) => error,
        Err(error) => return Err(error),
    };
    if let (Some(flow), DestinationError::Refused { message, .. }, Some(_)) =
        (flow, &error, error.row_refusal())
    {
        let begin = format!(
            "flow `{}`: the server refuses a row of the sample",
            flow.name
        );
        if !server
            .refused
            .iter()
            .any(|known| known.what.starts_with(&begin))
        {
            server.refused.push(Finding {
                weight: match flow.reject_limit.rows_accepted() {
                    0 => Weight::Stops,
                    _ => Weight::Hurts,
                },
                what: format!("{begin}: {message}"),
                hint: Some(
                    "mend the files; or accept rejects (`rejects`), and the unit is loaded once more, carefully"
                        .to_owned(),
                ),
            });
        }
    }
    server.why_not.push((step, findings::words(&error)));
    Ok(None)
}
