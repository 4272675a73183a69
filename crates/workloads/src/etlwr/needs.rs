//! Calculates what the workloads of 2009 and 2016 would take on the measured machine. The costs of a run are passed to
//! the capacity simulation of the engine (`inrush preflight --size --within`); nothing is read or measured here.

use inrush::preflight::capacity::{CapacityFound, CapacityWish, CostsFound, Resources};
use inrush::report::RunReport;
use schemars::JsonSchema;
use serde::Serialize;

use super::published::PublishedFigures;
use super::results::RunResult;

/// What a published workload would take here.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordNeeds {
    /// The year of the published run.
    pub year: u16,
    /// What was loaded, and by what.
    pub what: String,
    /// Parts of its files, of all tables together: each is loaded by one stream in the simulation.
    pub parts: u32,
    /// The run whose costs were taken: the fastest one.
    pub run: String,
    /// The run whose speed of a stream was taken: the one with the fewest streams.
    pub stream_run: String,
    /// Cores of this machine's kind that a load in the published time needs, loader and server together; absent if the
    /// server's CPU was not measured.
    pub cores: Option<f64>,
    /// The simulation's answer, with its assumptions.
    pub capacity: CapacityFound,
}

/// The costs of a run, from its own meters; `None` if they measured nothing. `stored_bytes` is the size of its tables.
/// A columnstore is written by the loader's own process.
pub fn costs(report: &RunReport, stored_bytes: u64, is_columnstore: bool) -> Option<CostsFound> {
    let measured = report.measurements.as_ref()?;
    let text_bytes = report.account.bytes_read as f64;
    let pieces: usize = report.streams.iter().map(|stream| stream.pieces).sum();
    if text_bytes <= 0.0 || pieces == 0 || report.resumed {
        return None;
    }
    let of_streams = |of: fn(&inrush::meter::Meter) -> u64| -> f64 {
        let streams = report.streams.iter();
        streams.map(|stream| of(&stream.meter) as f64).sum()
    };
    let beside_s = of_streams(|meter| meter.server_wait_ns) / 1e9;
    let rows_s = of_streams(|meter| meter.busy_ns) / 1e9 - beside_s;
    let cpu_s = |of_steps: &[u32]| of_steps.iter().copied().map(f64::from).sum::<f64>() / 1e6;
    let for_a_gb = |seconds: f64| seconds / text_bytes * 1e9;
    let machine = &measured.machine;
    let loader_cpu_s = cpu_s(&machine.loader_cpu_us);
    if rows_s <= 0.0 || loader_cpu_s <= 0.0 {
        return None;
    }
    let server_cpu_s = machine.backends_cpu_us.as_deref().map(cpu_s);
    let mut server_cpu_s = server_cpu_s.filter(|seconds| *seconds > 0.0);
    let wal_bytes = measured.server.as_ref().and_then(|server| server.wal_bytes);
    let is_shared = server_cpu_s.is_some();
    if is_columnstore {
        server_cpu_s = Some(0.0);
    }
    let cores = Some(machine.cores as f64);
    Some(CostsFound {
        loader_cpu_s_per_gb: for_a_gb(loader_cpu_s),
        server_cpu_s_per_gb: server_cpu_s.map(for_a_gb),
        read_per_text: of_streams(|meter| meter.stored_bytes) / text_bytes,
        is_of_database: false,
        sent_per_text: (!is_columnstore).then(|| of_streams(|meter| meter.sent_bytes) / text_bytes),
        table_per_text: stored_bytes as f64 / text_bytes,
        wal_per_text: match is_columnstore {
            true => Some(0.0),
            false => wal_bytes.map(|wal| wal as f64 / text_bytes),
        },
        stream_bytes_s: text_bytes / rows_s,
        all_bytes_s: None,
        piece_bytes: text_bytes / pieces as f64,
        beside_s: beside_s / pieces as f64,
        beside_cpu_share: None,
        flush_s: 0.0,
        // Like the published times, a run's seconds contain only loading and switching.
        before_s: 0.0,
        after_s: report.phases.switch_s,
        after_fixed_s: 0.0,
        text_bytes,
        streams: report.streams.len(),
        here: Resources {
            shared_cores: cores.filter(|_| is_shared),
            loader_cores: cores.filter(|_| !is_shared),
            ..Resources::default()
        },
    })
}

/// Calculates the needs of each published workload of this kind of table, from the costs of the fastest measured run
/// and the speed of a stream in the run with the fewest streams.
pub fn needs(
    runs: &[&RunResult],
    published: &[PublishedFigures],
    columnstore: bool,
) -> Vec<RecordNeeds> {
    let measured = || {
        runs.iter()
            .filter(|run| run.rates.is_some() && run.costs.is_some())
    };
    let fastest = measured().min_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let fewest = measured().min_by_key(|run| run.streams_used);
    let (Some(fastest), Some(fewest)) = (fastest, fewest) else {
        return Vec::new();
    };
    let (Some(of_fastest), Some(of_fewest)) = (&fastest.costs, &fewest.costs) else {
        return Vec::new();
    };
    let costs = CostsFound {
        stream_bytes_s: of_fewest.stream_bytes_s,
        ..of_fastest.clone()
    };
    let tables: Vec<&str> = fastest
        .tables
        .iter()
        .map(|table| table.table.as_str())
        .collect();
    let wanted = published
        .iter()
        .filter(|one| !one.ten_percent && one.columnstore == columnstore);
    wanted
        .map(|one| {
            let mut capacity = costs.capacity(&CapacityWish {
                size_bytes: Some(one.bytes as f64),
                within_s: Some(one.seconds),
                pieces: Some(f64::from(one.parts)),
                ..CapacityWish::default()
            });
            capacity.assumptions.extend([
                format!(
                    "the text costs as much as that of {} here, {:.1} MB in run {}",
                    tables.join(", "),
                    costs.text_bytes / 1e6,
                    fastest.run
                ),
                format!(
                    "the speed of a stream is that of run {}, whose streams ({}) shared this machine",
                    fewest.run, fewest.streams_used
                ),
                "not measured: the CPU of the server's background processes, and the disks".to_owned(),
            ]);
            let needs = capacity.needs.as_ref();
            let cores = needs.and_then(|needs| Some(needs.loader_cores + needs.server_cores?));
            RecordNeeds {
                year: one.year,
                what: one.what.clone(),
                parts: one.parts,
                run: fastest.run.clone(),
                stream_run: fewest.run.clone(),
                cores,
                capacity,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::published::published;
    use super::super::results::tests::run;
    use super::*;

    fn of_costs(mut run: RunResult, stream_bytes_s: f64) -> RunResult {
        run.costs = Some(CostsFound {
            loader_cpu_s_per_gb: 5.0,
            server_cpu_s_per_gb: Some(8.0),
            read_per_text: 1.0,
            stream_bytes_s,
            piece_bytes: 5e6,
            beside_s: 0.01,
            after_s: 0.02,
            text_bytes: 1e8,
            streams: run.streams_used,
            here: Resources {
                shared_cores: Some(2.0),
                ..Resources::default()
            },
            ..CostsFound::default()
        });
        run
    }

    #[test]
    fn the_record_of_2009_needs_what_a_gigabyte_costs_here() {
        let runs = [
            of_costs(run(1, 2.0, false), 60e6),
            of_costs(run(2, 1.0, false), 40e6),
        ];
        let found = needs(&runs.each_ref(), &published(), false);
        let years: Vec<u16> = found.iter().map(|one| one.year).collect();
        assert_eq!(years, [2009, 2016, 2016]);
        let of_2009 = &found[0];
        // 1.18 TB in 1,794 s are 657.7 MB/s, and a gigabyte costs 13 s of CPU. The switch has 336 parts, not 20.
        let cores = of_2009.cores.expect("both were measured");
        assert!(
            (cores - 13.0 * 1180.0 / (1794.0 - 0.336)).abs() < 0.01,
            "{cores}"
        );
        // Two cores carry 153.8 MB/s.
        let expected_s = 1.18e12 * 13e-9 / 2.0;
        assert!(
            (of_2009.capacity.predicted_s / expected_s - 1.0).abs() < 0.05,
            "{of_2009:?}"
        );
        let streams = of_2009
            .capacity
            .needs
            .as_ref()
            .and_then(|needs| needs.streams);
        // At 60 MB/s each, 11 streams carry 660 MB/s, but 336 parts cannot be divided evenly among 11.
        assert!(
            (11..=13).contains(&streams.expect("some are enough")),
            "{streams:?}"
        );
        assert_eq!(
            (&of_2009.run, &of_2009.stream_run),
            (&runs[1].run, &runs[0].run)
        );
        let columnstore = needs(&runs.each_ref(), &published(), true);
        assert_eq!(columnstore.len(), 2);
        assert_eq!(columnstore[0].capacity.size_bytes, 1e12);
    }

    #[test]
    fn runs_without_measurements_say_nothing() {
        assert!(needs(&[&run(1, 2.0, false)], &published(), false).is_empty());
        let resumed = of_costs(run(1, 2.0, true), 60e6);
        assert!(needs(&[&resumed], &published(), false).is_empty());
    }
}
