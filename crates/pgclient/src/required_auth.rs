//! `require_auth`: the methods by which a server may authenticate us, with libpq's meaning.

/// A method by which a server authenticates a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// The server asks nothing.
    None,
    /// The password in clear text.
    Password,
    /// The password hashed by MD5.
    Md5,
    /// GSSAPI (Kerberos).
    Gss,
    /// Windows' SSPI.
    Sspi,
    /// SCRAM-SHA-256, which tells a false server nothing about the password.
    Scram,
    /// A token of OAuth.
    Oauth,
    /// A method that no server uses any more.
    Obsolete,
}

/// libpq's words for them.
const WORDS: &[(&str, AuthMethod)] = &[
    ("none", AuthMethod::None),
    ("password", AuthMethod::Password),
    ("md5", AuthMethod::Md5),
    ("gss", AuthMethod::Gss),
    ("sspi", AuthMethod::Sspi),
    ("scram-sha-256", AuthMethod::Scram),
    ("oauth", AuthMethod::Oauth),
];

/// Methods that we can answer.
const ABLE: &[AuthMethod] = &[
    AuthMethod::None,
    AuthMethod::Password,
    AuthMethod::Md5,
    AuthMethod::Scram,
];

impl AuthMethod {
    /// The method of an authentication request, by its code; `None` if the request continues a method.
    pub fn of_request(code: u32) -> Option<AuthMethod> {
        match code {
            3 => Some(AuthMethod::Password),
            5 => Some(AuthMethod::Md5),
            7 => Some(AuthMethod::Gss),
            9 => Some(AuthMethod::Sspi),
            10 => Some(AuthMethod::Scram),
            0 | 8 | 11 | 12 => None,
            _ => Some(AuthMethod::Obsolete),
        }
    }

    /// The action of a server that uses it, in words.
    pub fn describe(self) -> &'static str {
        match self {
            AuthMethod::None => "lets the user in without asking for a password",
            AuthMethod::Password => "asks for the password in clear text",
            AuthMethod::Md5 => "asks for the password hashed by MD5",
            AuthMethod::Gss => "asks for authentication by GSSAPI",
            AuthMethod::Sspi => "asks for authentication by SSPI",
            AuthMethod::Scram => "asks for authentication by SASL (SCRAM-SHA-256)",
            AuthMethod::Oauth => "asks for a token of OAuth",
            AuthMethod::Obsolete => "asks for an obsolete authentication method",
        }
    }
}

/// The methods that `require_auth` allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredAuth {
    text: String,
    allowed: Vec<AuthMethod>,
}

impl RequiredAuth {
    /// Reads `scram-sha-256,md5`, or `!password,!none`. `called` is the setting's name in messages.
    pub fn parse(text: &str, called: &str) -> Result<RequiredAuth, String> {
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_negative = words[0].starts_with('!');
        let mut named = Vec::new();
        for word in words {
            if word.starts_with('!') != is_negative {
                return Err(format!(
                    "{called} `{text}` mixes methods that are allowed with methods that are forbidden (`!`)"
                ));
            }
            let name = word.trim_start_matches('!');
            let known = WORDS.iter().find(|(known, _)| *known == name);
            let Some((_, method)) = known else {
                let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
                return Err(format!(
                    "{called} has `{name}`, which is not one of {}",
                    names.join(", ")
                ));
            };
            if named.contains(method) {
                return Err(format!("{called} has `{name}` twice"));
            }
            named.push(*method);
        }
        let allowed: Vec<AuthMethod> = WORDS
            .iter()
            .map(|(_, method)| *method)
            .filter(|method| named.contains(method) != is_negative)
            .collect();
        if !allowed.iter().any(|method| ABLE.contains(method)) {
            return Err(format!(
                "{called} `{text}` allows no method that Inrush has: it logs in by scram-sha-256, md5, password, \
                 or where the server asks nothing (none)"
            ));
        }
        Ok(RequiredAuth {
            text: text.to_owned(),
            allowed,
        })
    }

    /// Says why a server that uses this method gets no answer, if it gets none.
    pub fn check(&self, method: AuthMethod) -> Result<(), String> {
        if self.allowed.contains(&method) {
            return Ok(());
        }
        Err(format!(
            "{}, and require_auth={} does not allow that: no password was sent",
            method.describe(),
            self.text
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str) -> Vec<AuthMethod> {
        RequiredAuth::parse(text, "require_auth")
            .expect("good")
            .allowed
    }

    #[test]
    fn lists_allow_or_forbid() {
        assert_eq!(allowed("scram-sha-256"), [AuthMethod::Scram]);
        assert_eq!(
            allowed("md5, scram-sha-256"),
            [AuthMethod::Md5, AuthMethod::Scram]
        );
        assert!(!allowed("!password").contains(&AuthMethod::Password));
        assert!(allowed("!password").contains(&AuthMethod::None));
        assert!(!allowed("!none,!password").contains(&AuthMethod::None));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, said) in [
            ("scram", "not one of none, password"),
            ("md5,!none", "mixes"),
            ("md5,md5", "twice"),
            ("gss,sspi", "no method that Inrush has"),
            ("", "has ``, which is not one of"),
        ] {
            let error = RequiredAuth::parse(text, "require_auth").expect_err("refused");
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn only_allowed_methods_are_answered() {
        let scram = RequiredAuth::parse("scram-sha-256", "require_auth").expect("good");
        assert!(scram.check(AuthMethod::Scram).is_ok());
        for method in [AuthMethod::Password, AuthMethod::Md5, AuthMethod::None] {
            assert!(scram.check(method).is_err());
        }
        assert!(scram.check(AuthMethod::Obsolete).is_err());
    }
}
