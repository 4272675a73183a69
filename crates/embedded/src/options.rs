//! Options of the embedded server.

use std::path::PathBuf;

use crate::binaries::Binaries;
use crate::folder_records::ServerRecords;

/// The place of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataFolder {
    /// A new private folder that is removed with the server.
    Temporary {
        /// The folder in which the private one is made, such as `/tmp`.
        parent: PathBuf,
    },
    /// In this folder, which is kept. If it does not exist or is empty, it is initialized; otherwise it must be the
    /// data folder of a server of the same major version.
    Kept(PathBuf),
}

/// A TCP address to listen on, besides the socket.
#[derive(Clone, PartialEq, Eq)]
pub struct Listen {
    /// An address or name of this machine, or `*` for all of them.
    pub address: String,
    /// The port.
    pub port: u16,
    /// The password that TCP connections need. TCP is not possible without one.
    pub password: String,
}

impl std::fmt::Debug for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A password must not get into a log by `{:?}`.
        f.debug_struct("Listen")
            .field("address", &self.address)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// The options for starting a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The installation to run.
    pub binaries: Binaries,
    /// The place of the data.
    pub data: DataFolder,
    /// True if committed rows outlive a crash of the machine.
    pub durable: bool,
    /// Memory of the machine (or of the container), from which the buffers are derived.
    pub memory_bytes: u64,
    /// The most connections that the run opens.
    pub connections_max: u32,
    /// A TCP address to listen on; without one there is no TCP at all.
    pub listen: Option<Listen>,
    /// The database to connect to, which is created if it does not exist.
    pub database: String,
    /// Settings of the server (name, value) in addition to those chosen here.
    pub settings: Vec<(String, String)>,
    /// A folder with the server extension for this installation (`extension` and `lib` in it), if there is one.
    pub extension: Option<PathBuf>,
    /// The parent of the socket's folder if the data folder is kept or its path is too long for a socket. It must be a
    /// short path.
    pub socket_parent: PathBuf,
    /// The parent of the copy of an installation that the server's user cannot reach.
    pub copy_parent: PathBuf,
    /// The records of kept data folders.
    pub records: Option<ServerRecords>,
    /// True if a kept folder that has data in it must be listed in these records: the start fails if it is not.
    pub requires_record: bool,
}

impl Options {
    /// A durable server for up to 100 connections, reached through its socket only.
    pub fn new(binaries: Binaries, data: DataFolder, memory_bytes: u64) -> Self {
        Options {
            binaries,
            data,
            durable: true,
            memory_bytes,
            connections_max: 100,
            listen: None,
            database: "postgres".to_owned(),
            settings: Vec::new(),
            extension: None,
            socket_parent: PathBuf::from("/tmp"),
            copy_parent: PathBuf::from("/var/tmp"),
            records: None,
            requires_record: false,
        }
    }
}
