//! A view whose rows are a batch of this process, for statements that are prepared once and run for many batches.
//!
//! DuckDB plans a statement again for each execution if it calls a table function of the C interface
//! ([`table_function`](super::table_function)). That takes 0.4 ms, longer than the work on a few thousand rows. DuckDB
//! reads a view over an Arrow stream by its own table function, and keeps the plan of a statement that uses it.
//!
//! The rows are fields of one column, a struct. DuckDB reads a stream as if it had only the columns that the statement
//! uses, in the order in which the statement uses them. But the stream is not informed which columns these are, and
//! always returns all of them. So it has only one column, which cannot be confused with another.
//!
//! # Why it is sound
//!
//! DuckDB keeps the address of the stream's structure, and copies the structure each time it reads the view. The
//! structure and its state are on the heap, and live as long as the [`RowView`], which drops its view first. No panic
//! unwinds through DuckDB. The stream's release does nothing, as DuckDB expects of the copies.
#![expect(
    unsafe_code,
    reason = "DuckDB calls it by Arrow's stream interface of C"
)]

use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adbc_core::error::Result as AdbcResult;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

use super::connection::{Link, c_text, odd, refused};
use super::table_function;

/// The only column of each view.
pub const ROW: &str = "inrush_row";

/// A view, which no other statements of the process use.
pub struct RowView {
    name: String,
    /// DuckDB has the address of this structure.
    _stream: Box<FFI_ArrowArrayStream>,
    state: Box<State>,
    link: Arc<Link>,
}

// SAFETY: DuckDB only reads the structure; mutable state has a lock.
unsafe impl Send for RowView {}
// SAFETY: see above.
unsafe impl Sync for RowView {}

struct State {
    schema: Schema,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    /// The rows that the next statement reads, until it has taken them.
    batch: Option<StructArray>,
    /// The text of the last error, which DuckDB reads after the failed call.
    error: Option<CString>,
}

impl State {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RowView {
    /// A view whose struct has these fields, without rows.
    pub fn new(link: &Arc<Link>, fields: &Fields) -> AdbcResult<RowView> {
        // All connections of a database see each other's views.
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let name = format!("inrush_rows_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let row = Field::new(ROW, DataType::Struct(fields.clone()), false);
        let state = Box::new(State {
            schema: Schema::new(vec![row]),
            rows: Mutex::default(),
        });
        let mut stream = Box::new(FFI_ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: std::ptr::from_ref(&*state).cast_mut().cast(),
        });
        let called = c_text(&name)?;
        // SAFETY: the connection is open; the stream stays where it is until the view is dropped.
        let made = unsafe {
            (link.functions().arrow_scan)(link.handle(), called.as_ptr(), &raw mut *stream)
        };
        if made != 0 {
            return Err(refused("DuckDB could not make a view of the Arrow rows"));
        }
        Ok(RowView {
            name,
            _stream: stream,
            state,
            link: link.clone(),
        })
    }

    /// Its name in statements.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the rows for the next statement. Their columns are the fields of the view's struct. Only one statement
    /// reads them.
    pub fn refill(&self, batch: &RecordBatch) {
        self.state.rows().batch = Some(StructArray::from(batch.clone()));
    }
}

impl Drop for RowView {
    fn drop(&mut self) {
        // The connection may be broken; then nobody reads the view any more.
        let _ = self
            .link
            .query(&format!("DROP VIEW IF EXISTS {}", self.name));
    }
}

/// The state of a stream.
///
/// # Safety
///
/// `stream` is a copy of the structure of a [`RowView`] that exists.
unsafe fn state_of<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a State {
    // SAFETY: `RowView::new` has set the pointer.
    unsafe { &*(*stream).private_data.cast::<State>() }
}

/// Runs a callback; an error or a panic becomes the stream's last error.
fn guarded(state: &State, work: impl FnOnce() -> Result<(), ArrowError>) -> c_int {
    match table_function::guarded(|| work().map_err(odd)) {
        Ok(()) => 0,
        Err(message) => {
            state.rows().error = Some(message);
            FAILED
        }
    }
}

/// `EIO`: the interface asks for a number of `errno.h`.
const FAILED: c_int = 5;

unsafe extern "C" fn get_schema(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowSchema,
) -> c_int {
    // SAFETY: DuckDB passes a copy of the structure.
    let state = unsafe { state_of(stream) };
    guarded(state, || {
        let schema = FFI_ArrowSchema::try_from(&state.schema)?;
        // SAFETY: `out` is DuckDB's, and not initialized.
        unsafe { out.write(schema) };
        Ok(())
    })
}

unsafe extern "C" fn get_next(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowArray,
) -> c_int {
    // SAFETY: DuckDB passes a copy of the structure.
    let state = unsafe { state_of(stream) };
    guarded(state, || {
        let batch = state.rows().batch.take();
        let array = match batch {
            None => FFI_ArrowArray::empty(),
            Some(rows) => {
                let fields = state.schema.fields().clone();
                let row: ArrayRef = Arc::new(rows);
                let whole = StructArray::try_new(fields, vec![row], None)?;
                FFI_ArrowArray::new(&whole.to_data())
            }
        };
        // SAFETY: `out` is DuckDB's, and not initialized.
        unsafe { out.write(array) };
        Ok(())
    })
}

unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: DuckDB passes a copy of the structure.
    let state = unsafe { state_of(stream) };
    let rows = state.rows();
    // The text stays where it is until the next error.
    rows.error
        .as_ref()
        .map_or(std::ptr::null(), |text| text.as_ptr())
}

unsafe extern "C" fn release(_: *mut FFI_ArrowArrayStream) {}
