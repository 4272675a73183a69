//! The results in words and tables, and as a page of Markdown.

use std::fmt::Write;

use inrush::quantity::{bytes, count, counted};

use super::results::{PointResult, Results, RunResult, middle_run};
use crate::grid::Grid;

/// The results as a page.
pub fn markdown(results: &Results) -> String {
    let title = match results.workload.as_str() {
        "inserts" => "Inserts by many clients",
        _ => "Calls by many clients",
    };
    let mut text = format!("# {title}\n\n");
    for (what, words) in described(results) {
        let _ = writeln!(text, "- {what}: {words}");
    }
    let _ = writeln!(
        text,
        "- time: from {} to {}, Inrush {}",
        results.started_at, results.finished_at, results.inrush_version
    );
    if !results.complete {
        text.push_str("\n**Not complete**: requested runs are missing.\n");
    }
    for failed in &results.failed {
        let _ = writeln!(
            text,
            "\n**Failed**: {} clients, round {}: {}",
            failed.clients, failed.round, failed.reason
        );
    }
    if let Some(verdict) = &results.verdict {
        let _ = write!(text, "\n## What limits\n\n{}\n\n", verdict.line);
        for evidence in &verdict.evidence {
            let _ = writeln!(text, "- {evidence}");
        }
    }
    let _ = write!(text, "\n## The curve\n\n{}", curve(results).markdown());
    let _ = write!(
        text,
        "\n## Latencies\n\nMicroseconds, of the run in the middle{}.\n\n{}",
        match results.settings.rate {
            Some(_) => ", from the intended start of each call; naive: from when it was sent",
            None => ", from sending a call to its answer",
        },
        latencies(results).markdown()
    );
    let _ = write!(
        text,
        "\n## All clients ran\n\n{}",
        all_clients(results).markdown()
    );
    let _ = write!(
        text,
        "\n## What a call costs\n\n{}\n{}\n",
        costs(results).markdown(),
        not_measured(results)
    );
    let _ = write!(
        text,
        "\n## Published figures\n\n{}",
        published(results).markdown()
    );
    if let Some(source) = results.published.first() {
        let _ = writeln!(text, "\n- {}", source.source);
    }
    if !results.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        for note in &results.notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    let _ = write!(
        text,
        "\n## Again\n\n    {}\n\nAll figures are in results.json, whose fields docs/bench-clients.schema.json describes. The \
         .hlog files have the latencies of each second and of each client, in the log format of HdrHistogram.\n",
        results.command
    );
    if !results.server.settings.is_empty() {
        text.push_str("\n## Settings of the server\n\n");
        for (name, value) in &results.server.settings {
            let _ = writeln!(text, "- {name} = {value}");
        }
    }
    text
}

/// Work, machine and server, each with its name.
pub fn described(results: &Results) -> [(&'static str, String); 4] {
    let settings = &results.settings;
    let machine = &results.machine;
    let mut sent = settings.protocol.clone();
    if settings.batch > 1 {
        let _ = write!(
            sent,
            ", {} in a statement",
            counted(u64::from(settings.batch), "row")
        );
    }
    if settings.commit_every > 1 {
        let _ = write!(
            sent,
            ", {} statements in a transaction",
            settings.commit_every
        );
    }
    if settings.pipeline > 1 {
        let _ = write!(sent, ", {} calls of a client under way", settings.pipeline);
    }
    match settings.rate {
        Some(rate) => {
            let _ = write!(sent, ", open loop with {rate} calls/s");
        }
        None => sent.push_str(", closed loop"),
    }
    [
        (
            "call",
            format!("{}: `{}`", settings.what, settings.statement),
        ),
        ("sent", sent),
        (
            "machine",
            format!(
                "{}, {}, {} of memory, Linux {}",
                machine.processor,
                counted(machine.cores as u64, "core"),
                bytes(machine.memory_bytes),
                machine.kernel
            ),
        ),
        (
            "server",
            format!(
                "{}, {} by {}",
                results.server.version, results.server.destination, results.server.way
            ),
        ),
    ]
}

fn whole(number: f64) -> String {
    count(number.round() as u64)
}

/// Microseconds as people read them.
fn micro(number: f64) -> String {
    match number {
        short if short < 99.95 => format!("{short:.1}"),
        long => whole(long),
    }
}

/// A row for each number of clients.
pub fn curve(results: &Results) -> Grid<7> {
    let row = |point: &PointResult| {
        let spread = match point.runs {
            1 => whole(point.calls_per_s),
            _ => format!(
                "{} ({} to {})",
                whole(point.calls_per_s),
                whole(point.calls_per_s_least),
                whole(point.calls_per_s_most)
            ),
        };
        [
            match point.is_best {
                true => format!("{} (best)", point.clients),
                false => point.clients.to_string(),
            },
            point.runs.to_string(),
            spread,
            micro(point.p50_us),
            micro(point.p99_us),
            format!("{:.3}", point.fairness),
            point.limit.clone(),
        ]
    };
    Grid {
        head: [
            "clients",
            "runs",
            match results.workload.as_str() {
                "inserts" => "inserts/s",
                _ => "calls/s",
            },
            "p50 us",
            "p99 us",
            "fairness",
            "what limits",
        ],
        rows: results.curve.iter().map(row).collect(),
    }
}

/// The median run of each point.
fn middle_runs(results: &Results) -> impl Iterator<Item = &RunResult> {
    let points = results.curve.iter();
    points.filter_map(|point| middle_run(&results.runs, point.clients))
}

/// A row for each number of clients, and in an open loop one more with the naive figures.
pub fn latencies(results: &Results) -> Grid<9> {
    let rows = middle_runs(results).flat_map(|run| {
        let naive = run.naive_latency.map(|latency| ("naive", latency));
        let own = match naive {
            Some(_) => "from the intended start",
            None => "from sending",
        };
        let both = [Some((own, run.latency)), naive];
        both.into_iter().flatten().map(|(kind, latency)| {
            [
                run.clients.to_string(),
                kind.to_owned(),
                micro(latency.mean_us),
                micro(latency.p50_us),
                micro(latency.p90_us),
                micro(latency.p99_us),
                micro(latency.p99_9_us),
                micro(latency.p99_99_us),
                micro(latency.most_us),
            ]
        })
    });
    Grid {
        head: [
            "clients", "counted", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "most",
        ],
        rows: rows.collect(),
    }
}

/// The connected and finished clients, run by run.
pub fn all_clients(results: &Results) -> Grid<8> {
    let row = |run: &RunResult| {
        let all = &run.all_clients;
        [
            format!("{}, round {}", run.clients, run.round),
            format!("{}/{}/{}", all.asked, all.connected, all.finished),
            format!("{:.2}", all.start_spread_ms),
            format!("{:.3}", all.fairness),
            micro(all.least_per_s),
            micro(all.median_per_s),
            micro(all.most_per_s),
            all.slowest.to_string(),
        ]
    };
    Grid {
        head: [
            "clients",
            "asked/connected/finished",
            "start spread ms",
            "fairness",
            "least/s",
            "median/s",
            "most/s",
            "slowest",
        ],
        rows: results.runs.iter().map(row).collect(),
    }
}

/// The cost of a call, for each number of clients.
pub fn costs(results: &Results) -> Grid<9> {
    let unknown = |number: Option<f64>, digits: usize| {
        number.map_or("-".to_owned(), |number| format!("{number:.digits$}"))
    };
    let row = |run: &RunResult| {
        let cost = &run.cost;
        [
            run.clients.to_string(),
            format!("{:.1}", cost.client_us),
            unknown(cost.server_us, 1),
            whole(cost.wal_bytes),
            unknown(cost.packets, 2),
            format!("{:.2}", cost.client_switches),
            unknown(cost.server_switches, 2),
            unknown(cost.calls_per_s_per_core, 0),
            unknown(run.wal.commits_per_flush, 2),
        ]
    };
    Grid {
        head: [
            "clients",
            "client CPU us",
            "server CPU us",
            "WAL bytes",
            "packets",
            "client switches",
            "server switches",
            "calls/s per core",
            "commits per flush",
        ],
        rows: middle_runs(results).map(row).collect(),
    }
}

/// The figures of a call's cost that were not measured, and why not.
pub fn not_measured(results: &Results) -> String {
    let mut reasons = Vec::new();
    let lacks = |of: fn(&RunResult) -> bool| results.runs.iter().any(of);
    if lacks(|run| run.cost.server_us.is_none()) {
        reasons.push("the server's processes are not on this machine, or cannot be seen");
    }
    if lacks(|run| run.cost.packets.is_none()) {
        reasons.push("packets are those of TCP");
    }
    if lacks(|run| run.wal.commits_per_flush.is_none()) {
        reasons.push("nothing was flushed, or the role may not see it");
    }
    match reasons.is_empty() {
        true => String::new(),
        false => format!("-: not measured; {}", reasons.join("; ")),
    }
}

/// The published figures beside the best point.
pub fn published(results: &Results) -> Grid<5> {
    let mut rows = Vec::new();
    if let Some(best) = results.best() {
        let run = middle_run(&results.runs, best.clients);
        let volume = run.and_then(|run| Some((run.row_bytes? * run.rows as f64, run.seconds)));
        rows.push([
            "this".to_owned(),
            results.machine.processor.clone(),
            best.clients.to_string(),
            volume.map_or("-".to_owned(), |(bytes, seconds)| rate(bytes, seconds)),
            format!("{} {}/s", whole(best.calls_per_s), results.workload),
        ]);
    }
    for run in &results.published {
        let volume = run.bytes.zip(run.seconds);
        rows.push([
            format!("{}: {}", run.years, run.what),
            run.machine.clone(),
            run.clients
                .map_or("-".to_owned(), |clients| clients.to_string()),
            volume.map_or("-".to_owned(), |(bytes, seconds)| {
                rate(bytes as f64, seconds)
            }),
            match run.seconds {
                Some(seconds) => format!("{} s: {}", whole(seconds), run.says),
                None => run.says.clone(),
            },
        ]);
    }
    Grid {
        head: ["run", "machine", "clients", "stored MB/s", "figure"],
        rows,
    }
}

fn rate(bytes: f64, seconds: f64) -> String {
    format!("{:.1}", bytes / 1e6 / seconds.max(1e-9))
}

#[cfg(test)]
mod tests {
    use inrush::BackendState;

    use super::*;
    use crate::clients::results::tests::{begun, run};
    use crate::clients::verdict::judge;

    #[test]
    fn a_summary_has_all_that_was_measured() {
        let mut results = begun("inrush bench calls --clients 8,64");
        for (clients, rate) in [(8, 1000.0), (64, 900.0)] {
            let mut one = run(1, clients, rate, &[(BackendState::Cpu, 0.9)]);
            one.events = vec![("CPU".to_owned(), 0.9)];
            one.verdict = judge(&one);
            results.push(one, "2026-01-01T00:01:00Z".to_owned());
        }
        results.note("a note".to_owned());
        let text = markdown(&results);
        for part in [
            "**Not complete**",
            "8 clients made the most, 1,000 calls/s",
            "| 8 (best) | 1 | 1,000 |",
            "| 8/8/8 |",
            "the 4-way system made more than twice",
            "- a note",
            "    inrush bench calls --clients 8,64\n",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!text.contains("NaN"), "{text}");
    }
}
