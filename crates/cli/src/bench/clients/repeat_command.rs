//! The command that repeats a measurement, which its results name. A stopped measurement is recognized by this command.

use inrush_workloads::etlwr::quoted;

use crate::arguments::{
    CallArgument, CallsArguments, ClientsArguments, InsertsArguments, KeyArgument, OnOff,
    ProtocolArgument,
};

/// The command of `inrush bench inserts`.
pub fn inserts_command(arguments: &InsertsArguments) -> String {
    let mut words = vec![format!(
        "inrush bench inserts --connections {}",
        joined(&arguments.connections.0)
    )];
    amount_words(&mut words, ("--rows", arguments.rows), arguments.time);
    if let Some(size) = arguments.size {
        words.push(format!("--size {size}"));
    }
    if arguments.batch > 1 {
        words.push(format!("--batch {}", arguments.batch));
    }
    if arguments.commit_every > 1 {
        words.push(format!("--commit-every {}", arguments.commit_every));
    }
    if arguments.synchronous_commit == OnOff::Off {
        words.push("--synchronous-commit off".to_owned());
    }
    if arguments.key == KeyArgument::Sequence {
        words.push("--key sequence".to_owned());
    }
    if arguments.unlogged {
        words.push("--unlogged".to_owned());
    }
    if let Some(path) = &arguments.table_sql {
        words.push(format!(
            "--table-sql {}",
            quoted(&path.display().to_string())
        ));
    }
    measure_words(&mut words, &arguments.measure);
    words.join(" ")
}

/// The command of `inrush bench calls`.
pub fn calls_command(arguments: &CallsArguments) -> String {
    let what = match (&arguments.sql, arguments.call) {
        (Some(path), _) => format!("--sql {}", quoted(&path.display().to_string())),
        (None, CallArgument::Noop) => "noop".to_owned(),
        (None, CallArgument::Seek) => "seek".to_owned(),
        (None, CallArgument::Insert) => "insert".to_owned(),
    };
    let clients = joined(&arguments.clients.0);
    let mut words = vec![format!("inrush bench calls {what} --clients {clients}")];
    amount_words(&mut words, ("--calls", arguments.calls), arguments.time);
    measure_words(&mut words, &arguments.measure);
    words.join(" ")
}

fn joined<T: ToString>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    numbers.join(",")
}

fn amount_words(words: &mut Vec<String>, (option, amount): (&str, Option<u64>), time: Option<f64>) {
    if let Some(amount) = amount {
        words.push(format!("{option} {amount}"));
    }
    if let Some(time) = time {
        words.push(format!("--for {time}s"));
    }
}

fn measure_words(words: &mut Vec<String>, measure: &ClientsArguments) {
    if measure.to != "embedded" {
        words.push(format!("--to {}", quoted(&measure.to)));
    }
    match measure.protocol {
        _ if measure.simple => words.push("--protocol simple".to_owned()),
        ProtocolArgument::Simple => words.push("--protocol simple".to_owned()),
        ProtocolArgument::Extended => words.push("--protocol extended".to_owned()),
        ProtocolArgument::Prepared => {}
    }
    if measure.pipeline > 1 {
        words.push(format!("--pipeline {}", measure.pipeline));
    }
    if let Some(rate) = measure.rate {
        words.push(format!("--rate {rate}"));
    }
    if !measure.endpoints.is_empty() {
        words.push(format!(
            "--endpoints {}",
            quoted(&measure.endpoints.join(","))
        ));
    }
    if let Some(cpus) = &measure.cpus {
        words.push(format!("--cpus {}", joined(&cpus.0)));
    }
    if let Some(threads) = measure.threads {
        words.push(format!("--threads {threads}"));
    }
    if measure.rounds > 1 {
        words.push(format!("--rounds {}", measure.rounds));
    }
}
