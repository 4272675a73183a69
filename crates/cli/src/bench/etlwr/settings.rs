//! Turns the arguments into the settings of the workload.

use inrush::package::Verify;
use inrush_workloads::etlwr::{Order, Selection, Settings};

use crate::arguments::{EtlwrOrder, MeasureArguments, WhichArguments};
use crate::package_file::from_here;

/// The choice of tables and parts.
pub fn selection(arguments: &WhichArguments) -> Selection {
    Selection {
        tables: arguments.tables.clone(),
        part: arguments.part.clone(),
        ten_percent: arguments.ten_percent,
    }
}

/// The settings of the load and of the measurement.
pub fn settings(arguments: &MeasureArguments) -> Settings {
    Settings {
        url: from_here(&arguments.to),
        streams: arguments.streams,
        sweep: arguments.sweep.clone(),
        rounds: arguments.rounds,
        order: match arguments.order {
            EtlwrOrder::Sequence => Order::Sequence,
            EtlwrOrder::LargestFirst => Order::LargestFirst,
        },
        verify: match arguments.verify {
            Some(level) => level.into(),
            None => Verify::Sums,
        },
        analyze: arguments.analyze,
        transforms: arguments.transforms,
        cores: arguments.cores,
        results: arguments.results.clone(),
        runs_folder: arguments.runs_folder.clone(),
        keep: arguments.keep,
        disk_check: !arguments.no_disk_check,
    }
}
