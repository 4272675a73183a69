//! The Python module: types, docstrings, the GIL released.
//!
//! This module is thin on purpose: the command is `inrush_cli::main`, and `run` hands JSON to `inrush.api`, which makes
//! the types that Python sees.

mod arrow_stream;

use std::ffi::OsString;
use std::path::PathBuf;

use inrush_cli::Surroundings;
use inrush_cli::heap::Heap;
use inrush_cli::python_run::RunRequest;
use pyo3::prelude::*;

#[global_allocator]
static HEAP: Heap = Heap;

/// Run the command with these arguments and return its exit status.
#[pyfunction]
fn main(
    py: Python<'_>,
    arguments: Vec<OsString>,
    site_packages: Option<PathBuf>,
    own_package: Option<PathBuf>,
) -> u8 {
    let surroundings = Surroundings {
        site_packages,
        own_package,
    };
    let status = py.detach(|| inrush_cli::main(arguments, surroundings));
    status.code()
}

/// Run a package and return `{exit_status, error, report, report_path}` as JSON.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the Python side names the arguments, and passes them in this order"
)]
fn run(
    py: Python<'_>,
    package: PathBuf,
    parameters: Vec<(String, String)>,
    connections: Vec<(String, String)>,
    streams: Option<u16>,
    again: bool,
    from: Option<String>,
    runs_folder: PathBuf,
    trust: bool,
    site_packages: Option<PathBuf>,
    own_package: Option<PathBuf>,
) -> PyResult<String> {
    let surroundings = Surroundings {
        site_packages,
        own_package,
    };
    let request = RunRequest {
        package,
        parameters,
        connections,
        streams,
        again,
        from,
        runs_folder,
        trust,
    };
    let answer = py.detach(|| inrush_cli::python_run::run(request, &surroundings));
    // Ctrl-C has stopped the run by now; here it becomes the KeyboardInterrupt that Python expects.
    py.check_signals()?;
    Ok(answer.to_string())
}

/// Load the rows of an object with `__arrow_c_stream__`, with the arguments of `inrush load`, and return
/// `{exit_status, error, report, report_path}` as JSON.
#[pyfunction]
fn load(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    words: Vec<String>,
    site_packages: Option<PathBuf>,
    own_package: Option<PathBuf>,
) -> PyResult<String> {
    let surroundings = Surroundings {
        site_packages,
        own_package,
    };
    let reader = arrow_stream::reader_of(rows)?;
    let answer = py.detach(|| inrush_cli::python_run::load(words, reader, &surroundings));
    py.check_signals()?;
    Ok(answer.to_string())
}

/// The engine, built from Rust.
#[pymodule]
fn _inrush(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)
}
