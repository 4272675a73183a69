//! The URL and the options of a connection: `mssql://USER@HOST[:PORT][,HOST:PORT...]/DATABASE[?OPTION=VALUE&...]`.
//!
//! | file | what it has |
//! |---|---|
//! | this one | the settings of a session, and where they are read from |
//! | `url` | the parts of a URL, with the options beside it |
//! | `endpoint` | host and port, as URLs and sqlcmd write them |
//! | `settings` | the values of the options |

mod endpoint;
mod settings;
mod url;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inrush_rows::suggest::suggestion;
use inrush_tds::PacketSize;

use crate::credentials::Credentials;
use crate::error::{Result, SessionError};
use endpoint::{endpoints, server_endpoint};
use url::Written;

/// The scheme, with its slashes.
pub const SCHEME: &str = "mssql://";
/// The port of a default instance.
pub const PORT: u16 = 1433;

/// The variables that sqlcmd reads, and the options that they stand for. The caller reads them: this library reads no
/// environment.
pub const SQLCMD_VARIABLES: [(&str, &str); 4] = [
    ("SQLCMDSERVER", "server"),
    ("SQLCMDUSER", "user"),
    ("SQLCMDPASSWORD", "password"),
    ("SQLCMDDBNAME", "database"),
];

/// The options of a connection, in a URL or in a package.
pub const KNOWN: [&str; 16] = [
    "access_token",
    "access_token_command",
    "application_name",
    "certificate_authority",
    "database",
    "encrypt",
    "host_name_in_certificate",
    "integrated_security",
    "login_timeout_seconds",
    "packet_size",
    "password",
    "server",
    "server_spn",
    "silence_seconds",
    "trust_server_certificate",
    "user",
];

/// The options of loads. A connection may be both read from and loaded into, so a source knows their names, too; only
/// the destination knows their meaning.
pub const OF_LOADS: [&str; 7] = [
    "columnstore",
    "commit_megabytes",
    "filegroups",
    "range",
    "rows_per_batch",
    "switch",
    "table_lock",
];

/// The options that log in without a user.
const WITHOUT_USER: [&str; 3] = [
    "access_token",
    "access_token_command",
    "integrated_security",
];

/// An address of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A name or an IP address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

/// The part of the session that is encrypted, with the names of ODBC's `Encrypt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing, not even the password: for a trusted network, where a server accepts it.
    Off,
    /// The login; everything if the server asks for it.
    Optional,
    /// Everything; a server without encryption is refused.
    Mandatory,
    /// Everything, from the first byte on (TDS 8.0, SQL Server 2022 and later).
    Strict,
}

/// The authorities by which the server's certificate is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The certificate authorities of this machine.
    System,
    /// The authorities in a file (PEM).
    File(PathBuf),
    /// Any certificate: an attacker on the way can read everything.
    Anybody,
}

/// Everything that a session needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionOptions {
    /// Addresses of the server, which the sessions use in turn. At least one.
    pub endpoints: Vec<Endpoint>,
    /// Who logs in.
    pub credentials: Credentials,
    /// The database; empty for the default database of the login.
    pub database: String,
    /// The name by which the server's administrators see the sessions.
    pub application_name: String,
    /// The part of the session that is encrypted.
    pub encryption: Encryption,
    /// The certificates that are accepted.
    pub trust: Trust,
    /// The name in the server's certificate, if it differs from the host in the address.
    pub name_in_certificate: Option<String>,
    /// The size of packets to ask for.
    pub packet_size: PacketSize,
    /// The longest time that connecting and the login may take together.
    pub login_timeout: Duration,
    /// After this time without a byte from the server, a session asks over another connection whether the server still
    /// has it.
    pub silence: Duration,
}

/// Prints neither the password nor the access token.
impl fmt::Debug for SessionOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SessionOptions")
            .field("endpoints", &self.endpoints)
            .field("credentials", &self.credentials)
            .field("database", &self.database)
            .field("encryption", &self.encryption)
            .finish_non_exhaustive()
    }
}

impl SessionOptions {
    /// Reads a URL, and the options beside it, which take precedence over those in the URL. Relative paths start in
    /// `folder`. Also returns the options that do not belong to a connection; the caller uses or refuses them. Messages
    /// contain no secret.
    pub fn parse(
        url: &str,
        options: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<(SessionOptions, BTreeMap<String, String>)> {
        let Written { settings, hosts } = Written::of(url, options)?;
        let (own, others): (BTreeMap<_, _>, _) = settings
            .into_iter()
            .partition(|(name, _)| KNOWN.contains(&name.as_str()));
        let endpoints = match own.get("server") {
            Some(server) if hosts.is_empty() => vec![server_endpoint(server)?],
            _ => endpoints(hosts)?,
        };
        endpoints.iter().try_for_each(refuse_fabric_warehouse)?;
        Ok((settings::read(&own, endpoints, folder)?, others))
    }
}

/// Refuses a host of Fabric warehouses before a login is tried: a transaction there does not wait for the locks of
/// another one (https://learn.microsoft.com/fabric/data-warehouse/transactions).
fn refuse_fabric_warehouse(endpoint: &Endpoint) -> Result<()> {
    let host = endpoint.host.to_ascii_lowercase();
    match host.ends_with(".datawarehouse.fabric.microsoft.com") {
        false => Ok(()),
        true => Err(address(
            &format!(
                "{host} is a Fabric warehouse, whose transactions are all SNAPSHOT: a process could commit after its run was taken over"
            ),
            "use a SQL database in Fabric; or write Parquet files, and load them into the warehouse by COPY INTO",
        )),
    }
}

/// The options that stand for [variables of sqlcmd](SQLCMD_VARIABLES), and that neither the URL nor an option gives.
/// Empty for a URL with a mistake, which [`SessionOptions::parse`] describes.
pub fn left_out(url: &str, options: &BTreeMap<String, String>) -> Vec<&'static str> {
    let Ok(Written { settings, hosts }) = Written::of(url, options) else {
        return Vec::new();
    };
    let names = SQLCMD_VARIABLES.iter().map(|(_, option)| *option);
    let is_given = |name: &str| match name {
        "server" if !hosts.is_empty() => true,
        // An access token and a ticket need neither user nor password.
        "user" | "password" if WITHOUT_USER.iter().any(|name| is_set(&settings, name)) => true,
        // A login without a password is refused by most servers, so an empty one is written on purpose.
        "password" => settings.contains_key(name),
        _ => settings.get(name).is_some_and(|value| !value.is_empty()),
    };
    names.filter(|name| !is_given(name)).collect()
}

/// True if an option is given, and not `no`.
fn is_set(settings: &BTreeMap<String, String>, name: &str) -> bool {
    let value = settings.get(name).map(|value| value.to_ascii_lowercase());
    value.is_some_and(|value| !matches!(value.as_str(), "no" | "false"))
}

/// Refuses unknown options. `also` has the further options that the caller knows.
pub fn refuse_unknown(options: &BTreeMap<String, String>, also: &[&str]) -> Result<()> {
    let known = || KNOWN.iter().chain(also).copied();
    let Some(unknown) = options
        .keys()
        .find(|name| known().all(|known| known != name.as_str()))
    else {
        return Ok(());
    };
    let meant = match suggestion(unknown, known()) {
        Some(meant) => format!("did you mean {meant}? "),
        None => String::new(),
    };
    let mut all: Vec<&str> = known().collect();
    all.sort_unstable();
    Err(address(
        &format!("{unknown:?} is not an option of a connection to SQL Server"),
        &format!("{meant}The options are {}", all.join(", ")),
    ))
}

fn wrong(name: &str, value: &str, right: &str) -> SessionError {
    address(
        &format!("option {name} of SQL Server: {value:?} is not understood"),
        &format!("write {right}"),
    )
}

fn address(what: &str, hint: &str) -> SessionError {
    SessionError::Address {
        what: what.to_owned(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<SessionOptions> {
        let (options, others) = SessionOptions::parse(url, &BTreeMap::new(), Path::new("/f"))?;
        refuse_unknown(&others, &[])?;
        Ok(options)
    }

    fn password(user: &str, password: &str) -> Credentials {
        Credentials::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        }
    }

    #[test]
    fn a_url_is_read() {
        let options = parsed("mssql://e%40l:p%3A@dw:2001,[::1]:2002,other/tp%2Fch?encrypt=strict&packet_size=4096&certificate_authority=ca.pem")
            .expect("a URL");
        let shown: Vec<String> = options.endpoints.iter().map(Endpoint::to_string).collect();
        assert_eq!(shown, ["dw:2001", "[::1]:2002", "other:1433"]);
        assert_eq!(
            (&options.credentials, options.database.as_str()),
            (&password("e@l", "p:"), "tp/ch")
        );
        assert_eq!(options.encryption, Encryption::Strict);
        assert_eq!(options.trust, Trust::File(PathBuf::from("/f/ca.pem")));
        assert_eq!(options.packet_size.bytes(), 4096);
        assert!(!format!("{options:?}").contains("p:"));
        let usual = parsed("mssql://sa@h").expect("a URL");
        assert_eq!(
            (usual.encryption, usual.trust, usual.packet_size.bytes()),
            (Encryption::Mandatory, Trust::System, 32_767)
        );
    }

    #[test]
    fn an_option_beside_the_url_comes_first() {
        let options = BTreeMap::from([
            ("password".to_owned(), "other".to_owned()),
            ("batch".to_owned(), "1".to_owned()),
        ]);
        let (read, others) =
            SessionOptions::parse("mssql://sa:one@h/d", &options, Path::new("")).expect("read");
        assert_eq!(read.credentials, password("sa", "other"));
        assert_eq!(others.keys().collect::<Vec<_>>(), ["batch"]);
    }

    #[test]
    fn a_login_without_a_user_is_read() {
        let read = |url: &str, options: &[(&str, &str)]| {
            let own = options.iter().copied();
            let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let read = SessionOptions::parse(url, &own.collect(), Path::new("/f"));
            read.expect(url).0.credentials
        };
        let kerberos = |service: Option<&str>| Credentials::Kerberos {
            service: service.map(str::to_owned),
        };
        assert_eq!(
            read("mssql://h/d?integrated_security=yes", &[]),
            kerberos(None)
        );
        assert_eq!(
            read(
                "mssql://h/d?integrated_security=true&server_spn=MSSQLSvc/x:1@R",
                &[]
            ),
            kerberos(Some("MSSQLSvc/x:1@R"))
        );
        assert_eq!(
            read("mssql://h/d", &[("access_token", " x\n")]),
            Credentials::AccessToken("x".to_owned())
        );
        let command = read("mssql://h/d", &[("access_token_command", "az x")]);
        assert!(command.has_token());
        assert_ne!(
            command,
            read("mssql://h/d", &[("access_token_command", "y")])
        );
    }

    #[test]
    fn what_a_url_leaves_out_is_told() {
        let left = |url: &str, options: &[(&str, &str)]| {
            let own = options.iter().copied();
            let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
            left_out(url, &own.collect())
        };
        let password = ("password", "x");
        assert_eq!(
            left("mssql://", &[]),
            ["server", "user", "password", "database"]
        );
        assert_eq!(left("mssql://u@/d", &[]), ["server", "password"]);
        assert_eq!(left("mssql://h?user=u", &[password]), ["database"]);
        assert!(left("mssql://u:@h/d", &[]).is_empty());
        assert!(left("mssql://h/d", &[("access_token", "x")]).is_empty());
        assert!(left("mssql://h/d", &[("integrated_security", "yes")]).is_empty());
        assert!(left("mssql://h/d", &[("access_token_command", "x")]).is_empty());
        assert!(left("mssql://u%4@h/d", &[]).is_empty(), "a mistake");
    }

    #[test]
    fn a_server_is_named_as_in_sqlcmd() {
        for (server, means) in [
            ("dw", "dw:1433"),
            ("tcp:dw,2001", "dw:2001"),
            ("dw, 2001 ", "dw:2001"),
            ("::1,2001", "[::1]:2001"),
        ] {
            let options = BTreeMap::from([("server".to_owned(), server.to_owned())]);
            let read = |url: &str| {
                let (read, _) = SessionOptions::parse(url, &options, Path::new("")).expect(url);
                read.endpoints[0].to_string()
            };
            assert_eq!(read("mssql://u@/d"), means);
            assert_eq!(read("mssql://u@h/d"), "h:1433", "the URL comes first");
        }
        let options = BTreeMap::from([("server".to_owned(), "dw\\express".to_owned())]);
        let error = SessionOptions::parse("mssql://u@/d", &options, Path::new(""));
        assert!(error.expect_err("one").to_string().contains("instances"));
    }

    #[test]
    fn wrong_addresses_are_refused_without_their_secrets() {
        for (url, said) in [
            ("mssql://h/d", "names no user"),
            (
                "mssql://u@x.DataWarehouse.fabric.microsoft.com/d",
                "is a Fabric warehouse",
            ),
            (
                "mssql://u@h/d?access_token=secret",
                "both access_token and a user or password",
            ),
            (
                "mssql://u@h/d?integrated_security=yes",
                "both integrated_security=yes and a user or password",
            ),
            (
                "mssql://h/d?integrated_security=1",
                "\"1\" is not understood",
            ),
            (
                "mssql://u@h/d?server_spn=MSSQLSvc/h:1",
                "no effect without integrated_security",
            ),
            (
                "mssql://h/d?access_token_command=printf%20secret",
                "access_token_command cannot be part of a URL",
            ),
            ("mssql://u@h/d?silence_seconds=0", "silence_seconds"),
            ("mssql://h/d?access_token=secret%20two", "no token has"),
            (
                "mssql://h/d?access_token=secret&encrypt=off",
                "encrypted connections only",
            ),
            ("mssql://u:se@cret:x@h:1433x/d", "the port of h"),
            ("mssql://u:secret@h:0/d", "the port of h"),
            ("mssql://u:secret@/d", "names no host"),
            ("mssql://u:secret%4@h/d", "the password"),
            ("mssql://u:secret@h\\express/d", "instances"),
            ("mssql://u@h/d?encrpt=yes", "\"encrpt\" is not an option"),
            ("mssql://u@h/d?encrypt=maybe", "\"maybe\""),
            ("mssql://u@h/d?packet_size=100", "packet_size"),
            ("mssql://u@h/d?packet_size", "has no value"),
            (
                "mssql://u@h/d?encrypt=strict&trust_server_certificate=yes",
                "encrypt=strict",
            ),
            ("mssql://u@[::1/d", "has no ]"),
        ] {
            let error = parsed(url).expect_err(url);
            assert!(error.to_string().contains(said), "{url}: {error}");
            let all = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(!all.contains("secret") && !all.contains("cret:x"), "{all}");
        }
        let misspelt = parsed("mssql://u@h/d?packet_sise=512").expect_err("misspelt");
        assert!(
            misspelt
                .hint()
                .is_some_and(|hint| hint.contains("did you mean packet_size?"))
        );
    }
}
