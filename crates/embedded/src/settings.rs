//! The server's settings: chosen for loading, and durable unless requested otherwise. Each has its reason, because the
//! report lists them.

use std::path::Path;

use inrush_rows::sql_text::identifier;

use crate::error::EmbeddedError;
use crate::extension;
use crate::options::{DataFolder, Options};

const MIB: u64 = 1 << 20;

/// A setting of the server, and why it has this value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as PostgreSQL has it.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The reason, in a phrase.
    pub why: &'static str,
}

impl Setting {
    pub(crate) fn new(name: &str, value: impl ToString, why: &'static str) -> Setting {
        Setting {
            name: name.to_owned(),
            value: value.to_string(),
            why,
        }
    }
}

/// Settings that keep the server private or under this program's control.
const OURS: [&str; 12] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "logging_collector",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
    "cluster_name",
];

/// Settings by which the configuration files of a data folder, which may come from another person, would load code, run
/// commands or write elsewhere. They are set on the command line, which overrides those files.
pub(crate) const NO_CODE: [(&str, &str); 10] = [
    ("shared_preload_libraries", ""),
    ("session_preload_libraries", ""),
    ("local_preload_libraries", ""),
    ("jit_provider", "llvmjit"),
    ("archive_mode", "off"),
    ("archive_cleanup_command", ""),
    ("restore_command", ""),
    ("recovery_end_command", ""),
    ("ssl_passphrase_command", ""),
    ("external_pid_file", ""),
];

/// The paths of the server's files that its settings name.
pub(crate) struct ServerPaths<'a> {
    pub socket_folder: &'a Path,
    pub access_file: &'a Path,
    /// The folder with the server extension, if the server can read one.
    pub extension: Option<&'a Path>,
    pub port: u16,
    pub disk_free_bytes: u64,
}

/// All settings of a server.
pub(crate) fn choose(
    options: &Options,
    places: &ServerPaths<'_>,
) -> Result<Vec<Setting>, EmbeddedError> {
    for (name, _) in &options.settings {
        let plain = !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
        if !plain || OURS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(EmbeddedError::SettingRefused { name: name.clone() });
        }
    }
    let mut settings = access(options, places);
    settings.extend(places.extension.into_iter().flat_map(extension::settings));
    settings.extend(durability(options));
    settings.extend(loading(options, places.disk_free_bytes));
    // Settings of the caller replace the chosen ones.
    for (name, value) in &options.settings {
        let name = name.to_ascii_lowercase();
        settings.retain(|setting| setting.name != name);
        settings.push(Setting::new(&name, value, "asked for"));
    }
    Ok(settings)
}

fn access(options: &Options, places: &ServerPaths<'_>) -> Vec<Setting> {
    let addresses = options.listen.as_ref().map_or("", |listen| &listen.address);
    vec![
        Setting::new(
            "listen_addresses",
            addresses,
            if addresses.is_empty() {
                "no TCP unless asked for"
            } else {
                "asked for"
            },
        ),
        Setting::new(
            "port",
            places.port,
            "names the socket's file (and the TCP port)",
        ),
        Setting::new(
            "unix_socket_directories",
            // A list in which a name in double quotes may contain commas and blanks.
            identifier(&places.socket_folder.display().to_string()),
            "a private folder, so that no two runs collide",
        ),
        Setting::new("unix_socket_permissions", "0700", "nobody else may connect"),
        Setting::new(
            "hba_file",
            places.access_file.display(),
            "trusts the private socket; asks for a password elsewhere",
        ),
        Setting::new("cluster_name", "inrush", "names the processes in ps"),
        Setting::new("logging_collector", "off", "the log is one file"),
        Setting::new(
            "dynamic_shared_memory_type",
            "mmap",
            "leaves nothing in /dev/shm when killed, and needs no space there",
        ),
    ]
}

fn durability(options: &Options) -> Vec<Setting> {
    if options.durable {
        let why = "committed rows survive a crash of the machine";
        ["fsync", "synchronous_commit", "full_page_writes"]
            .map(|name| Setting::new(name, "on", why))
            .into()
    } else {
        let why = "requested: a crash of the machine may lose or damage the data";
        ["fsync", "synchronous_commit", "full_page_writes"]
            .map(|name| Setting::new(name, "off", why))
            .into()
    }
}

fn loading(options: &Options, disk_free_bytes: u64) -> Vec<Setting> {
    let memory = options.memory_bytes;
    let shared_buffers = (memory / 8).clamp(32 * MIB, 2048 * MIB) / MIB;
    let maintenance_work_mem = (memory / 32).clamp(64 * MIB, 1024 * MIB) / MIB;
    let max_wal_size = (disk_free_bytes / 8).clamp(1024 * MIB, 16 * 1024 * MIB) / MIB;
    vec![
        Setting::new(
            "wal_level",
            "minimal",
            "a table made and filled in one transaction needs no WAL",
        ),
        Setting::new("max_wal_senders", 0, "wal_level = minimal demands it"),
        Setting::new(
            "max_wal_size",
            format!("{max_wal_size}MB"),
            "few checkpoints while loading; an eighth of the free disk, at most 16 GB",
        ),
        Setting::new(
            "checkpoint_timeout",
            "30min",
            "few checkpoints while loading",
        ),
        Setting::new(
            "shared_buffers",
            format!("{shared_buffers}MB"),
            "an eighth of the memory, 2 GB at most: COPY goes through small rings anyway",
        ),
        Setting::new(
            "maintenance_work_mem",
            format!("{maintenance_work_mem}MB"),
            "sorts of index builds, several at once; a 32nd of the memory, 1 GB at most",
        ),
        Setting::new(
            "max_connections",
            u64::from(options.connections_max) + 10,
            "the connections of the run, and a few for observers",
        ),
        Setting::new(
            "max_locks_per_transaction",
            1024,
            "the switch locks every staging table and partition at once",
        ),
        Setting::new(
            "autovacuum",
            "off",
            "frozen rows need no vacuum, and the load analyzes its tables",
        ),
        Setting::new(
            "jit",
            "off",
            "compiling costs more than the short statements here gain",
        ),
    ]
}

/// The options of initdb, for the report.
pub(crate) fn of_new_data(data: &DataFolder) -> Setting {
    match data {
        DataFolder::Temporary { .. } => {
            Setting::new("data_checksums", "off", "the data does not outlive the run")
        }
        DataFolder::Kept(_) => Setting::new(
            "data_checksums",
            "on",
            "kept data is guarded against a failing disk",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binaries::Binaries;
    use crate::options::Listen;

    fn options() -> Options {
        let binaries = Binaries {
            folder: "/bin".into(),
            version: "18.4".into(),
            major: 18,
        };
        Options::new(
            binaries,
            DataFolder::Temporary {
                parent: "/tmp".into(),
            },
            8 << 30,
        )
    }

    fn chosen(options: &Options) -> Vec<Setting> {
        let places = ServerPaths {
            socket_folder: Path::new("/tmp/a,\"b"),
            access_file: Path::new("/tmp/hba"),
            extension: Some(Path::new("/opt/inrush")),
            port: 5432,
            disk_free_bytes: 100 << 30,
        };
        choose(options, &places).unwrap()
    }

    fn value(settings: &[Setting], name: &str) -> String {
        let found: Vec<_> = settings.iter().filter(|s| s.name == name).collect();
        assert_eq!(found.len(), 1, "{name} is there {} times", found.len());
        found[0].value.clone()
    }

    #[test]
    fn durable_unless_asked_otherwise() {
        let mut options = options();
        assert_eq!(value(&chosen(&options), "fsync"), "on");
        assert_eq!(value(&chosen(&options), "synchronous_commit"), "on");
        options.durable = false;
        assert_eq!(value(&chosen(&options), "fsync"), "off");
        assert_eq!(value(&chosen(&options), "full_page_writes"), "off");
    }

    #[test]
    fn the_extension_is_found_by_its_folder() {
        let settings = chosen(&options());
        assert_eq!(
            value(&settings, "extension_control_path"),
            "$system:/opt/inrush"
        );
        assert_eq!(
            value(&settings, "dynamic_library_path"),
            "$libdir:/opt/inrush/lib"
        );
    }

    #[test]
    fn no_tcp_unless_asked() {
        let mut options = options();
        assert_eq!(value(&chosen(&options), "listen_addresses"), "");
        options.listen = Some(Listen {
            address: "127.0.0.1".into(),
            port: 5432,
            password: "secret".into(),
        });
        assert_eq!(value(&chosen(&options), "listen_addresses"), "127.0.0.1");
        assert!(!format!("{options:?}").contains("secret"));
    }

    #[test]
    fn every_setting_has_a_reason_and_stands_once() {
        let settings = chosen(&options());
        for setting in &settings {
            assert!(!setting.why.is_empty(), "{}", setting.name);
            value(&settings, &setting.name);
        }
        assert_eq!(
            value(&settings, "unix_socket_directories"),
            "\"/tmp/a,\"\"b\""
        );
    }

    macro_rules! memory_gives_buffers {
        ($($name:ident: $memory_mib:expr => $buffers:expr;)*) => {$(
            #[test]
            fn $name() {
                let mut options = options();
                options.memory_bytes = $memory_mib * MIB;
                assert_eq!(value(&chosen(&options), "shared_buffers"), $buffers);
            }
        )*};
    }

    memory_gives_buffers! {
        buffers_of_nothing: 0 => "32MB";
        buffers_of_a_small_machine: 2048 => "256MB";
        buffers_of_a_large_machine: 1024 * 1024 => "2048MB";
    }

    #[test]
    fn asked_for_settings_replace_but_cannot_open_the_door() {
        let mut options = options();
        options.settings = vec![
            ("Work_Mem".into(), "64MB".into()),
            ("jit".into(), "on".into()),
        ];
        let settings = chosen(&options);
        assert_eq!(value(&settings, "work_mem"), "64MB");
        assert_eq!(value(&settings, "jit"), "on");
        let places = ServerPaths {
            socket_folder: Path::new("/s"),
            access_file: Path::new("/h"),
            extension: None,
            port: 1,
            disk_free_bytes: 0,
        };
        for name in [
            "listen_addresses",
            "HBA_file",
            "unix_socket_directories",
            "",
            "a b",
            "x=y",
        ] {
            options.settings = vec![(name.into(), "x".into())];
            let error = choose(&options, &places).unwrap_err();
            assert!(
                matches!(error, EmbeddedError::SettingRefused { .. }),
                "{name}"
            );
        }
    }
}
