//! `.pgpass`: the password for a server, found as libpq finds it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// The text of a password file, or the reason why it is not used; `None` if there is no file, as in libpq.
pub fn text(path: &Path) -> Result<Option<String>, String> {
    let Ok(metadata) = path.metadata() else {
        return Ok(None);
    };
    let shown = path.display();
    if !metadata.is_file() {
        return Err(format!("{shown} is not an ordinary file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(format!("{shown} can be read by others (fix it: chmod 600)"));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(format!(
            "{shown} cannot be read: {error} (its owner is user {})",
            metadata.uid()
        )),
    }
}

/// The password in `text` (the file's content) for a connection. The first line that fits wins;
/// `*` fits anything; `\:` and `\\` stand for themselves.
pub fn find(text: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
    let port = port.to_string();
    let wanted = [host, port.as_str(), database, user];
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let fields = split(line);
            let fits = fields.len() == 5
                && wanted
                    .iter()
                    .zip(&fields)
                    .all(|(wanted, field)| field == "*" || field == wanted);
            fits.then(|| fields[4].clone())
        })
}

fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let field_count = fields.len();
        let last = fields.last_mut().expect("one field from the start");
        match character {
            '\\' => last.extend(characters.next()),
            // The password is the rest of the line: a colon in it need not be escaped.
            ':' if field_count < 5 => fields.push(String::new()),
            other => last.push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::find;

    const FILE: &str = "# comment\ndw:5432:tpch:etl:one\n*:*:*:etl:t\\:w\\\\o:x\n";

    #[test]
    fn the_first_line_that_fits_wins() {
        assert_eq!(
            find(FILE, "dw", 5432, "tpch", "etl").as_deref(),
            Some("one")
        );
        assert_eq!(
            find(FILE, "dw", 5433, "tpch", "etl").as_deref(),
            Some("t:w\\o:x")
        );
        assert_eq!(find(FILE, "dw", 5432, "tpch", "other"), None);
    }
}
