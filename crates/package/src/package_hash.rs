//! The hash that identifies the package of a run in its report.

use inrush_rows::hexadecimal::hexadecimal;
use sha2::{Digest, Sha256};

use super::Package;

impl Package {
    /// SHA-256 of the content of a package, in hexadecimal digits. It does not depend on the layout or the place of the
    /// file, and no password is part of it, so a new password does not make another package.
    pub fn hash(&self) -> String {
        let mut package = self.clone();
        // The hashes in existing ledgers were made when `analyze` was always written.
        package.run.analyze.get_or_insert(true);
        // Tables keep the order of their types, and maps are sorted.
        let text = serde_json::to_string(&package).expect("a package has only keys that are text");
        hexadecimal(&Sha256::digest(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn hash(text: &str) -> String {
        Package::parse(text, Path::new("p.toml"))
            .expect("it is right")
            .hash()
    }

    const TEXT: &str = "name = 'a'\n[connections.c]\nurl = 'postgresql://u:one@h/d'\n\
                        [[flow]]\nfiles = 'f'\ntable = 't'\n";

    #[test]
    fn the_same_package_written_otherwise_has_the_same_hash() {
        let other = "# a comment\nflow = [{ table = \"t\", files = \"f\" }]\nname = \"a\"\n\
                     connections.c.url = 'postgresql://u:one@h/d'\n[run]\nfreeze = true\n";
        assert_eq!(hash(TEXT), hash(other));
    }

    #[test]
    fn a_package_that_says_nothing_of_statistics_has_the_hash_of_one_that_wants_them() {
        let with = |setting: &str| format!("{TEXT}[run]\n{setting}\n");
        assert_eq!(hash(TEXT), hash(&with("analyze = true")));
        assert_ne!(hash(TEXT), hash(&with("analyze = false")));
    }

    #[test]
    fn a_password_is_no_part_of_it() {
        assert_eq!(hash(TEXT), hash(&TEXT.replace(":one@", ":two@")));
    }

    #[test]
    fn everything_else_is() {
        assert_ne!(hash(TEXT), hash(&TEXT.replace("'f'", "'g'")));
        assert_ne!(hash(TEXT), hash(&TEXT.replace("u:one@h", "u:one@g")));
        assert_ne!(hash(TEXT), hash(&format!("{TEXT}mode = 'append'\n")));
    }

    #[test]
    fn it_is_the_same_in_every_process() {
        assert_eq!(
            hash(TEXT),
            "18a09df10a3d13aed33153877f9668d832a78518cc3caaad6e05ddc9737e1db2"
        );
    }
}
