//! The results as a page of Markdown, `summary.md`.

use std::fmt::Write;

use super::chart;
use super::results::Results;
use super::summary::{
    beside, described, needs, needs_told, points, proofs, steps, tables, transforms, verdicts,
};

/// The results as a page.
pub fn page(results: &Results) -> String {
    let mut text = String::from("# The ETL world record, repeated\n\n");
    for (what, words) in described(results) {
        let _ = writeln!(text, "- {what}: {words}");
    }
    let _ = writeln!(
        text,
        "- time: from {} to {}, Inrush {}",
        to_the_second(&results.started_at),
        to_the_second(&results.finished_at),
        results.inrush_version,
    );
    if !results.complete {
        text.push_str("\n**Not complete**: requested runs are missing.\n");
    }
    let _ = write!(
        text,
        "\n## What it took\n\nSeconds are those of loading and switching; rates are of text, in powers \
         of ten; of several runs the median counts.\n\n{}",
        points(results).markdown()
    );
    if results.curve.len() > 1 {
        let _ = write!(
            text,
            "\n![Seconds by streams]({})\n\n```\n{}```\n",
            chart::FILE_NAME,
            chart::text(&results.curve)
        );
    }
    if results.transforms.is_some() {
        let _ = write!(
            text,
            "\n## With what 2009 left out\n\nThe same files, whose rows are reformatted, checked and completed by lookups, and \
             keep where they come from.\n\n{}\n",
            transforms(results).markdown()
        );
        for line in steps(results) {
            let _ = writeln!(text, "- {line}");
        }
    }
    let verdicts = verdicts(results);
    if !verdicts.is_empty() {
        text.push_str("\n## What held it back\n\n");
    }
    for (run, verdict) in verdicts {
        let _ = writeln!(text, "- {run}: {verdict}");
    }
    let _ = write!(
        text,
        "\n## Beside the record runs\n\n{}\n",
        beside(results).markdown()
    );
    let mut sources: Vec<&str> = results
        .published
        .iter()
        .map(|published| published.source.as_str())
        .collect();
    sources.dedup();
    for source in sources {
        let _ = writeln!(text, "- {source}");
    }
    let mut machines: Vec<(u16, &str)> = results
        .published
        .iter()
        .map(|published| (published.year, published.machine.as_str()))
        .collect();
    machines.dedup();
    for (year, machine) in machines {
        let _ = writeln!(text, "- the machines of {year}: {machine}");
    }
    if !results.needs.is_empty() {
        let _ = write!(
            text,
            "\n## What the record runs would take on cores like these\n\n{}\n",
            needs(results).markdown()
        );
        for line in needs_told(results) {
            let _ = writeln!(text, "- {line}");
        }
    }
    let _ = write!(
        text,
        "\n## What was loaded\n\n{}\n",
        tables(results).markdown()
    );
    for line in proofs(results) {
        let _ = writeln!(text, "- {line}");
    }
    if !results.notes.is_empty() {
        text.push_str("\n## Good to know\n\n");
        for note in &results.notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    let _ = write!(
        text,
        "\n## Again\n\n    {}\n\nRuns: {}. All figures are in results.json, whose fields \
         docs/bench-etlwr.schema.json describes.\n",
        results.command,
        results
            .runs
            .iter()
            .map(|run| run.run.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    );
    if !results.server.settings.is_empty() {
        text.push_str("\n## Settings of the server\n\n");
        for (name, value) in &results.server.settings {
            let _ = writeln!(text, "- {name} = {value}");
        }
    }
    text
}

/// A time without its fraction of a second: `2026-01-01T12:00:00Z`.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}
