//! The published figures of the record runs.

use schemars::JsonSchema;
use serde::Serialize;

use super::rates::Rates;

/// A published figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedFigures {
    /// The year of the run.
    pub year: u16,
    /// What was loaded, and by what.
    pub what: String,
    /// Where it was published.
    pub source: String,
    /// Bytes of text.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
    /// The machines.
    pub machine: String,
    /// Cores of all machines that took part.
    pub cores: u32,
    /// Streams that loaded at the same time, if the account says it.
    pub streams: Option<u16>,
    /// Parts of the files, of all tables together.
    pub parts: u32,
    /// A tenth of the data.
    pub ten_percent: bool,
    /// Loaded into a columnstore, and not row by row.
    pub columnstore: bool,
    /// Computed from bytes, seconds and cores.
    pub rates: Rates,
}

const OF_2009: &str = "Wyatt, Shea, Powell: We Loaded 1TB in 30 Minutes with SSIS, and So Can You \
                       (Microsoft, March 2009)";
const OF_2016: &str = "Using SSIS to load 1TB data into SQL Server in 30 mins, with simplified \
                       settings (SSIS team blog, Microsoft, 2016)";

/// 32 sockets of 2 cores in the database server, 2 sockets of 4 in each of 4 source servers.
const CORES_2009: u32 = 64 + 32;
const MACHINE_2009: &str = "a Unisys ES7000/One with 32 sockets of 2 cores (Intel Xeon 3.4 GHz) and 256 GB; \
                            4 Unisys ES3220L with 2 sockets of 4 cores (2 GHz) and 4 GB for the files";

/// 2 sockets of 12 cores in each of 2 servers.
const CORES_2016: u32 = 48;
const MACHINE_2016: &str = "2 servers of 2 sockets of 12 cores (Intel Xeon 2.6 GHz), 128 GB and 4 SSDs each, \
                            one for the database and one for the files; 10 GBit between them";

/// All published figures.
pub fn published() -> Vec<PublishedFigures> {
    let one = |year, what: &str, bytes: f64, seconds| {
        let (source, machine, cores, streams, parts) = match year {
            2009 => (OF_2009, MACHINE_2009, CORES_2009, Some(56), 56 * 6),
            // The account has 48 parts; its text does not say how many were loaded at a time.
            _ => (OF_2016, MACHINE_2016, CORES_2016, None, 48),
        };
        PublishedFigures {
            year,
            what: what.to_owned(),
            source: source.to_owned(),
            bytes: bytes as u64,
            seconds,
            machine: machine.to_owned(),
            cores,
            streams,
            parts,
            ten_percent: false,
            columnstore: false,
            rates: Rates::new(bytes, seconds, Some(cores)),
        }
    };
    let columnstore = |figures: PublishedFigures| PublishedFigures {
        columnstore: true,
        ..figures
    };
    let of_2009 = "SSIS 2008 into SQL Server 2008, six tables";
    let of_2016 = "SSIS 2016 into SQL Server 2016, lineitem, 1 TB";
    let into_columns = "the same into a clustered columnstore, a third of the space, 1 TB";
    let more_into_columns = "the same into a clustered columnstore, 1.5 TB";
    vec![
        one(2009, of_2009, 1.18e12, 1794.0),
        PublishedFigures {
            ten_percent: true,
            // The best of the five runs in its table 2; the bytes are a tenth of the whole.
            ..one(2009, "the same with a tenth of the data", 1.18e11, 207.0)
        },
        one(2016, of_2016, 1e12, 1800.0),
        one(2016, "the same, 1.5 TB", 1.5e12, 2580.0),
        columnstore(one(2016, into_columns, 1e12, 67.0 * 60.0)),
        columnstore(one(2016, more_into_columns, 1.5e12, 100.0 * 60.0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_say_what_the_accounts_say() {
        let all = published();
        // "2.36 TB per hour", and 1.00 TB in 25 minutes 20 seconds.
        assert!((all[0].rates.tb_per_hour - 2.36).abs() < 0.01);
        assert!((1e12 / 1e6 / all[0].rates.mb_per_s - 1520.0).abs() < 1.0);
        assert_eq!(all[2].rates.tb_per_hour, 2.0);
        assert_eq!((all[0].cores, all[2].cores), (96, 48));
        // "1TB data in 67 minutes into table with column store index (1.5TB dataset in 100 minutes)".
        let columnstore: Vec<_> = all.iter().filter(|one| one.columnstore).collect();
        let seen = columnstore.iter().map(|one| (one.bytes, one.seconds));
        assert!(seen.eq([(1_000_000_000_000, 4020.0), (1_500_000_000_000, 6000.0)]));
        assert!(
            columnstore
                .iter()
                .all(|one| one.machine.contains("12 cores"))
        );
    }
}
