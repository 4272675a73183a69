//! The command that repeats the measurement, as the results name it.

use inrush_workloads::etlwr::quoted;

use crate::arguments::{
    EtlwrOrder, EtlwrRunArguments, MeasureArguments, VerifyLevel, WhichArguments, WholeArguments,
};

/// The command that loads the same files again.
pub fn run_command(arguments: &EtlwrRunArguments) -> String {
    let mut words = vec!["inrush bench etlwr run".to_owned()];
    for folder in &arguments.data {
        words.push(format!("--data {}", quoted(&folder.display().to_string())));
    }
    which_words(&mut words, &arguments.which);
    measure_words(&mut words, &arguments.measure);
    words.join(" ")
}

/// The command that generates the files and loads them again.
pub fn whole_command(arguments: &WholeArguments) -> String {
    let mut words = vec![format!(
        "inrush bench etlwr --scale {} --parts {}",
        arguments.scale, arguments.parts
    )];
    if let Some(folder) = &arguments.data {
        words.push(format!("--data {}", quoted(&folder.display().to_string())));
    }
    which_words(&mut words, &arguments.which);
    measure_words(&mut words, &arguments.measure);
    words.join(" ")
}

fn which_words(words: &mut Vec<String>, which: &WhichArguments) {
    if let Some(tables) = &which.tables {
        words.push(format!("--tables {}", quoted(tables)));
    }
    if let Some(part) = &which.part {
        words.push(format!("--part {}", quoted(part)));
    }
    if which.ten_percent {
        words.push("--ten-percent".to_owned());
    }
}

fn measure_words(words: &mut Vec<String>, measure: &MeasureArguments) {
    if measure.to != "embedded" {
        words.push(format!("--to {}", quoted(&measure.to)));
    }
    if let Some(streams) = measure.streams {
        words.push(format!("--streams {streams}"));
    }
    if !measure.sweep.is_empty() {
        let sweep: Vec<String> = measure.sweep.iter().map(u16::to_string).collect();
        words.push(format!("--sweep {}", sweep.join(",")));
    }
    if measure.rounds > 1 {
        words.push(format!("--rounds {}", measure.rounds));
    }
    if measure.order == EtlwrOrder::LargestFirst {
        words.push("--order largest-first".to_owned());
    }
    match measure.verify {
        Some(VerifyLevel::Count) => words.push("--verify count".to_owned()),
        Some(VerifyLevel::Sums) => words.push("--verify sums".to_owned()),
        Some(VerifyLevel::Rows) => words.push("--verify rows".to_owned()),
        None => {}
    }
    if measure.analyze {
        words.push("--analyze".to_owned());
    }
    if measure.transforms {
        words.push("--transforms".to_owned());
    }
    if let Some(cores) = measure.cores {
        words.push(format!("--cores {cores}"));
    }
}
