//! Takes the Arrow stream out of a Python object, by Arrow's PyCapsule interface.
//!
//! # Why it is sound
//!
//! The interface says what a capsule with the name `arrow_array_stream` holds: a pointer to a valid `ArrowArrayStream`.
//! Its content is moved out, which leaves a released stream behind, so that the capsule's destructor does nothing. Any
//! thread may use a stream, but only one thread at a time. A stream that is written in Python takes the GIL itself.
#![expect(unsafe_code, reason = "a structure of C, in a capsule of Python")]

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The rows of an object with `__arrow_c_stream__`.
pub fn reader_of(rows: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let Ok(export) = rows.getattr("__arrow_c_stream__") else {
        let kind = rows.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "rows: a {kind} has no __arrow_c_stream__; hand over a table, data frame or relation of pyarrow, polars, pandas, \
             DuckDB or another library with Arrow's PyCapsule interface"
        )));
    };
    let capsule = export.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: see the head of this file.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
    let reader = ArrowArrayStreamReader::try_new(stream).map_err(|error| {
        PyValueError::new_err(format!(
            "rows: the Arrow stream is unusable: {error}; hand over a table or a data frame, whose stream has rows, and not a \
             single column"
        ))
    })?;
    Ok(Box::new(reader))
}
