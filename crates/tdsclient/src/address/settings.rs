//! The values of the options.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_tds::PacketSize;

use super::{Encryption, Endpoint, SessionOptions, Trust, address, wrong};
use crate::credentials::Credentials;
use crate::error::Result;
use crate::login::NAME_UNITS_MAX;
use crate::token_command::{self, TokenCommand};

/// The largest packets. Servers grant less: up to 16,383 bytes if encrypted.
const PACKET_BYTES: u32 = 32_767;
const LOGIN_TIMEOUT_SECONDS: u64 = 15;
/// After this time of silence a dead peer is usually found by the system.
const SILENCE_SECONDS: u64 = 120;

/// Reads the options that belong to a connection.
pub(super) fn read(
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
    let credentials = credentials(settings, folder)?;
    if credentials.has_token() && matches!(encryption, Encryption::Off | Encryption::Optional) {
        return Err(address(
            "an access token is sent in encrypted connections only",
            "leave encrypt out, or write encrypt=mandatory or encrypt=strict",
        ));
    }
    let anybody = yes_or_no(settings, "trust_server_certificate")?;
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
        credentials,
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
        silence: Duration::from_secs(number("silence_seconds", SILENCE_SECONDS, 1, 86_400)?),
    })
}

/// Who logs in. No message contains a secret.
fn credentials(settings: &BTreeMap<String, String>, folder: &Path) -> Result<Credentials> {
    let get = |name: &str| settings.get(name).map(|text| text.as_str());
    let given = |name: &'static str| get(name).is_some_and(|text| !text.is_empty());
    let is_integrated = yes_or_no(settings, "integrated_security")?;
    let ways = [
        ("integrated_security=yes", is_integrated),
        ("access_token", get("access_token").is_some()),
        (
            "access_token_command",
            get("access_token_command").is_some(),
        ),
        ("a user or password", given("user") || given("password")),
    ];
    let ways: Vec<&str> = ways
        .into_iter()
        .filter_map(|(name, is_so)| is_so.then_some(name))
        .collect();
    if let [one, other, ..] = ways[..] {
        return Err(address(
            &format!("the connection has both {one} and {other}"),
            "leave one of them out: a token or a ticket already names the user",
        ));
    }
    if given("server_spn") && !is_integrated {
        return Err(address(
            "server_spn has no effect without integrated_security=yes",
            "leave server_spn out, or write integrated_security=yes",
        ));
    }
    if is_integrated {
        let service = get("server_spn").filter(|name| !name.is_empty());
        return Ok(Credentials::Kerberos {
            service: service.map(|text| name("server_spn", text)).transpose()?,
        });
    }
    if let Some(command) = get("access_token_command") {
        if command.trim().is_empty() {
            return Err(address(
                "option access_token_command of SQL Server is empty",
                "write the command that prints a token",
            ));
        }
        let command = TokenCommand::new(command.to_owned(), folder.to_owned());
        return Ok(Credentials::TokenCommand(Arc::new(command)));
    }
    if let Some(token) = get("access_token") {
        let token = token_command::checked(token).ok_or_else(|| {
            address(
                "option access_token is empty, too long, or has characters that no token has",
                "take it as it was printed, without quotes: az account get-access-token --resource https://database.windows.net \
                 --query accessToken --output tsv",
            )
        })?;
        return Ok(Credentials::AccessToken(token.to_owned()));
    }
    let user = get("user").filter(|user| !user.is_empty()).ok_or_else(|| {
        address(
            "the connection names no user",
            "write mssql://USER@HOST/DATABASE, or set SQLCMDUSER. For Kerberos: integrated_security=yes. For Microsoft Entra: \
             access_token = \"${env:NAME}\", or access_token_command",
        )
    })?;
    Ok(Credentials::Password {
        user: name("user", user)?,
        password: name("password", get("password").unwrap_or_default())?,
    })
}

/// The value of an option, if a login can contain it. The message does not repeat it: it may be a password.
fn name(name: &str, text: &str) -> Result<String> {
    match text.encode_utf16().count() <= NAME_UNITS_MAX && !text.contains('\0') {
        true => Ok(text.to_owned()),
        false => Err(address(
            &format!("{name} has more than {NAME_UNITS_MAX} characters, or a NUL"),
            "SQL Server does not accept such a name: shorten it, or remove the NUL",
        )),
    }
}

/// An option that is `yes` or `no`; `no` if it is left out.
fn yes_or_no(settings: &BTreeMap<String, String>, name: &str) -> Result<bool> {
    let text = settings.get(name).map(|text| text.to_ascii_lowercase());
    match text.as_deref() {
        None | Some("no" | "false") => Ok(false),
        Some("yes" | "true") => Ok(true),
        Some(other) => Err(wrong(name, other, "yes or no")),
    }
}
