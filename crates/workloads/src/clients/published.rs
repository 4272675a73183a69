//! The published figures of the two experiments, as far as they were published in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRun {
    /// The years of the runs.
    pub years: String,
    /// The workload and the product.
    pub what: String,
    /// The machine.
    pub machine: String,
    /// Clients.
    pub clients: Option<u16>,
    /// Seconds.
    pub seconds: Option<f64>,
    /// Bytes that were inserted.
    pub bytes: Option<u64>,
    /// What the publication says.
    pub says: String,
    /// Where it was published.
    pub source: String,
}

const OF_2009: &str = "Paul Randal: Benchmarking: 1-TB table population (SQLskills, 2009)";
const OF_2006: &str = "Joe Chang: High Call Volume SQL Server Applications on NUMA Systems (SQL-Server-Performance, 2006)";

/// The published figures of a workload: `inserts` or `calls`.
pub fn published(workload: &str) -> Vec<PublishedRun> {
    match workload {
        "inserts" => inserts(),
        _ => calls(),
    }
}

fn inserts() -> Vec<PublishedRun> {
    let one = |seconds: f64, says: &str| PublishedRun {
        years: "2009".to_owned(),
        what: "SQL Server 2008, 1 TB of rows of default values, each client 1/128".to_owned(),
        machine:
            "data on 8 SCSI disks of 15,000/min, log on 8 SATA disks, both by iSCSI over 1 Gbit/s"
                .to_owned(),
        clients: Some(128),
        seconds: Some(seconds),
        bytes: Some(1_000_000_000_000),
        says: says.to_owned(),
        source: OF_2009.to_owned(),
    };
    vec![
        one(
            20_842.0,
            "the best of the earlier tests; one before it had to be withdrawn, because half of the clients had not run",
        ),
        one(21_252.0, "network traffic separated"),
        one(21_859.0, "each array connected directly"),
        one(20_745.0, "new firmware of the switches"),
        one(21_743.0, "new drivers of the network cards"),
        one(
            21_526.0,
            "similar network cards, and large frames; fewer clients were faster, but 8 were slower than 16; wait types were not looked at",
        ),
    ]
}

fn calls() -> Vec<PublishedRun> {
    let one = |what: &str, machine: &str, says: &str| PublishedRun {
        years: "2004 to 2006".to_owned(),
        what: what.to_owned(),
        machine: machine.to_owned(),
        clients: None,
        seconds: None,
        bytes: None,
        says: says.to_owned(),
        source: OF_2006.to_owned(),
    };
    vec![
        one(
            "SQL Server 2000, a procedure without a table, 1 to 20 clients",
            "4 Xeon MP of 2.7 GHz, and 16 Xeon MP of 3.0 GHz (NUMA); one network of 1 Gbit/s",
            "the 4-way system made more than twice the calls per second of the 16-way system",
        ),
        one(
            "the same with a seek of one row by its index, in memory",
            "the same",
            "a call costs about 15 % more",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_say_what_the_accounts_say() {
        let inserts = published("inserts");
        let seconds: Vec<f64> = inserts.iter().filter_map(|run| run.seconds).collect();
        assert_eq!(seconds[0], 20_842.0);
        assert_eq!(seconds.len(), 6);
        assert!(published("calls")[1].says.contains("15 %"));
    }
}
