//! The setting `open_lineage`, which says where the events of OpenLineage go:
//! `open_lineage = { to = "https://marquez:5000/api/v1/lineage" }`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::faults::Faults;

/// The namespace of jobs, if a package names none.
pub const JOB_NAMESPACE: &str = "inrush";

/// Where the events of OpenLineage go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLineage {
    /// A URL, to which each event is sent by POST; or a file, to which each is appended as a line of JSON.
    pub to: String,
    /// The namespace of the job, whose name is that of the package. Default: `inrush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl OpenLineage {
    /// The URL, if it is one.
    pub fn url(&self) -> Option<&str> {
        let is_url = self.to.starts_with("https://") || self.to.starts_with("http://");
        is_url.then_some(self.to.as_str())
    }

    /// The file, if it is one. A relative path begins at `folder`.
    pub fn file(&self, folder: &Path) -> Option<PathBuf> {
        self.url().is_none().then(|| folder.join(&self.to))
    }

    /// True if a key may be sent: over TLS, or to this machine.
    pub fn keeps_secrets(&self) -> bool {
        let Some(rest) = self.to.strip_prefix("http://") else {
            return true;
        };
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
            _ => host,
        };
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Writes a relative path as an absolute one.
    pub fn make_absolute(&mut self, folder: &Path) {
        if let Some(path) = self.file(folder) {
            let path = std::path::absolute(&path).unwrap_or(path);
            self.to = path.display().to_string();
        }
    }
}

/// Checks where events go.
pub(super) fn check_open_lineage(open_lineage: &OpenLineage, faults: &mut Faults<'_>) {
    let OpenLineage { to, namespace } = open_lineage;
    let at = "run.open_lineage.to";
    let authority = |rest: &str| {
        rest.split(['/', '?', '#'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    match to.split_once("://") {
        _ if to.trim().is_empty() => faults.value(
            at,
            to,
            "it is empty",
            "write the URL of a server that takes events, or the path of a file",
        ),
        Some(("http" | "https", rest)) if authority(rest).is_empty() => {
            faults.value(
                at,
                to,
                "the URL has no host",
                "write https://HOST/api/v1/lineage",
            );
        }
        Some(("http" | "https", rest)) if authority(rest).contains('@') => faults.value(
            at,
            "a URL with a name or password",
            "a key must not be in a package",
            "write the URL without it, and put the key into the variable OPENLINEAGE_API_KEY",
        ),
        Some(("http" | "https", _)) | None => {}
        Some((scheme, _)) => faults.value(
            at,
            to,
            &format!("events cannot be sent by {scheme}"),
            "write a URL that begins with https:// or http://, or the path of a file",
        ),
    }
    if namespace
        .as_ref()
        .is_some_and(|name| name.trim().is_empty())
    {
        faults.value(
            "run.open_lineage.namespace",
            "",
            "it is empty",
            "name the namespace, or leave it out",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> OpenLineage {
        OpenLineage {
            to: text.to_owned(),
            namespace: None,
        }
    }

    #[test]
    fn keys_are_not_sent_in_clear_text() {
        for (text, keeps) in [
            ("https://marquez/api/v1/lineage", true),
            ("http://localhost:5000/api", true),
            ("http://127.0.0.1/api", true),
            ("http://[::1]:5000/api", true),
            ("http://marquez:5000/api", false),
            ("http://localhost.evil/api", false),
            ("events.jsonl", true),
        ] {
            assert_eq!(to(text).keeps_secrets(), keeps, "{text}");
        }
    }

    #[test]
    fn files_begin_at_the_folder_of_the_package() {
        let folder = Path::new("/jobs");
        assert_eq!(to("a/b.jsonl").file(folder), Some("/jobs/a/b.jsonl".into()));
        assert_eq!(to("https://h/x").file(folder), None);
        let mut moved = to("b.jsonl");
        moved.make_absolute(folder);
        assert_eq!(moved.to, "/jobs/b.jsonl");
    }
}
