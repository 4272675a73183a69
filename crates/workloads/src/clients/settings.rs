//! The settings of a measurement with many clients.

use std::path::PathBuf;

use inrush::clients::{InsertWork, Protocol, Work};

use super::client::CallShape;
use crate::error::WorkloadError;

/// The most clients, because each is a connection with its own buffers and histograms.
const CLIENTS_MAX: u32 = 10_000;

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The database, as the command names it.
    pub url: String,
    /// The work of the clients.
    pub workload: Workload,
    /// The numbers of clients, in the order in which they are measured.
    pub points: Vec<u16>,
    /// The number of measurements for each number of clients.
    pub rounds: u16,
    /// The amount of work of all clients in a run.
    pub amount: Amount,
    /// The protocol of statements.
    pub protocol: Protocol,
    /// The most calls of a client that wait for their answers at a time.
    pub pipeline: u16,
    /// In an open loop, the calls per second of all clients together.
    pub rate: Option<f64>,
    /// Addresses of the server, which the clients use in turn; empty means the URL's own.
    pub endpoints: Vec<String>,
    /// CPUs that the threads of the clients are placed on, in turn.
    pub cpus: Vec<usize>,
    /// Threads that run the clients; the default is one for each core, or for each of `cpus`.
    pub threads: Option<u16>,
    /// The folder for results.
    pub results: PathBuf,
    /// True if a stopped sweep is not resumed.
    pub fresh: bool,
}

/// The work of clients.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Each client inserts a part of the rows of one table.
    Inserts {
        /// The table and the statements.
        work: InsertWork,
        /// Statements in a transaction.
        commit_every: u32,
    },
    /// Each client makes the same call again and again.
    Calls(Work),
}

/// The amount of work in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This number of rows or calls, of all clients together.
    Rows(u64),
    /// This number of bytes of rows in the table and its index.
    Bytes(u64),
    /// The clients do as much as they can in this number of seconds.
    Seconds(f64),
}

impl Workload {
    /// Its name in the results, which also says what is counted: `inserts` or `calls`.
    pub fn name(&self) -> &'static str {
        match self {
            Workload::Inserts { .. } => "inserts",
            Workload::Calls(_) => "calls",
        }
    }

    /// The work of a client, in a few words.
    pub fn describe(&self) -> &'static str {
        match self {
            Workload::Inserts { work, .. } => match work.table_sql {
                None => "rows of default values, as in 2009",
                Some(_) => "rows of default values of a table of your own",
            },
            Workload::Calls(Work::Noop) => "a function without a table",
            Workload::Calls(Work::Seek) => "a function that finds one row by its key, in memory",
            Workload::Calls(Work::Insert(_)) => "one row of default values",
            Workload::Calls(Work::Sql(_)) => "a statement of your own",
        }
    }

    /// The work in the server's terms.
    pub fn work(&self) -> Work {
        match self {
            Workload::Inserts { work, .. } => Work::Insert(work.clone()),
            Workload::Calls(work) => work.clone(),
        }
    }

    /// How a client calls.
    pub fn shape(&self, pipeline: u16) -> CallShape {
        let (rows, commit_every) = match self {
            Workload::Inserts { work, commit_every } => (work.batch, *commit_every),
            Workload::Calls(_) => (1, 1),
        };
        CallShape {
            rows,
            commit_every,
            pipeline: usize::from(pipeline),
        }
    }
}

/// The name of a protocol in results and options.
pub fn protocol_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Simple => "simple",
        Protocol::Extended => "extended",
        Protocol::Prepared => "prepared",
    }
}

impl Settings {
    /// Refuses invalid settings before anything is created.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let usage = |what: String, hint: &str| {
            Err(WorkloadError::Usage {
                what,
                hint: hint.to_owned(),
            })
        };
        let url = self.url.trim();
        let kinds = ["postgresql://", "postgres://", "embedded:", "${env:"];
        if url != "embedded" && !kinds.iter().any(|kind| url.starts_with(kind)) {
            return usage(
                format!("--to: {url} is not PostgreSQL, which this workload needs"),
                "write postgresql://USER@HOST/DATABASE, embedded:FOLDER or embedded",
            );
        }
        if let Some(rate) = self.rate
            && !(rate.is_finite() && rate > 0.0)
        {
            return usage(
                format!("--rate: {rate} calls in a second cannot be made"),
                "write a number above 0, such as --rate 5000",
            );
        }
        if let Amount::Rows(rows) = self.amount
            && let Some(most) = self
                .points
                .iter()
                .max()
                .filter(|most| u64::from(**most) > rows)
        {
            return usage(
                format!("{rows} in all leave nothing to do for some of {most} clients"),
                "raise the number so that each client has at least one",
            );
        }
        match &self.workload {
            Workload::Inserts { work, .. } => check_table(work),
            Workload::Calls(Work::Sql(sql)) => check_sql(sql, self.protocol),
            Workload::Calls(_) => Ok(()),
        }
    }
}

fn check_table(inserts: &InsertWork) -> Result<(), WorkloadError> {
    let Some(sql) = &inserts.table_sql else {
        return Ok(());
    };
    let wrong = match sql.contains("{table}") {
        true if sql.contains('\0') => "has a zero byte",
        true => return Ok(()),
        false => "does not name the table as {table}",
    };
    Err(WorkloadError::Usage {
        what: format!("--table-sql: the file {wrong}"),
        hint: "write the statement that makes {table}, with a default for every column".to_owned(),
    })
}

fn check_sql(sql: &str, protocol: Protocol) -> Result<(), WorkloadError> {
    let is_several = sql.trim_end().trim_end_matches(';').contains(';');
    let (what, hint) = if sql.trim().is_empty() {
        ("is empty", "write one statement into it")
    } else if sql.contains('\0') {
        ("has a zero byte", "write one statement into it, as text")
    } else if is_several && protocol != Protocol::Simple {
        (
            "seems to have several statements, but --protocol extended and prepared send one",
            "use --protocol simple, or put the statements into a function",
        )
    } else {
        return Ok(());
    };
    Err(WorkloadError::Usage {
        what: format!("--sql: the file {what}"),
        hint: hint.to_owned(),
    })
}

/// The numbers of clients that `1,2,8` or `1-20` mean, each once.
pub fn client_numbers(text: &str) -> Result<Vec<u16>, String> {
    let mut found: Vec<u16> = Vec::new();
    for piece in text.split(',').map(str::trim) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let number = |word: &str| -> Result<u16, String> {
            let number = word.trim().parse::<u32>().ok();
            let number = number.filter(|number| (1..=CLIENTS_MAX).contains(number));
            number.and_then(|number| u16::try_from(number).ok()).ok_or_else(|| {
                format!("`{word}` is not a number of clients: write numbers from 1 to {CLIENTS_MAX}, as in 1,8,64 or 1-20")
            })
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!(
                "{piece} begins after its end: write {last}-{first}"
            ));
        }
        for each in first..=last {
            if !found.contains(&each) {
                found.push(each);
            }
        }
    }
    Ok(found)
}

/// The numbers of CPUs that `0-3,8` means.
pub fn cpu_numbers(text: &str) -> Result<Vec<usize>, String> {
    let mut found = Vec::new();
    for piece in text.split(',').map(str::trim) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let number = |word: &str| -> Result<usize, String> {
            let number = word.trim().parse::<usize>().ok();
            number.filter(|number| *number < 1024).ok_or_else(|| {
                format!("`{word}` is not the number of a CPU: write numbers from 0 on, as in 0-3,8")
            })
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!(
                "{piece} begins after its end: write {last}-{first}"
            ));
        }
        found.extend(first..=last);
    }
    Ok(found)
}

/// Bytes of `1GB`, `500 MB`, `10MiB` or `4096`.
pub fn size_in_bytes(text: &str) -> Result<u64, String> {
    let at = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err(format!("`{text}` is not a size: write it as 500MB or 1GB")),
    };
    let bytes = number.parse::<f64>().map(|number| number * factor);
    match bytes {
        Ok(bytes) if (1.0..1e18).contains(&bytes) => Ok(bytes as u64),
        _ => Err(format!("`{text}` is not a size: write it as 500MB or 1GB")),
    }
}

/// Seconds of `60s`, `2min`, `1h`, `500ms` or `60`.
pub fn amount_of_time(text: &str) -> Result<f64, String> {
    let at = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{text}` is no time: write it as 60s, 5min or 1h")),
    };
    match number.parse::<f64>().map(|number| number * factor) {
        Ok(seconds) if (0.1..=31_536_000.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!(
            "`{text}` is no time of a run: write 0.1s or more, as in 60s, 5min or 1h"
        )),
    }
}

#[cfg(test)]
pub mod tests {
    use inrush::clients::Key;

    use super::*;

    /// A measurement of 2 clients with 10 calls.
    pub fn settings() -> Settings {
        Settings {
            url: "embedded".to_owned(),
            workload: Workload::Calls(Work::Noop),
            points: vec![2],
            rounds: 1,
            amount: Amount::Rows(10),
            protocol: Protocol::Prepared,
            pipeline: 1,
            rate: None,
            endpoints: Vec::new(),
            cpus: Vec::new(),
            threads: None,
            results: "results".into(),
            fresh: false,
        }
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(client_numbers("8,16,8"), Ok(vec![8, 16]));
        assert_eq!(client_numbers("1-4, 128"), Ok(vec![1, 2, 3, 4, 128]));
        for wrong in ["0", "", "1-", "x", "20-1", "10001", "-1"] {
            assert!(client_numbers(wrong).is_err(), "{wrong}");
        }
        assert_eq!(cpu_numbers("0-2,8"), Ok(vec![0, 1, 2, 8]));
        assert!(cpu_numbers("a").is_err() && cpu_numbers("5000").is_err());
        assert_eq!(size_in_bytes("1GB"), Ok(1_000_000_000));
        assert_eq!(size_in_bytes("1.5 MiB"), Ok(1_572_864));
        assert!(size_in_bytes("GB").is_err() && size_in_bytes("1XB").is_err());
        assert_eq!(amount_of_time("60s"), Ok(60.0));
        assert_eq!(amount_of_time("2min"), Ok(120.0));
        assert!(amount_of_time("0").is_err() && amount_of_time("1y").is_err());
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_its_fix() {
        assert!(settings().check().is_ok());
        let refused = |change: fn(&mut Settings)| {
            let mut wrong = settings();
            change(&mut wrong);
            wrong.check().expect_err("refused").told()
        };
        let told = refused(|settings| settings.url = "x.duckdb".to_owned());
        assert!(told.contains("x.duckdb is not PostgreSQL"), "{told}");
        let told = refused(|settings| settings.rate = Some(0.0));
        assert!(told.contains("--rate"), "{told}");
        let told = refused(|settings| settings.points = vec![4, 64]);
        assert!(told.contains("some of 64 clients"), "{told}");
        let told = refused(|settings| {
            settings.workload = Workload::Calls(Work::Sql("a; b".to_owned()));
        });
        assert!(told.contains("several statements"), "{told}");
        let told = refused(|settings| {
            settings.workload = Workload::Inserts {
                work: InsertWork {
                    batch: 1,
                    is_synchronous: true,
                    key: Key::Random,
                    is_unlogged: false,
                    table_sql: Some("a table of any name".to_owned()),
                },
                commit_every: 1,
            };
        });
        assert!(told.contains("{table}"), "{told}");
    }
}
