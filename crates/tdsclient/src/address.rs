//! The URL and the options of a connection: `mssql://USER@HOST[:PORT][,HOST:PORT...]/DATABASE[?OPTION=VALUE&...]`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inrush_rows::suggest::suggestion;
use inrush_tds::PacketSize;

use crate::error::{Result, SessionError};
use crate::login::NAME_UNITS_MAX;

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
pub const KNOWN: [&str; 12] = [
    "access_token",
    "application_name",
    "certificate_authority",
    "database",
    "encrypt",
    "host_name_in_certificate",
    "login_timeout_seconds",
    "packet_size",
    "password",
    "server",
    "trust_server_certificate",
    "user",
];

/// The largest packets. Servers grant less: up to 16,383 bytes if encrypted.
const PACKET_BYTES: u32 = 32_767;
const LOGIN_TIMEOUT_SECONDS: u64 = 15;
/// Characters of an access token. Those of Microsoft Entra have a few thousand.
const TOKEN_CHARACTERS_MAX: usize = 65_536;

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
    /// A login of SQL Server; empty with an access token.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The access token of Microsoft Entra that logs in, instead of a login of SQL Server.
    pub access_token: Option<String>,
    /// The database; empty for the login's default one.
    pub database: String,
    /// The name by which the server's administrators see the sessions.
    pub application_name: String,
    /// What is encrypted.
    pub encryption: Encryption,
    /// The certificates that are accepted.
    pub trust: Trust,
    /// The name in the server's certificate, if it is not that of the address.
    pub name_in_certificate: Option<String>,
    /// The size of packets to ask for.
    pub packet_size: PacketSize,
    /// The longest that connecting and the login may take.
    pub login_timeout: Duration,
}

/// The text lacks the password and the access token.
impl fmt::Debug for SessionOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SessionOptions")
            .field("endpoints", &self.endpoints)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("encryption", &self.encryption)
            .finish_non_exhaustive()
    }
}

impl SessionOptions {
    /// Who logs in, in words.
    pub fn who(&self) -> String {
        match self.access_token {
            Some(_) => "the user of an access token".to_owned(),
            None => format!("user {}", self.user),
        }
    }

    /// Reads a URL, and the options beside it, which take precedence over those in the URL. Relative paths start in `folder`.
    /// Also returns the options that do not belong to a connection; the caller uses or refuses them. Messages contain no
    /// secret.
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
        Ok((read(&own, endpoints, folder)?, others))
    }
}

/// Refuses a host of Fabric warehouses before a login is tried: a transaction there does not wait for the locks of another one
/// (https://learn.microsoft.com/fabric/data-warehouse/transactions).
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

/// The options that stand for [variables of sqlcmd](SQLCMD_VARIABLES), and that neither the URL nor an option gives. None
/// for a URL with a mistake, which [`SessionOptions::parse`] describes.
pub fn left_out(url: &str, options: &BTreeMap<String, String>) -> Vec<&'static str> {
    let Ok(Written { settings, hosts }) = Written::of(url, options) else {
        return Vec::new();
    };
    let names = SQLCMD_VARIABLES.iter().map(|(_, option)| *option);
    let is_given = |name: &str| match name {
        "server" if !hosts.is_empty() => true,
        // An access token needs neither.
        "user" | "password" if settings.contains_key("access_token") => true,
        // A login without a password is refused by most servers, so an empty one is written on purpose.
        "password" => settings.contains_key(name),
        _ => settings.get(name).is_some_and(|value| !value.is_empty()),
    };
    names.filter(|name| !is_given(name)).collect()
}

/// The parts of a URL, with the options beside it.
struct Written<'a> {
    settings: BTreeMap<String, String>,
    hosts: &'a str,
}

impl<'a> Written<'a> {
    fn of(url: &'a str, options: &BTreeMap<String, String>) -> Result<Written<'a>> {
        let rest = url.trim().strip_prefix(SCHEME).ok_or_else(|| {
            address(
                "the URL does not begin with mssql://",
                "write mssql://USER@HOST/DATABASE",
            )
        })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let mut settings = BTreeMap::new();
        if let Some(user) = user {
            let (name, password) = user
                .split_once(':')
                .map_or((user, None), |(user, password)| (user, Some(password)));
            settings.insert("user".to_owned(), decoded("the user", name)?);
            if let Some(password) = password {
                settings.insert("password".to_owned(), decoded("the password", password)?);
            }
        }
        if !database.is_empty() {
            settings.insert("database".to_owned(), decoded("the database", database)?);
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                address(
                    "an option of the URL has no value",
                    "write ?OPTION=VALUE&OPTION=VALUE",
                )
            })?;
            settings.insert(decoded("an option", name)?, decoded(name, value)?);
        }
        settings.extend(
            options
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        Ok(Written { settings, hosts })
    }
}

/// Refuses unknown options. `also` are those that the caller knows.
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

fn read(
    settings: &BTreeMap<String, String>,
    endpoints: Vec<Endpoint>,
    folder: &Path,
) -> Result<SessionOptions> {
    let get = |name: &str| settings.get(name).map(String::as_str);
    let number = |name: &str, usual: u64, least: u64, most: u64| -> Result<u64> {
        let Some(text) = get(name) else {
            return Ok(usual);
        };
        match text.trim().parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(wrong(
                name,
                text,
                &format!("a whole number from {least} to {most}"),
            )),
        }
    };
    let name = |name: &str, text: &str| -> Result<String> {
        match text.encode_utf16().count() <= NAME_UNITS_MAX && !text.contains('\0') {
            true => Ok(text.to_owned()),
            false => Err(address(
                &format!("{name} has more than {NAME_UNITS_MAX} characters, or a NUL"),
                "SQL Server has no such name: shorten it",
            )),
        }
    };
    let access_token = access_token(settings)?;
    let user = get("user").filter(|user| !user.is_empty());
    let user = user.or(access_token.as_ref().map(|_| "")).ok_or_else(|| {
        address(
            "the connection names no user",
            "write mssql://USER@HOST/DATABASE, or set SQLCMDUSER. For Microsoft Entra: access_token = \"${env:NAME}\". Windows logins \
             (Kerberos) are not supported",
        )
    })?;
    let encryption = match get("encrypt").map(str::to_ascii_lowercase).as_deref() {
        None | Some("mandatory" | "yes" | "true") => Encryption::Mandatory,
        Some("strict") => Encryption::Strict,
        Some("optional" | "no" | "false") => Encryption::Optional,
        Some("off") => Encryption::Off,
        Some(other) => {
            return Err(wrong(
                "encrypt",
                other,
                "strict, mandatory, optional or off",
            ));
        }
    };
    if access_token.is_some() && matches!(encryption, Encryption::Off | Encryption::Optional) {
        return Err(address(
            "an access token is sent in encrypted connections only",
            "leave encrypt out, or write encrypt=mandatory or encrypt=strict",
        ));
    }
    let anybody = match get("trust_server_certificate")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        None | Some("no" | "false") => false,
        Some("yes" | "true") => true,
        Some(other) => return Err(wrong("trust_server_certificate", other, "yes or no")),
    };
    let file = get("certificate_authority").map(|file| folder.join(file));
    let trust = match (anybody, file) {
        (true, _) if encryption == Encryption::Strict => {
            return Err(address(
                "encrypt=strict checks the server's certificate, and trust_server_certificate=yes would not",
                "leave trust_server_certificate out, and name the authority: certificate_authority=FILE",
            ));
        }
        (true, Some(_)) => {
            return Err(address(
                "certificate_authority has no effect with trust_server_certificate=yes, which accepts any certificate",
                "leave one of them out",
            ));
        }
        (true, None) => Trust::Anybody,
        (false, Some(file)) => Trust::File(file),
        (false, None) => Trust::System,
    };
    let packet_bytes = number("packet_size", PACKET_BYTES.into(), 512, PACKET_BYTES.into())?;
    Ok(SessionOptions {
        endpoints,
        user: name("user", user)?,
        password: name("password", get("password").unwrap_or_default())?,
        access_token,
        database: name("database", get("database").unwrap_or_default())?,
        application_name: name(
            "application_name",
            get("application_name").unwrap_or("Inrush"),
        )?,
        encryption,
        trust,
        name_in_certificate: get("host_name_in_certificate").map(str::to_owned),
        // The range was checked.
        packet_size: PacketSize::new(packet_bytes as u32).unwrap_or(PacketSize::MAX),
        login_timeout: Duration::from_secs(number(
            "login_timeout_seconds",
            LOGIN_TIMEOUT_SECONDS,
            1,
            3600,
        )?),
    })
}

/// The access token, if there is one. No message contains it.
fn access_token(settings: &BTreeMap<String, String>) -> Result<Option<String>> {
    let Some(token) = settings.get("access_token") else {
        return Ok(None);
    };
    let token = token.trim();
    let is_given = |name: &str| settings.get(name).is_some_and(|text| !text.is_empty());
    if is_given("user") || is_given("password") {
        return Err(address(
            "the connection has both an access token and a user or password",
            "leave one of them out: a token names its user",
        ));
    }
    let is_printable = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.is_empty() || token.len() > TOKEN_CHARACTERS_MAX || !is_printable {
        return Err(address(
            "option access_token is empty, too long, or has characters that no token has",
            "take it as it was printed, without quotes: az account get-access-token --resource https://database.windows.net \
             --query accessToken --output tsv",
        ));
    }
    Ok(Some(token.to_owned()))
}

fn endpoints(hosts: &str) -> Result<Vec<Endpoint>> {
    hosts.split(',').map(endpoint).collect()
}

/// The server as sqlcmd names it: `HOST`, `tcp:HOST` or `HOST,PORT`.
fn server_endpoint(text: &str) -> Result<Endpoint> {
    let text = text.trim();
    let text = text.strip_prefix("tcp:").unwrap_or(text);
    match text.rsplit_once(',') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => {
            endpoint(&format!("[{}]:{}", host.trim(), port.trim()))
        }
        Some((host, port)) => endpoint(&format!("{}:{}", host.trim(), port.trim())),
        None => endpoint(text),
    }
}

fn endpoint(text: &str) -> Result<Endpoint> {
    let text = text.trim();
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(|| {
                address(
                    "an address begins with [ and has no ]",
                    "write [ADDRESS]:PORT for IPv6",
                )
            })?;
            (host, after.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.contains('\\') {
        return Err(address(
            &format!("{host}: named instances are not looked up"),
            "write the port of the instance: mssql://USER@HOST:PORT/DATABASE",
        ));
    }
    if host.is_empty() {
        return Err(address(
            "the connection names no host",
            "write mssql://USER@HOST/DATABASE, or set SQLCMDSERVER",
        ));
    }
    let port = match port {
        None => PORT,
        // The text is not repeated: a password with @ or : may have got there.
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
            address(
                &format!("the port of {host} is not a number from 1 to 65535"),
                "write HOST:PORT; special characters of a password are written %XX",
            )
        })?,
    };
    Ok(Endpoint {
        host: host.to_owned(),
        port,
    })
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

/// The text without its percent-encoding.
fn decoded(what: &str, text: &str) -> Result<String> {
    let bad = || {
        address(
            &format!(
                "{what} in the URL has a % that is not followed by two digits of 0-9 and A-F, or is not UTF-8"
            ),
            "write % as %25",
        )
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<SessionOptions> {
        let (options, others) = SessionOptions::parse(url, &BTreeMap::new(), Path::new("/f"))?;
        refuse_unknown(&others, &[])?;
        Ok(options)
    }

    #[test]
    fn a_url_is_read() {
        let options = parsed("mssql://e%40l:p%3A@dw:2001,[::1]:2002,other/tp%2Fch?encrypt=strict&packet_size=4096&certificate_authority=ca.pem")
            .expect("a URL");
        let shown: Vec<String> = options.endpoints.iter().map(Endpoint::to_string).collect();
        assert_eq!(shown, ["dw:2001", "[::1]:2002", "other:1433"]);
        assert_eq!(
            (
                options.user.as_str(),
                options.password.as_str(),
                options.database.as_str()
            ),
            ("e@l", "p:", "tp/ch")
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
        assert_eq!(read.password, "other");
        assert_eq!(others.keys().collect::<Vec<_>>(), ["batch"]);
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
                "both an access token and a user or password",
            ),
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
