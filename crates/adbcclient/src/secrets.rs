//! Removes passwords from messages, because drivers repeat options that they cannot use.

use std::collections::BTreeMap;

use inrush_destination::Error;

/// The secrets among the options of a connection.
#[derive(Debug, Default)]
pub struct Secrets(Vec<String>);

/// Shorter pieces of a secret are not hidden, because they reveal nothing.
const PIECE_BYTES_MIN: usize = 3;

impl Secrets {
    /// The secrets in options: values of options whose names say that they are secret, and the passwords in URLs and in
    /// `key=value` lists.
    pub fn of(options: &BTreeMap<String, String>) -> Secrets {
        let mut found = Vec::new();
        for (name, value) in options {
            let name = name.to_lowercase();
            if [
                "pass",
                "pwd",
                "secret",
                "token",
                "key",
                "credential",
                "auth",
                "header",
            ]
            .iter()
            .any(|word| name.contains(word))
            {
                found.push(value.clone());
            }
            found.extend(of_url(value));
            found.extend(of_list(value));
        }
        let pieces = found.iter().flat_map(|secret| {
            let pieces = secret.split(|c: char| !c.is_ascii_alphanumeric());
            pieces.map(str::to_owned).collect::<Vec<_>>()
        });
        let mut all: Vec<String> = pieces.collect();
        all.extend(found);
        all.retain(|piece| piece.len() >= PIECE_BYTES_MIN);
        // The longest first, so that a secret that contains another one is replaced as a whole.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(all)
    }

    /// The text with its secrets removed.
    pub fn without(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.as_str(), "***");
        }
        text
    }

    /// The error with its secrets removed.
    pub fn blank_error(&self, error: Error) -> Error {
        match error {
            Error::Address { what, hint } => Error::Address {
                what: self.without(&what),
                hint,
            },
            Error::Refused {
                doing,
                message,
                hint,
            } => Error::Refused {
                doing,
                message: self.without(&message),
                hint,
            },
            other => other,
        }
    }
}

/// The text between the user's name and the last `@`.
fn of_url(value: &str) -> Option<String> {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let (user, _) = rest.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty()).then(|| password.to_owned())
}

/// The passwords of `Uid=u;Pwd=p`, `user=u password=p` and `?password=p`.
fn of_list(value: &str) -> Vec<String> {
    let parts = value.split(['?', '&', ';', ' ']);
    let pairs = parts.filter_map(|part| part.split_once('='));
    let is_secret = |key: &str| {
        let key = key.trim().to_lowercase();
        key.contains("pwd")
            || key.contains("pass")
            || key.contains("token")
            || key.contains("secret")
    };
    pairs
        .filter(|(key, _)| is_secret(key))
        .map(|(_, value)| value.trim().trim_matches(['\'', '"']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blanked(name: &str, value: &str, said: &str) -> String {
        let options = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Secrets::of(&options).without(said)
    }

    #[test]
    fn passwords_are_blanked_however_a_driver_cuts_them() {
        for (value, said) in [
            (
                "postgresql://bob:hunter2pw@h/d",
                "failed to open \"postgresql://bob:hunter2pw@h/d\"",
            ),
            (
                "postgresql://bob:hun@ter2pw@127.0.0.1:1/db",
                "no host \"ter2pw@127.0.0.1\"",
            ),
            (
                "postgresql://bob:hun%zzter2pw@h/d",
                "invalid percent-encoded token: \"hun%zzter2pw\"",
            ),
            ("Server=h;Uid=u;Pwd=hunter2pw;", "cannot read Pwd=hunter2pw"),
            ("host=h password='hunter2pw'", "hunter2pw is wrong"),
            ("bob:hunter2pw@account", "hunter2pw"),
        ] {
            let text = blanked("uri", value, said);
            assert!(!text.contains("ter2pw"), "{text}");
            assert!(text.contains("***"), "{text}");
        }
        assert_eq!(blanked("token", "abcdef", "no abcdef"), "no ***");
        assert_eq!(
            blanked("uri", "file:x.sqlite", "no file:x.sqlite"),
            "no file:x.sqlite"
        );
    }
}
