//! An open DuckDB database: a file, or one in memory.
//!
//! # Why it is sound
//!
//! The handle belongs to DuckDB. `duckdb_open_ext` makes it, and it is closed once. All threads may connect.
#![expect(unsafe_code, reason = "functions of C")]

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adbc_core::error::Result as AdbcResult;

use super::connection::{Link, c_text, refused, text};
use super::functions::{Functions, Opaque};
use super::table_function::{self, Sources};
use crate::duckdb_file::SETTING;

/// An open database, with the sources of rows that its statements read.
pub struct Instance {
    handle: Opaque,
    /// The functions of its library.
    pub(super) functions: &'static Functions,
    /// The sources that its connections read.
    pub(super) sources: Arc<Sources>,
}

// SAFETY: see the head of this file.
unsafe impl Send for Instance {}
// SAFETY: see the head of this file.
unsafe impl Sync for Instance {}

impl Instance {
    /// DuckDB's handle.
    pub(super) fn handle(&self) -> Opaque {
        self.handle
    }

    /// The version of the library.
    pub fn version(&self) -> String {
        // SAFETY: the text is a constant in the library.
        let version = unsafe { text((self.functions.library_version)()) };
        version.unwrap_or_default()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made by `duckdb_open_ext`.
        unsafe { (self.functions.close)(&mut self.handle) };
    }
}

/// The files that this process has open by these functions, by device and inode.
static OPEN: Mutex<Vec<(FileId, Weak<Instance>)>> = Mutex::new(Vec::new());

type FileId = (u64, u64);

fn id_of(file: &Path) -> Option<FileId> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.dev(), found.ino()))
}

/// The instance that has this file open in this process. A second instance must not open it: both would write to the
/// file.
pub fn instance_of(file: &Path) -> Option<Arc<Instance>> {
    let wanted = id_of(file)?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, instance)| instance.strong_count() > 0);
    let (_, found) = open.iter().find(|(id, _)| *id == wanted)?;
    found.upgrade()
}

/// Opens a file, or creates it; `:memory:` is a database in memory. The options are DuckDB's settings.
pub fn open(
    functions: &'static Functions,
    path: &str,
    options: &BTreeMap<String, String>,
) -> AdbcResult<Arc<Instance>> {
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
        (state != 0).then(|| message.unwrap_or_else(|| "it gave no reason".to_owned()))
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
    if let Some(id) = path.to_str().ok().and_then(|path| id_of(Path::new(path))) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.push((id, Arc::downgrade(&instance)));
    }
    Ok(instance)
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
        // SAFETY: both texts are valid during the call.
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
