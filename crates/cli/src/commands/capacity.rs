//! `inrush preflight --size --within --what-if`: the needs of a load, and its time with other resources.

use inrush::preflight::capacity::{CapacityFound, CapacityWish, Resources};
use inrush::preflight::{Finding, PreflightReport, Weight};
use inrush::printable::line;

use crate::arguments::{PreflightArguments, WhatIf};
use crate::numbers::{bytes, counted, seconds};

/// Answers the questions of the arguments from the measured costs.
pub fn add(report: &mut PreflightReport, arguments: &PreflightArguments) {
    let asks =
        arguments.size.is_some() || arguments.within.is_some() || !arguments.what_if.is_empty();
    if !asks {
        return;
    }
    let Some(costs) = &report.costs else {
        report.findings.push(Finding {
            weight: Weight::Tells,
            what: "the needs of the load are unknown: its steps could not be measured together"
                .to_owned(),
            hint: Some(
                "fix the problems that stop the run, then run the preflight again".to_owned(),
            ),
        });
        return;
    };
    let mut wish = CapacityWish {
        size_bytes: arguments.size.map(|size| size as f64),
        within_s: arguments.within,
        ..CapacityWish::default()
    };
    if !arguments.what_if.is_empty() {
        let mut with = costs.here;
        for what in &arguments.what_if {
            replace(&mut with, &mut wish, *what, costs.here.shared_cores);
        }
        wish.what_if = Some(with);
    }
    report.capacity = Some(costs.capacity(&wish));
}

/// Replaces one of this machine's resources. If cores of the loader or of the server are given, the two share no cores.
fn replace(with: &mut Resources, wish: &mut CapacityWish, what: WhatIf, shared_cores: Option<f64>) {
    let mut own = |loader: Option<f64>, server: Option<f64>| {
        if with.shared_cores.take().is_some() {
            (with.loader_cores, with.server_cores) = (shared_cores, shared_cores);
        }
        with.loader_cores = loader.or(with.loader_cores);
        with.server_cores = server.or(with.server_cores);
    };
    match what {
        WhatIf::SharedCores(cores) => {
            with.shared_cores = Some(cores);
            (with.loader_cores, with.server_cores) = (None, None);
        }
        WhatIf::LoaderCores(cores) => own(Some(cores), None),
        WhatIf::ServerCores(cores) => own(None, Some(cores)),
        WhatIf::Network(rate) => with.network_bytes_s = Some(rate),
        WhatIf::Disk(rate) => with.disk_write_bytes_s = Some(rate),
        WhatIf::Read(rate) => with.disk_read_bytes_s = Some(rate),
        WhatIf::Streams(streams) => wish.streams = Some(streams),
    }
}

/// The answer as it is printed.
pub fn words(found: &CapacityFound) -> String {
    let mut text = String::from("\nWhat would be needed\n");
    let mut tell = |words: String| text.push_str(&line(&format!("  {words}")));
    tell(format!(
        "{} of text take {} by {}; {} limits it",
        bytes(found.size_bytes as u64),
        seconds(found.predicted_s),
        counted(found.streams as u64, "stream"),
        found.limit
    ));
    tell(format!("with {}", resources(&found.with)));
    if let Some(needs) = &found.needs {
        let rate = |rate: f64| format!("{}/s", bytes(rate as u64));
        tell(format!("within {} it needs", seconds(needs.within_s)));
        let unknown = || "not measured".to_owned();
        for (what, need) in [
            (
                "streams",
                needs
                    .streams
                    .map_or("more than possible".to_owned(), |streams| {
                        streams.to_string()
                    }),
            ),
            ("cores for the loader", format!("{:.1}", needs.loader_cores)),
            (
                "cores for the server",
                needs
                    .server_cores
                    .map_or_else(unknown, |cores| format!("{cores:.1}")),
            ),
            ("disk, read from files", rate(needs.disk_read_bytes_s)),
            (
                "disk, written by the server",
                rate(needs.disk_write_bytes_s),
            ),
            ("network", needs.network_bytes_s.map_or_else(unknown, rate)),
            (
                "WAL in all",
                needs
                    .wal_bytes
                    .map_or_else(unknown, |wal| bytes(wal as u64)),
            ),
        ] {
            tell(format!("  {what:<28} {need}"));
        }
        tell(format!("first limit here: {}", needs.first_limit));
    }
    for assumption in &found.assumptions {
        tell(format!("assumed: {assumption}"));
    }
    text
}

fn resources(with: &Resources) -> String {
    let cores = |cores: f64| format!("{cores}");
    let rate = |rate: f64| format!("{}/s", bytes(rate as u64));
    let known: Vec<String> = [
        ("cores for both", with.shared_cores.map(cores)),
        ("cores for the loader", with.loader_cores.map(cores)),
        ("cores for the server", with.server_cores.map(cores)),
        ("network", with.network_bytes_s.map(rate)),
        ("disk, written", with.disk_write_bytes_s.map(rate)),
        ("disk, read", with.disk_read_bytes_s.map(rate)),
    ]
    .into_iter()
    .filter_map(|(what, have)| Some(format!("{what} {}", have?)))
    .collect();
    known.join(", ")
}
