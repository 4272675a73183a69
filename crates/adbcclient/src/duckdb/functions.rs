//! DuckDB's C functions, as `duckdb.h` declares them, loaded from the library of its wheel.
//!
//! # Why it is sound
//!
//! Each function has the type that DuckDB's header declares since version 1.5, and versions with the same major number
//! keep it. The library is never unloaded, so its function pointers stay valid.
#![expect(unsafe_code, reason = "functions of C, looked up by their names")]

use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use inrush_destination::{Error, Result};
use libloading::Library;

use crate::driver_library;

/// A handle whose contents only DuckDB knows.
pub(super) type Opaque = *mut c_void;

/// The result of most functions: 0 means success.
pub(super) type State = i32;

/// `DUCKDB_ERROR_CONSTRAINT`.
pub(super) const ERROR_CONSTRAINT: i32 = 18;

/// `DUCKDB_ERROR_INTERRUPT`.
pub(super) const ERROR_INTERRUPT: i32 = 29;

/// `DUCKDB_ERROR_IO`.
pub(super) const ERROR_IO: i32 = 28;

/// `DUCKDB_ERROR_OUT_OF_MEMORY`.
pub(super) const ERROR_OUT_OF_MEMORY: i32 = 33;

/// `DUCKDB_TYPE_BIGINT`.
pub(super) const BIGINT: i32 = 5;

/// `DUCKDB_TYPE_VARCHAR`.
pub(super) const VARCHAR: i32 = 17;

/// `DUCKDB_TYPE_BLOB`.
pub(super) const BLOB: i32 = 18;

/// `duckdb_result`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct QueryResult {
    deprecated: [u64; 3],
    deprecated_columns: Opaque,
    deprecated_error_message: *mut c_char,
    internal_data: Opaque,
}

impl QueryResult {
    /// A result that is not set yet.
    pub const EMPTY: QueryResult = QueryResult {
        deprecated: [0; 3],
        deprecated_columns: std::ptr::null_mut(),
        deprecated_error_message: std::ptr::null_mut(),
        internal_data: std::ptr::null_mut(),
    };
}

macro_rules! functions {
    ($($name:ident($($type:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions that are called. Their names here lack the prefix `duckdb_`.
        pub struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($type),*) $(-> $answer)?,)*
            _library: ManuallyDrop<Library>,
        }

        impl Functions {
            fn find(path: &Path) -> std::result::Result<Functions, libloading::Error> {
                // SAFETY: DuckDB's library may be loaded at any time; see the head of this file.
                unsafe {
                    let library = ManuallyDrop::new(Library::new(path)?);
                    Ok(Functions {
                        $($name: *library.get(concat!("duckdb_", stringify!($name)).as_bytes())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    library_version() -> *const c_char;
    free(*mut c_void);

    create_config(*mut Opaque) -> State;
    set_config(Opaque, *const c_char, *const c_char) -> State;
    destroy_config(*mut Opaque);
    open_ext(*const c_char, *mut Opaque, Opaque, *mut *mut c_char) -> State;
    close(*mut Opaque);
    connect(Opaque, *mut Opaque) -> State;
    disconnect(*mut Opaque);
    interrupt(Opaque);

    query(Opaque, *const c_char, *mut QueryResult) -> State;
    destroy_result(*mut QueryResult);
    result_error(*mut QueryResult) -> *const c_char;
    result_error_type(*mut QueryResult) -> i32;
    rows_changed(*mut QueryResult) -> u64;
    column_count(*mut QueryResult) -> u64;
    column_name(*mut QueryResult, u64) -> *const c_char;
    column_logical_type(*mut QueryResult, u64) -> Opaque;
    fetch_chunk(QueryResult) -> Opaque;

    create_logical_type(i32) -> Opaque;
    destroy_logical_type(*mut Opaque);
    get_int64(Opaque) -> i64;
    destroy_value(*mut Opaque);
    error_data_has_error(Opaque) -> bool;
    error_data_message(Opaque) -> *const c_char;
    destroy_error_data(*mut Opaque);

    data_chunk_set_size(Opaque, u64);
    data_chunk_get_size(Opaque) -> u64;
    data_chunk_get_vector(Opaque, u64) -> Opaque;
    destroy_data_chunk(*mut Opaque);
    vector_size() -> u64;
    vector_get_column_type(Opaque) -> Opaque;
    vector_get_data(Opaque) -> *mut c_void;
    vector_get_validity(Opaque) -> *mut u64;
    vector_reference_vector(Opaque, Opaque);

    result_get_arrow_options(*mut QueryResult) -> Opaque;
    destroy_arrow_options(*mut Opaque);
    to_arrow_schema(Opaque, *mut Opaque, *const *const c_char, u64, *mut FFI_ArrowSchema) -> Opaque;
    data_chunk_to_arrow(Opaque, Opaque, *mut FFI_ArrowArray) -> Opaque;
    schema_from_arrow(Opaque, *mut FFI_ArrowSchema, *mut Opaque) -> Opaque;
    destroy_arrow_converted_schema(*mut Opaque);
    data_chunk_from_arrow(Opaque, *mut FFI_ArrowArray, Opaque, *mut Opaque) -> Opaque;

    arrow_scan(Opaque, *const c_char, *mut FFI_ArrowArrayStream) -> State;

    create_table_function() -> Opaque;
    destroy_table_function(*mut Opaque);
    table_function_set_name(Opaque, *const c_char);
    table_function_add_parameter(Opaque, Opaque);
    table_function_set_extra_info(Opaque, *mut c_void, unsafe extern "C" fn(*mut c_void));
    table_function_set_bind(Opaque, unsafe extern "C" fn(Opaque));
    table_function_set_init(Opaque, unsafe extern "C" fn(Opaque));
    table_function_set_function(Opaque, unsafe extern "C" fn(Opaque, Opaque));
    register_table_function(Opaque, Opaque) -> State;
    bind_get_extra_info(Opaque) -> *mut c_void;
    bind_get_parameter(Opaque, u64) -> Opaque;
    bind_add_result_column(Opaque, *const c_char, Opaque);
    bind_set_bind_data(Opaque, *mut c_void, unsafe extern "C" fn(*mut c_void));
    bind_set_error(Opaque, *const c_char);
    init_set_max_threads(Opaque, u64);
    function_get_bind_data(Opaque) -> *mut c_void;
    function_set_error(Opaque, *const c_char);

    create_scalar_function() -> Opaque;
    destroy_scalar_function(*mut Opaque);
    scalar_function_set_name(Opaque, *const c_char);
    scalar_function_add_parameter(Opaque, Opaque);
    scalar_function_set_return_type(Opaque, Opaque);
    scalar_function_set_special_handling(Opaque);
    scalar_function_set_volatile(Opaque);
    scalar_function_set_extra_info(Opaque, *mut c_void, unsafe extern "C" fn(*mut c_void));
    scalar_function_set_function(Opaque, unsafe extern "C" fn(Opaque, Opaque, Opaque));
    register_scalar_function(Opaque, Opaque) -> State;
    scalar_function_get_extra_info(Opaque) -> *mut c_void;
    scalar_function_set_error(Opaque, *const c_char);
}

static LOADED: OnceLock<(PathBuf, Functions)> = OnceLock::new();

/// The functions of the loaded library; `None` if this process has loaded none.
pub fn loaded() -> Option<&'static Functions> {
    LOADED.get().map(|(_, functions)| functions)
}

/// True if a library is DuckDB's: it exports DuckDB's ADBC entry point.
pub fn is_driver(path: &Path, entrypoint: &str) -> bool {
    // SAFETY: the library is loaded as a driver anyway, and the function is not called here.
    unsafe {
        Library::new(path).is_ok_and(|library| {
            let library = ManuallyDrop::new(library);
            library
                .get::<unsafe extern "C" fn()>(entrypoint.as_bytes())
                .is_ok()
        })
    }
}

/// Loads the library. A process has only one, because DuckDB's callbacks do not say which library calls.
pub fn load(path: &Path) -> Result<&'static Functions> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if LOADED.get().is_none() {
        let functions = Functions::find(&path).map_err(|error| {
            let hint =
                "is it the library of DuckDB 1.5 or newer for this machine? pip install -U duckdb";
            driver_library::unloaded(&path, &error.to_string(), hint)
        })?;
        // If another thread was first, its library is kept.
        let _ = LOADED.set((path.clone(), functions));
    }
    match LOADED.get() {
        Some((first, functions)) if *first == path => Ok(functions),
        first => Err(Error::Address {
            what: format!(
                "the driver {} cannot be loaded: this process uses {} already",
                path.display(),
                first
                    .map_or(Path::new("another one"), |(first, _)| first)
                    .display()
            ),
            hint: "a process can use only one library of DuckDB: set the connection's option driver to the library \
                   that is in use, or start another process"
                .to_owned(),
        }),
    }
}
