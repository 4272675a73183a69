//! The embedded server for callers: starts it, answers questions about it, and stops it.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use inrush_rows::percent::percent_encoded;

use crate::binaries::Binaries;
use crate::diagnosis::log_end;
use crate::error::{EmbeddedError, file_error};
use crate::extension;
use crate::folder;
use crate::initialize::{SUPERUSER, initialize};
use crate::install;
use crate::options::Options;
use crate::process::ServerProcess;
use crate::server_life::{ServerRun, pipe_error};
use crate::server_user::OsAccount;
use crate::settings::{self, ServerPaths, Setting};
use crate::single_user::{self, Tools};

/// The usual port. It is part of the socket's name, and the socket's folder is private, so no other server has it.
const PORT: u16 = 5432;

/// A running server. Dropping it stops the server; [`EmbeddedServer::stop`] also reports errors.
pub struct EmbeddedServer {
    binaries: Binaries,
    user: String,
    database: String,
    port: u16,
    has_extension: bool,
    settings: Vec<Setting>,
    run: ServerRun,
}

impl EmbeddedServer {
    /// Starts a server and waits until it accepts connections.
    pub fn start(options: Options) -> Result<EmbeddedServer, EmbeddedError> {
        let account = OsAccount::choose()?;
        let port = options.listen.as_ref().map_or(PORT, |listen| listen.port);
        let (mut run, account, fresh) = ServerRun::prepare(&options, account, port)?;
        let binaries = install::reachable(&options.binaries, &account, &options.copy_parent)?;

        let extension = match &options.extension {
            Some(folder) => {
                extension::reachable(folder, binaries.major, &account, &run.socket_folder)?
            }
            None => None,
        };
        let access_file = run.socket_folder.join("pg_hba.conf");
        let chosen = settings::choose(
            &options,
            &ServerPaths {
                socket_folder: &run.socket_folder,
                access_file: &access_file,
                extension: extension.as_deref(),
                port,
                disk_free_bytes: folder::disk_free_bytes(&run.data),
            },
        )?;
        write_access_file(&access_file)?;

        let (alive, held_by_server) = io::pipe().map_err(pipe_error)?;
        run.start_janitor(alive)?;

        let mut inherited = vec![held_by_server.as_fd()];
        inherited.extend(run.folder.as_ref().map(|folder| folder.handle().as_fd()));
        let tools = Tools {
            binaries: &binaries,
            account: &account,
            data: &run.data,
            inherited,
        };
        run.require_in_place()?;
        let mut settings = Vec::new();
        let user = if fresh {
            initialize(&tools, &options.data)?;
            settings.push(settings::of_new_data(&options.data));
            SUPERUSER.to_owned()
        } else {
            single_user::superuser(&tools)?
        };
        run.require_in_place()?;
        if let (Some(folder), Some(records)) = (&run.folder, &options.records) {
            // If this fails, the next command refuses the folder as one without a record, and its message gives the
            // reason.
            let _ = records.add(folder);
        }
        if !fresh || options.database != "postgres" {
            single_user::ensure_database(&tools, &options.database)?;
        }
        if let Some(listen) = &options.listen {
            single_user::set_password(&tools, &user, &listen.password)?;
        }
        run.made = None;
        settings.extend(chosen.iter().cloned());

        run.launch(&binaries, account, &chosen, held_by_server.into())?;
        run.wait_until_ready()?;
        Ok(EmbeddedServer {
            binaries,
            user,
            database: options.database,
            port,
            has_extension: extension.is_some(),
            settings,
            run,
        })
    }

    /// The folder of its socket: what `host` is in a connection string.
    pub fn socket_folder(&self) -> &Path {
        &self.run.socket_folder
    }

    /// True if the server finds the extension of Inrush, so that CREATE EXTENSION works.
    pub fn has_extension(&self) -> bool {
        self.has_extension
    }

    /// The port, which is part of the socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The user to connect as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database to connect to.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The URL of the database, with user, socket folder and port.
    pub fn url(&self) -> String {
        format!(
            "postgresql://{}@/{}?host={}&port={}",
            percent_encoded(self.user.as_bytes()),
            percent_encoded(self.database.as_bytes()),
            percent_encoded(self.run.socket_folder.as_os_str().as_encoded_bytes()),
            self.port
        )
    }

    /// The settings that it was started with, each with its reason.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Its version, such as `18.4`.
    pub fn server_version(&self) -> &str {
        &self.binaries.version
    }

    /// The folder of the running programs. It is a copy if the server's user could not reach the requested folder.
    pub fn binaries_folder(&self) -> &Path {
        &self.binaries.folder
    }

    /// Its data folder.
    pub fn data_folder(&self) -> &Path {
        &self.run.data
    }

    /// Its log, which is removed with a temporary data folder.
    pub fn log_path(&self) -> &Path {
        &self.run.log
    }

    /// The last lines of its log, for an error message.
    pub fn log_end(&self) -> String {
        log_end(&self.run.log, self.run.log_start)
    }

    /// The process id of the server.
    pub fn process_id(&self) -> u32 {
        self.run.process.as_ref().map_or(0, ServerProcess::pid)
    }

    /// Stops it, waits until its last process is gone, and removes the private folders.
    pub fn stop(mut self) -> Result<(), EmbeddedError> {
        self.run.finish()
    }
}

/// Writes the rules of access: users who can open the socket in its private folder may connect as any user of the
/// database; TCP needs the password.
fn write_access_file(path: &Path) -> Result<(), EmbeddedError> {
    let lines = "local all all trust\nhost all all all scram-sha-256\n";
    let write = || -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(path)?;
        io::Write::write_all(&mut file, lines.as_bytes())?;
        // The file is readable for the server's user whatever the umask is; the folder is private.
        file.set_permissions(std::fs::Permissions::from_mode(0o644))
    };
    write().map_err(file_error("cannot write", path))
}
