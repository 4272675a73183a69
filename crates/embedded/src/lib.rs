//! A private PostgreSQL server for the length of a run.
//!
//! [`EmbeddedServer::start`] makes (or reuses) a data folder, starts a server on it that only
//! this user reaches through a socket in a private folder, and stops it at the end. It needs
//! the binaries of a PostgreSQL 14 or newer ([`find_binaries`]); it never touches a server
//! that it did not start.
//!
//! Nothing is left behind, however the loader ends, because:
//!
//! - the server is a direct child, and the kernel signals it when the thread that started it
//!   ends (`process.rs`);
//! - a janitor, a small shell in its own session, notices the end of a stream that only the loader has, stops the
//!   server if it still runs, waits until its last process has ended, and removes the private folders (`janitor.rs`).
//!
//! The crate reads no environment variables and prints nothing: paths, memory and options are
//! handed in by [`Options`], and [`EmbeddedServer::settings`] returns the settings that it chose.

mod binaries;
mod c_library;
mod diagnosis;
mod error;
mod extension;
mod folder;
mod folder_records;
mod fork;
mod initialize;
mod install;
mod janitor;
mod open_folder;
mod options;
mod pid_file;
mod process;
mod server;
mod server_life;
mod server_user;
mod settings;
mod single_user;
mod wait_until_unused;

pub use binaries::{Binaries, find_binaries, well_known_folders, wheel_folder};
pub use error::{EmbeddedError, Looked};
pub use folder_records::ServerRecords;
pub use options::{DataFolder, Listen, Options};
pub use server::EmbeddedServer;
pub use settings::Setting;
