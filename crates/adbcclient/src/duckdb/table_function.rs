//! The table function from which DuckDB reads rows: `SELECT * FROM inrush_rows(7)`.
//!
//! DuckDB asks it for its columns. Then it calls it for one vector of rows at a time, on one thread, until no rows are
//! left. Each call waits for the reader that has the rows. A source can be filled more than once: a statement reads the
//! rows that the source has when the statement begins.
//!
//! # Why it is sound
//!
//! A number identifies a [`Source`], so no address is part of an SQL text. DuckDB keeps counted references, which
//! `Arc::into_raw` makes and which DuckDB's destructor callback releases. No panic unwinds through DuckDB. A source
//! keeps its connection open.
#![expect(unsafe_code, reason = "DuckDB calls it by its functions of C")]

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adbc_core::error::Result as AdbcResult;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};

use super::connection::{Link, c_text, odd, refused};
use super::functions::{self, BIGINT, Functions, Opaque};

const NAME: &str = "inrush_rows";

/// The reader that rows come from.
type Reader = Box<dyn RecordBatchReader + Send>;

/// Rows that a statement reads.
pub struct Source {
    link: Arc<Link>,
    /// DuckDB's description of the Arrow columns.
    converted: Opaque,
    columns: Vec<(CString, Opaque)>,
    names: Vec<String>,
    /// The most rows of a DuckDB vector.
    vector_rows: usize,
    state: Mutex<State>,
}

struct State {
    /// The batches; `None` if nobody reads them any more.
    reader: Option<Reader>,
    /// The rest of a batch with more rows than a vector.
    rest: Option<RecordBatch>,
}

// SAFETY: the handles are DuckDB's and only read; mutable state has a lock.
unsafe impl Send for Source {}
// SAFETY: see above.
unsafe impl Sync for Source {}

impl Source {
    /// A table function for the rows of a reader.
    pub fn new(link: &Arc<Link>, reader: Reader) -> AdbcResult<Source> {
        let schema = reader.schema();
        let mut source = Source {
            link: link.clone(),
            converted: std::ptr::null_mut(),
            columns: Vec::with_capacity(schema.fields().len()),
            names: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            // SAFETY: the function has no arguments.
            vector_rows: unsafe { (link.functions().vector_size)() } as usize,
            state: Mutex::new(State {
                reader: Some(reader),
                rest: None,
            }),
        };
        let mut arrow = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(odd)?;
        // SAFETY: the connection is open; the function sets the handle.
        let error = unsafe {
            let made = &mut source.converted;
            (link.functions().schema_from_arrow)(link.handle(), &mut arrow, made)
        };
        link.functions().check(error)?;
        // This chunk has no rows, but its vectors have the types that rows will have.
        let chunk = source.chunk(&RecordBatch::new_empty(schema))?;
        for (column, name) in source.names.iter().enumerate() {
            // SAFETY: the chunk has a vector for each column.
            let column_type = unsafe {
                let functions = link.functions();
                (functions.vector_get_column_type)(chunk.vector(column))
            };
            source.columns.push((c_text(name)?, column_type));
        }
        drop(chunk);
        Ok(source)
    }

    /// The names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of one vector; `None` at the end.
    fn next(&self) -> AdbcResult<Option<RecordBatch>> {
        let mut state = self.state();
        let batch = loop {
            let next = match (state.rest.take(), &mut state.reader) {
                (Some(rest), _) => Some(rest),
                (None, Some(reader)) => reader.next().transpose().map_err(odd)?,
                (None, None) => return Err(refused("taken back")),
            };
            match next {
                None => return Ok(None),
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => break batch,
            }
        };
        let rows = batch.num_rows();
        if rows <= self.vector_rows {
            return Ok(Some(batch));
        }
        state.rest = Some(batch.slice(self.vector_rows, rows - self.vector_rows));
        Ok(Some(batch.slice(0, self.vector_rows)))
    }

    /// Rows as a DuckDB chunk. Values are not copied if both have the same layout.
    fn chunk(&self, batch: &RecordBatch) -> AdbcResult<Chunk> {
        let data = StructArray::from(batch.clone()).to_data();
        let mut array = FFI_ArrowArray::new(&data);
        let functions = self.link.functions();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the array has the columns that were converted; the function takes ownership of it, or leaves it with
        // us.
        let error = unsafe {
            let link = self.link.handle();
            (functions.data_chunk_from_arrow)(link, &mut array, self.converted, &mut handle)
        };
        functions.check(error)?;
        Ok(Chunk { functions, handle })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let functions = self.link.functions();
        for (_, column_type) in &mut self.columns {
            // SAFETY: made by `duckdb_vector_get_column_type`.
            unsafe { (functions.destroy_logical_type)(column_type) };
        }
        if !self.converted.is_null() {
            // SAFETY: made by `duckdb_schema_from_arrow`.
            unsafe { (functions.destroy_arrow_converted_schema)(&mut self.converted) };
        }
    }
}

/// A chunk of DuckDB vectors.
struct Chunk {
    functions: &'static Functions,
    handle: Opaque,
}

impl Chunk {
    fn vector(&self, column: usize) -> Opaque {
        // SAFETY: the chunk exists; for a column that it does not have, DuckDB returns NULL.
        unsafe { (self.functions.data_chunk_get_vector)(self.handle, column as u64) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: made by `duckdb_data_chunk_from_arrow`.
        unsafe { (self.functions.destroy_data_chunk)(&mut self.handle) };
    }
}

/// The sources that statements of a database read, by number.
#[derive(Default)]
pub(super) struct Sources {
    lent: Mutex<(i64, HashMap<i64, Arc<Source>>)>,
}

impl Sources {
    fn lent(&self) -> MutexGuard<'_, (i64, HashMap<i64, Arc<Source>>)> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a source available to a statement, until the returned value is dropped.
    pub fn lend(self: &Arc<Self>, source: Source) -> Lent {
        let source = Arc::new(source);
        let mut lent = self.lent();
        lent.0 += 1;
        let number = lent.0;
        lent.1.insert(number, source.clone());
        Lent {
            sources: self.clone(),
            number,
            source,
        }
    }
}

/// A source that a statement reads.
pub struct Lent {
    sources: Arc<Sources>,
    number: i64,
    source: Arc<Source>,
}

impl Lent {
    /// The call of the table function in SQL.
    pub fn call(&self) -> String {
        format!("{NAME}({})", self.number)
    }

    /// Sets the rows for the next statement. They have the columns of the source.
    pub fn refill(&self, reader: Reader) {
        let mut state = self.source.state();
        state.rest = None;
        state.reader = Some(reader);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.sources.lent().1.remove(&self.number);
        // DuckDB may keep its reference longer; the sender of rows must notice now that nobody takes them.
        let mut state = self.source.state();
        state.rest = None;
        state.reader = None;
    }
}

/// Registers the table function in a database.
pub(super) fn register(link: &Link, sources: &Arc<Sources>) -> AdbcResult<()> {
    let functions = link.functions();
    let name = c_text(NAME)?;
    // SAFETY: everything made here is destroyed here; DuckDB copies the name, and releases the reference.
    let state = unsafe {
        let mut function = (functions.create_table_function)();
        let mut number = (functions.create_logical_type)(BIGINT);
        (functions.table_function_set_name)(function, name.as_ptr());
        (functions.table_function_add_parameter)(function, number);
        let extra = Arc::into_raw(sources.clone()).cast_mut().cast();
        (functions.table_function_set_extra_info)(function, extra, give_sources_back);
        (functions.table_function_set_bind)(function, bind);
        (functions.table_function_set_init)(function, begin);
        (functions.table_function_set_function)(function, fill);
        let state = (functions.register_table_function)(link.handle(), function);
        (functions.destroy_logical_type)(&mut number);
        (functions.destroy_table_function)(&mut function);
        state
    };
    match state {
        0 => Ok(()),
        _ => Err(refused("DuckDB refuses to register a table function")),
    }
}

unsafe extern "C" fn give_sources_back(sources: *mut c_void) {
    // SAFETY: `register` passed it to DuckDB.
    drop(unsafe { Arc::from_raw(sources.cast_const().cast::<Sources>()) });
}

unsafe extern "C" fn give_source_back(source: *mut c_void) {
    // SAFETY: `bind` passed it to DuckDB.
    drop(unsafe { Arc::from_raw(source.cast_const().cast::<Source>()) });
}

/// Tells DuckDB the columns.
unsafe extern "C" fn bind(info: Opaque) {
    let Some(functions) = functions::loaded() else {
        return;
    };
    // SAFETY: `info` is valid during this call, and has the pointer that `register` passed.
    let bound = guarded(|| unsafe {
        let sources = (functions.bind_get_extra_info)(info).cast::<Sources>();
        let mut value = (functions.bind_get_parameter)(info, 0);
        let number = (functions.get_int64)(value);
        (functions.destroy_value)(&mut value);
        let source = (*sources).lent().1.get(&number).cloned();
        let source = source.ok_or_else(|| refused("there are no rows with this number"))?;
        for (name, column_type) in &source.columns {
            (functions.bind_add_result_column)(info, name.as_ptr(), *column_type);
        }
        let data = Arc::into_raw(source).cast_mut().cast();
        (functions.bind_set_bind_data)(info, data, give_source_back);
        Ok(())
    });
    if let Err(message) = bound {
        // SAFETY: DuckDB copies the text.
        unsafe { (functions.bind_set_error)(info, message.as_ptr()) };
    }
}

/// Limits DuckDB to one thread, because batches come one after the other.
unsafe extern "C" fn begin(info: Opaque) {
    if let Some(functions) = functions::loaded() {
        // SAFETY: `info` is valid during this call.
        unsafe { (functions.init_set_max_threads)(info, 1) };
    }
}

/// Fills a chunk with the next rows; leaves it empty at the end.
unsafe extern "C" fn fill(info: Opaque, out: Opaque) {
    let Some(functions) = functions::loaded() else {
        return;
    };
    // SAFETY: both are valid during this call; `bind` passed the source, whose columns the chunk has.
    let filled = guarded(|| unsafe {
        let source = (functions.function_get_bind_data)(info).cast::<Source>();
        let source = &*source;
        let Some(batch) = source.next()? else {
            (functions.data_chunk_set_size)(out, 0);
            return Ok(());
        };
        let chunk = source.chunk(&batch)?;
        for column in 0..source.columns.len() {
            let into = (functions.data_chunk_get_vector)(out, column as u64);
            (functions.vector_reference_vector)(into, chunk.vector(column));
        }
        (functions.data_chunk_set_size)(out, batch.num_rows() as u64);
        Ok(())
    });
    if let Err(message) = filled {
        // SAFETY: DuckDB copies the text.
        unsafe { (functions.function_set_error)(info, message.as_ptr()) };
    }
}

/// Runs a callback; an error or a panic becomes a message for DuckDB.
pub(super) fn guarded(work: impl FnOnce() -> AdbcResult<()>) -> Result<(), CString> {
    let message = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.message,
        Err(_) => "a callback of Inrush panicked".to_owned(),
    };
    Err(CString::new(message).unwrap_or_else(|_| c"a callback of Inrush panicked".to_owned()))
}
