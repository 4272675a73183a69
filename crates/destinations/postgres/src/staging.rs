//! Statements that create staging tables, fill them and prepare them for the switch.

use super::catalog::{IndexFacts, TableFacts};
use crate::quote::{identifier, literal, qualified};

/// The name of the CHECK that proves a unit's bounds to ATTACH; it is dropped afterwards.
pub const BOUNDS_CHECK: &str = "inrush_bounds";

/// A column of a table that is to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its name.
    pub name: String,
    /// Its type as the server writes it.
    pub type_sql: String,
    /// NULL is refused.
    pub not_null: bool,
    /// Its collation as SQL names it, if it is not that of its type.
    pub collation: Option<String>,
}

/// The model of a staging table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// These columns; the switch creates the target.
    Columns(Vec<NewColumn>),
    /// An existing table.
    Target {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
        /// How the staging table is stored if it becomes a partition.
        storage: Storage,
    },
}

/// How a table is stored if it differs from the database's defaults. A partition inherits this from its parent, but
/// `LIKE` does not copy it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// The table access method.
    pub access_method: Option<String>,
    /// The tablespace.
    pub tablespace: Option<String>,
}

impl Storage {
    /// The clauses after the columns in `CREATE TABLE`.
    pub fn clauses(&self) -> String {
        let mut clauses = String::new();
        for (word, name) in [
            (" USING ", &self.access_method),
            (" TABLESPACE ", &self.tablespace),
        ] {
            if let Some(name) = name {
                clauses.push_str(word);
                clauses.push_str(&identifier(name));
            }
        }
        clauses
    }
}

/// The bounds of a unit's keys, as SQL texts of the key's type; `None` if unbounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitBounds {
    /// The key column.
    pub key: String,
    /// Its type as the server writes it.
    pub type_sql: String,
    /// The smallest key, inclusive.
    pub lower: Option<String>,
    /// The upper bound.
    pub upper: Option<Upper>,
}

/// The upper bound of a unit's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upper {
    /// Keys are smaller than this value.
    Exclusive(String),
    /// Keys are at most this value.
    Inclusive(String),
}

impl UnitBounds {
    /// The condition that every row of the unit meets. It proves the condition of the partition.
    pub fn condition(&self) -> String {
        let key = identifier(&self.key);
        let value = |text: &str| format!("{}::{}", literal(text).trim_start(), self.type_sql);
        let mut terms = vec![format!("{key} IS NOT NULL")];
        if let Some(lower) = &self.lower {
            terms.push(format!("{key} >= {}", value(lower)));
        }
        match &self.upper {
            Some(Upper::Exclusive(upper)) => terms.push(format!("{key} < {}", value(upper))),
            Some(Upper::Inclusive(upper)) => terms.push(format!("{key} <= {}", value(upper))),
            None => {}
        }
        terms.join(" AND ")
    }
}

/// `CREATE TABLE` of a table with these columns, up to its options.
pub fn create_table(schema: &str, name: &str, columns: &[NewColumn]) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|column| {
            let not_null = if column.not_null { " NOT NULL" } else { "" };
            let collation = column.collation.as_ref();
            let collation = collation.map_or_else(String::new, |name| format!(" COLLATE {name}"));
            let name = identifier(&column.name);
            format!("{name} {}{collation}{not_null}", column.type_sql)
        })
        .collect();
    format!(
        "CREATE TABLE {} ({})",
        qualified(schema, name),
        columns.join(", ")
    )
}

/// The statements that create a staging table: first the table, then the properties that LIKE does not copy.
pub fn create_staging(
    schema: &str,
    name: &str,
    model: &Model,
    bounds: Option<&UnitBounds>,
) -> Vec<String> {
    let staging = qualified(schema, name);
    let mut statements = match model {
        Model::Columns(columns) => vec![create_table(schema, name, columns)],
        Model::Target {
            schema: target_schema,
            name: target_name,
            storage,
        } => vec![format!(
            "CREATE TABLE {staging} (LIKE {} INCLUDING ALL EXCLUDING IDENTITY EXCLUDING INDEXES){}",
            qualified(target_schema, target_name),
            storage.clauses()
        )],
    };
    if let Some(bounds) = bounds {
        statements.push(add_bounds_check(schema, name, bounds));
    }
    statements
}

/// Allows NULL in a column of a staging table, because the target fills the column with numbers when the rows are
/// copied.
pub fn allow_null(schema: &str, name: &str, column: &str) -> String {
    format!(
        "ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL",
        qualified(schema, name),
        identifier(column)
    )
}

/// Removes the default of a column of a staging table, and allows NULL: the target's own default draws a number for
/// each row when it is copied there, and the staging table's default would draw a second one.
pub fn draw_later(schema: &str, name: &str, column: &str) -> String {
    let column = identifier(column);
    format!(
        "ALTER TABLE {} ALTER COLUMN {column} DROP DEFAULT, ALTER COLUMN {column} DROP NOT NULL",
        qualified(schema, name)
    )
}

/// Lets the sequence of an identity column number the rows of a staging table: `LIKE` does not copy it, and files may
/// leave the column out.
pub fn number_by(schema: &str, name: &str, column: &str, sequence: &str) -> String {
    format!(
        "ALTER TABLE {} ALTER COLUMN {} SET DEFAULT nextval({}::regclass)",
        qualified(schema, name),
        identifier(column),
        literal(sequence).trim_start()
    )
}

/// Drops the default of a column.
pub fn drop_default(schema: &str, name: &str, column: &str) -> String {
    format!(
        "ALTER TABLE {} ALTER COLUMN {} DROP DEFAULT",
        qualified(schema, name),
        identifier(column)
    )
}

/// Adds the CHECK of a unit's bounds.
pub fn add_bounds_check(schema: &str, name: &str, bounds: &UnitBounds) -> String {
    format!(
        "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({})",
        qualified(schema, name),
        identifier(BOUNDS_CHECK),
        bounds.condition()
    )
}

/// Drops the CHECK of a unit's bounds.
pub fn drop_bounds_check(schema: &str, name: &str) -> String {
    format!(
        "ALTER TABLE {} DROP CONSTRAINT {}",
        qualified(schema, name),
        identifier(BOUNDS_CHECK)
    )
}

/// Protects a staging table against changes until COMMIT, while any number of sessions insert rows.
pub fn hold_for_rows(schema: &str, name: &str) -> String {
    format!(
        "LOCK TABLE {} IN ROW EXCLUSIVE MODE",
        qualified(schema, name)
    )
}

/// The form of a COPY's data, and what reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyForm<'a> {
    /// COPY, in text.
    Text,
    /// COPY, in its binary form.
    Binary,
    /// The extension `inrush_fastcopy`, with data as for `Binary`.
    Extension {
        /// The column whose smallest and largest value it reports.
        key: Option<&'a str>,
        /// Whole pages are written, without the server's shared buffers.
        by_pages: bool,
    },
}

/// `COPY ... FROM STDIN` into a staging table.
pub fn copy_in(
    schema: &str,
    name: &str,
    columns: &[&str],
    form: CopyForm<'_>,
    freeze: bool,
) -> String {
    let columns: Vec<String> = columns.iter().map(|name| identifier(name)).collect();
    let mut options = match form {
        CopyForm::Text => "FORMAT text",
        CopyForm::Binary => "FORMAT binary",
        CopyForm::Extension { .. } => "FORMAT inrush",
    }
    .to_owned();
    if freeze {
        options.push_str(", FREEZE true");
    }
    if let CopyForm::Extension { key, by_pages } = form {
        if let Some(key) = key {
            options.push_str(&format!(", KEY {}", literal(key).trim_start()));
        }
        if by_pages {
            options.push_str(", WAY 'pages'");
        }
    }
    format!(
        "COPY {} ({}) FROM STDIN ({options})",
        qualified(schema, name),
        columns.join(", ")
    )
}

/// The query that finds out whether a table has triggers, which may add or drop rows that its COPYs do not count.
pub fn has_triggers(schema: &str, name: &str) -> String {
    format!(
        "SELECT relhastriggers FROM pg_class WHERE oid = {}::regclass",
        literal(&qualified(schema, name)).trim_start()
    )
}

/// Counts a unit's rows, and finds its smallest and largest key, in one pass.
pub fn measure(schema: &str, name: &str, key: Option<&str>) -> String {
    let staging = qualified(schema, name);
    match key {
        Some(key) => {
            let key = identifier(key);
            format!("SELECT count(*), min({key})::text, max({key})::text FROM {staging}")
        }
        None => format!("SELECT count(*), NULL::text, NULL::text FROM {staging}"),
    }
}

/// The name of the primary key of a staging table.
pub fn primary_key_name(staging_table: &str) -> String {
    format!("{staging_table}_pkey")
}

/// The primary key of a staging table that becomes the target.
pub fn build_primary_key(schema: &str, name: &str, key: &[String]) -> String {
    let key: Vec<String> = key.iter().map(|name| identifier(name)).collect();
    format!(
        "ALTER TABLE {} ADD CONSTRAINT {} PRIMARY KEY ({})",
        qualified(schema, name),
        identifier(&primary_key_name(name)),
        key.join(", ")
    )
}

/// The indexes of the target for a staging table, so that ATTACH finds them and builds none.
pub fn build_indexes(schema: &str, name: &str, target: &TableFacts) -> Vec<String> {
    target
        .indexes
        .iter()
        .flat_map(|index| build_index(&qualified(schema, name), None, index))
        .collect()
}

/// The statements that build an index like `index` on a table, under `name` if it is given.
pub fn build_index(table: &str, name: Option<&str>, index: &IndexFacts) -> Vec<String> {
    let build = match &index.constraint {
        Some(constraint) => format!("ALTER TABLE {table} ADD {constraint}"),
        None => format!(
            "CREATE {}INDEX {}ON {table} {}",
            if index.unique { "UNIQUE " } else { "" },
            name.map_or(String::new(), |name| format!("{} ", identifier(name))),
            index.definition
        ),
    };
    match &index.tablespace {
        None => vec![build],
        // A TABLESPACE clause would have to be inserted into the middle of the definition.
        Some(tablespace) => vec![
            format!("SET LOCAL default_tablespace = {}", identifier(tablespace)),
            build,
            "SET LOCAL default_tablespace = DEFAULT".to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_quote_every_name() {
        let columns = vec![
            NewColumn {
                name: "key".to_owned(),
                type_sql: "bigint".to_owned(),
                not_null: true,
                collation: None,
            },
            NewColumn {
                name: "odd \"name\"".to_owned(),
                type_sql: "numeric(15,2)".to_owned(),
                not_null: false,
                collation: None,
            },
        ];
        let bounds = UnitBounds {
            key: "key".to_owned(),
            type_sql: "bigint".to_owned(),
            lower: Some("1".to_owned()),
            upper: Some(Upper::Inclusive("9".to_owned())),
        };
        assert_eq!(
            create_staging("st", "u1", &Model::Columns(columns), Some(&bounds)),
            [
                "CREATE TABLE \"st\".\"u1\" (\"key\" bigint NOT NULL, \
                 \"odd \"\"name\"\"\" numeric(15,2))",
                "ALTER TABLE \"st\".\"u1\" ADD CONSTRAINT \"inrush_bounds\" CHECK \
                 (\"key\" IS NOT NULL AND \"key\" >= '1'::bigint AND \"key\" <= '9'::bigint)",
            ]
        );
        assert_eq!(
            copy_in("st", "u1", &["key"], CopyForm::Binary, true),
            "COPY \"st\".\"u1\" (\"key\") FROM STDIN (FORMAT binary, FREEZE true)"
        );
        let by_extension = CopyForm::Extension {
            key: Some("it's"),
            by_pages: true,
        };
        assert_eq!(
            copy_in("st", "u1", &["it's"], by_extension, false),
            "COPY \"st\".\"u1\" (\"it's\") FROM STDIN (FORMAT inrush, KEY 'it''s', WAY 'pages')"
        );
        assert_eq!(
            has_triggers("st", "it's"),
            "SELECT relhastriggers FROM pg_class WHERE oid = '\"st\".\"it''s\"'::regclass"
        );
    }
}
