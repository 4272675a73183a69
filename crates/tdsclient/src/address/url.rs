//! The parts of a URL, with the options beside it.

use std::collections::BTreeMap;

use super::{SCHEME, address};
use crate::error::Result;

/// The parts of a URL, with the options beside it.
pub(super) struct Written<'a> {
    pub(super) settings: BTreeMap<String, String>,
    pub(super) hosts: &'a str,
}

impl<'a> Written<'a> {
    pub(super) fn of(url: &'a str, options: &BTreeMap<String, String>) -> Result<Written<'a>> {
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
            let name = decoded("an option", name)?;
            // A package may come from somebody else. Its options are searched for commands before anything is run, but
            // its URLs are not.
            if name == "access_token_command" {
                return Err(address(
                    "access_token_command cannot be part of a URL",
                    "write it as an option: --option access_token_command=COMMAND, or options = { access_token_command = \"COMMAND\" }",
                ));
            }
            let value = decoded(&name, value)?;
            settings.insert(name, value);
        }
        settings.extend(
            options
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        Ok(Written { settings, hosts })
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
