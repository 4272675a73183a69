//! The address of a database: hosts in the order in which they are tried, and how they are reached.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use inrush_package::secrets::note_secret;
use inrush_package::{URLS, redacted_url};
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslNegotiation};

use super::error::ClientError;
use super::keepalive::{self, Keepalive};
use super::password_file;
use super::required_auth::RequiredAuth;
use super::server_address::{self, ServerAddress};
use super::settings::UrlSettings;
use super::socket::LoginRules;
use super::tls_settings::{SslMode, TlsSettings};
use crate::connection_defaults::ConnectionDefaults;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The shortest timeout that libpq uses.
const CONNECT_TIMEOUT_MIN: Duration = Duration::from_secs(2);

/// `requirepeer`: the user that runs the server at the other end of a unix socket.
#[derive(Clone, Debug)]
pub struct RequiredPeer {
    name: String,
    name_of: fn(u32) -> Option<String>,
}

impl RequiredPeer {
    /// Checks that a process of this user is the wanted server. The error is the reason why it is not.
    pub fn check(&self, user: u32) -> Result<(), String> {
        let found = (self.name_of)(user);
        if found.as_ref() == Some(&self.name) {
            return Ok(());
        }
        Err(format!(
            "user {} runs the server there, but requirepeer={}",
            found.unwrap_or_else(|| user.to_string()),
            self.name
        ))
    }
}

/// A database that can be connected to.
#[derive(Clone)]
pub struct DatabaseAddress {
    /// The driver's configuration, without host and password. Its `Debug` leaves the password out.
    pub config: Config,
    /// Its servers, in the order in which they are tried; one of them must be a primary.
    pub places: Vec<ServerAddress>,
    /// The settings of TLS.
    pub tls: TlsSettings,
    /// The longest wait for one server's answer.
    pub connect_timeout: Duration,
    /// The settings that detect a silent server.
    pub keepalive: Keepalive,
    /// The methods by which a server may ask for authentication.
    required_auth: Option<RequiredAuth>,
    /// The user that must run the server at the other end of a unix socket.
    pub required_peer: Option<RequiredPeer>,
    password_file: Option<String>,
    /// The server that took the last connection; further connections of a run use it, too.
    last_good: Arc<AtomicUsize>,
}

/// True if a URL is one of a PostgreSQL server.
pub fn is_meant(url: &str) -> bool {
    url.starts_with("postgresql://") || url.starts_with("postgres://")
}

impl DatabaseAddress {
    /// Reads a URL and fills its gaps.
    pub fn parse(url: &str, defaults: &ConnectionDefaults) -> Result<DatabaseAddress, ClientError> {
        let fail = |reason: String| ClientError::Address {
            url: redacted_url(url),
            variable: UrlSettings::variable_in(&reason),
            reason,
        };
        if !is_meant(url) {
            return Err(fail(format!("it is not the URL of a destination: {URLS}")));
        }
        let settings = UrlSettings::gather(url, defaults).map_err(fail)?;
        DatabaseAddress::of_settings(&settings, defaults).map_err(fail)
    }

    fn of_settings(
        settings: &UrlSettings,
        defaults: &ConnectionDefaults,
    ) -> Result<DatabaseAddress, String> {
        settings.check_unsupported()?;
        let tls = TlsSettings::of(settings, defaults)?;
        let mut config = Config::new();
        let user = settings.get("user").or(defaults.user.as_deref());
        let user = user.ok_or("it names no user and PGUSER is not set")?;
        config.user(user);
        config.dbname(settings.get("dbname").unwrap_or(user));
        if let Some(password) = settings.get("password") {
            note_secret(password);
            config.password(password);
        }
        if let Some(options) = options(settings) {
            config.options(options);
        }
        let words = ["disable", "prefer", "require"];
        config.channel_binding(match settings.word("channel_binding", "prefer", &words)? {
            "disable" => ChannelBinding::Disable,
            "require" => ChannelBinding::Require,
            _ => ChannelBinding::Prefer,
        });
        config.ssl_negotiation(match tls.is_direct {
            true => SslNegotiation::Direct,
            false => SslNegotiation::Postgres,
        });
        config.ssl_mode(match tls.mode {
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            _ => tokio_postgres::config::SslMode::Require,
        });
        check_session_wish(settings)?;
        let connect_timeout = settings
            .seconds("connect_timeout")?
            .map_or(CONNECT_TIMEOUT, |wish| wish.max(CONNECT_TIMEOUT_MIN));
        Ok(DatabaseAddress {
            config,
            places: server_address::places(settings)?,
            tls,
            connect_timeout,
            keepalive: keepalive::keepalive(settings)?,
            required_auth: settings
                .get("require_auth")
                .map(|text| RequiredAuth::parse(text, &settings.called("require_auth")))
                .transpose()?,
            required_peer: required_peer(settings, defaults)?,
            password_file: match settings.get("passfile") {
                Some(path) => password_file::text(Path::new(path))?,
                None => defaults.password_file.clone(),
            },
            last_good: Arc::default(),
        })
    }

    /// The server that took the last connection.
    pub fn place(&self) -> &ServerAddress {
        &self.places[self.last_good.load(Ordering::Relaxed)]
    }

    /// The server, in words.
    pub fn server(&self) -> String {
        self.place().describe()
    }

    /// Server, database and user, without a password.
    pub fn describe(&self) -> String {
        format!(
            "{} as {}",
            self.describe_database(),
            self.config.get_user().unwrap_or("?")
        )
    }

    /// The server and the database, in words: the same for every user.
    pub fn describe_database(&self) -> String {
        let database = self.config.get_dbname().unwrap_or("?");
        format!("{} database {database}", self.server())
    }

    /// The same database at another address of the server.
    pub fn at(&self, place: ServerAddress) -> DatabaseAddress {
        DatabaseAddress {
            places: vec![place],
            last_good: Arc::default(),
            ..self.clone()
        }
    }

    /// The rules that a server must keep before it is answered.
    pub fn login_rules(&self, place: &ServerAddress) -> LoginRules {
        LoginRules {
            server: place.describe(),
            required_auth: self.required_auth.clone(),
            requires_certificate: self.tls.requires_certificate
                && matches!(place.host, Host::Tcp(_)),
        }
    }

    /// The servers in the order in which they are tried now, with their numbers.
    pub fn places_to_try(&self) -> impl Iterator<Item = (usize, &ServerAddress)> {
        let count = self.places.len();
        let first = self.last_good.load(Ordering::Relaxed);
        (0..count).map(move |step| {
            let number = (first + step) % count;
            (number, &self.places[number])
        })
    }

    /// Notes which server took a connection.
    pub fn took(&self, number: usize) {
        self.last_good.store(number, Ordering::Relaxed);
    }

    /// The driver's configuration for a login at this server: with the password of the URL, of PGPASSWORD, or of its
    /// line in `.pgpass`.
    pub fn config_for(&self, place: &ServerAddress) -> Config {
        let mut config = self.config.clone();
        if config.get_password().is_none()
            && let Some(text) = &self.password_file
        {
            let find = |host: &str| {
                password_file::find(
                    text,
                    host,
                    place.port,
                    config.get_dbname().unwrap_or_default(),
                    config.get_user().unwrap_or_default(),
                )
            };
            let found = match &place.host {
                Host::Tcp(host) => find(host),
                Host::Unix(folder) => {
                    find("localhost").or_else(|| find(&folder.display().to_string()))
                }
            };
            if let Some(password) = found {
                note_secret(password.as_ref());
                config.password(password);
            }
        }
        config
    }
}

/// Options for the server, including the one for which libpq has a separate variable.
fn options(settings: &UrlSettings) -> Option<String> {
    let geqo = settings
        .get("geqo")
        .filter(|word| *word != "default")
        .map(|word| format!("-c geqo={}", word.replace('\\', "\\\\").replace(' ', "\\ ")));
    // These options may have a `statement_timeout` of a few milliseconds, which could interrupt the statement that
    // makes the session's settings and removes the timeout. If an option has several values, the server uses the last
    // one.
    let given = settings.get("options");
    let given = given.map(|given| format!("{given} -c statement_timeout=0"));
    match (given, geqo) {
        (Some(given), Some(geqo)) => Some(format!("{given} {geqo}")),
        (given, geqo) => given.or(geqo),
    }
}

fn required_peer(
    settings: &UrlSettings,
    defaults: &ConnectionDefaults,
) -> Result<Option<RequiredPeer>, String> {
    let Some(name) = settings.get("requirepeer") else {
        return Ok(None);
    };
    let name_of = defaults.user_name.ok_or_else(|| {
        format!(
            "{} cannot be checked: the caller gave no user names",
            settings.called("requirepeer")
        )
    })?;
    Ok(Some(RequiredPeer {
        name: name.to_owned(),
        name_of,
    }))
}

/// A load writes, so the primary of several servers is used; a setting that asks for a standby is refused.
fn check_session_wish(settings: &UrlSettings) -> Result<(), String> {
    match settings.get("target_session_attrs") {
        None | Some("any" | "read-write" | "primary") => Ok(()),
        Some(wish @ ("read-only" | "standby" | "prefer-standby")) => Err(format!(
            "{} `{wish}` selects a read-only server",
            settings.called("target_session_attrs")
        )),
        Some(other) => Err(format!(
            "{} `{other}` is not one of any, read-write, primary",
            settings.called("target_session_attrs")
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::connection_defaults::ServiceFile;

    fn defaults(variables: &[(&str, &str)]) -> ConnectionDefaults {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ConnectionDefaults {
            variables: variables.iter().map(own).collect(),
            user: Some("etl".to_owned()),
            service_files: vec![ServiceFile {
                path: PathBuf::from("/etc/pg_service.conf"),
                text: "[dw]\nhost=a,b\nport=6000,6001\ndbname=tpch\npassword=x=y\n\
                       [odd]\ncolour=blue\n"
                    .to_owned(),
            }],
            password_file: Some("a:*:*:*:first\nb:*:*:*:second\n".to_owned()),
            ..ConnectionDefaults::default()
        }
    }

    fn servers(address: &DatabaseAddress) -> Vec<String> {
        address.places.iter().map(ServerAddress::describe).collect()
    }

    #[test]
    fn one_server_is_read() {
        for (text, said) in [
            ("dw:6000", "dw:6000"),
            ("dw", "dw:5432"),
            ("[::1]:6000", "[::1]:6000"),
            ("::1", "[::1]:5432"),
            ("/tmp:6000", "/tmp/.s.PGSQL.6000"),
            ("/tmp", "/tmp/.s.PGSQL.5432"),
        ] {
            assert_eq!(ServerAddress::parse(text).expect(text).describe(), said);
        }
        for text in ["", ":6000", "dw:x", "dw:0", "dw:70000"] {
            assert!(ServerAddress::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn gaps_are_filled_and_the_url_wins() {
        let defaults = defaults(&[("host", "elsewhere"), ("password", "secret")]);
        let address =
            DatabaseAddress::parse("postgresql://dw:6000/tpch?sslmode=verify-full", &defaults)
                .expect("a good URL");
        assert_eq!(address.describe(), "dw:6000 database tpch as etl");
        assert_eq!(address.tls.mode, SslMode::VerifyFull);
        assert_eq!(address.config.get_password(), Some(&b"secret"[..]));
    }

    #[test]
    fn no_timeout_of_options_ends_the_sessions_settings() {
        let defaults = defaults(&[("geqo", "off")]);
        let url = "postgresql://dw/tpch?options=-c%20statement_timeout%3D1";
        let address = DatabaseAddress::parse(url, &defaults).expect("a good URL");
        assert_eq!(
            address.config.get_options(),
            Some("-c statement_timeout=1 -c statement_timeout=0 -c geqo=off")
        );
    }

    #[test]
    fn an_address_wins_over_the_path_of_a_socket() {
        let defaults = defaults(&[("hostaddr", "127.0.0.1")]);
        let address =
            DatabaseAddress::parse("postgresql:///t?host=/run/pg", &defaults).expect("good");
        assert_eq!(servers(&address), ["127.0.0.1:5432"]);
    }

    #[test]
    fn a_service_fills_gaps_before_the_environment() {
        let defaults = defaults(&[("host", "elsewhere"), ("port", "7000"), ("user", "me")]);
        let address =
            DatabaseAddress::parse("postgresql:///?service=dw", &defaults).expect("a good service");
        assert_eq!(servers(&address), ["a:6000", "b:6001"]);
        assert_eq!(address.describe(), "a:6000 database tpch as me");
        assert_eq!(address.config.get_password(), Some(&b"x=y"[..]));
        let address = DatabaseAddress::parse("postgresql://c/?service=dw&port=1", &defaults)
            .expect("a good service");
        assert_eq!(servers(&address), ["c:1"]);
    }

    #[test]
    fn each_server_has_its_own_password() {
        let address =
            DatabaseAddress::parse("postgresql://a,b:6001/x", &defaults(&[])).expect("good");
        assert_eq!(servers(&address), ["a:5432", "b:6001"]);
        let passwords: Vec<Option<Vec<u8>>> = address
            .places
            .iter()
            .map(|place| address.config_for(place).get_password().map(<[u8]>::to_vec))
            .collect();
        assert_eq!(
            passwords,
            [Some(b"first".to_vec()), Some(b"second".to_vec())]
        );
        address.took(1);
        let order: Vec<usize> = address.places_to_try().map(|(number, _)| number).collect();
        assert_eq!(order, [1, 0]);
    }

    #[test]
    fn a_variable_is_named_where_it_is_at_fault() {
        for (setting, value, said) in [
            (
                "sslcrl",
                "/no/such.crl",
                "sslcrl (from PGSSLCRL) has no effect",
            ),
            (
                "require_auth",
                "x",
                "require_auth (from PGREQUIREAUTH) has `x`",
            ),
            (
                "require_auth",
                "gss",
                "require_auth (from PGREQUIREAUTH) `gss` allows",
            ),
            (
                "connect_timeout",
                "x",
                "connect_timeout (from PGCONNECT_TIMEOUT) is `x`",
            ),
            (
                "target_session_attrs",
                "x",
                "target_session_attrs (from PGTARGETSESSIONATTRS) `x`",
            ),
            (
                "load_balance_hosts",
                "x",
                "load_balance_hosts (from PGLOADBALANCEHOSTS) `x`",
            ),
            ("port", "x", "port (from PGPORT) `x` is not a port"),
            ("port", "1,2", "but 2 values of port (from PGPORT)"),
            ("hostaddr", "1.1.1.1,2.2.2.2", "but 1 values of host"),
        ] {
            let url = "postgresql://dw/t";
            let error = DatabaseAddress::parse(url, &defaults(&[(setting, value)]));
            let error = error.err().expect("refused");
            let told = error.to_string();
            assert!(told.contains(said), "{told}");
            let is_told = error
                .hint()
                .is_some_and(|hint| hint.contains("or unset it"));
            assert_eq!(is_told, setting != "hostaddr", "{told}");
        }
    }

    #[test]
    fn every_variable_stands_in_for_a_setting_that_is_taken() {
        for (variable, setting) in crate::connection_defaults::LIBPQ_VARIABLES {
            let url = format!("postgresql://dw/t?{setting}=");
            let is_known = DatabaseAddress::parse(&url, &defaults(&[])).is_ok();
            assert_eq!(is_known, *setting != "geqo", "{variable}");
        }
    }

    macro_rules! refuses {
        ($($name:ident: $url:expr => $said:expr;)*) => {$(
            #[test]
            fn $name() {
                let error = DatabaseAddress::parse($url, &defaults(&[])).err().expect("refused");
                assert!(error.to_string().contains($said), "{error}");
            }
        )*};
    }

    refuses! {
        unknown_sslmode: "postgresql://dw/t?sslmode=always" => "sslmode `always` is not one of";
        weak_sslmode_for_public_authorities:
            "postgresql://dw/t?sslrootcert=system&sslmode=require" => "needs verify-full";
        unknown_setting: "postgresql://dw/t?colour=blue" => "`colour` is not a connection setting";
        unknown_setting_of_a_service: "postgresql:///?service=odd" => "the service `odd` in /etc";
        unknown_service: "postgresql:///?service=lake" => "`lake` is not in /etc/pg_service.conf";
        a_standby: "postgresql://a/t?target_session_attrs=standby" => "selects a read-only server";
        two_ports_for_three_hosts: "postgresql:///t?host=a,b,c&port=1,2" => "3 servers, but 2 values of port";
        no_port: "postgresql:///t?host=a&port=x" => "`x` is not a port";
        certificate_without_key: "postgresql://dw/t?sslcert=x" => "sslkey names no key for it";
        no_certificate: "postgresql://dw/t?sslcertmode=require" => "needs a certificate";
        encrypted_key: "postgresql://dw/t?sslpassword=x" => "`sslpassword` is not supported: ";
        oauth: "postgresql://dw/t?oauth_issuer=x" => "does not log in by OAuth";
        revocation_without_a_check: "postgresql://dw/t?sslcrl=x" => "sslcrl has no effect if";
        direct_and_weak: "postgresql://dw/t?sslnegotiation=direct" => "sslmode=require or higher";
        old_tls: "postgresql://dw/t?ssl_max_protocol_version=TLSv1.1" => "leave no version of TLS";
        unknown_tls: "postgresql://dw/t?ssl_min_protocol_version=1.2" => "is not one of TLSv1,";
        compression: "postgresql://dw/t?sslcompression=1" => "reveals secrets";
        newer_protocol: "postgresql://dw/t?min_protocol_version=3.2" => "uses version 3.0";
        unknown_protocol: "postgresql://dw/t?max_protocol_version=4" => "is not one of 3.0, 3.2, latest";
        gss_encryption: "postgresql://dw/t?gssencmode=require" => "does not encrypt by GSSAPI";
        unknown_gssencmode: "postgresql://dw/t?gssencmode=on" => "is not one of disable, prefer, require";
        other_encoding: "postgresql://dw/t?client_encoding=latin1" => "Inrush sends UTF-8";
        replication: "postgresql://dw/t?replication=database" => "needs an ordinary session";
        peer_without_names: "postgresql://dw/t?requirepeer=postgres" => "cannot be checked";
        broken_encoding: "postgresql://dw/t?host=%zz" => "two hexadecimal digits";
    }

    #[test]
    fn keepalives_are_what_libpq_means_by_them() {
        let parse = |query: &str| {
            let url = format!("postgresql://dw/t?{query}");
            DatabaseAddress::parse(&url, &defaults(&[]))
                .expect("a good URL")
                .keepalive
        };
        let keepalive = parse("keepalives_idle=5&keepalives_interval=2&keepalives_count=3");
        assert_eq!(keepalive.idle, Some(Duration::from_secs(5)));
        assert_eq!(keepalive.user_timeout, Some(Duration::from_secs(11)));
        assert_eq!(keepalive.patience(), Some(Duration::from_secs(11)));
        assert_eq!(parse("keepalives=0").idle, None);
        assert_eq!(parse("keepalives=0").patience(), None);
        assert_eq!(parse("tcp_user_timeout=0").user_timeout, None);
    }
}
