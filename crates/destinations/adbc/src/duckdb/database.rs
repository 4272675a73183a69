//! An open DuckDB file.
//!
//! # Why it is sound
//!
//! The handle belongs to DuckDB. `duckdb_open_ext` makes it, and it is closed once. All threads may connect.
#![expect(unsafe_code, reason = "functions of C")]

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::Arc;

use adbc_core::error::Result as AdbcResult;
use inrush_adbcclient::duckdb_file::SETTING;

use super::connection::{DuckDbConnection, Link, c_text, refused, text};
use super::functions::{Functions, Opaque};
use super::table_function::{self, Sources};
use crate::connection::{AdbcConnection, AdbcDatabase};
use crate::interrupt::Interrupt;

/// An open database, with the sources of rows that are being loaded into it.
pub struct Instance {
    handle: Opaque,
    /// The functions of its library.
    pub functions: &'static Functions,
    /// The sources that its connections read.
    pub sources: Arc<Sources>,
}

// SAFETY: see the head of this file.
unsafe impl Send for Instance {}
// SAFETY: see the head of this file.
unsafe impl Sync for Instance {}

impl Instance {
    /// DuckDB's handle.
    pub fn handle(&self) -> Opaque {
        self.handle
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made by `duckdb_open_ext`.
        unsafe { (self.functions.close)(&mut self.handle) };
    }
}

/// Opens a file, or creates it. The options are DuckDB's settings.
pub fn open(
    functions: &'static Functions,
    path: &str,
    options: &BTreeMap<String, String>,
) -> AdbcResult<Box<dyn AdbcDatabase>> {
    let path = c_text(path)?;
    let mut config = Config::new(functions)?;
    for (name, value) in options {
        config.set(name, value)?;
    }
    let (mut handle, mut error) = (std::ptr::null_mut(), std::ptr::null_mut::<c_char>());
    // SAFETY: `duckdb_open_ext` sets one of the two; the text must be freed here.
    let failed = unsafe {
        let state = (functions.open_ext)(path.as_ptr(), &mut handle, config.handle, &mut error);
        let message = text(error);
        (functions.free)(error.cast());
        (state != 0).then(|| message.unwrap_or_else(|| "it does not say why".to_owned()))
    };
    drop(config);
    if let Some(message) = failed {
        return Err(refused(&message));
    }
    let instance = Arc::new(Instance {
        handle,
        sources: Arc::new(Sources::default()),
        functions,
    });
    table_function::register(&*Link::open(instance.clone())?, &instance.sources)?;
    Ok(Box::new(DuckDb(instance)))
}

/// Settings for a database that is about to be opened.
struct Config {
    functions: &'static Functions,
    handle: Opaque,
}

impl Config {
    fn new(functions: &'static Functions) -> AdbcResult<Config> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: `duckdb_create_config` sets the handle.
        match unsafe { (functions.create_config)(&mut handle) } {
            0 => Ok(Config { functions, handle }),
            _ => Err(refused("DuckDB has no memory for its settings")),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> AdbcResult<()> {
        let (called, said) = (c_text(name)?, c_text(value)?);
        // SAFETY: both texts are there during the call.
        match unsafe { (self.functions.set_config)(self.handle, called.as_ptr(), said.as_ptr()) } {
            0 => Ok(()),
            // The message leaves out the value, which may be a secret.
            _ => Err(refused(&format!("{SETTING} {name}"))),
        }
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: made by `duckdb_create_config`.
        unsafe { (self.functions.destroy_config)(&mut self.handle) };
    }
}

struct DuckDb(Arc<Instance>);

impl AdbcDatabase for DuckDb {
    fn vendor(&self) -> AdbcResult<(String, String)> {
        // SAFETY: the text is a constant in the library.
        let version = unsafe { text((self.0.functions.library_version)()) };
        Ok(("duckdb".to_owned(), version.unwrap_or_default()))
    }

    fn connect(&self, _interrupt: &Arc<Interrupt>) -> AdbcResult<Box<dyn AdbcConnection>> {
        Ok(Box::new(DuckDbConnection(Link::open(self.0.clone())?)))
    }
}
