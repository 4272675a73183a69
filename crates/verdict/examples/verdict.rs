//! Computes the verdicts of past runs from their reports: `cargo run --release -p inrush-verdict --example verdict --
//! runs/*/report.json`. So a change of this crate can be judged without a load.

#![expect(clippy::disallowed_macros, reason = "the example prints its result")]

use std::fs;

use inrush_verdict::{Measurements, Verdict, verdict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let measured = report.get("measurements").ok_or("no measurements")?;
        let measurements: Measurements = serde_json::from_value(measured.clone())?;
        let verdict: Verdict = verdict(&measurements);
        println!("{}", serde_json::to_string(&verdict)?);
    }
    Ok(())
}
