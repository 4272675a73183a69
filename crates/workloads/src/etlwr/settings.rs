//! The settings for loading and measuring the workload.

use std::path::PathBuf;

use inrush::package::Verify;
use inrush::report::machine;

use super::columnstore::Columnstore;
use crate::error::WorkloadError;

/// The most streams.
const STREAMS_MAX: u16 = 1024;

/// The settings of the load and of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The database, as the package names it: a PostgreSQL URL, `embedded`, or a columnstore on this machine.
    pub url: String,
    /// The number of streams; one for each core if neither this nor `sweep` is set.
    pub streams: Option<u16>,
    /// Loads once with each of these numbers of streams, in this order.
    pub sweep: Vec<u16>,
    /// The number of measurements for each number of streams, from 1.
    pub rounds: u16,
    /// The order in which streams take parts.
    pub order: Order,
    /// The verification by the load: of each part before its COMMIT, and of a columnstore before the switch.
    pub verify: Verify,
    /// True if the tables are analyzed; that time is not counted.
    pub analyze: bool,
    /// True if each load is measured a second time, with steps that rows go through.
    pub transforms: bool,
    /// Cores of all machines that take part, if not only this machine takes part.
    pub cores: Option<u32>,
    /// The folder in which folders of results are created.
    pub results: PathBuf,
    /// The folder in which folders of runs are created.
    pub runs_folder: PathBuf,
    /// True if the tables of the last load stay in the database.
    pub keep: bool,
    /// True if the plan of the load checks the disk of the server.
    pub disk_check: bool,
}

/// The order in which streams take parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Table by table, lineitem at the end, as each stream of 2009 did.
    Sequence,
    /// The largest parts of all tables first.
    LargestFirst,
}

impl Order {
    /// Its name in the results.
    pub(super) fn word(self) -> &'static str {
        match self {
            Order::Sequence => "sequence",
            Order::LargestFirst => "largest_first",
        }
    }
}

impl Settings {
    /// Refuses invalid settings before anything is created.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let url = self.url.trim();
        let kinds = ["postgresql://", "postgres://", "embedded:", "${env:"];
        let is_server = url == "embedded" || kinds.iter().any(|kind| url.starts_with(kind));
        if !is_server && self.columnstore().is_none() {
            return Err(WorkloadError::Usage {
                what: format!(
                    "--to: {url} is neither PostgreSQL nor a columnstore that this workload can load into"
                ),
                hint: "write postgresql://USER@HOST/DATABASE, embedded:FOLDER, embedded, FILE.duckdb or \
                       parquet:FOLDER"
                    .to_owned(),
            });
        }
        if self.keep && url == "embedded" {
            return Err(WorkloadError::Usage {
                what:
                    "--keep: the embedded server and its tables are removed when the command ends"
                        .to_owned(),
                hint: "--to embedded:FOLDER keeps them".to_owned(),
            });
        }
        Ok(())
    }

    /// The columnstore, if the target is not a server.
    pub fn columnstore(&self) -> Option<Columnstore> {
        Columnstore::of(&self.url)
    }

    /// The numbers of streams, each once, in their order.
    pub fn points(&self) -> Vec<u16> {
        let mut points: Vec<u16> = Vec::new();
        for streams in &self.sweep {
            if !points.contains(streams) {
                points.push(*streams);
            }
        }
        if points.is_empty() {
            let cores = || u16::try_from(machine().cores).unwrap_or(STREAMS_MAX);
            points.push(self.streams.unwrap_or_else(|| cores().min(STREAMS_MAX)));
        }
        points
    }

    /// The most streams of any load of the measurement: an embedded server needs connections for them.
    pub fn streams_most(&self) -> Option<u16> {
        self.points().into_iter().max()
    }

    /// True if each run must start from the beginning, because a resumed run would not be a valid point of a sweep.
    pub fn is_series(&self) -> bool {
        self.points().len() > 1 || self.rounds > 1 || self.transforms
    }
}

/// The name of a level of verification in the results and in the package.
pub(super) fn verify_word(level: Verify) -> &'static str {
    match level {
        Verify::Count => "count",
        Verify::Sums => "sums",
        Verify::Rows => "rows",
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The defaults of the command.
    pub fn settings() -> Settings {
        Settings {
            url: "embedded".to_owned(),
            streams: None,
            sweep: Vec::new(),
            rounds: 1,
            order: Order::Sequence,
            verify: Verify::Sums,
            analyze: false,
            transforms: false,
            cores: None,
            results: "results".into(),
            runs_folder: "runs".into(),
            keep: false,
            disk_check: true,
        }
    }

    #[test]
    fn a_sweep_is_a_series_and_has_each_number_once() {
        let sweep = Settings {
            sweep: vec![4, 1, 4],
            ..settings()
        };
        assert_eq!(sweep.points(), [4, 1]);
        assert_eq!(sweep.streams_most(), Some(4));
        assert!(sweep.is_series());
        let one = Settings {
            streams: Some(3),
            ..settings()
        };
        assert_eq!((one.points(), one.is_series()), (vec![3], false));
        let rounds = Settings {
            rounds: 2,
            ..one.clone()
        };
        assert!(rounds.is_series());
        let transforms = Settings {
            transforms: true,
            ..one
        };
        assert!(transforms.is_series());
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let to = |url: &str, keep| {
            let settings = Settings {
                url: url.to_owned(),
                keep,
                ..settings()
            };
            settings.check().map_err(|error| error.told())
        };
        assert_eq!(to(" embedded ", false), Ok(()));
        assert_eq!(to("embedded:data", true), Ok(()));
        assert_eq!(to("postgresql://etl@dw/tpch", true), Ok(()));
        assert_eq!(to("x.duckdb", false), Ok(()));
        assert_eq!(to("parquet:lake", true), Ok(()));
        let refused = to("adbc:sqlite", false).expect_err("it is another kind");
        assert!(refused.contains("adbc:sqlite is neither"), "{refused}");
        let refused = to("embedded", true).expect_err("nothing is left to keep");
        assert!(refused.contains("--keep"), "{refused}");
    }
}
