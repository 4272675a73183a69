//! The Python module: types, docstrings, the GIL released.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>, site_packages: OsString) -> u8 {
    py.detach(|| {
        let _ = (arguments, site_packages);
        0
    })
}

/// The engine, built from Rust.
#[pymodule]
fn _inrush(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(main, module)?)
}
