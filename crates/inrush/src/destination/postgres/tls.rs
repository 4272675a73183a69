//! TLS by rustls, with libpq's meanings of `sslmode`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::address::{Address, Place, SslMode};
use super::error::DestinationError;

/// The client's side of TLS for one of an address's servers.
pub fn client_config(address: &Address, place: &Place) -> Result<ClientConfig, DestinationError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let fail = |reason: String| DestinationError::Connect {
        server: place.describe(),
        reason,
        hint: "give the authority's certificate with sslrootcert=FILE".to_owned(),
        source: None,
    };
    // libpq checks the chain under `require` too when a root certificate is given.
    let check_chain = match address.ssl_mode {
        SslMode::VerifyCa | SslMode::VerifyFull => true,
        SslMode::Require => address.ssl_root_certificate.is_some(),
        SslMode::Disable | SslMode::Prefer => false,
    };
    let verifier: Arc<dyn ServerCertVerifier> = if check_chain {
        let roots = Arc::new(roots(address).map_err(fail)?);
        let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| fail(error.to_string()))?;
        Arc::new(Verifier {
            chain: Some(inner),
            check_name: address.ssl_mode == SslMode::VerifyFull,
            provider: Arc::clone(&provider),
        })
    } else {
        Arc::new(Verifier {
            chain: None,
            check_name: false,
            provider: Arc::clone(&provider),
        })
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

fn roots(address: &Address) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    match &address.ssl_root_certificate {
        Some(file) => {
            let certificates = CertificateDer::pem_file_iter(file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            for certificate in certificates {
                let certificate = certificate
                    .map_err(|error| format!("{} is not PEM: {error}", file.display()))?;
                store
                    .add(certificate)
                    .map_err(|error| format!("a certificate of {}: {error}", file.display()))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(found.certs);
        }
    }
    if store.is_empty() {
        return Err("no certificate of a trusted authority was found".to_owned());
    }
    Ok(store)
}

/// Checks as much of the server's certificate as the `sslmode` asks.
#[derive(Debug)]
struct Verifier {
    /// Checks the chain and the name; none where the certificate is not checked at all.
    chain: Option<Arc<WebPkiServerVerifier>>,
    check_name: bool,
    provider: Arc<CryptoProvider>,
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
        let verdict =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            // The chain is checked before the name, so this error says that the chain is good.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.check_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
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
