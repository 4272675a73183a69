//! A table as the reference of a lookup that adds members: what the catalog says about its key and its numbers.

use crate::Session;
use crate::plan::failure::PlanFailure;

/// The catalog's facts about a reference.
pub struct TableFacts {
    /// Its OID.
    pub oid: u32,
    /// The types of the columns of the key.
    pub key_types: Vec<String>,
    /// The type of the number's column.
    pub number_type: String,
    /// True if a unique index has the columns of the key and no other.
    pub is_unique: bool,
    /// True if a unique index has the number's column and no other.
    pub is_number_unique: bool,
    /// A column of the key that is generated from others.
    pub generated: Option<String>,
    /// True if the sequence starts again at its end.
    pub cycles: bool,
    /// A column of the key whose collation is not deterministic.
    pub folded: Option<String>,
    /// The sequence of the number's column.
    pub sequence: Option<String>,
    /// True if NULL is not allowed in the number's column.
    pub is_number_required: bool,
    /// Other columns that need a value.
    pub required: Vec<String>,
}

impl TableFacts {
    /// The facts of a table; `None` if there is no such table.
    pub async fn find(
        session: &Session,
        table: &str,
        key: &[String],
        number: &str,
    ) -> Result<Option<TableFacts>, PlanFailure> {
        let unique_on = |columns: &str| {
            format!(
                "EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate \
                   AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL \
                   AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE \"C\") \
                        FROM unnest(i.indkey[0:i.indnkeyatts - 1]) k (number) \
                        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number) \
                     = (SELECT array_agg(k ORDER BY k COLLATE \"C\") FROM unnest({columns}) k))"
            )
        };
        let (on_key, on_number) = (unique_on("$2::text[]"), unique_on("ARRAY[$3::text]"));
        let sql = format!(
            "SELECT c.oid, \
             (SELECT array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY k.place) \
              FROM unnest($2::text[]) WITH ORDINALITY k (name, place) \
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = k.name), \
             n.type, \
             {on_key}, \
             (SELECT a.attname::text FROM pg_attribute a JOIN pg_collation l ON l.oid = a.attcollation \
              WHERE a.attrelid = c.oid AND a.attname = ANY ($2::text[]) AND NOT l.collisdeterministic LIMIT 1), \
             n.sequence, coalesce(n.required, false), \
             ARRAY(SELECT a.attname::text FROM pg_attribute a \
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull \
                AND NOT a.atthasdef AND a.attidentity = '' AND a.attname <> $3 AND a.attname <> ALL ($2::text[]) \
              ORDER BY a.attnum), \
             {on_number}, \
             (SELECT a.attname::text FROM pg_attribute a \
              WHERE a.attrelid = c.oid AND a.attname = ANY ($2::text[]) AND a.attgenerated <> '' LIMIT 1), \
             coalesce((SELECT q.seqcycle FROM pg_sequence q WHERE q.seqrelid = to_regclass(n.sequence)), false) \
             FROM pg_class c LEFT JOIN LATERAL ( \
               SELECT format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required, \
                 CASE WHEN a.attidentity <> '' OR EXISTS (SELECT FROM pg_attrdef f \
                        WHERE f.adrelid = c.oid AND f.adnum = a.attnum \
                          AND pg_get_expr(f.adbin, f.adrelid) LIKE 'nextval(%') \
                   THEN pg_get_serial_sequence($1, $3) END AS sequence \
               FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = $3) n ON true \
             WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p')"
        );
        let doing = "looking at the reference of a lookup";
        let rows = session.query(&sql, &[&table, &key, &number], doing).await?;
        Ok(rows.first().map(|row| TableFacts {
            oid: row.get(0),
            key_types: row.get::<_, Option<Vec<String>>>(1).unwrap_or_default(),
            number_type: row.get::<_, Option<String>>(2).unwrap_or_default(),
            is_unique: row.get(3),
            folded: row.get(4),
            sequence: row.get(5),
            is_number_required: row.get(6),
            required: row.get(7),
            is_number_unique: row.get(8),
            generated: row.get(9),
            cycles: row.get(10),
        }))
    }
}
