//! The URL `embedded`: a private server that runs as long as the command.

use std::path::{Path, PathBuf};

use inrush::package::{Overrides, Package, PackageError, PackageFault, PackageFaultKind};
use inrush::postgres::{ConnectionDefaults, DatabaseAddress, make_extension};
use inrush::report::{EmbeddedReport, EmbeddedSetting, machine};
use inrush_embedded::{
    Binaries, DataFolder, EmbeddedServer, Options, ServerRecords, find_binaries,
    well_known_folders, wheel_folder,
};
use inrush_system::threads::cores;

use crate::Surroundings;
use crate::credentials::{path_variable, state_folder};
use crate::errors::CommandError;

/// The environment variable with the folder of the server's programs; without it they are searched for.
const BINARIES_VARIABLE: &str = "INRUSH_POSTGRES_BIN";

/// Connections besides those of the streams: for the ledger, for checking contents, and for a person with `psql`.
const CONNECTIONS_SPARE: u32 = 20;

/// A package whose database can be reached, and the embedded server if it has one.
pub struct Reached {
    /// The package; its connection has an address that can be connected to.
    pub package: Package,
    /// The facts about the server for the report.
    pub report: Option<EmbeddedReport>,
    /// The folder of installed Python packages, with the drivers of other destinations.
    pub site_packages: Option<PathBuf>,
    server: Option<EmbeddedServer>,
    keeps_data: bool,
}

impl Reached {
    /// True if the data are removed at the end of the command.
    pub fn is_temporary(&self) -> bool {
        self.server.is_some() && !self.keeps_data
    }

    /// The server, if it is an embedded one.
    pub fn server(&self) -> Option<&EmbeddedServer> {
        self.server.as_ref()
    }

    /// Creates the extension of Inrush in the database of an embedded server, if the server finds it. If that fails,
    /// rows are sent by COPY, and the plan says that the database has no extension.
    fn make_extension(&self) {
        let Some(server) = self.server.as_ref().filter(|server| server.has_extension()) else {
            return;
        };
        if let Ok(address) = DatabaseAddress::parse(&server.url(), &ConnectionDefaults::default()) {
            let _ = make_extension(&address);
        }
    }

    /// The last lines of an embedded server's log, if it ended by itself.
    pub fn last_words(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        let state = std::fs::read_to_string(format!("/proc/{}/stat", server.process_id()));
        // `pid (name) state ...`: Z is a process that ended and waits for its parent.
        let has_ended = state.is_ok_and(|text| {
            text.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
        });
        has_ended.then(|| server.log_end())
    }

    /// Stops the server, if there is one, after committed work. If stopping fails, the exit status stays that of the
    /// work, and the error is returned as a note.
    pub fn stop_after_commit(self) -> Option<String> {
        let error = self.stop().err()?;
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        Some(format!(
            "the work is committed, but the embedded server did not stop as it should: {text}"
        ))
    }

    /// Stops the server, if there is one.
    pub fn stop(self) -> Result<(), CommandError> {
        match self.server {
            Some(server) => Ok(server.stop()?),
            None => Ok(()),
        }
    }
}

/// The permission with which the server opens a data folder that has data. Code that is stored there runs as the
/// server's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataTrust {
    /// Given by the user: an argument names the folder, or `--trust` is given.
    OfUser,
    /// Only the package names the folder, so it must be in the records of the folders that Inrush created for this
    /// user.
    OfRecords,
}

/// The permission to open the data folder that a package loads into, without `--trust`.
pub fn data_trust(package: &Package, overrides: &Overrides) -> Result<DataTrust, PackageError> {
    let used = package.single_connection()?;
    let mut given = overrides.connections.iter();
    let is_given = given.any(|(name, _)| {
        let named = package.connections.get(name);
        named.is_some_and(|named| std::ptr::eq(named, used))
    });
    Ok(match is_given {
        true => DataTrust::OfUser,
        false => DataTrust::OfRecords,
    })
}

/// Starts the embedded server if the package's connection asks for one. A relative folder for its data is relative to
/// `folder`.
pub fn reach(
    package: Package,
    folder: &Path,
    trust: DataTrust,
    surroundings: &Surroundings,
) -> Result<Reached, CommandError> {
    let reached = reach_with(package, folder, trust, surroundings, |data| data)?;
    reached.make_extension();
    Ok(reached)
}

/// Like [`reach`], for a command that changes nothing. If the server has no data yet, none is created: a temporary
/// empty server is started instead, on the same disk and below the same folders.
pub fn reach_to_look(
    package: Package,
    folder: &Path,
    trust: DataTrust,
    surroundings: &Surroundings,
) -> Result<Reached, CommandError> {
    let reached = reach_with(package, folder, trust, surroundings, |data| match data {
        DataFolder::Kept(folder) if !folder.join("PG_VERSION").exists() => DataFolder::Temporary {
            parent: nearest_folder(&folder),
        },
        other => other,
    })?;
    if reached.is_temporary() {
        reached.make_extension();
    }
    Ok(reached)
}

fn reach_with(
    mut package: Package,
    folder: &Path,
    trust: DataTrust,
    surroundings: &Surroundings,
    choose: impl FnOnce(DataFolder) -> DataFolder,
) -> Result<Reached, CommandError> {
    let url = package.single_connection()?.url.trim().to_owned();
    let Some(data) = data_folder(&url, folder).map(choose) else {
        return Ok(Reached {
            package,
            report: None,
            site_packages: site_packages(surroundings).into_iter().next(),
            server: None,
            keeps_data: true,
        });
    };
    let keeps_data = matches!(data, DataFolder::Kept(_));
    let streams = package.run.streams.map_or_else(cores, usize::from);
    let server = start(data, trust, streams, surroundings)?;
    let report = EmbeddedReport {
        version: server.server_version().to_owned(),
        data_folder: keeps_data.then(|| server.data_folder().display().to_string()),
        settings: server
            .settings()
            .iter()
            .map(|setting| EmbeddedSetting {
                name: setting.name.clone(),
                value: setting.value.clone(),
                why: setting.why.to_owned(),
            })
            .collect(),
    };
    for connection in package.connections.values_mut() {
        if connection.url.trim() == url {
            connection.reached_at = Some(server.url());
        }
    }
    Ok(Reached {
        package,
        report: Some(report),
        site_packages: site_packages(surroundings).into_iter().next(),
        server: Some(server),
        keeps_data,
    })
}

/// The data folder of a URL; `None` if the URL is not of an embedded server.
fn data_folder(url: &str, folder: &Path) -> Option<DataFolder> {
    match url.strip_prefix("embedded") {
        Some("") => Some(DataFolder::Temporary {
            parent: std::env::temp_dir(),
        }),
        Some(rest) => rest
            .strip_prefix(':')
            .map(|data| DataFolder::Kept(absolute(&folder.join(data)))),
        None => None,
    }
}

/// Refuses a data folder that the package names and that Inrush has not made on this machine, because code that is
/// stored in its database runs as the server's user. A folder that an argument names is allowed, and one without data
/// is created. This check can name the line of the package, before anything starts; the start of the server
/// ([`Options::requires_record`]) checks the folder that it has opened.
pub fn require_made_here(
    package: &Package,
    folder: &Path,
    overrides: &Overrides,
) -> Result<(), PackageError> {
    let mut faults = Vec::new();
    for (name, connection) in &package.connections {
        let is_given = overrides.connections.iter().any(|(given, _)| given == name);
        let Some(DataFolder::Kept(data)) = data_folder(connection.url.trim(), folder) else {
            continue;
        };
        if is_given || data.join("PG_VERSION").symlink_metadata().is_err() {
            continue;
        }
        let known = match records() {
            Some(records) => records.require(&data),
            None => Err(
                "without HOME and XDG_STATE_HOME, Inrush has no records of the folders that it made"
                    .to_owned(),
            ),
        };
        let Err(reason) = known else { continue };
        faults.push(PackageFault {
            place: package.origin.place(&format!("connections.{name}.url")),
            kind: PackageFaultKind::UntrustedFolder {
                folder: data.display().to_string(),
                reason,
            },
        });
    }
    PackageError::of(faults)
}

/// The records of the data folders that this user's embedded servers made.
fn records() -> Option<ServerRecords> {
    Some(ServerRecords::new(state_folder()?.join("inrush/embedded")))
}

/// The folder, or its nearest parent that exists.
fn nearest_folder(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|ancestor| ancestor.is_dir());
    there.map_or_else(std::env::temp_dir, Path::to_owned)
}

/// The path as an absolute one, because the server runs in another folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The programs of the embedded server; an error if one that is needed to start is missing.
fn programs(surroundings: &Surroundings) -> Result<Binaries, CommandError> {
    let explicit = path_variable(BINARIES_VARIABLE);
    let mut candidates: Vec<PathBuf> = site_packages(surroundings)
        .iter()
        .filter_map(|folder| wheel_folder(folder))
        .collect();
    candidates.extend(well_known_folders());
    Ok(find_binaries(explicit.as_deref(), &candidates)?)
}

fn start(
    data: DataFolder,
    trust: DataTrust,
    streams: usize,
    surroundings: &Surroundings,
) -> Result<EmbeddedServer, CommandError> {
    let binaries = programs(surroundings)?;
    let mut options = Options::new(binaries, data, machine().memory_bytes);
    let streams = u32::try_from(streams).unwrap_or(u32::MAX);
    options.extension = surroundings.own_package.as_ref().map(|folder| {
        folder
            .join("server")
            .join(options.binaries.major.to_string())
    });
    options.records = records();
    options.requires_record = trust == DataTrust::OfRecords;
    options.connections_max = options
        .connections_max
        .max(streams.saturating_add(CONNECTIONS_SPARE));
    Ok(EmbeddedServer::start(options)?)
}

/// The folders of Python packages that may contain the wheel: the folder that Python named, otherwise the folders of
/// the environment in which this program is installed.
fn site_packages(surroundings: &Surroundings) -> Vec<PathBuf> {
    if let Some(folder) = &surroundings.site_packages {
        return vec![folder.clone()];
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.to_owned()));
    [path_variable("VIRTUAL_ENV"), beside]
        .into_iter()
        .flatten()
        .filter_map(|environment| std::fs::read_dir(environment.join("lib")).ok())
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python"))
        .map(|entry| entry.path().join("site-packages"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_embedded_servers_are_told_apart() {
        let folder = Path::new("/packages");
        assert!(matches!(
            data_folder("embedded", folder),
            Some(DataFolder::Temporary { .. })
        ));
        assert_eq!(
            data_folder("embedded:data", folder),
            Some(DataFolder::Kept(PathBuf::from("/packages/data")))
        );
        assert_eq!(
            data_folder("embedded:/data", folder),
            Some(DataFolder::Kept(PathBuf::from("/data")))
        );
        for url in ["postgresql://dw/x", "embeddedx"] {
            assert_eq!(data_folder(url, folder), None, "{url}");
        }
    }
}
