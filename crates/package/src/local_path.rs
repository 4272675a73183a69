//! Distinguishes local paths from remote addresses (`s3://...`), which would otherwise be taken for odd file names.

use inrush_destination::address::{ELSEWHERE, home_fault, scheme};

/// The reason why a text is not a path of this machine, and the fix; `None` if it is one. The text after the scheme is
/// not repeated, because it may be a secret.
pub fn not_local(path: &str) -> Option<(String, String)> {
    if let Some(fault) = home_fault(path) {
        return Some(fault);
    }
    let scheme = scheme(path)?;
    let rest = &path[scheme.len() + 1..];
    let is_url = rest.starts_with("//");
    let is_known = ELSEWHERE.contains(&scheme.to_ascii_lowercase().as_str());
    if !is_url && !is_known {
        return None;
    }
    let cause = format!(
        "`{scheme}:` is not a local path; Inrush reads and writes only files of this machine"
    );
    let mend = match scheme.eq_ignore_ascii_case("file") {
        true => "write only the path, as in /data/orders.csv".to_owned(),
        false => format!(
            "copy the files here, mount them, or pipe one in (its path is then -); a path of this machine that \
             begins with `{scheme}:` is written ./{scheme}:/..."
        ),
    };
    Some((cause, mend))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_places_are_told_from_paths() {
        for (path, is_local) in [
            ("s3://key:secret@bucket/x", false),
            ("https://u:secret@h/x.csv", false),
            ("hdfs:/x", false),
            ("gs://b/x", false),
            ("md:db", false),
            ("FILE:///x", false),
            ("newfangled+v2://x", false),
            ("~/orders.csv", false),
            ("./~/orders.csv", true),
            ("~orders.csv", true),
            ("./s3:/x", true),
            ("/data/s3:/x", true),
            ("data/2024:01.csv", true),
            ("log:2024.csv", true),
            ("12:30.csv", true),
            ("orders*.csv", true),
            ("-", true),
            ("", true),
        ] {
            let found = not_local(path);
            assert_eq!(found.is_none(), is_local, "{path}");
            if let Some((cause, mend)) = found {
                assert!(
                    !format!("{cause}{mend}").contains("secret"),
                    "{cause}{mend}"
                );
            }
        }
    }
}
