//! TLS by rustls, with libpq's meanings of its settings.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_system::small_file::SmallFile;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime,
};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InconsistentKeys, OtherError,
    PeerMisbehaved, RootCertStore, SignatureScheme,
};
use tokio_postgres::config::Host;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::address::DatabaseAddress;
use super::error::ClientError;
use super::server_address::ServerAddress;
use super::server_certificate::{self, Authorities};
use super::socket::SocketWatch;
use super::tls_settings::{OwnCertificate, SslMode};

/// The name of PostgreSQL's protocol in ALPN, for TLS without a preceding request (PostgreSQL 17 and later).
pub(super) const PROTOCOL: &[u8] = b"postgresql";

/// A file of certificates. Lists of all public authorities have about 1 MB.
const CERTIFICATES: SmallFile = SmallFile {
    what: "a file of certificates (PEM)",
    bytes_max: 16 << 20,
    may_be_pipe: true,
};

/// A file of lists of revoked certificates. Those of large authorities have some 10 MB.
const REVOCATION_LISTS: SmallFile = SmallFile {
    what: "a list of revoked certificates (PEM)",
    bytes_max: 256 << 20,
    may_be_pipe: true,
};

/// The file of a key.
const KEY: SmallFile = SmallFile {
    what: "a key (PEM)",
    bytes_max: 1 << 20,
    may_be_pipe: true,
};

/// The client's side of TLS for one of an address's servers.
pub fn client_config(
    address: &DatabaseAddress,
    place: &ServerAddress,
    watch: &Arc<SocketWatch>,
) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let fail = |reason: String, hint: &str| ClientError::Connect {
        server: place.describe(),
        reason,
        hint: hint.to_owned(),
        source: None,
    };
    let of_roots = "give the authority's certificate with sslrootcert=FILE";
    let tls = &address.tls;
    let chain = match tls.checks_chain() {
        true => Some(chain(address, &provider).map_err(|reason| fail(reason, of_roots))?),
        false => None,
    };
    let verifier = Arc::new(Verifier {
        chain,
        host: match &place.host {
            Host::Tcp(name) if tls.mode == SslMode::VerifyFull => Some(name.clone()),
            _ => None,
        },
        provider: Arc::clone(&provider),
    });
    let own = match &tls.certificate {
        Some(own) => Some(own_key(own, &provider).map_err(|reason| {
            fail(
                reason,
                "check sslcert and sslkey, or set sslcertmode=disable",
            )
        })?),
        None => None,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&tls.versions)
        .map_err(|error| fail(error.to_string(), of_roots))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(OwnKey {
            key: own,
            watch: Arc::clone(watch),
        }));
    config.enable_sni = tls.sends_name;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// The certificates against which a server's certificate is checked.
#[derive(Debug)]
struct Chain {
    webpki: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
    has_revocation_lists: bool,
}

fn chain(address: &DatabaseAddress, provider: &Arc<CryptoProvider>) -> Result<Chain, String> {
    let trusted = trusted(address.tls.root_certificate.as_deref())?;
    let mut store = RootCertStore::empty();
    match &address.tls.root_certificate {
        Some(file) => {
            for certificate in &trusted {
                store
                    .add(certificate.clone())
                    .map_err(|error| format!("a certificate of {}: {error}", file.display()))?;
            }
        }
        None => {
            store.add_parsable_certificates(trusted.iter().cloned());
        }
    }
    if store.is_empty() {
        return Err("no certificate of a trusted authority was found".to_owned());
    }
    let lists = revocation_lists(&address.tls.revocation_lists)?;
    let has_revocation_lists = !lists.is_empty();
    // As in OpenSSL, each certificate of the chain needs a list, and none may be out of date.
    let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .with_crls(lists)
        .enforce_revocation_expiration()
        .build()
        .map_err(|error| format!("the lists of revoked certificates (sslcrl): {error}"))?;
    Ok(Chain {
        webpki,
        trusted,
        has_revocation_lists,
    })
}

fn trusted(file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, String> {
    let Some(file) = file else {
        return Ok(rustls_native_certs::load_native_certs().certs);
    };
    let text = CERTIFICATES
        .read(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    CertificateDer::pem_slice_iter(&text)
        .map(|one| one.map_err(|error| format!("{} is not PEM: {error}", file.display())))
        .collect()
}

fn revocation_lists(
    paths: &[PathBuf],
) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        for entry in entries {
            let entry =
                entry.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            if entry.path().is_file() {
                files.push(entry.path());
            }
        }
    }
    let mut lists = Vec::new();
    for file in &files {
        let text = REVOCATION_LISTS
            .read(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        for list in CertificateRevocationListDer::pem_slice_iter(&text) {
            lists.push(list.map_err(|error| format!("{} is not PEM: {error}", file.display()))?);
        }
    }
    if lists.is_empty() && !paths.is_empty() {
        let named: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(format!(
            "no list of revoked certificates was found in {}",
            named.join(" or ")
        ));
    }
    Ok(lists)
}

/// Reads our certificate and its key.
fn own_key(own: &OwnCertificate, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, String> {
    let (file, key_file) = (own.certificate.display(), own.key.display());
    let text = CERTIFICATES
        .read(&own.certificate)
        .map_err(|error| format!("cannot read the certificate {file}: {error}"))?;
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate {file} is not PEM: {error}"))?;
    if certificates.is_empty() {
        return Err(format!("{file} contains no certificate"));
    }
    let metadata = own
        .key
        .metadata()
        .map_err(|error| format!("cannot read the key {key_file} of {file}: {error}"))?;
    // A key that belongs to root may be readable for a group.
    let of_others = match metadata.uid() {
        0 => 0o037,
        _ => 0o077,
    };
    if metadata.mode() & of_others != 0 {
        return Err(format!(
            "the key {key_file} can be used by others (fix it: chmod 600)"
        ));
    }
    let text = KEY
        .read(&own.key)
        .map_err(|error| format!("cannot read the key {key_file}: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        match text.windows(9).any(|word| word == b"ENCRYPTED") {
            true => format!(
                "the key {key_file} is encrypted, and Inrush reads only unencrypted keys: `openssl \
                 pkey -in {key_file} -out PLAIN` writes one"
            ),
            false => format!("the key {key_file} is not a PEM key: {error}"),
        }
    })?;
    let key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|error| format!("the key {key_file}: {error}"))?;
    let certified = CertifiedKey::new(certificates, key);
    match certified.keys_match() {
        Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(format!("the key {key_file} does not belong to {file}"))
        }
        // For a certificate of version 1 this cannot be checked here: the server will check it.
        _ => Ok(Arc::new(certified)),
    }
}

/// Gives the client's certificate to a server that asks for it.
#[derive(Debug)]
struct OwnKey {
    key: Option<Arc<CertifiedKey>>,
    watch: Arc<SocketWatch>,
}

impl ResolvesClientCert for OwnKey {
    fn resolve(
        &self,
        _authorities: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let key = self.key.as_ref()?;
        key.key.choose_scheme(schemes)?;
        self.watch.sends_certificate();
        Some(Arc::clone(key))
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}

/// Checks as much of the server's certificate as the `sslmode` requires.
#[derive(Debug)]
struct Verifier {
    /// The authorities that the certificate is checked against; `None` if the certificate is not checked at all.
    chain: Option<Chain>,
    /// The host that the certificate must be for; `None` if any host is accepted.
    host: Option<String>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    /// Checks a certificate that webpki accepts except for its name, or that only OpenSSL would accept.
    fn check_host(
        &self,
        chain: &Chain,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        refusal: rustls::Error,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(host) = &self.host else {
            return Ok(ServerCertVerified::assertion());
        };
        let above: Vec<CertificateDer<'_>> = [intermediates, chain.trusted.as_slice()].concat();
        match server_certificate::is_for_host(end_entity, host, &above) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(refusal),
        }
    }

    /// Checks the server's signature of the handshake, for certificates of any version.
    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let bad = || rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
        let parsed = Certificate::from_der(certificate).map_err(|_| bad())?;
        let key = &parsed.tbs_certificate.subject_public_key_info;
        let algorithms = self.provider.signature_verification_algorithms;
        let (_, candidates) = algorithms
            .mapping
            .iter()
            .find(|(scheme, _)| *scheme == signed.scheme)
            .ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
        let is_good = candidates.iter().any(|algorithm| {
            server_certificate::has_signed(key, *algorithm, message, signed.signature())
        });
        match is_good {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(rustls::Error::InvalidCertificate(
                CertificateError::BadSignature,
            )),
        }
    }
}

/// The error for a certificate of X.509 version 1 if none can be accepted.
#[derive(Debug, thiserror::Error)]
enum OldCertificate {
    #[error(
        "the server's certificate is of X.509 version 1, and Inrush cannot look such a certificate up in lists of revoked \
         certificates. Give the server a certificate of version 3 (with extensions: `openssl x509 -req -extfile FILE`), or \
         connect without lists (sslcrl, sslcrldir, ~/.postgresql/root.crl)"
    )]
    OfServer,
    #[error(
        "an intermediate certificate that the server sent is of X.509 version 1, so nothing says that it may sign others \
         (libpq refuses it too): issue it again with version 3 and `basicConstraints = critical, CA:TRUE`"
    )]
    OfIntermediate,
}

impl From<OldCertificate> for rustls::Error {
    fn from(error: OldCertificate) -> rustls::Error {
        rustls::Error::Other(OtherError(Arc::new(error)))
    }
}

/// True if webpki refuses a certificate for its version alone.
fn is_of_other_version(certificate: &CertificateDer<'_>) -> bool {
    Certificate::from_der(certificate)
        .is_ok_and(|parsed| parsed.tbs_certificate.version != x509_cert::certificate::Version::V3)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        let verdict = chain.webpki.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            Ok(verified) => Ok(verified),
            // The chain is checked before the name, so this error says that the chain is good.
            Err(
                refusal @ rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName
                    | CertificateError::NotValidForNameContext { .. },
                ),
            ) => self.check_host(chain, end_entity, intermediates, refusal),
            Err(refusal) => {
                let authorities = Authorities {
                    trusted: &chain.trusted,
                    sent: intermediates,
                    algorithms: &self.provider.signature_verification_algorithms,
                };
                if !server_certificate::is_trusted(end_entity, &authorities, now) {
                    return Err(match is_of_other_version(end_entity) {
                        // webpki says only that it does not know the version.
                        true => CertificateError::UnknownIssuer.into(),
                        false
                            if server_certificate::has_intermediate_of_version_1(intermediates) =>
                        {
                            OldCertificate::OfIntermediate.into()
                        }
                        false => refusal,
                    });
                }
                if chain.has_revocation_lists {
                    return Err(match is_of_other_version(end_entity) {
                        true => OldCertificate::OfServer.into(),
                        false => refusal,
                    });
                }
                let refusal = rustls::Error::InvalidCertificate(CertificateError::NotValidForName);
                self.check_host(chain, end_entity, intermediates, refusal)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if is_of_other_version(certificate) {
            return self.check_signature(message, certificate, signed);
        }
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if is_of_other_version(certificate) {
            return self.check_signature(message, certificate, signed);
        }
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_not_read_as_a_certificate() {
        let device = PathBuf::from("/dev/zero");
        let provider = rustls::crypto::ring::default_provider();
        let own = OwnCertificate {
            certificate: device.clone(),
            key: device.clone(),
        };
        for refusal in [
            trusted(Some(&device)).err(),
            revocation_lists(std::slice::from_ref(&device)).err(),
            own_key(&own, &provider).err(),
        ] {
            let told = refusal.expect("refused");
            assert!(told.contains("/dev/zero: it is a device"), "{told}");
        }
    }
}
