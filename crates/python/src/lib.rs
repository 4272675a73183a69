//! The Python module: types, docstrings, the GIL released.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use inrush_cli::Surroundings;
use inrush_cli::api::{self, RunRequest};
use pyo3::prelude::*;

/// Runs the command with these arguments and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>, site_packages: OsString) -> u8 {
    py.detach(|| inrush_cli::main(arguments, surroundings(site_packages)))
}

/// Runs a package and returns `{exit_status, error, report, report_path}` as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side has names for them")]
fn run(
    py: Python<'_>,
    package_path: PathBuf,
    parameters: BTreeMap<String, String>,
    connections: BTreeMap<String, String>,
    streams: Option<u16>,
    again: bool,
    runs_folder: PathBuf,
    site_packages: OsString,
) -> String {
    let request = RunRequest {
        package: package_path,
        parameters: parameters.into_iter().collect(),
        connections: connections.into_iter().collect(),
        streams,
        again,
        runs_folder,
    };
    py.detach(|| api::run(request, &surroundings(site_packages)).to_string())
}

/// An empty folder is Python's way to say that the wheel is not installed.
fn surroundings(site_packages: OsString) -> Surroundings {
    Surroundings {
        site_packages: Some(PathBuf::from(site_packages)).filter(|path| path != &PathBuf::new()),
    }
}

/// The engine, built from Rust.
#[pymodule]
fn _inrush(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
