//! The TLS settings of a connection, with libpq's meanings.

use std::path::PathBuf;

use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

use super::settings::UrlSettings;
use crate::connection_defaults::ConnectionDefaults;

/// The level of TLS, with the meanings of libpq's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it; the certificate is not checked.
    Prefer,
    /// TLS; the certificate is checked only if a root certificate file is given.
    Require,
    /// TLS, and the certificate must be signed by a trusted authority.
    VerifyCa,
    /// Like `VerifyCa`, and the certificate must be the host's own.
    VerifyFull,
}

/// Our certificate, for a server that asks for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCertificate {
    /// The file of the certificate and of the intermediate certificates up to its authority.
    pub certificate: PathBuf,
    /// The file of its key.
    pub key: PathBuf,
}

/// The settings of TLS.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The level of TLS.
    pub mode: SslMode,
    /// Certificates of trusted authorities; those of the system if there are none.
    pub root_certificate: Option<PathBuf>,
    /// Lists of revoked certificates. Each path is a file or a folder of files.
    pub revocation_lists: Vec<PathBuf>,
    /// Our certificate.
    pub certificate: Option<OwnCertificate>,
    /// True if the server must ask for our certificate.
    pub requires_certificate: bool,
    /// Versions of TLS that are offered.
    pub versions: Vec<&'static SupportedProtocolVersion>,
    /// True if the host's name is sent unencrypted, for a proxy that distinguishes servers by it.
    pub sends_name: bool,
    /// True if TLS begins at once, without a request before it.
    pub is_direct: bool,
}

impl TlsSettings {
    /// Reads the settings.
    pub fn of(
        settings: &UrlSettings,
        defaults: &ConnectionDefaults,
    ) -> Result<TlsSettings, String> {
        let is_system = settings.get("sslrootcert") == Some("system");
        let mode = mode(settings, is_system)?;
        let given = settings.get("sslrootcert").filter(|_| !is_system);
        let root_certificate = given.map(PathBuf::from).or_else(|| {
            let usual = defaults.ssl_root_certificate.clone();
            usual.filter(|_| !is_system)
        });
        let certificate_mode =
            settings.word("sslcertmode", "allow", &["disable", "allow", "require"])?;
        let certificate = match certificate_mode {
            "disable" => None,
            _ => own_certificate(settings, defaults)?,
        };
        if certificate_mode == "require" && certificate.is_none() {
            return Err(format!(
                "{} `require` needs a certificate: name it with sslcert and sslkey",
                settings.called("sslcertmode")
            ));
        }
        let is_direct =
            settings.word("sslnegotiation", "postgres", &["postgres", "direct"])? == "direct";
        if is_direct && matches!(mode, SslMode::Disable | SslMode::Prefer) {
            return Err(format!(
                "{} `direct` begins with TLS, but sslmode does not require it: set sslmode=require or higher",
                settings.called("sslnegotiation")
            ));
        }
        let mut tls = TlsSettings {
            mode,
            root_certificate,
            revocation_lists: Vec::new(),
            certificate,
            requires_certificate: certificate_mode == "require",
            versions: versions(settings)?,
            sends_name: settings.switch("sslsni", true)?,
            is_direct,
        };
        tls.revocation_lists = revocation_lists(settings, defaults, tls.checks_chain())?;
        Ok(tls)
    }

    /// True if the server's certificate must come from a trusted authority. libpq checks that under `require` too if a
    /// root certificate is given.
    pub fn checks_chain(&self) -> bool {
        match self.mode {
            SslMode::VerifyCa | SslMode::VerifyFull => true,
            SslMode::Require => self.root_certificate.is_some(),
            SslMode::Disable | SslMode::Prefer => false,
        }
    }
}

fn mode(settings: &UrlSettings, is_system: bool) -> Result<SslMode, String> {
    let words = [
        "disable",
        "allow",
        "prefer",
        "require",
        "verify-ca",
        "verify-full",
    ];
    let usual = match settings.switch("requiressl", false)? {
        _ if is_system => "verify-full",
        true => "require",
        false => "prefer",
    };
    let word = settings.word("sslmode", usual, &words)?;
    let mode = match word {
        "disable" => SslMode::Disable,
        "require" => SslMode::Require,
        "verify-ca" => SslMode::VerifyCa,
        "verify-full" => SslMode::VerifyFull,
        _ => SslMode::Prefer,
    };
    if is_system && mode != SslMode::VerifyFull {
        return Err(format!(
            "sslmode `{word}` is too weak for sslrootcert=system, which needs verify-full: anybody can have a \
             certificate of a public authority"
        ));
    }
    Ok(mode)
}

fn own_certificate(
    settings: &UrlSettings,
    defaults: &ConnectionDefaults,
) -> Result<Option<OwnCertificate>, String> {
    let given = settings.get("sslcert").map(PathBuf::from);
    let Some(certificate) = given.or_else(|| defaults.ssl_certificate.clone()) else {
        // A key alone is of no use; libpq ignores it too.
        return Ok(None);
    };
    let given = settings.get("sslkey").map(PathBuf::from);
    let key = given.or_else(|| defaults.ssl_key.clone());
    let key = key.ok_or_else(|| {
        format!(
            "{} names a certificate, but sslkey names no key for it",
            settings.called("sslcert")
        )
    })?;
    Ok(Some(OwnCertificate { certificate, key }))
}

fn revocation_lists(
    settings: &UrlSettings,
    defaults: &ConnectionDefaults,
    checks_chain: bool,
) -> Result<Vec<PathBuf>, String> {
    let mut lists = Vec::new();
    for name in ["sslcrl", "sslcrldir"] {
        let Some(path) = settings.get(name) else {
            continue;
        };
        if !checks_chain {
            return Err(format!(
                "{} has no effect if the server's certificate is not checked: set sslmode=verify-full or verify-ca",
                settings.called(name)
            ));
        }
        lists.push(PathBuf::from(path));
    }
    if lists.is_empty() && checks_chain {
        lists.extend(defaults.ssl_revocation_list.clone());
    }
    Ok(lists)
}

fn versions(settings: &UrlSettings) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    const WORDS: [&str; 4] = ["tlsv1", "tlsv1.1", "tlsv1.2", "tlsv1.3"];
    let place = |name: &str, usual: usize| match settings.get(name) {
        None => Ok(usual),
        Some(word) => WORDS
            .iter()
            .position(|known| *known == word.to_lowercase())
            .ok_or_else(|| {
                format!(
                    "{} `{word}` is not one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3",
                    settings.called(name)
                )
            }),
    };
    let least = place("ssl_min_protocol_version", 2)?;
    let most = place("ssl_max_protocol_version", 3)?;
    let versions: Vec<&'static SupportedProtocolVersion> = [(2, &TLS12), (3, &TLS13)]
        .into_iter()
        .filter(|(version, _)| (least..=most).contains(version))
        .map(|(_, version)| version)
        .collect();
    if versions.is_empty() {
        return Err(format!(
            "{} and {} leave no version of TLS that Inrush has: TLSv1.2 and TLSv1.3",
            settings.called("ssl_min_protocol_version"),
            settings.called("ssl_max_protocol_version")
        ));
    }
    Ok(versions)
}
