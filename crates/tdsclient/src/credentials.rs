//! Credentials say who logs in, and what proves it.

use std::fmt;
use std::sync::Arc;

use crate::token_command::TokenCommand;

/// A way to log in.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A login of SQL Server.
    Password {
        /// Its name.
        user: String,
        /// Its password.
        password: String,
    },
    /// An access token of Microsoft Entra.
    AccessToken(String),
    /// A command that prints such a token. It runs again for later logins, because tokens expire.
    TokenCommand(Arc<TokenCommand>),
    /// The Kerberos ticket of the user who runs this process.
    Kerberos {
        /// The service principal name of the server, if it is not `MSSQLSvc/HOST:PORT`.
        service: Option<String>,
    },
}

impl Credentials {
    /// Who logs in, in words.
    pub fn who(&self) -> String {
        match self {
            Credentials::Password { user, .. } => format!("user {user}"),
            Credentials::AccessToken(_) | Credentials::TokenCommand(_) => {
                "the user of an access token".to_owned()
            }
            Credentials::Kerberos { .. } => "the user of a Kerberos ticket".to_owned(),
        }
    }

    /// True if an access token logs in.
    pub fn has_token(&self) -> bool {
        matches!(
            self,
            Credentials::AccessToken(_) | Credentials::TokenCommand(_)
        )
    }
}

/// Prints neither the password nor the access token.
impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.who())
    }
}
