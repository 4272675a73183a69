//! The statements of a merge.

use inrush_rows::sql_text::identifier;

use super::{Merge, MergeUpdate, names};
use crate::target::VersionColumns;

impl<'a> Merge<'a> {
    /// The statements that change rows of the target, in their order. [`add`](Self::add) follows them.
    pub(super) fn updates(&self, moment: &str) -> Vec<String> {
        let versions = self.merge.versions.as_ref();
        let end = versions.map(|versions| self.end(versions, moment));
        end.into_iter().chain(self.overwrite()).collect()
    }

    fn target(&self) -> &str {
        &self.plan.name.sql
    }

    /// The columns of a table's key, each as the merge compares it.
    fn terms(&self, table: &str) -> Vec<String> {
        let columns = self.merge.key.iter();
        columns
            .map(|column| self.dialect.key_term(table, column))
            .collect()
    }

    /// The first column of the key in `t`; NULL if the outer join has found no `t`.
    fn known(&self) -> String {
        format!("t.{}", identifier(&self.merge.key[0]))
    }

    /// The conditions under which the key of a table equals the key of `s`.
    fn same_key(&self, table: &str) -> Vec<String> {
        let columns = self.terms(table).into_iter().zip(self.terms("s"));
        columns
            .map(|(own, term)| format!("{own} = {term}"))
            .collect()
    }

    fn has_key(&self) -> String {
        let columns = self.merge.key.iter();
        let columns: Vec<String> = columns
            .map(|column| format!("s.{} IS NOT NULL", identifier(column)))
            .collect();
        columns.join(" AND ")
    }

    /// True if `t` is the row that `s` is compared with.
    fn is_of_key(&self) -> String {
        let mut all = self.same_key("t");
        if let Some(versions) = &self.merge.versions {
            all.push(format!("t.{} IS NULL", identifier(&versions.valid_to)));
        }
        all.join(" AND ")
    }

    /// True if one of the columns differs between `t` and `s`.
    fn differ(&self, names: &[impl AsRef<str>]) -> String {
        let each: Vec<String> = names
            .iter()
            .map(|name| self.dialect.differs(name.as_ref()))
            .collect();
        format!("({})", each.join(" OR "))
    }

    /// The filled columns that are not of the key.
    fn values(&self) -> impl Iterator<Item = &'a str> {
        let columns = self.plan.columns.iter().map(|column| column.name.as_str());
        columns.filter(|name| !self.merge.key.iter().any(|key| key == name))
    }

    /// The filled columns whose values replace the values in `t`.
    fn overwritten(&self) -> Vec<&'a str> {
        let is_tracked = |name: &str| match &self.merge.versions {
            Some(versions) => versions.tracked.iter().any(|other| other == name),
            None => false,
        };
        self.values().filter(|name| !is_tracked(name)).collect()
    }

    /// Counts five kinds of rows: joined, new, changed and overwritten rows, and changed rows whose version did not
    /// begin before `moment`.
    pub(super) fn count(&self, moment: &str) -> String {
        let known = format!("{} IS NOT NULL", self.known());
        let function = self.dialect.count();
        let count = |condition: String| format!("{function}(CASE WHEN {condition} THEN 1 END)");
        let never = || "0".to_owned();
        let (changed, overwritten, later) = match &self.merge.versions {
            None => (never(), count(known.clone()), never()),
            Some(versions) => {
                let differ = self.differ(&versions.tracked);
                let changed = format!("{known} AND {differ}");
                let overwritten = self.overwritten();
                let overwritten = match overwritten.is_empty() {
                    true => never(),
                    false => count(format!(
                        "{known} AND NOT {differ} AND {}",
                        self.differ(&overwritten)
                    )),
                };
                let from = identifier(&versions.valid_from.name);
                let later = count(format!("{changed} AND t.{from} >= {moment}"));
                (count(changed), overwritten, later)
            }
        };
        let new = count(format!("{} IS NULL", self.known()));
        format!(
            "SELECT {function}(*), {new}, {changed}, {overwritten}, {later} FROM {} AS s LEFT JOIN {} AS t ON {}",
            self.source,
            self.target(),
            self.is_of_key()
        )
    }

    /// Counts the staged rows of a key that several of them have. The query returns no row if there is no such key.
    pub(super) fn count_doubled(&self) -> String {
        let count = self.dialect.count();
        self.dialect.first(&format!(
            "{count}(*) FROM {} AS s WHERE {} GROUP BY {} HAVING {count}(*) > 1",
            self.source,
            self.has_key(),
            self.terms("s").join(", ")
        ))
    }

    /// Counts the rows of the target.
    pub(super) fn count_target_query(&self) -> String {
        format!("SELECT {}(*) FROM {}", self.dialect.count(), self.target())
    }

    /// Queries the key of a changed row whose current version does not begin before `moment`, as text, and the begin of
    /// this version.
    pub(super) fn later(&self, versions: &VersionColumns, moment: &str) -> String {
        let from = identifier(&versions.valid_from.name);
        self.dialect.first(&format!(
            "{}, {} FROM {} AS s JOIN {} AS t ON {} WHERE {} AND t.{from} >= {moment} ORDER BY {}",
            self.key_texts(),
            self.as_text(&format!("t.{from}")),
            self.source,
            self.target(),
            self.is_of_key(),
            self.differ(&versions.tracked),
            self.terms("s").join(", ")
        ))
    }

    /// Queries a key that gets a new version although an ended version of it ends after `moment`: the key as text, and
    /// the end of the ended version. There is usually no such key.
    pub(super) fn overlap(&self, versions: &VersionColumns, moment: &str) -> String {
        let to = identifier(&versions.valid_to);
        self.dialect.first(&format!(
            "{}, {} FROM {source} AS s JOIN {target} AS ended ON {} AND ended.{to} > {moment} \
             LEFT JOIN {target} AS t ON {} WHERE {} IS NULL OR {} ORDER BY {}",
            self.key_texts(),
            self.as_text(&format!("ended.{to}")),
            self.same_key("ended").join(" AND "),
            self.is_of_key(),
            self.known(),
            self.differ(&versions.tracked),
            self.terms("s").join(", "),
            source = self.source,
            target = self.target(),
        ))
    }

    /// The key of `s` as text.
    fn key_texts(&self) -> String {
        let columns = self.merge.key.iter();
        let texts: Vec<String> = columns
            .map(|column| self.as_text(&format!("s.{}", identifier(column))))
            .collect();
        texts.join(", ")
    }

    fn as_text(&self, value: &str) -> String {
        format!("CAST({value} AS {})", self.dialect.text_type())
    }

    /// Counts the staged rows with a key whose row in the target is missing, or has other values.
    pub(super) fn count_unlike(&self) -> String {
        let values = self.values();
        let same: String = values
            .map(|name| format!(" AND {}", self.dialect.is_same(name)))
            .collect();
        format!(
            "SELECT {}(*) FROM {} AS s WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS t WHERE {}{same})",
            self.dialect.count(),
            self.source,
            self.has_key(),
            self.target(),
            self.is_of_key()
        )
    }

    /// Ends the current versions of changed rows.
    fn end(&self, versions: &VersionColumns, moment: &str) -> String {
        let not_current = versions.current.as_deref();
        let not_current = not_current
            .map(|name| format!(", {} = {}", identifier(name), self.dialect.truth(false)));
        self.dialect.update(&MergeUpdate {
            target: self.target(),
            source: self.source,
            set: format!(
                "{} = {moment}{}",
                identifier(&versions.valid_to),
                not_current.unwrap_or_default()
            ),
            is_of_key: self.is_of_key(),
            only: Some(self.differ(&versions.tracked)),
        })
    }

    /// Overwrites the rows of the target that have the same key; `None` if there is no column to overwrite. Equal
    /// versions are not changed.
    fn overwrite(&self) -> Option<String> {
        let names = self.overwritten();
        if names.is_empty() {
            return None;
        }
        let set: Vec<String> = names
            .iter()
            .map(|name| format!("{0} = s.{0}", identifier(name)))
            .collect();
        let versions = self.merge.versions.as_ref();
        Some(self.dialect.update(&MergeUpdate {
            target: self.target(),
            source: self.source,
            set: set.join(", "),
            is_of_key: self.is_of_key(),
            only: versions.map(|_| self.differ(&names)),
        }))
    }

    /// Adds the rows whose key the target does not have now.
    pub(super) fn add(&self, moment: &str) -> String {
        let columns: Vec<&str> = self
            .plan
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let (mut into, mut values) = (names(&columns), String::new());
        for (place, column) in columns.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            values.push_str(&format!("{comma}s.{}", identifier(column)));
        }
        if let Some(versions) = &self.merge.versions {
            let of_versions = [&versions.valid_from.name, &versions.valid_to].into_iter();
            let of_versions = of_versions.chain(&versions.current);
            for name in of_versions {
                into.push_str(&format!(", {}", identifier(name)));
            }
            values.push_str(&format!(", {moment}, NULL"));
            if versions.current.is_some() {
                values.push_str(&format!(", {}", self.dialect.truth(true)));
            }
        }
        format!(
            "INSERT INTO {0} ({into}) SELECT {values} FROM {1} AS s WHERE NOT EXISTS (SELECT 1 FROM {0} AS t WHERE {2})",
            self.target(),
            self.source,
            self.is_of_key()
        )
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::column_type::ColumnType;

    use super::*;
    use crate::merge::MergeDialect;
    use crate::target::{ColumnPlan, MergePlan, ReplacedRows, TargetName, TargetPlan, WriteMode};

    fn column(name: &str, column_type: ColumnType) -> ColumnPlan {
        ColumnPlan {
            name: name.to_owned(),
            sql: "X".to_owned(),
            column_type,
            nullable: true,
        }
    }

    fn plan(versions: Option<VersionColumns>) -> TargetPlan {
        let columns = ["no", "city", "phone"];
        TargetPlan {
            name: TargetName {
                schema: None,
                name: "t".to_owned(),
                sql: "\"t\"".to_owned(),
            },
            columns: columns.map(|name| column(name, ColumnType::Int32)).to_vec(),
            mode: WriteMode::Upsert,
            replaced: ReplacedRows::Removed,
            partition_by: Vec::new(),
            bounds: Vec::new(),
            merge: Some(MergePlan {
                key: vec!["no".to_owned()],
                versions,
            }),
            members: Vec::new(),
            shape: String::new(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
        }
    }

    struct Standard;

    impl MergeDialect for Standard {}

    fn changes(plan: &TargetPlan) -> Vec<String> {
        let merge = Merge::new(&Standard, plan, "staged");
        let moment = merge.moment(&merge.text_of(1_000_000));
        let mut changes = merge.updates(&moment);
        changes.push(merge.add(&moment));
        changes
    }

    #[test]
    fn known_rows_are_updated_and_others_added() {
        assert_eq!(
            changes(&plan(None)),
            [
                "UPDATE \"t\" AS t SET \"city\" = s.\"city\", \"phone\" = s.\"phone\" FROM staged AS s \
                 WHERE t.\"no\" = s.\"no\"",
                "INSERT INTO \"t\" (\"no\", \"city\", \"phone\") SELECT s.\"no\", s.\"city\", s.\"phone\" \
                 FROM staged AS s WHERE NOT EXISTS (SELECT 1 FROM \"t\" AS t WHERE t.\"no\" = s.\"no\")",
            ]
        );
    }

    #[test]
    fn changed_rows_end_their_version() {
        let versions = VersionColumns {
            tracked: vec!["city".to_owned()],
            valid_from: column("a", ColumnType::TimestampTz { fraction_digits: 6 }),
            valid_to: "b".to_owned(),
            current: Some("c".to_owned()),
        };
        let plan = plan(Some(versions));
        let is_current = "t.\"no\" = s.\"no\" AND t.\"b\" IS NULL";
        let moment = "CAST('1970-01-01 00:00:01+00:00' AS X)";
        assert_eq!(
            changes(&plan),
            [
                format!(
                    "UPDATE \"t\" AS t SET \"b\" = {moment}, \"c\" = FALSE FROM staged AS s \
                     WHERE {is_current} AND (t.\"city\" IS DISTINCT FROM s.\"city\")"
                ),
                format!(
                    "UPDATE \"t\" AS t SET \"phone\" = s.\"phone\" FROM staged AS s \
                     WHERE {is_current} AND (t.\"phone\" IS DISTINCT FROM s.\"phone\")"
                ),
                format!(
                    "INSERT INTO \"t\" (\"no\", \"city\", \"phone\", \"a\", \"b\", \"c\") \
                     SELECT s.\"no\", s.\"city\", s.\"phone\", {moment}, NULL, TRUE FROM staged AS s \
                     WHERE NOT EXISTS (SELECT 1 FROM \"t\" AS t WHERE {is_current})"
                ),
            ]
        );
    }
}
