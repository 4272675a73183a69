//! The client's side of TLS by rustls.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::address::{Encryption, SessionOptions, Trust};

/// The name of TDS 8.0 in ALPN.
const PROTOCOL: &[u8] = b"tds/8.0";

/// How to fix a certificate that is not trusted.
pub(crate) const HINT: &str = "name the certificate authority of the server: certificate_authority=FILE (PEM), or the name in \
                               its certificate: host_name_in_certificate=NAME. Only for tests: trust_server_certificate=yes";

/// The settings of TLS for a session; `Err` says what is wrong.
pub(crate) fn config(options: &SessionOptions) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let is_strict = options.encryption == Encryption::Strict;
    // Within PRELOGIN packets servers support only TLS 1.2.
    let versions: &[_] = if is_strict {
        &[&TLS13, &TLS12]
    } else {
        &[&TLS12]
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?;
    let mut config = match &options.trust {
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate { provider }))
            .with_no_client_auth(),
        Trust::File(file) => builder
            .with_root_certificates(of_file(file)?)
            .with_no_client_auth(),
        Trust::System => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("this machine has no certificates of authorities".to_owned());
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    if is_strict {
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
    }
    Ok(config)
}

/// The name that the server's certificate must have.
pub(crate) fn server_name(
    options: &SessionOptions,
    host: &str,
) -> Result<ServerName<'static>, String> {
    let name = options.name_in_certificate.as_deref().unwrap_or(host);
    ServerName::try_from(name.to_owned())
        .map_err(|_| format!("{name:?} is not a name that a certificate has"))
}

fn of_file(file: &Path) -> Result<RootCertStore, String> {
    let fault = |error: rustls::pki_types::pem::Error| {
        format!("certificate_authority: {}: {error}", file.display())
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(fault)? {
        roots
            .add(certificate.map_err(fault)?)
            .map_err(|error| format!("certificate_authority: {}: {error}", file.display()))?;
    }
    match roots.is_empty() {
        true => Err(format!(
            "certificate_authority: {} has no certificate",
            file.display()
        )),
        false => Ok(roots),
    }
}

/// Accepts any certificate, for `trust_server_certificate=yes`. Signatures are not checked either: an attacker on the
/// way could sign with a key of their own, and certificates that servers make for themselves may be of version 1, which
/// rustls cannot read.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
