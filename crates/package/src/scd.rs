//! The setting `scd` of a flow: the target keeps the versions of each row (a slowly changing dimension of type 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::flow::column_of;
use super::{Flow, Mode, OneOrMany};

/// How `mode = "upsert"` keeps versions of rows: a row whose tracked columns changed ends the current version of its key
/// and adds a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scd {
    /// The columns whose change makes a new version. All other columns are overwritten in the current version. Default: all
    /// columns that are not in the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<OneOrMany>,
    /// The column with the start of a version, a timestamp. Default: `valid_from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// The column with the end of a version; NULL in the current version. Default: `valid_to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// A boolean column that is true in the current version alone. Default: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

/// The columns of [`Scd`], unquoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScdColumns {
    /// The columns whose change makes a new version; `None`: all columns that are not in the key.
    pub track: Option<Vec<String>>,
    /// The start of a version.
    pub valid_from: String,
    /// The end of a version.
    pub valid_to: String,
    /// The boolean column that is true in the current version only.
    pub current: Option<String>,
}

impl ScdColumns {
    /// The columns that no row of the source fills.
    pub fn of_versions(&self) -> impl Iterator<Item = &str> {
        let both = [&self.valid_from, &self.valid_to].into_iter();
        both.chain(&self.current).map(String::as_str)
    }
}

impl Scd {
    pub(super) fn parsed(&self) -> Result<ScdColumns, PackageFaultKind> {
        let named = |setting: &str, own: &Option<String>, usual: &str| match own {
            Some(text) => column_of(&format!("scd.{setting}"), text),
            None => Ok(usual.to_owned()),
        };
        let track = self.track.as_ref().map(|track| {
            let columns = track.patterns().iter();
            columns.map(|text| column_of("scd.track", text)).collect()
        });
        let current = self.current.as_ref();
        Ok(ScdColumns {
            track: track.transpose()?,
            valid_from: named("valid_from", &self.valid_from, "valid_from")?,
            valid_to: named("valid_to", &self.valid_to, "valid_to")?,
            current: current
                .map(|text| column_of("scd.current", text))
                .transpose()?,
        })
    }
}

/// Checks the setting `scd` of a flow.
pub(super) fn check_scd(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let Some(scd) = &flow.scd else {
        return;
    };
    let mut conflict = |conflict: String, mend: &str| {
        let mend = mend.to_owned();
        faults.add(&at("scd"), PackageFaultKind::Conflict { conflict, mend });
    };
    if flow.mode != Mode::Upsert {
        return conflict(
            "`scd` keeps versions of rows by their key, but this flow has no key".to_owned(),
            "add `mode = \"upsert\"` and `key`, or remove `scd`",
        );
    }
    let columns = match scd.parsed() {
        Ok(columns) => columns,
        Err(kind) => return faults.add(&at("scd"), kind),
    };
    let keys = flow.key_columns().unwrap_or_default();
    let mut seen: Vec<&str> = Vec::new();
    for name in columns.of_versions() {
        let is_tracked = columns.track.iter().flatten().any(|other| other == name);
        if is_tracked || seen.contains(&name) || keys.iter().any(|key| key == name) {
            return conflict(
                format!("`{name}` is named twice in `scd` and `key`"),
                "the switch fills the columns of versions: give each a column of its own",
            );
        }
        seen.push(name);
    }
    if let Some(name) = columns
        .track
        .iter()
        .flatten()
        .find(|name| keys.contains(name))
    {
        conflict(
            format!("`track` has `{name}`, a column of the key, which is equal in all versions"),
            "remove it from `track`",
        );
    }
}
