//! The indexes of the source's table that a new target gets: which of them it can have, and their statements.
//!
//! Like the primary key, they are built on the staging table once it has its rows. The switch gives them their final
//! names.

use std::collections::BTreeSet;

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_pgclient::foreign_sql::is_part_of_statement;
use inrush_source::{NeededObject, TableIndex, TableStructure};

use crate::index_names::{self, IndexKind};
use crate::quote::{cut, identifier, qualified};
use crate::{PostgresError, Session, old_tables};

/// The version since which two NULLs of a unique index can be equal.
const NULLS_NOT_DISTINCT_VERSION: i32 = 150_000;

/// An index or a constraint of a new target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIndex {
    /// Counted from 1 over all indexes of the target; part of its name until the switch.
    pub number: usize,
    /// Its final name, which is free in the target's schema.
    pub name: String,
    /// True if it is UNIQUE.
    pub is_unique: bool,
    /// The text after `CREATE INDEX name ON table `.
    pub definition: String,
    /// The definition of the constraint, if the index belongs to one.
    pub constraint: Option<String>,
}

impl NewIndex {
    /// True if it is the primary key.
    pub fn is_primary_key(&self) -> bool {
        let constraint = self.constraint.as_deref();
        constraint.is_some_and(|text| text.starts_with("PRIMARY KEY"))
    }

    /// Its name while its table is a staging table.
    pub fn staging_name(&self, staging_table: &str) -> String {
        format!("{staging_table}_i{}", self.number)
    }

    /// The statement that builds it on a table under a name.
    pub fn build(&self, schema: &str, table: &str, name: &str) -> String {
        let table = qualified(schema, table);
        match &self.constraint {
            Some(constraint) => format!(
                "ALTER TABLE {table} ADD CONSTRAINT {} {constraint}",
                identifier(name)
            ),
            None => format!(
                "CREATE {}INDEX {} ON {table} {}",
                if self.is_unique { "UNIQUE " } else { "" },
                identifier(name),
                self.definition
            ),
        }
    }

    /// The statement that gives it its name once its table is in the schema of the target. A constraint is renamed with its
    /// index.
    pub fn rename(&self, schema: &str, staging_table: &str) -> String {
        let staging_name = self.staging_name(staging_table);
        old_tables::rename("INDEX", schema, &staging_name, &self.name)
    }
}

/// Plans the indexes, one after the other.
pub struct IndexPlanner<'a> {
    /// The version of the target's server.
    pub version_number: i32,
    /// The column by whose ranges the flow partitions the target. Unique indexes must contain it.
    pub partition_column: Option<&'a str>,
    /// Names that are taken: those of the relations in the target's schema, and those that this planner has given.
    pub taken: BTreeSet<String>,
    /// Objects that the target's database lacks.
    pub missing: BTreeSet<NeededObject>,
    /// What the target does not get, in words.
    pub left_out: Vec<String>,
    number: usize,
}

impl<'a> IndexPlanner<'a> {
    /// A planner for the indexes of a structure. It finds out which needed objects the target's database lacks.
    pub async fn new(
        session: &Session,
        version_number: i32,
        partition_column: Option<&'a str>,
        taken: &BTreeSet<String>,
        structure: &TableStructure,
    ) -> Result<IndexPlanner<'a>, PostgresError> {
        Ok(IndexPlanner {
            version_number,
            partition_column,
            taken: taken.clone(),
            missing: missing(session, &all_needs(structure)).await?,
            left_out: structure.left_out.clone(),
            number: 0,
        })
    }

    /// The indexes that the target can have. The others are added to `left_out`.
    pub fn take_over(&mut self, indexes: &[TableIndex]) -> Vec<NewIndex> {
        let mut found = Vec::new();
        for index in indexes {
            match self.obstacle(index) {
                Some(reason) => self
                    .left_out
                    .push(format!("index {}: {reason}", index.name)),
                None => found.push(self.add(index)),
            }
        }
        found
    }

    /// The primary key as one of the indexes, if the target can have it.
    pub fn take_over_primary_key(&mut self, table: &str, columns: &[String]) -> Option<NewIndex> {
        let names: Vec<String> = columns.iter().map(|name| identifier(name)).collect();
        let key = TableIndex {
            name: index_names::free_name(table, &[], IndexKind::PrimaryKey, |_| false),
            is_unique: true,
            constraint: Some(format!("PRIMARY KEY ({})", names.join(", "))),
            key_columns: columns.to_vec(),
            ..TableIndex::default()
        };
        self.take_over(&[key]).pop()
    }

    /// A name that is free in the schema: this one, or a similar one.
    pub fn free_name(&mut self, name: &str) -> String {
        let begin = cut(name, POSTGRES_NAME_BYTES_MAX - 4);
        let other = |number: usize| match number {
            0 => name.to_owned(),
            number => format!("{begin}{number}"),
        };
        let is_free = |name: &String| !self.taken.contains(name);
        let free = (0..1_000).map(other).find(is_free);
        let free = free.unwrap_or_else(|| other(1_000));
        self.taken.insert(free.clone());
        free
    }

    fn add(&mut self, index: &TableIndex) -> NewIndex {
        self.number += 1;
        NewIndex {
            number: self.number,
            name: self.free_name(&index.name),
            is_unique: index.is_unique,
            definition: index.definition.clone(),
            constraint: index.constraint.clone(),
        }
    }

    /// Why the target cannot have an index.
    fn obstacle(&self, index: &TableIndex) -> Option<String> {
        if let Some(object) = index.needs.iter().find(|it| self.missing.contains(it)) {
            return Some(lacking(object));
        }
        if index.nulls_are_equal && self.version_number < NULLS_NOT_DISTINCT_VERSION {
            return Some(
                "NULLS NOT DISTINCT needs PostgreSQL 15 or later as the target".to_owned(),
            );
        }
        if let Some(column) = self.partition_column
            && index.is_unique
            && !index.key_columns.iter().any(|name| name == column)
        {
            return Some(format!(
                "it is unique, but lacks the column {column} by which the target is partitioned"
            ));
        }
        let texts = [Some(&index.definition), index.constraint.as_ref()];
        let is_odd = |text: &&String| !is_part_of_statement(text);
        if texts.into_iter().flatten().any(|text| is_odd(&text)) {
            return Some("its definition is not a part of one statement".to_owned());
        }
        None
    }
}

/// A lacking object, in words.
pub fn lacking(object: &NeededObject) -> String {
    let of = object.extension.as_ref();
    let of = of.map_or_else(String::new, |name| format!(" (extension {name})"));
    format!(
        "the target lacks the {} {}{of}",
        object.kind, object.identity
    )
}

/// All objects that a structure needs.
fn all_needs(structure: &TableStructure) -> Vec<NeededObject> {
    let mut all: BTreeSet<NeededObject> = BTreeSet::new();
    all.extend(
        structure
            .indexes
            .iter()
            .flat_map(|index| &index.needs)
            .cloned(),
    );
    if let Some(partitioning) = &structure.partitioning {
        all.extend(partitioning.needs.iter().cloned());
        let mut open: Vec<_> = partitioning.partitions.iter().collect();
        while let Some(partition) = open.pop() {
            open.extend(&partition.partitions);
            all.extend(
                partition
                    .indexes
                    .iter()
                    .flat_map(|index| &index.needs)
                    .cloned(),
            );
        }
    }
    all.into_iter().collect()
}

/// The objects that the target's database lacks.
async fn missing(
    session: &Session,
    needs: &[NeededObject],
) -> Result<BTreeSet<NeededObject>, PostgresError> {
    if needs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sql = "SELECT number FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (kind, identity, number) \
         WHERE NOT CASE kind \
           WHEN 'function' THEN to_regprocedure(identity) IS NOT NULL \
           WHEN 'operator' THEN to_regoperator(identity) IS NOT NULL \
           WHEN 'type' THEN to_regtype(identity) IS NOT NULL \
           WHEN 'collation' THEN to_regcollation(identity) IS NOT NULL \
           WHEN 'operator class' THEN EXISTS ( \
             SELECT FROM pg_opclass AS o, pg_identify_object('pg_opclass'::regclass, o.oid, 0) AS named \
             WHERE named.identity = n.identity) \
           WHEN 'access method' THEN EXISTS (SELECT FROM pg_am WHERE quote_ident(amname) = identity) \
           ELSE false END";
    let kinds: Vec<&str> = needs.iter().map(|object| object.kind.as_str()).collect();
    let identities: Vec<&str> = needs.iter().map(|it| it.identity.as_str()).collect();
    let doing = "looking for what the indexes of the source need";
    let rows = session.query(sql, &[&kinds, &identities], doing).await?;
    let object = |row: &tokio_postgres::Row| {
        let number = usize::try_from(row.get::<_, i64>(0)).ok()?;
        needs.get(number.checked_sub(1)?).cloned()
    };
    Ok(rows.iter().filter_map(object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planner<'a>(version_number: i32, partition_column: Option<&'a str>) -> IndexPlanner<'a> {
        IndexPlanner {
            version_number,
            partition_column,
            taken: BTreeSet::from(["a_idx".to_owned()]),
            missing: BTreeSet::from([object()]),
            left_out: Vec::new(),
            number: 0,
        }
    }

    fn object() -> NeededObject {
        NeededObject {
            kind: "operator class".to_owned(),
            identity: "public.gin_trgm_ops USING gin".to_owned(),
            extension: Some("pg_trgm".to_owned()),
        }
    }

    fn index(name: &str) -> TableIndex {
        TableIndex {
            name: name.to_owned(),
            definition: "USING btree (a)".to_owned(),
            key_columns: vec!["a".to_owned()],
            ..TableIndex::default()
        }
    }

    #[test]
    fn an_index_has_its_name_or_one_like_it() {
        let mut planner = planner(180_000, None);
        let found = planner.take_over(&[index("a_idx"), index("b_idx"), index("b_idx")]);
        let names: Vec<&str> = found.iter().map(|index| index.name.as_str()).collect();
        assert_eq!(names, ["a_idx1", "b_idx", "b_idx1"]);
        assert_eq!(
            found[2].build("st", "t_1", &found[2].staging_name("t_1")),
            "CREATE INDEX \"t_1_i3\" ON \"st\".\"t_1\" USING btree (a)"
        );
        assert_eq!(
            found[2].rename("public", "t_1"),
            "ALTER INDEX \"public\".\"t_1_i3\" RENAME TO \"b_idx1\""
        );
        let key = planner.take_over_primary_key("t", &["a".to_owned()]);
        assert_eq!(
            key.expect("it can be had").build("st", "t_1", "k"),
            "ALTER TABLE \"st\".\"t_1\" ADD CONSTRAINT \"k\" PRIMARY KEY (\"a\")"
        );
    }

    #[test]
    fn what_a_target_cannot_have_is_named() {
        let mut planner = planner(140_000, Some("day"));
        let lacks = TableIndex {
            needs: vec![object()],
            ..index("trigrams")
        };
        let nulls = TableIndex {
            nulls_are_equal: true,
            ..index("nulls")
        };
        let unique = TableIndex {
            is_unique: true,
            ..index("unique")
        };
        let odd = TableIndex {
            definition: "USING btree (a); DROP TABLE t".to_owned(),
            ..index("odd")
        };
        assert_eq!(planner.take_over(&[lacks, nulls, unique, odd]), []);
        assert_eq!(
            planner.left_out,
            [
                "index trigrams: the target lacks the operator class public.gin_trgm_ops USING gin (extension pg_trgm)",
                "index nulls: NULLS NOT DISTINCT needs PostgreSQL 15 or later as the target",
                "index unique: it is unique, but lacks the column day by which the target is partitioned",
                "index odd: its definition is not a part of one statement",
            ]
        );
    }
}
