//! A connection to DuckDB.
//!
//! # Why it is sound
//!
//! Each handle belongs to DuckDB, was made by the function that its comment names, and is destroyed once, when its
//! owner is dropped. DuckDB allows all threads to use a connection; its statements wait for each other, and
//! `duckdb_interrupt` may be called from another thread.
#![expect(unsafe_code, reason = "functions of C")]

use std::ffi::{CStr, CString, c_char};
use std::sync::{Arc, Weak};

use adbc_core::CancelHandle;
use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::database::Instance;
use super::functions::{self, Functions, Opaque, QueryResult};
use super::table_function::{Lent, Source};
use crate::answer;

/// A connection. It keeps the database open.
pub struct Link {
    handle: Opaque,
    instance: Arc<Instance>,
}

// SAFETY: see the head of this file.
unsafe impl Send for Link {}
// SAFETY: see the head of this file.
unsafe impl Sync for Link {}

impl Link {
    /// Connects.
    pub fn open(instance: Arc<Instance>) -> AdbcResult<Arc<Link>> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the database is open; `duckdb_connect` sets the handle.
        let state = unsafe { (instance.functions.connect)(instance.handle(), &mut handle) };
        match state {
            0 => Ok(Arc::new(Link { handle, instance })),
            _ => Err(refused("DuckDB opened no connection")),
        }
    }

    /// The functions of its library.
    pub(super) fn functions(&self) -> &'static Functions {
        self.instance.functions
    }

    /// DuckDB's handle.
    pub(super) fn handle(&self) -> Opaque {
        self.handle
    }

    /// Makes a source of rows available to statements of this database, until the returned value is dropped.
    pub fn lend(&self, source: Source) -> Lent {
        self.instance.sources.lend(source)
    }

    /// A handle that cancels the current statement.
    pub fn cancel_handle(self: &Arc<Link>) -> Box<dyn CancelHandle> {
        Box::new(Canceller(Arc::downgrade(self)))
    }

    /// Runs a statement, and keeps all of its rows in memory.
    pub fn query(&self, sql: &str) -> AdbcResult<Answer> {
        let sql = c_text(sql)?;
        let mut answer = Answer {
            functions: self.functions(),
            result: QueryResult::EMPTY,
        };
        // SAFETY: the connection is open; `duckdb_query` sets the result, even if it fails.
        let state =
            unsafe { (self.functions().query)(self.handle, sql.as_ptr(), &mut answer.result) };
        match state {
            0 => Ok(answer),
            _ => Err(answer.error()),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: made by `duckdb_connect`.
        unsafe { (self.functions().disconnect)(&mut self.handle) };
    }
}

/// The result of a statement.
pub struct Answer {
    functions: &'static Functions,
    result: QueryResult,
}

// SAFETY: a result is not tied to a thread, and only one thread uses it at a time.
unsafe impl Send for Answer {}

impl Answer {
    fn error(&mut self) -> AdbcError {
        // SAFETY: the text lives as long as the result.
        let message = unsafe { text((self.functions.result_error)(&mut self.result)) };
        let message = message.as_deref().unwrap_or("DuckDB gave no reason");
        // SAFETY: the result was set.
        let kind = unsafe { (self.functions.result_error_type)(&mut self.result) };
        match kind {
            functions::ERROR_CONSTRAINT => {
                AdbcError::with_message_and_status(message, Status::Integrity)
            }
            functions::ERROR_INTERRUPT => {
                AdbcError::with_message_and_status(message, Status::Cancelled)
            }
            // ADBC has no status for a lack of memory. It is reported like a file that cannot be read: in both cases
            // the statement is not at fault.
            functions::ERROR_IO | functions::ERROR_OUT_OF_MEMORY => {
                AdbcError::with_message_and_status(message, Status::IO)
            }
            _ => refused(message),
        }
    }

    /// The number of rows that the statement changed, if it fits.
    pub fn rows_changed(&mut self) -> Option<i64> {
        // SAFETY: the result was set.
        i64::try_from(unsafe { (self.functions.rows_changed)(&mut self.result) }).ok()
    }

    /// All rows, as text.
    pub fn rows(&mut self) -> AdbcResult<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        for batch in self.batches()? {
            answer::add_rows(&batch, &mut rows)?;
        }
        Ok(rows)
    }

    /// All rows in their order, in batches of at most one vector each. They are taken out of the result.
    pub fn batches(&mut self) -> AdbcResult<Vec<RecordBatch>> {
        let schema = self.schema()?;
        let mut batches = Vec::new();
        while let Some(batch) = self.next_batch(&schema)? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// The rows, one batch after the other.
    pub fn into_reader(mut self) -> AdbcResult<AnswerReader> {
        let ffi = self.schema()?;
        let schema = Schema::try_from(&ffi).map_err(odd)?;
        Ok(AnswerReader {
            answer: self,
            ffi,
            schema: Arc::new(schema),
        })
    }

    /// The next batch of rows, taken out of the result; `None` after the last one.
    fn next_batch(&mut self, schema: &FFI_ArrowSchema) -> AdbcResult<Option<RecordBatch>> {
        // SAFETY: the result was set; it is passed by value, as in the header.
        let mut chunk = unsafe { (self.functions.fetch_chunk)(self.result) };
        if chunk.is_null() {
            return Ok(None);
        }
        let batch = self.batch(chunk, schema);
        // SAFETY: made by `duckdb_fetch_chunk`.
        unsafe { (self.functions.destroy_data_chunk)(&mut chunk) };
        batch.map(Some)
    }

    fn schema(&mut self) -> AdbcResult<FFI_ArrowSchema> {
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the result was set, and has as many columns as it says; `types` and `options` are made and destroyed
        // here.
        let error = unsafe {
            let functions = self.functions;
            let columns = (functions.column_count)(&mut self.result);
            let names: Vec<*const c_char> = (0..columns)
                .map(|column| (functions.column_name)(&mut self.result, column))
                .collect();
            let mut types: Vec<Opaque> = (0..columns)
                .map(|column| (functions.column_logical_type)(&mut self.result, column))
                .collect();
            let mut options = (functions.result_get_arrow_options)(&mut self.result);
            let (of, called) = (types.as_mut_ptr(), names.as_ptr());
            let error = (functions.to_arrow_schema)(options, of, called, columns, &mut schema);
            (functions.destroy_arrow_options)(&mut options);
            for column_type in &mut types {
                (functions.destroy_logical_type)(column_type);
            }
            error
        };
        self.functions.check(error)?;
        Ok(schema)
    }

    fn batch(&mut self, chunk: Opaque, schema: &FFI_ArrowSchema) -> AdbcResult<RecordBatch> {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the chunk belongs to the result.
        let error = unsafe {
            let mut options = (self.functions.result_get_arrow_options)(&mut self.result);
            let error = (self.functions.data_chunk_to_arrow)(options, chunk, &mut array);
            (self.functions.destroy_arrow_options)(&mut options);
            error
        };
        self.functions.check(error)?;
        // SAFETY: DuckDB made both, with the same columns.
        let data = unsafe { from_ffi(array, schema) }.map_err(odd)?;
        Ok(RecordBatch::from(StructArray::from(data)))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: DuckDB ignores an empty handle, and made all others.
        unsafe { (self.functions.destroy_result)(&mut self.result) };
    }
}

/// Reads the rows of a result on demand.
pub struct AnswerReader {
    answer: Answer,
    ffi: FFI_ArrowSchema,
    schema: SchemaRef,
}

impl Iterator for AnswerReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.answer.next_batch(&self.ffi);
        next.map_err(|error| ArrowError::ExternalError(Box::new(error)))
            .transpose()
    }
}

impl RecordBatchReader for AnswerReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Functions {
    /// Checks the result of one of the Arrow functions: a null handle means success.
    pub(super) fn check(&self, mut error: Opaque) -> AdbcResult<()> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: made by the function that was called.
        unsafe {
            let failed = (self.error_data_has_error)(error);
            let message = text((self.error_data_message)(error));
            (self.destroy_error_data)(&mut error);
            match failed {
                true => Err(refused(message.as_deref().unwrap_or_default())),
                false => Ok(()),
            }
        }
    }
}

/// Cancels the statement of a connection, if the connection still exists.
struct Canceller(Weak<Link>);

impl CancelHandle for Canceller {
    fn try_cancel(&self) -> AdbcResult<()> {
        if let Some(link) = self.0.upgrade() {
            // SAFETY: the connection is open.
            unsafe { (link.functions().interrupt)(link.handle) };
        }
        Ok(())
    }
}

/// DuckDB's message as an error.
pub(super) fn refused(message: &str) -> AdbcError {
    AdbcError::with_message_and_status(message, Status::Internal)
}

/// An Arrow error as an ADBC error.
pub(super) fn odd(error: ArrowError) -> AdbcError {
    refused(&error.to_string())
}

/// A text for C.
pub(super) fn c_text(text: &str) -> AdbcResult<CString> {
    CString::new(text).map_err(|_| refused("a text has a NUL byte, which DuckDB refuses"))
}

/// A text from C; `None` if it is NULL.
///
/// # Safety
///
/// It is NULL, or ends with a NUL byte.
pub(super) unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees it.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
