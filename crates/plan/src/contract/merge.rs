//! The plan of a merge: the rows of a flow are merged into its target by their key (`mode = "upsert"`).

use inrush_destination::{
    ColumnPlan, MergePlan, TargetColumn, TargetFacts, TargetName, VersionColumns,
};
use inrush_package::{Flow, Mode, ScdColumns};
use inrush_rows::column_type::ColumnType;

use crate::PlanError;

/// The merge that a flow asks for.
pub struct AskedMerge<'a> {
    flow: &'a str,
    target: &'a TargetName,
    key: Vec<String>,
    versions: Option<ScdColumns>,
    /// Names that differ only in case are one name.
    folds_names: bool,
}

impl<'a> AskedMerge<'a> {
    /// Reads the settings of a flow; `None` if it has another mode.
    pub fn of(
        flow: &Flow,
        name: &'a str,
        target: &'a TargetName,
        folds_names: bool,
    ) -> Result<Option<AskedMerge<'a>>, PlanError> {
        if flow.mode != Mode::Upsert {
            return Ok(None);
        }
        Ok(Some(AskedMerge {
            flow: name,
            target,
            key: flow.key_columns()?,
            versions: flow.scd_columns()?,
            folds_names,
        }))
    }

    /// Refuses a target that does not exist, or whose columns cannot keep versions. Marks the columns of versions as filled by
    /// the destination, so that no file fills them.
    pub fn claim(&self, facts: Option<&mut TargetFacts>) -> Result<(), PlanError> {
        let Some(facts) = facts else {
            return Err(self.refusal(
                "does not exist, but mode = \"upsert\" merges rows into an existing table",
                "check the name, or make the table with a unique index on its key",
            ));
        };
        let Some(versions) = &self.versions else {
            return Ok(());
        };
        self.check_times(facts, versions)?;
        if let Some(name) = &versions.current {
            let current = self.column_of(facts, name, versions)?;
            if current.column_type != Some(ColumnType::Bool) {
                return Err(self.refusal(
                    &format!(
                        "has the type {} in `{name}`, but `scd.current` needs a boolean",
                        current.sql
                    ),
                    "give the column the type boolean",
                ));
            }
        }
        for column in &mut facts.columns {
            let mut filled = versions.of_versions();
            column.generated |= filled.any(|name| self.is_same(name, &column.name));
        }
        Ok(())
    }

    fn check_times(&self, facts: &TargetFacts, versions: &ScdColumns) -> Result<(), PlanError> {
        let from = self.column_of(facts, &versions.valid_from, versions)?;
        let to = self.column_of(facts, &versions.valid_to, versions)?;
        if !matches!(
            from.column_type,
            Some(ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. })
        ) {
            return Err(self.refusal(
                &format!(
                    "has the type {} in `{}`, but versions begin at a time",
                    from.sql, from.name
                ),
                "give the column the type timestamptz",
            ));
        }
        if to.column_type != from.column_type {
            return Err(self.refusal(
                &format!(
                    "has the type {} in `{}`, but {} in `{}`",
                    to.sql, to.name, from.sql, from.name
                ),
                &format!("give both columns the type {}", from.sql),
            ));
        }
        if to.not_null {
            return Err(self.refusal(
                &format!(
                    "has NOT NULL on `{}`, where NULL marks the current version",
                    to.name
                ),
                "make the column without NOT NULL",
            ));
        }
        Ok(())
    }

    /// The merge, once the columns are resolved.
    pub fn plan(
        &self,
        columns: &[ColumnPlan],
        facts: Option<&TargetFacts>,
    ) -> Result<MergePlan, PlanError> {
        let loaded = |name: &String| columns.iter().find(|own| self.is_same(&own.name, name));
        let missing = self.key.iter().find(|name| loaded(name).is_none());
        if let Some(name) = missing {
            return Err(self.mismatch(
                format!("the key column `{name}` of the upsert is not loaded"),
                "in `key`, name only columns that are loaded",
            ));
        }
        let key: Vec<&ColumnPlan> = self.key.iter().filter_map(loaded).collect();
        let versions = match (&self.versions, facts) {
            (Some(versions), Some(facts)) => {
                if let Some(column) = key.iter().find(|column| column.nullable) {
                    return Err(self.refusal(
                        &format!(
                            "allows NULL in `{}`, a column of the key by which its versions are found",
                            column.name
                        ),
                        "make the column NOT NULL",
                    ));
                }
                Some(self.version_columns(columns, &key, facts, versions)?)
            }
            _ => None,
        };
        Ok(MergePlan {
            key: key.iter().map(|column| column.name.clone()).collect(),
            versions,
        })
    }

    fn version_columns(
        &self,
        columns: &[ColumnPlan],
        key: &[&ColumnPlan],
        facts: &TargetFacts,
        versions: &ScdColumns,
    ) -> Result<VersionColumns, PlanError> {
        let is_loaded = |name: &&String| {
            let mut names = columns.iter().map(|column| &column.name);
            names.any(|own| self.is_same(own, name))
        };
        let mut track = versions.track.iter().flatten();
        if let Some(name) = track.find(|name| !is_loaded(name)) {
            return Err(self.mismatch(
                format!("the column `{name}` of `scd.track` is not loaded"),
                "in `scd.track`, name only columns that are loaded",
            ));
        }
        let is_of_key = |name: &str| key.iter().any(|column| column.name == name);
        let is_tracked = |name: &str| match &versions.track {
            Some(track) => track.iter().any(|other| self.is_same(other, name)),
            None => true,
        };
        let names = columns.iter().map(|column| column.name.as_str());
        let tracked: Vec<String> = names
            .filter(|name| !is_of_key(name) && is_tracked(name))
            .map(str::to_owned)
            .collect();
        if tracked.is_empty() {
            return Err(self.mismatch(
                "no column is tracked, so no row can get a second version".to_owned(),
                "name columns in `scd.track`, or remove `scd`: `mode = \"upsert\"` overwrites rows",
            ));
        }
        let from = self.column_of(facts, &versions.valid_from, versions)?;
        let column_type = from.column_type.clone();
        let valid_from = ColumnPlan {
            name: from.name.clone(),
            sql: from.sql.clone(),
            column_type: column_type.expect("a column of versions has a type with times"),
            nullable: !from.not_null,
        };
        let name_of = |name: &String| {
            let column = self.column_of(facts, name, versions);
            column.map(|column| column.name.clone())
        };
        Ok(VersionColumns {
            tracked,
            valid_from,
            valid_to: name_of(&versions.valid_to)?,
            current: versions.current.as_ref().map(name_of).transpose()?,
        })
    }

    /// A column of versions in the target.
    fn column_of<'f>(
        &self,
        facts: &'f TargetFacts,
        name: &str,
        versions: &ScdColumns,
    ) -> Result<&'f TargetColumn, PlanError> {
        let mut columns = facts.columns.iter();
        let found = columns.find(|column| self.is_same(&column.name, name));
        found.ok_or_else(|| {
            self.refusal(
                &format!("has no column `{name}`, which `scd` fills"),
                &format!(
                    "add the column, or name others in the package: scd = {{ valid_from = {:?}, valid_to = {:?} }}",
                    versions.valid_from, versions.valid_to
                ),
            )
        })
    }

    fn is_same(&self, one: &str, other: &str) -> bool {
        one == other || self.folds_names && one.eq_ignore_ascii_case(other)
    }

    fn refusal(&self, what: &str, hint: &str) -> PlanError {
        PlanError::Target {
            target: self.target.sql.clone(),
            what: what.to_owned(),
            hint: hint.to_owned(),
        }
    }

    fn mismatch(&self, what: String, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow.to_owned(),
            what,
            hint: hint.to_owned(),
        }
    }
}
