//! The results in words and tables, for the terminal and for the page ([`super::markdown`]).

use inrush::quantity::{bytes, count, counted};

use super::published::PublishedFigures;
use super::rates::Rates;
use super::results::{PointResult, Results, fastest};
use crate::grid::Grid;

/// Data, machine, server and settings, each with its name.
pub fn described(results: &Results) -> [(&'static str, String); 4] {
    let data = &results.data;
    let machine = &results.machine;
    let parts = match data.parts.len() == data.files_of.parts as usize {
        true => String::new(),
        false => format!(", {} of them", data.parts.len()),
    };
    let server = match (results.columnstore, &results.embedded) {
        (true, _) => results.server.version.clone(),
        (false, Some(_)) => format!("PostgreSQL {}, embedded", results.server.version),
        (false, None) => format!(
            "PostgreSQL {}, {}",
            results.server.version, results.destination
        ),
    };
    let cores = match results.cores_in_all {
        Some(cores) => format!("; {} in all", counted(u64::from(cores), "core")),
        None => String::new(),
    };
    let order = match results.settings.order.as_str() {
        "sequence" => "table by table, as in 2009",
        _ => "the largest parts first",
    };
    let analyzed = match results.settings.analyze {
        true => ", analyzed (not counted)",
        false => "",
    };
    [
        (
            "data",
            format!(
                "{}{parts}: {} of {}, {}",
                data.files_of.describe(),
                counted(data.files as u64, "file"),
                counted(data.tables.len() as u64, "table"),
                bytes(data.bytes),
            ),
        ),
        (
            "machine",
            format!(
                "{}, {}, {} of memory, Linux {}",
                machine.processor,
                counted(machine.cores as u64, "core"),
                bytes(machine.memory_bytes),
                machine.kernel,
            ),
        ),
        ("server", format!("{server}{cores}")),
        (
            "loaded",
            format!("{order}, verify = {}{analyzed}", results.settings.verify),
        ),
    ]
}

/// The loaded tables: a row for each table of the last run.
pub fn tables(results: &Results) -> Grid<5> {
    let rows = results.runs.last().map(|run| {
        let tables = run.tables.iter();
        let rows = tables.map(|table| {
            [
                table.table.clone(),
                count(table.rows),
                bytes(table.bytes),
                table.stored_bytes.map_or("-".to_owned(), bytes),
                match table.partitions {
                    0 => "-".to_owned(),
                    partitions => count(partitions as u64),
                },
            ]
        });
        rows.collect()
    });
    Grid {
        head: ["table", "rows", "text", "in the database", "partitions"],
        rows: rows.unwrap_or_default(),
    }
}

fn rates(rates: &Rates) -> [String; 3] {
    [
        match rates.tb_per_hour {
            small if small < 1.0 => format!("{small:.3}"),
            large => format!("{large:.2}"),
        },
        format!("{:.1}", rates.mb_per_s),
        rates
            .mb_per_s_per_core
            .map_or("?".to_owned(), |rate| format!("{rate:.2}")),
    ]
}

/// The times: a row for each number of streams.
pub fn points(results: &Results) -> Grid<9> {
    let row = |point: &PointResult| {
        let runs = results.runs.iter();
        let own = runs
            .filter(|run| run.streams == point.streams && run.rates.is_some() && !run.transforms);
        let switch_s = own.map(|run| run.switch_s).sum::<f64>() / point.runs.max(1) as f64;
        let [tb_per_hour, mb_per_s, per_core] = rates(&point.rates);
        [
            point.streams.to_string(),
            point.runs.to_string(),
            seconds(point),
            format!("{switch_s:.2}"),
            format!("{:.1}", point.loader_cpu_s),
            tb_per_hour,
            mb_per_s,
            per_core,
            format!("{:.2}", point.speedup),
        ]
    };
    Grid {
        head: [
            "streams",
            "runs",
            "seconds",
            "of them switch",
            "loader CPU s",
            "TB/hour",
            "MB/s",
            "MB/s per core",
            "speedup",
        ],
        rows: results.curve.iter().map(row).collect(),
    }
}

/// The seconds of a point; of several runs the median, the least and the most.
fn seconds(point: &PointResult) -> String {
    match point.runs {
        1 => format!("{:.2}", point.seconds),
        _ => format!(
            "{:.2} ({:.2}-{:.2})",
            point.seconds, point.seconds_least, point.seconds_most
        ),
    }
}

/// The times of loads with steps beside the times without steps: a row for each number of streams.
pub fn transforms(results: &Results) -> Grid<8> {
    let found = results.transforms.iter();
    let pairs = found.flat_map(|found| found.curve.iter().zip(&found.beside_plain));
    let rows = pairs.map(|(point, cost)| {
        let [_, mb_per_s, per_core] = rates(&point.rates);
        [
            point.streams.to_string(),
            seconds(point),
            format!("{:.2}", cost.seconds_ratio),
            format!("{:.1}", point.loader_cpu_s),
            format!("{:.2}", cost.loader_cpu_ratio),
            format!("{:.1}", point.steps_s),
            mb_per_s,
            per_core,
        ]
    });
    Grid {
        head: [
            "streams, with steps",
            "seconds",
            "/ without",
            "loader CPU s",
            "/ without",
            "seconds in steps",
            "MB/s",
            "MB/s per core",
        ],
        rows: rows.collect(),
    }
}

/// The steps of each table, a line for each.
pub fn steps(results: &Results) -> Vec<String> {
    let tables = results.transforms.iter().flat_map(|found| &found.tables);
    let lines = tables.map(|table| {
        let derived = table.derive.iter();
        let derived: Vec<String> = derived
            .map(|(name, expression)| format!("{name} = {expression}"))
            .collect();
        let lookup = table.lookup.as_ref();
        let lookup = lookup.map_or_else(String::new, |lookup| format!("; lookup {lookup}"));
        format!(
            "{}: derive {}; check {}{lookup}; lineage {}",
            table.table,
            derived.join(", "),
            table.check,
            table.lineage.join(", ")
        )
    });
    lines.collect()
}

/// The times beside the published figures: the best of this machine first.
pub fn beside(results: &Results) -> Grid<7> {
    let row = |name: String, text: f64, took: f64, cores: Option<u32>, figures: &Rates| {
        let [tb_per_hour, mb_per_s, per_core] = rates(figures);
        [
            name,
            text_size(text),
            match took {
                short if short < 100.0 => format!("{short:.2}"),
                long => count(long.round() as u64),
            },
            cores.map_or("?".to_owned(), |cores| cores.to_string()),
            tb_per_hour,
            mb_per_s,
            per_core,
        ]
    };
    let mut rows = Vec::new();
    if let Some(best) = results.best() {
        let text = best.rates.mb_per_s * 1e6 * best.seconds;
        let name = format!("this, {}", counted(u64::from(best.streams), "stream"));
        let cores = results.cores_in_all;
        rows.push(row(name, text, best.seconds, cores, &best.rates));
    }
    let transforms = results.transforms.as_ref();
    let fastest = transforms.and_then(|found| fastest(&found.curve));
    if let Some(point) = fastest {
        let text = point.rates.mb_per_s * 1e6 * point.seconds;
        let streams = counted(u64::from(point.streams), "stream");
        let name = format!("this with steps, {streams}");
        let cores = results.cores_in_all;
        rows.push(row(name, text, point.seconds, cores, &point.rates));
    }
    for published in &results.published {
        let PublishedFigures { year, what, .. } = published;
        rows.push(row(
            format!("{year}: {what}"),
            published.bytes as f64,
            published.seconds,
            Some(published.cores),
            &published.rates,
        ));
    }
    Grid {
        head: [
            "run",
            "text",
            "seconds",
            "cores",
            "TB/hour",
            "MB/s",
            "MB/s per core",
        ],
        rows,
    }
}

/// The resources that each published workload would need for its published time, on cores like those of the measured
/// machine.
pub fn needs(results: &Results) -> Grid<7> {
    let cores = |cores: Option<f64>| cores.map_or("?".to_owned(), |cores| format!("{cores:.1}"));
    let rows = results.needs.iter().map(|one| {
        let found = &one.capacity;
        let needs = found.needs.as_ref();
        [
            format!("{}: {}", one.year, one.what),
            needs.map_or("?".to_owned(), |needs| count(needs.within_s.round() as u64)),
            cores(one.cores),
            cores(needs.map(|needs| needs.loader_cores)),
            cores(needs.and_then(|needs| needs.server_cores)),
            match needs.and_then(|needs| needs.streams) {
                Some(streams) => count(streams as u64),
                None => format!("more than {} parts", one.parts),
            },
            count(found.predicted_s.round() as u64),
        ]
    });
    Grid {
        head: [
            "workload",
            "in seconds",
            "needs cores",
            "of the loader",
            "of the server",
            "streams",
            "seconds here",
        ],
        rows: rows.collect(),
    }
}

/// The assumptions of the needs, each line once.
pub fn needs_told(results: &Results) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for one in &results.needs {
        let tells = one.capacity.assumptions.iter();
        for line in tells.map(|assumption| format!("assumed: {assumption}")) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// A number in the form of the publications: two digits after the point.
fn text_size(number: f64) -> String {
    match number {
        large if large >= 1e12 => format!("{:.2} TB", large / 1e12),
        small => bytes(small as u64),
    }
}

/// The verdict of each run, as in its report.
pub fn verdicts(results: &Results) -> Vec<(String, &str)> {
    let runs = results.runs.iter();
    let told = runs.filter_map(|run| {
        let streams = counted(u64::from(run.streams), "stream");
        let steps = if run.transforms { ", with steps" } else { "" };
        let name = match results.settings.rounds {
            1 => format!("{streams}{steps}"),
            _ => format!("{streams}{steps}, round {}", run.round),
        };
        Some((name, run.verdict.as_deref()?))
    });
    told.collect()
}

/// The verification and the differences.
pub fn proofs(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(run) = results.runs.last().filter(|run| run.bytes > 0) {
        lines.push(format!(
            "on disk: {}, {:.0} % of the text",
            bytes(run.stored_bytes),
            run.stored_bytes as f64 / run.bytes as f64 * 100.0
        ));
    }
    let right = results.runs.iter().filter(|run| run.proof.rows_are_dbgens);
    let right = right.count();
    if right > 0 {
        lines.push(format!(
            "verified in {}: each part has as many rows as dbgen's part{}; {}",
            counted(right as u64, "run"),
            match results.columnstore {
                true => "",
                false => ", and is a partition",
            },
            match (results.settings.verify.as_str(), results.columnstore) {
                ("count", _) => "the counts of each part agree with its file",
                ("sums", true) => "the sums of all columns agree with the files",
                ("sums", false) => "the sums of all columns of each part agree with its file",
                _ => "the values of all rows of each part agree with its file",
            }
        ));
    }
    for run in &results.runs {
        for difference in &run.proof.differences {
            lines.push(format!("NOT dbgen's in run {}: {difference}", run.run));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_the_accounts_write_them() {
        assert_eq!(text_size(1.18e12), "1.18 TB");
    }
}
