//! Reads the indexes and partitions of a table, for a new target in PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use inrush_pgclient::{BlockingSession, index_definition};
use inrush_source::{
    NeededObject, SourceError, TableIndex, TablePartition, TablePartitioning, TableStructure,
};

use crate::columns::Column;
use crate::error::{input_error, of_session};
use crate::relations::Table;

/// The properties that a new target gets apart from its columns and its primary key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StructureAsked {
    /// True if it gets the indexes and unique constraints.
    pub indexes: bool,
    /// True if it gets the partitions.
    pub partitions: bool,
}

/// The tables with a table's partitions, in SQL.
fn tree(table: &Table) -> String {
    format!(
        "(SELECT {oid}::oid UNION SELECT relid::oid FROM pg_catalog.pg_partition_tree({oid}::oid::regclass))",
        oid = table.oid
    )
}

/// The catalog's facts about the indexes and partitions of a table. `columns` are the columns that are read. The
/// search path has only the catalog.
pub fn find(
    session: &mut BlockingSession,
    table: &Table,
    columns: &[Column],
    asked: StructureAsked,
) -> Result<TableStructure, SourceError> {
    let mut catalog = Catalog {
        session,
        table,
        columns,
    };
    let mut structure = TableStructure::default();
    let mut of_partitions = match asked.indexes {
        true => catalog.indexes(&mut structure)?,
        false => BTreeMap::new(),
    };
    if asked.partitions {
        structure.partitioning = catalog.partitioning(&mut of_partitions)?;
    }
    for index in of_partitions.into_values().flatten() {
        structure.left_out.push(format!(
            "index {}: only a partition has it, and the target is not made with the partitions of the source",
            index.name
        ));
    }
    structure.left_out.sort_unstable();
    Ok(structure)
}

/// The partitions of a table; `None` if it has none. `indexes` are the indexes that only partitions have, by the OID of
/// the partition; they are moved into the result.
pub fn partitions_of(
    session: &mut BlockingSession,
    table: &Table,
    indexes: &mut BTreeMap<String, Vec<TableIndex>>,
) -> Result<Option<TablePartitioning>, SourceError> {
    let tree = tree(table);
    let sql = format!(
        "SELECT c.oid, coalesce(i.inhparent::text, ''), c.relname, \
                pg_catalog.pg_get_expr(c.relpartbound, c.oid), \
                coalesce(pg_catalog.pg_get_partkeydef(c.oid), '') \
         FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = c.oid AND c.relispartition AND c.oid <> {oid} \
         WHERE c.oid IN {tree} AND NOT coalesce(i.inhdetachpending, false) \
         ORDER BY c.relname, n.nspname",
        oid = table.oid
    );
    let mut partition_by = String::new();
    let mut children: BTreeMap<String, Vec<(String, TablePartition)>> = BTreeMap::new();
    for row in rows(session, table, &sql, "asking for the partitions")? {
        let [oid, parent, name, bound, key] = &row[..] else {
            continue;
        };
        if parent.is_empty() {
            partition_by.clone_from(key);
            continue;
        }
        let partition = TablePartition {
            name: name.clone(),
            bound: bound.clone(),
            partition_by: Some(key.clone()).filter(|key| !key.is_empty()),
            indexes: indexes.remove(oid).unwrap_or_default(),
            partitions: Vec::new(),
        };
        let of = children.entry(parent.clone()).or_default();
        of.push((oid.clone(), partition));
    }
    if partition_by.is_empty() {
        return Ok(None);
    }
    Ok(Some(TablePartitioning {
        partition_by,
        needs: Vec::new(),
        partitions: below(&mut children, &table.oid.to_string()),
    }))
}

/// The rows of a query about a table, with NULL as an empty text.
fn rows(
    session: &mut BlockingSession,
    table: &Table,
    sql: &str,
    doing: &str,
) -> Result<Vec<Vec<String>>, SourceError> {
    let found = session.query(sql, doing);
    let found = found.map_err(|error| of_session(Path::new(&table.name), error))?;
    let texts = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default);
    Ok(found
        .rows
        .into_iter()
        .map(|row| texts(row).collect())
        .collect())
}

/// Questions to the catalog about one table.
struct Catalog<'a> {
    session: &'a mut BlockingSession,
    table: &'a Table,
    columns: &'a [Column],
}

/// The columns and the objects that an index depends on.
#[derive(Default)]
struct Depends {
    /// All columns.
    columns: BTreeSet<String>,
    objects: Vec<NeededObject>,
}

impl Catalog<'_> {
    fn rows(&mut self, sql: &str, doing: &str) -> Result<Vec<Vec<String>>, SourceError> {
        rows(self.session, self.table, sql, doing)
    }

    /// Adds the indexes of the table, and returns those that only partitions have, by the partition's OID.
    fn indexes(
        &mut self,
        structure: &mut TableStructure,
    ) -> Result<BTreeMap<String, Vec<TableIndex>>, SourceError> {
        let tree = tree(self.table);
        let chosen = format!(
            "i.indrelid IN {tree} AND NOT (i.indisprimary AND i.indrelid = {}) \
             AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = i.indexrelid)",
            self.table.oid
        );
        let mut depends = self.depends(&chosen)?;
        // `to_jsonb` reads columns that older servers do not have.
        let sql = format!(
            "SELECT i.indexrelid, i.indrelid, ic.relname, {}, i.indisunique, \
                    coalesce(con.contype::text, ''), pg_catalog.pg_get_constraintdef(con.oid), \
                    i.indisvalid, \
                    coalesce(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct', 'false'), \
                    coalesce(pg_catalog.to_jsonb(con) ->> 'conperiod', 'false'), \
                    i.indexprs IS NULL AND i.indpred IS NULL, \
                    coalesce(i.indexprs::text || i.indpred::text, i.indexprs::text, i.indpred::text, '') \
                      LIKE '%:varattno 0 %' \
             FROM pg_catalog.pg_index AS i \
             JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid \
             JOIN pg_catalog.pg_class AS tc ON tc.oid = i.indrelid \
             JOIN pg_catalog.pg_namespace AS n ON n.oid = tc.relnamespace \
             LEFT JOIN pg_catalog.pg_constraint AS con ON con.conindid = i.indexrelid \
                  AND con.conrelid = i.indrelid AND con.contype IN ('p', 'u', 'x') \
             WHERE {chosen} ORDER BY ic.relname, i.indrelid",
            index_definition::AFTER_TABLE
        );
        let found = self.rows(&sql, "asking for the indexes")?;
        let mut keys = self.key_columns(&chosen)?;
        let mut of_partitions: BTreeMap<String, Vec<TableIndex>> = BTreeMap::new();
        for row in found {
            let [
                oid,
                of,
                name,
                definition,
                is_unique,
                kind,
                constraint,
                is_valid,
                nulls_are_equal,
                has_period,
                is_plain,
                has_whole_rows,
            ] = &row[..]
            else {
                continue;
            };
            let depends = depends.remove(oid).unwrap_or_default();
            let is = |text: &String| text == "t" || text == "true";
            let reason = match kind.as_str() {
                "x" => Some("it is an exclusion constraint".to_owned()),
                _ if is(has_period) => Some("it is a constraint WITHOUT OVERLAPS".to_owned()),
                _ if !is(is_valid) => Some("it is not valid in the source".to_owned()),
                _ if is(has_whole_rows) => {
                    Some("its expressions take whole rows of the source's table".to_owned())
                }
                _ => self.obstacle(&depends, is(is_plain)),
            };
            if let Some(reason) = reason {
                structure.left_out.push(format!("index {name}: {reason}"));
                continue;
            }
            let index = TableIndex {
                name: name.clone(),
                is_unique: is(is_unique),
                definition: definition.clone(),
                constraint: (!kind.is_empty()).then(|| constraint.clone()),
                key_columns: keys.remove(oid).unwrap_or_default(),
                nulls_are_equal: is(nulls_are_equal),
                needs: depends.objects,
            };
            match *of == self.table.oid.to_string() {
                true => structure.indexes.push(index),
                false => of_partitions.entry(of.clone()).or_default().push(index),
            }
        }
        Ok(of_partitions)
    }

    /// The reason why a definition cannot be run in another database, as far as the source knows it.
    fn obstacle(&self, depends: &Depends, is_plain: bool) -> Option<String> {
        for name in &depends.columns {
            match self.columns.iter().find(|column| column.name == *name) {
                None => return Some(format!("its column {name} is not copied")),
                Some(column) if column.is_text => {
                    return Some(format!("its column {name} is copied as text"));
                }
                Some(column) if column.is_enum && !is_plain => {
                    return Some(format!(
                        "its column {name} is an enum, which the target has as text"
                    ));
                }
                Some(_) => {}
            }
        }
        depends.objects.iter().find_map(own_code)
    }

    /// The key columns of indexes, by the OID of the index.
    fn key_columns(&mut self, chosen: &str) -> Result<BTreeMap<String, Vec<String>>, SourceError> {
        let sql = format!(
            "SELECT i.indexrelid, a.attname FROM pg_catalog.pg_index AS i, \
               pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place), \
               pg_catalog.pg_attribute AS a \
             WHERE {chosen} AND k.place <= i.indnkeyatts AND a.attrelid = i.indrelid AND a.attnum = k.number \
             ORDER BY i.indexrelid, k.place"
        );
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.rows(&sql, "asking for the columns of the indexes")? {
            if let [index, column] = &row[..] {
                keys.entry(index.clone()).or_default().push(column.clone());
            }
        }
        Ok(keys)
    }

    /// The dependencies of indexes, by the OID of the index.
    fn depends(&mut self, chosen: &str) -> Result<BTreeMap<String, Depends>, SourceError> {
        let mut all: BTreeMap<String, Depends> = BTreeMap::new();
        // An index needs its key columns (`indkey`) and the columns of its expressions (`pg_depend`).
        let sql = format!(
            "SELECT DISTINCT i.indexrelid, a.attname \
             FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid \
             WHERE {chosen} AND a.attnum > 0 AND (a.attnum = ANY (i.indkey::int2[]) OR EXISTS ( \
               SELECT FROM pg_catalog.pg_depend AS d WHERE d.classid = 'pg_catalog.pg_class'::regclass \
                 AND d.objid = i.indexrelid AND d.refclassid = 'pg_catalog.pg_class'::regclass \
                 AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum))"
        );
        for row in self.rows(&sql, "asking which columns the indexes need")? {
            if let [index, column] = &row[..] {
                let depends = all.entry(index.clone()).or_default();
                depends.columns.insert(column.clone());
            }
        }
        let of_indexes = format!(
            "d.objid IN (SELECT i.indexrelid FROM pg_catalog.pg_index AS i WHERE {chosen})"
        );
        for row in self.rows(&needed(&of_indexes), "asking what the indexes need")? {
            if let [index, kind, identity, extension] = &row[..] {
                let depends = all.entry(index.clone()).or_default();
                depends.objects.push(object(kind, identity, extension));
            }
        }
        Ok(all)
    }

    /// The partitions of the table. `indexes` are the indexes that only partitions have; those that are taken over are
    /// removed from it.
    fn partitioning(
        &mut self,
        indexes: &mut BTreeMap<String, Vec<TableIndex>>,
    ) -> Result<Option<TablePartitioning>, SourceError> {
        let Some(mut partitioning) = partitions_of(self.session, self.table, indexes)? else {
            return Ok(None);
        };
        let tree = tree(self.table);
        self.refuse_key_columns(&tree)?;
        let of_tables = format!(
            "d.objid IN {tree} AND d.objsubid = 0 AND d.refclassid IN ('pg_catalog.pg_proc'::regclass, \
             'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_opclass'::regclass, \
             'pg_catalog.pg_collation'::regclass)"
        );
        let needs = &mut partitioning.needs;
        for row in rows(
            self.session,
            self.table,
            &needed(&of_tables),
            "asking what the partitions need",
        )? {
            if let [_, kind, identity, extension] = &row[..] {
                needs.push(object(kind, identity, extension));
            }
        }
        if let Some(what) = needs.iter().find_map(own_code) {
            return Err(self.cannot_have_partitions(&what));
        }
        Ok(Some(partitioning))
    }

    /// Refuses keys of partitions whose columns are not read unchanged.
    fn refuse_key_columns(&mut self, tree: &str) -> Result<(), SourceError> {
        let sql = format!(
            "SELECT DISTINCT a.attname, p.partstrat = 'r' \
             FROM pg_catalog.pg_depend AS d \
             JOIN pg_catalog.pg_attribute AS a ON a.attrelid = d.objid AND a.attnum = d.objsubid \
             JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = d.objid \
             WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid IN {tree} AND d.objsubid > 0 \
               AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = d.objid AND d.refobjsubid = 0 \
               AND d.deptype = 'i' ORDER BY 1"
        );
        for row in self.rows(&sql, "asking for the key of the partitions")? {
            let [name, is_range] = &row[..] else {
                continue;
            };
            let column = self.columns.iter().find(|column| column.name == *name);
            let what = match column {
                None => format!("its key column {name} is not copied"),
                Some(column) if column.is_text => {
                    format!("its key column {name} is copied as text")
                }
                Some(column) if column.is_enum && is_range == "t" => {
                    format!("its key column {name} is an enum, and text has another order")
                }
                Some(_) => continue,
            };
            return Err(self.cannot_have_partitions(&what));
        }
        Ok(())
    }

    fn cannot_have_partitions(&self, what: &str) -> SourceError {
        input_error(
            Path::new(&self.table.name),
            format!("a new target cannot have its partitions: {what}"),
            "remove --with-partitions (in a package `partitions` of the source), or create the target yourself",
        )
    }
}

/// A query for objects that not every server has and on which other objects depend. A condition on `pg_depend` (`d`)
/// chooses these other objects.
fn needed(condition: &str) -> String {
    format!(
        "SELECT DISTINCT d.objid, o.type, o.identity, \
                coalesce((SELECT x.extname FROM pg_catalog.pg_depend AS e \
                          JOIN pg_catalog.pg_extension AS x ON x.oid = e.refobjid \
                          WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e' \
                            AND e.refclassid = 'pg_catalog.pg_extension'::regclass), '') \
         FROM pg_catalog.pg_depend AS d, \
              pg_catalog.pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) AS o \
         WHERE d.classid = 'pg_catalog.pg_class'::regclass AND {condition} \
           AND d.refclassid NOT IN ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_constraint'::regclass, \
                                    'pg_catalog.pg_namespace'::regclass, 'pg_catalog.pg_extension'::regclass) \
           AND o.schema IS DISTINCT FROM 'pg_catalog' \
         ORDER BY 1, 2, 3"
    )
}

fn object(kind: &str, identity: &str, extension: &str) -> NeededObject {
    NeededObject {
        kind: kind.to_owned(),
        identity: identity.to_owned(),
        extension: Some(extension.to_owned()).filter(|name| !name.is_empty()),
    }
}

/// The reason why an object made by users cannot be used in the target: an object with the same name may do something
/// else there.
fn own_code(object: &NeededObject) -> Option<String> {
    let is_code = !matches!(
        object.kind.as_str(),
        "operator class" | "type" | "collation"
    );
    (is_code && object.extension.is_none()).then(|| {
        format!(
            "it uses the {} {} of the source",
            object.kind, object.identity
        )
    })
}

fn below(
    children: &mut BTreeMap<String, Vec<(String, TablePartition)>>,
    parent: &str,
) -> Vec<TablePartition> {
    let own = children.remove(parent).unwrap_or_default();
    let filled = own.into_iter().map(|(oid, partition)| TablePartition {
        partitions: below(children, &oid),
        ..partition
    });
    filled.collect()
}
