//! Code that a package would load into this process although it is not installed here.
//!
//! A package may come from another person. A driver that is given by its name is installed on this machine. A driver
//! that is given by a path or an option is chosen by the package, and may be a file in the package's folder. Its code
//! runs as soon as it is loaded, and even a plan needs the driver. So such a driver is not loaded until the user says
//! that the package is trusted.

use inrush_destination::address::{DestinationKind, LoadedCode};

use super::error::{PackageError, PackageFault, PackageFaultKind};
use super::url_passwords::redacted_url;
use super::{Overrides, Package};

impl Package {
    /// Refuses code that the package chooses, except for code that the command's arguments name. The package is
    /// resolved.
    pub fn require_trusted(&self, overrides: &Overrides) -> Result<(), PackageError> {
        let mut faults = Vec::new();
        for (name, connection) in &self.connections {
            let is_given = overrides.connections.iter().any(|(given, _)| given == name);
            let code = DestinationKind::of(&connection.url)
                .and_then(|kind| kind.loaded_code(&connection.options));
            let (path, what) = match code {
                Some(LoadedCode::Url(_)) if is_given => continue,
                Some(LoadedCode::Url(driver)) => (
                    format!("connections.{name}.url"),
                    format!("the driver `{}`", redacted_url(&driver)),
                ),
                Some(LoadedCode::Option(option)) => (
                    format!("connections.{name}.options.{option}"),
                    format!("the code that its option `{option}` names"),
                ),
                None => continue,
            };
            faults.push(PackageFault {
                place: self.origin.place(&path),
                kind: PackageFaultKind::Untrusted { what },
            });
        }
        PackageError::of(faults)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn is_trusted(connection: &str, given: &[&str]) -> bool {
        let text = format!(
            "name = 'p'\n[connections.c]\n{connection}\n[[flow]]\nfiles = 'f'\ntable = 't'\n"
        );
        let overrides = Overrides {
            parameters: Vec::new(),
            connections: given
                .iter()
                .map(|url| ("c".to_owned(), (*url).to_owned()))
                .collect(),
        };
        Package::parse(&text, Path::new("p.toml"))
            .expect(&text)
            .resolve(&overrides, &|_| Err(std::env::VarError::NotPresent))
            .expect(&text)
            .require_trusted(&overrides)
            .is_ok()
    }

    #[test]
    fn code_that_a_package_brings_needs_trust() {
        assert!(!is_trusted("url = 'adbc:./x.so'", &[]));
        assert!(!is_trusted(
            "url = 'x.duckdb'\noptions = { driver = './x.so' }",
            &[]
        ));
        assert!(is_trusted(
            "url = 'adbc:sqlite'\noptions = { uri = 'x' }",
            &[]
        ));
        assert!(is_trusted("url = 'x.duckdb'", &[]));
        // Code that the command itself names is allowed.
        assert!(is_trusted("url = 'adbc:./x.so'", &["adbc:sqlite"]));
        assert!(is_trusted("url = 'adbc:sqlite'", &["adbc:./x.so"]));
        assert!(!is_trusted(
            "url = 'adbc:sqlite'\noptions = { driver = './x.so' }",
            &["x.duckdb"]
        ));
    }
}
