//! Foreign keys that refer to tables which the same package loads. The referenced row may be in the table already, or
//! in its staging tables, and no foreign key can refer to both. So while a unit is loaded carefully, a trigger looks
//! into both, at the end of each statement like a foreign key. The trigger is dropped before the unit is committed;
//! when the table is attached, the server checks the foreign key itself.

use std::collections::BTreeMap;

use inrush_plan::LoadUnit;

use super::staged_row_order::Order;
use crate::plan::additions::Additions;
use crate::plan::routing::{Becomes, statements};
use crate::plan::{FlowPlan, Plan, Publish, UnitPlan};
use crate::quote::{identifier, literal, qualified};
use crate::{PostgresError, Session};

/// Rows of staging tables that their own targets refuse: their positions (`ctid` or number), by the table's name.
pub type RefusedStaged = BTreeMap<String, Vec<String>>;

/// A foreign key of a target that refers to the target of another flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageKey {
    /// The constraint.
    pub name: String,
    columns: Vec<String>,
    /// The flow that loads the referenced table.
    referred_flow: usize,
    referred_columns: Vec<String>,
    /// The operator that compares each pair of columns.
    operators: Vec<String>,
    /// `MATCH FULL`: either all columns are NULL or none.
    is_full: bool,
}

impl PackageKey {
    /// The foreign keys of a flow's target that can be checked this way. Keys over periods, and keys that refer to the
    /// target itself, are not included. A key that refers to another target is not included in three cases: the old
    /// rows of that target are replaced; its key is not in the files; or it may get other rows than its staging tables
    /// have.
    pub async fn of_target(
        session: &Session,
        plan: &Plan,
        flow: &FlowPlan,
    ) -> Result<Vec<PackageKey>, PostgresError> {
        let targets: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
        // A key that refers to a partitioned table has further constraints below it, on the same table. Triggers BEFORE
        // (2) each row (1) on INSERT (4) or UPDATE (16) may change the key that a row has in staging; policies would
        // hide rows.
        let sql = "SELECT c.conname::text, t.number - 1, \
                (SELECT array_agg(a.attname::text ORDER BY k.n) \
                 FROM unnest(c.conkey) WITH ORDINALITY k (attnum, n) \
                 JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum), \
                (SELECT array_agg(a.attname::text ORDER BY k.n) \
                 FROM unnest(c.confkey) WITH ORDINALITY k (attnum, n) \
                 JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum), \
                (SELECT array_agg(format('OPERATOR(%I.%s)', n.nspname, o.oprname) ORDER BY k.n) \
                 FROM unnest(c.conpfeqop) WITH ORDINALITY k (operator, n) \
                 JOIN pg_operator o ON o.oid = k.operator \
                 JOIN pg_namespace n ON n.oid = o.oprnamespace), \
                c.confmatchtype = 'f' \
             FROM pg_constraint c \
             JOIN unnest($2::text[]) WITH ORDINALITY t (name, number) \
               ON to_regclass(t.name) = c.confrelid \
             WHERE c.contype = 'f' AND c.conrelid = to_regclass($1::text) \
               AND c.confrelid <> c.conrelid \
               AND NOT EXISTS (SELECT FROM pg_constraint p \
                               WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid) \
               AND coalesce(to_jsonb(c) ->> 'conenforced', 'true') = 'true' \
               AND coalesce(to_jsonb(c) ->> 'conperiod', 'false') = 'false' \
               AND has_table_privilege(c.confrelid, 'SELECT') \
               AND NOT row_security_active(c.confrelid) \
               AND NOT EXISTS (SELECT FROM pg_class p \
                               WHERE p.oid = c.confrelid AND p.relhasrules) \
               AND NOT EXISTS (SELECT FROM pg_trigger g \
                               WHERE NOT g.tgisinternal AND g.tgenabled <> 'D' \
                                 AND g.tgtype & 3 = 3 AND g.tgtype & 20 <> 0 \
                                 AND (g.tgrelid = c.confrelid OR g.tgrelid IN \
                                   (SELECT relid FROM pg_partition_tree(c.confrelid)))) \
               AND NOT EXISTS (SELECT FROM unnest(c.conkey, c.confkey) k (own, referred) \
                               JOIN pg_attribute o \
                                 ON o.attrelid = c.conrelid AND o.attnum = k.own \
                               JOIN pg_attribute r \
                                 ON r.attrelid = c.confrelid AND r.attnum = k.referred \
                               WHERE o.attcollation <> r.attcollation) \
             ORDER BY c.oid";
        let doing = "reading the foreign keys of the target";
        let rows = session
            .query(sql, &[&flow.target(), &targets], doing)
            .await?;
        let key = |row: &tokio_postgres::Row| PackageKey {
            name: row.get(0),
            referred_flow: row.get::<_, i64>(1) as usize,
            columns: row.get(2),
            referred_columns: row.get(3),
            operators: row.get(4),
            is_full: row.get(5),
        };
        let keys = rows.iter().map(key);
        Ok(keys.filter(|key| key.is_possible(plan)).collect())
    }

    fn is_possible(&self, plan: &Plan) -> bool {
        let referred = &plan.flows[self.referred_flow];
        let has = |name: &String| referred.columns.iter().any(|column| column.name == *name);
        referred.replace.is_none() && self.referred_columns.iter().all(has)
    }

    /// Creates an index on the key in the staging tables of the referenced table, if they have none, because each batch
    /// of rows looks into all of them.
    pub async fn index(&self, session: &Session, plan: &Plan) -> Result<(), PostgresError> {
        let doing = "indexing the columns that foreign keys refer to";
        let columns: Vec<String> = self
            .referred_columns
            .iter()
            .map(|name| identifier(name))
            .collect();
        let columns = columns.join(", ");
        let sql = "SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = $1::text::regclass \
               AND i.indpred IS NULL AND i.indisvalid \
               AND $2::text[] <@ (SELECT array_agg(a.attname::text) FROM pg_attribute a \
                   WHERE a.attrelid = i.indrelid \
                     AND a.attnum = ANY ((i.indkey::int2[])[0:cardinality($2::text[]) - 1])))";
        for table in self.filled(plan) {
            let found = session
                .query(sql, &[&table, &self.referred_columns], doing)
                .await?;
            if !found[0].get::<_, bool>(0) {
                let create = format!("CREATE INDEX ON {table} ({columns})");
                session.execute(&create, doing).await?;
                session.execute(&format!("ANALYZE {table}"), doing).await?;
            }
        }
        Ok(())
    }

    /// The tables with staged rows of the referenced table that may lack an index on the key. New partitions have the
    /// indexes of their target.
    fn filled(&self, plan: &Plan) -> Vec<String> {
        let referred = &plan.flows[self.referred_flow];
        let schema = &plan.settings.staging_schema;
        let of_unit = |unit: &LoadUnit| match &referred.publish {
            Publish::Insert | Publish::Upsert { .. } => {
                vec![qualified(schema, &unit.staging_table)]
            }
            Publish::Route(route) => route
                .all()
                .into_iter()
                .filter(|node| node.becomes == Becomes::Existing && node.nodes.is_empty())
                .map(|node| qualified(schema, &statements::staging_name(&unit.staging_table, node)))
                .collect(),
            _ => Vec::new(),
        };
        referred.units.iter().flat_map(of_unit).collect()
    }

    /// The trigger with which a staging table refuses rows whose referenced row does not exist. `number` distinguishes
    /// it from others on the same table; rows in `refused` do not count as existing.
    pub fn additions(
        &self,
        plan: &Plan,
        flow: &FlowPlan,
        unit: UnitPlan<'_>,
        number: usize,
        refused: &RefusedStaged,
    ) -> Additions {
        let schema = &plan.settings.staging_schema;
        let table = qualified(schema, &unit.staging_table);
        // Longer names would be cut off.
        let key = unit.key.short();
        let function = qualified(schema, &format!("inrush_{key}_{number}"));
        // As in the server, the key that was created first is checked first.
        let trigger = format!("inrush_key_{number:04}");
        let trigger = identifier(&trigger);
        let body = literal(&self.body(plan, flow, refused));
        Additions {
            before_rows: vec![
                format!("CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {body}"),
                format!(
                    "CREATE TRIGGER {trigger} AFTER INSERT ON {table} REFERENCING NEW TABLE AS came \
                     FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
                ),
            ],
            after_undo: Vec::new(),
            after_rows: vec![
                format!("DROP TRIGGER {trigger} ON {table}"),
                format!("DROP FUNCTION {function}()"),
            ],
        }
    }

    /// The body of the trigger function, which raises the same error as the server.
    fn body(&self, plan: &Plan, flow: &FlowPlan, refused: &RefusedStaged) -> String {
        let text = |text: &str| literal(text).trim_start().to_owned();
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|name| format!("came.{}", identifier(name)))
            .collect();
        let each = |word: &str| -> Vec<String> {
            columns
                .iter()
                .map(|column| format!("{column} {word}"))
                .collect()
        };
        let is_asked = match self.is_full {
            true => format!("({})", each("IS NOT NULL").join(" OR ")),
            false => each("IS NOT NULL").join(" AND "),
        };
        let same: Vec<String> = self
            .referred_columns
            .iter()
            .zip(&self.operators)
            .zip(&columns)
            .map(|((referred, operator), column)| {
                format!("there.{} {operator} {column}", identifier(referred))
            })
            .collect();
        let shown: Vec<String> = columns
            .iter()
            .map(|column| format!("coalesce({column}::text, 'null')"))
            .collect();
        let referred = &plan.flows[self.referred_flow];
        format!(
            "DECLARE missing text; BEGIN \
             SELECT pg_catalog.concat_ws(', ', {shown}) INTO missing FROM came \
             WHERE {is_asked} AND NOT EXISTS (SELECT FROM ({there}) there WHERE {same}) LIMIT 1; \
             IF FOUND THEN RAISE EXCEPTION USING ERRCODE = '23503', MESSAGE = {message}, \
             DETAIL = {before} || missing || {after}, \
             CONSTRAINT = {constraint}, SCHEMA = {schema}, TABLE = {table}; END IF; \
             RETURN NULL; END",
            shown = shown.join(", "),
            there = self.there(plan, referred, refused),
            same = same.join(" AND "),
            message = text(&format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                flow.table, self.name
            )),
            before = text(&format!("Key ({})=(", self.columns.join(", "))),
            after = text(&format!(
                ") is not present in table \"{}\".",
                referred.table
            )),
            constraint = text(&self.name),
            schema = text(&flow.schema),
            table = text(&flow.table),
        )
    }

    /// The query for the keys that the referenced table will have.
    fn there(&self, plan: &Plan, referred: &FlowPlan, refused: &RefusedStaged) -> String {
        let columns: Vec<String> = self
            .referred_columns
            .iter()
            .map(|name| format!("r.{}", identifier(name)))
            .collect();
        let columns = columns.join(", ");
        let mut parts = vec![format!("SELECT {columns} FROM {} r", referred.target())];
        if !referred.is_straight() {
            let schema = &plan.settings.staging_schema;
            for unit in &referred.units {
                let staging = qualified(schema, &unit.staging_table);
                let mut part = format!("SELECT {columns} FROM {staging} r");
                if let Some(places) = refused
                    .get(&unit.staging_table)
                    .filter(|all| !all.is_empty())
                {
                    part.push_str(" WHERE NOT ");
                    part.push_str(&Order::of(referred).any_of(places));
                }
                parts.push(part);
            }
        }
        parts.join(" UNION ALL ")
    }
}
