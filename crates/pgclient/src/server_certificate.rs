//! Checks of server certificates that libpq (by OpenSSL) accepts and webpki does not.
//!
//! webpki checks first, and its acceptance is enough. It refuses three kinds of certificates that are common with
//! PostgreSQL, and those are checked here: one that is its own authority (the example of PostgreSQL's manual), one of
//! X.509 version 1 (what `openssl x509 -req` made for decades), and one that names its host only as the common name.

use std::net::IpAddr;
use std::time::Duration;

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::asn1::Any;
use x509_cert::der::oid::{AssociatedOid, ObjectIdentifier};
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAltName};
use x509_cert::spki::SubjectPublicKeyInfoOwned;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const NAME_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.30");
const FOR_SERVERS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const FOR_ANYTHING: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// The most authorities between a certificate and a trusted one; webpki has the same limit.
const INTERMEDIATES_MAX: usize = 6;
/// The most signatures that are checked for one certificate, because a hostile server may send many authorities of the
/// same name.
const SIGNATURES_MAX: usize = 100;

/// The authorities that a server's certificate may be signed by.
pub struct Authorities<'a> {
    /// The certificates that the user trusts.
    pub trusted: &'a [CertificateDer<'a>],
    /// The certificates that the server has sent. They count only if a trusted one has signed them, directly or through
    /// others.
    pub sent: &'a [CertificateDer<'a>],
    /// The kinds of signatures that are accepted.
    pub algorithms: &'a WebPkiSupportedAlgorithms,
}

/// True if OpenSSL would accept a certificate that webpki refuses: it is itself trusted, or it is of version 1 and
/// signed by a trusted one, directly or through intermediate authorities. Revocation is not checked: this function is
/// not called if lists of revoked certificates are given.
pub fn is_trusted(
    certificate: &CertificateDer<'_>,
    authorities: &Authorities<'_>,
    now: UnixTime,
) -> bool {
    let Ok(parsed) = Certificate::from_der(certificate) else {
        return false;
    };
    if !is_valid_at(&parsed, now) || !is_for_servers(&parsed) {
        return false;
    }
    let body = &parsed.tbs_certificate;
    if authorities.trusted.iter().any(|one| one == certificate) {
        // OpenSSL accepts a trusted certificate only at the end of its own chain.
        return body.issuer == body.subject;
    }
    let parse = |all: &[CertificateDer<'_>]| -> Vec<Certificate> {
        all.iter()
            .filter_map(|one| Certificate::from_der(one).ok())
            .collect()
    };
    let mut search = ChainSearch {
        trusted: parse(authorities.trusted),
        sent: parse(authorities.sent),
        algorithms: authorities.algorithms,
        now,
        signatures_left: SIGNATURES_MAX,
    };
    body.version == Version::V1 && search.leads_to_trusted(&parsed, 0)
}

/// A search for a chain of authorities. Each of them must be one that webpki and OpenSSL both accept.
struct ChainSearch<'a> {
    trusted: Vec<Certificate>,
    sent: Vec<Certificate>,
    algorithms: &'a WebPkiSupportedAlgorithms,
    now: UnixTime,
    signatures_left: usize,
}

impl ChainSearch<'_> {
    /// True if a certificate with this many authorities below it is signed by a trusted authority, directly or through
    /// other authorities.
    fn leads_to_trusted(&mut self, certificate: &Certificate, below: usize) -> bool {
        let issuers = |all: &[Certificate]| -> Vec<Certificate> {
            let issuer = &certificate.tbs_certificate.issuer;
            all.iter()
                .filter(|one| one.tbs_certificate.subject == *issuer)
                .filter(|one| may_issue(one, below) && is_valid_at(one, self.now))
                .cloned()
                .collect()
        };
        let (trusted, sent) = (issuers(&self.trusted), issuers(&self.sent));
        if trusted.iter().any(|one| self.has_issued(one, certificate)) {
            return true;
        }
        below < INTERMEDIATES_MAX
            && sent.iter().any(|one| {
                let body = &one.tbs_certificate;
                body.issuer != body.subject
                    && self.has_issued(one, certificate)
                    && self.leads_to_trusted(one, below + 1)
            })
    }

    fn has_issued(&mut self, authority: &Certificate, certificate: &Certificate) -> bool {
        if self.signatures_left == 0 {
            return false;
        }
        self.signatures_left -= 1;
        is_signed_by(certificate, authority, self.algorithms)
    }
}

/// True if an authority may issue certificates of servers, with this number of authorities between it and the server.
fn may_issue(authority: &Certificate, below: usize) -> bool {
    let body = &authority.tbs_certificate;
    let allows_below = match body.get::<BasicConstraints>() {
        Ok(Some((_, constraints))) => constraints
            .path_len_constraint
            .is_none_or(|most| below <= usize::from(most)),
        Ok(None) => true,
        Err(_) => false,
    };
    // webpki checks constraints of names, but not for this certificate. An unknown critical extension means no.
    let is_known = |id: &ObjectIdentifier| {
        [
            BasicConstraints::OID,
            KeyUsage::OID,
            ExtendedKeyUsage::OID,
            SubjectAltName::OID,
        ]
        .contains(id)
    };
    let mut extensions = body.extensions.iter().flatten();
    let has_unknown = extensions.any(|extension| {
        extension.extn_id == NAME_CONSTRAINTS
            || (extension.critical && !is_known(&extension.extn_id))
    });
    is_authority(authority) && allows_below && !has_unknown && serves(authority)
}

/// True if a certificate of version 1 that is not its own issuer is among these. Neither OpenSSL nor webpki accepts
/// such a certificate as an authority, because nothing in it says that it is one.
pub fn has_intermediate_of_version_1(sent: &[CertificateDer<'_>]) -> bool {
    sent.iter().any(|one| {
        Certificate::from_der(one).is_ok_and(|one| {
            let body = one.tbs_certificate;
            body.version == Version::V1 && body.issuer != body.subject
        })
    })
}

fn is_valid_at(certificate: &Certificate, now: UnixTime) -> bool {
    let validity = &certificate.tbs_certificate.validity;
    let now = Duration::from_secs(now.as_secs());
    validity.not_before.to_unix_duration() <= now && now <= validity.not_after.to_unix_duration()
}

/// True unless the certificate's declared uses exclude servers.
fn is_for_servers(certificate: &Certificate) -> bool {
    let body = &certificate.tbs_certificate;
    let of_key = match body.get::<KeyUsage>() {
        Ok(Some((_, usage))) => {
            usage.digital_signature() || usage.key_encipherment() || usage.key_agreement()
        }
        Ok(None) => true,
        Err(_) => false,
    };
    of_key && serves(certificate)
}

/// True if its extended usage, if it has one, includes servers.
fn serves(certificate: &Certificate) -> bool {
    match certificate.tbs_certificate.get::<ExtendedKeyUsage>() {
        Ok(Some((_, usage))) => usage
            .0
            .iter()
            .any(|one| *one == FOR_SERVERS || *one == FOR_ANYTHING),
        Ok(None) => true,
        Err(_) => false,
    }
}

fn is_authority(certificate: &Certificate) -> bool {
    let body = &certificate.tbs_certificate;
    if body.version == Version::V1 {
        return body.issuer == body.subject;
    }
    let may_sign = match body.get::<KeyUsage>() {
        Ok(Some((_, usage))) => usage.key_cert_sign(),
        Ok(None) => true,
        Err(_) => false,
    };
    let is_one = body
        .get::<BasicConstraints>()
        .is_ok_and(|found| found.is_some_and(|(_, constraints)| constraints.ca));
    may_sign && is_one
}

fn is_signed_by(
    certificate: &Certificate,
    authority: &Certificate,
    algorithms: &WebPkiSupportedAlgorithms,
) -> bool {
    // Both places must name the same algorithm: only one of them is signed.
    let is_one = certificate.signature_algorithm == certificate.tbs_certificate.signature;
    let (Ok(message), Ok(named)) = (
        certificate.tbs_certificate.to_der(),
        contents(&certificate.signature_algorithm),
    ) else {
        return false;
    };
    let signature = certificate.signature.raw_bytes();
    let key = &authority.tbs_certificate.subject_public_key_info;
    is_one
        && algorithms
            .all
            .iter()
            .filter(|algorithm| algorithm.signature_alg_id().as_ref() == named)
            .any(|algorithm| has_signed(key, *algorithm, &message, signature))
}

/// True if a key has made a signature of a message.
pub fn has_signed(
    key: &SubjectPublicKeyInfoOwned,
    algorithm: &dyn rustls::pki_types::SignatureVerificationAlgorithm,
    message: &[u8],
    signature: &[u8],
) -> bool {
    contents(&key.algorithm).is_ok_and(|named| algorithm.public_key_alg_id().as_ref() == named)
        && algorithm
            .verify_signature(key.subject_public_key.raw_bytes(), message, signature)
            .is_ok()
}

/// The name of an algorithm as rustls has it: without the header of its sequence.
fn contents(algorithm: &impl Encode) -> x509_cert::der::Result<Vec<u8>> {
    Ok(Any::from_der(&algorithm.to_der()?)?.value().to_vec())
}

/// True if a certificate is for a host by libpq's rule: by its alternative names, or by its common name if it has no
/// alternative name of the host's kind. `chain` has the certificates above it: if one of them constrains names, the
/// common name does not count, because constraints do not apply to it.
pub fn is_for_host(
    certificate: &CertificateDer<'_>,
    host: &str,
    chain: &[CertificateDer<'_>],
) -> bool {
    let Ok(parsed) = Certificate::from_der(certificate) else {
        return false;
    };
    let names = match parsed.tbs_certificate.get::<SubjectAltName>() {
        Ok(Some((_, names))) => names.0,
        Ok(None) => Vec::new(),
        Err(_) => return false,
    };
    let address: Option<IpAddr> = host.parse().ok();
    let mut has_its_kind = false;
    for name in &names {
        match name {
            GeneralName::DnsName(pattern) => {
                has_its_kind |= address.is_none();
                if fits(pattern.as_str().as_bytes(), host) {
                    return true;
                }
            }
            GeneralName::IpAddress(bytes) => {
                has_its_kind |= address.is_some();
                let is_same = match address {
                    Some(IpAddr::V4(own)) => bytes.as_bytes() == own.octets(),
                    Some(IpAddr::V6(own)) => bytes.as_bytes() == own.octets(),
                    None => false,
                };
                if is_same {
                    return true;
                }
            }
            _ => {}
        }
    }
    !has_its_kind
        && common_name(&parsed).is_some_and(|name| fits(name, host))
        && !chain.iter().any(constrains_names)
}

fn common_name(certificate: &Certificate) -> Option<&[u8]> {
    let names = certificate.tbs_certificate.subject.0.iter();
    names
        .flat_map(|set| set.0.iter())
        .find(|one| one.oid == COMMON_NAME)
        .map(|one| one.value.value())
}

fn constrains_names(certificate: &CertificateDer<'_>) -> bool {
    match Certificate::from_der(certificate) {
        Ok(parsed) => parsed
            .tbs_certificate
            .extensions
            .iter()
            .flatten()
            .any(|extension| extension.extn_id == NAME_CONSTRAINTS),
        Err(_) => true,
    }
}

/// True if a name is the host's; `*.` at its beginning stands for one label.
fn fits(pattern: &[u8], host: &str) -> bool {
    let host = host.as_bytes();
    // A NUL within a name has misled other programs.
    if pattern.contains(&0) || host.is_empty() {
        return false;
    }
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let Some(rest) = pattern.strip_prefix(b"*") else {
        return false;
    };
    if rest.len() < 3 || rest[0] != b'.' || !rest[1..].contains(&b'.') || rest.len() >= host.len() {
        return false;
    }
    let (label, tail) = host.split_at(host.len() - rest.len());
    tail.eq_ignore_ascii_case(rest) && !label.contains(&b'.')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn names_fit_as_libpq_has_it() {
        for (pattern, host, expected) in [
            ("dw.example.com", "DW.example.com", true),
            ("*.example.com", "dw.example.com", true),
            ("*.example.com", "a.dw.example.com", false),
            ("*.example.com", ".example.com", false),
            ("*.example.com", "example.com", false),
            ("*example.com", "dwexample.com", false),
            ("dw*.example.com", "dw1.example.com", false),
            ("*.com", "example.com", false),
            ("dw.example.com\0.evil.org", "dw.example.com", false),
            ("", "dw", false),
            ("10.0.0.1", "10.0.0.1", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), host), expected, "{pattern} {host}");
        }
    }
}
