//! `pg_service.conf`: connections under a name, found as libpq finds them.

use crate::connection_defaults::ServiceFile;

/// A service as a file defines it.
#[derive(Debug)]
pub struct Service<'a> {
    /// The file.
    pub file: &'a ServiceFile,
    /// Its settings by name, in the file's order.
    pub settings: Vec<(String, String)>,
}

/// The service `name`, from the first of `files` that defines it.
pub fn find<'a>(files: &'a [ServiceFile], name: &str) -> Result<Option<Service<'a>>, String> {
    for file in files {
        if let Some(settings) = section(file, name)? {
            return Ok(Some(Service { file, settings }));
        }
    }
    Ok(None)
}

/// The lines `name=value` below `[name]`, up to the next section.
fn section(file: &ServiceFile, name: &str) -> Result<Option<Vec<(String, String)>>, String> {
    let mut found: Option<Vec<(String, String)>> = None;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if rest.strip_suffix(']').is_some_and(|known| known == name) {
                found = Some(Vec::new());
            }
            continue;
        }
        let Some(settings) = &mut found else { continue };
        // The line is not shown: it may hold a password.
        let place = format!("{}:{}", file.path.display(), index + 1);
        if line.starts_with("ldap") {
            return Err(format!(
                "the service `{name}` is looked up by LDAP ({place}), which is not supported"
            ));
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("{place} is not `name=value`"));
        };
        if key == "service" {
            return Err(format!("the service `{name}` names another one ({place})"));
        }
        settings.push((key.to_owned(), value.to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn file(text: &str) -> ServiceFile {
        ServiceFile {
            path: PathBuf::from("pg_service.conf"),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_first_definition_counts() {
        let files = [
            file("# mine\n[other]\nhost=x\n"),
            file("[dw]\nhost=a\n\nport=6000\n[dw]\nhost=b\n"),
        ];
        let found = find(&files, "dw")
            .expect("it is right")
            .expect("it is there");
        assert_eq!(
            found.settings,
            [
                ("host".to_owned(), "a".to_owned()),
                ("port".to_owned(), "6000".to_owned())
            ]
        );
        assert!(find(&files, "lake").expect("it is right").is_none());
    }

    #[test]
    fn mistakes_are_told_without_their_text() {
        for (text, said) in [
            ("[dw]\nsecret\n", "pg_service.conf:2 is not `name=value`"),
            ("[dw]\nservice=x\n", "names another one (pg_service.conf:2)"),
            ("[dw]\nldap://h/x\n", "by LDAP (pg_service.conf:2)"),
        ] {
            let error = find(&[file(text)], "dw").expect_err("refused");
            assert!(error.contains(said), "{error}");
        }
    }
}
