//! Tables, views and queries of SQLite.
//!
//! In SQLite a value has a type, and a column only has a declaration, which its values need not match. The driver
//! assumes that all rows have the types of the first rows. So each column is read as what its declaration means (its
//! affinity), and a row with a value of another type becomes a reject:
//!
//! | declaration | values | others |
//! |---|---|---|
//! | `INT` in it | integers | rejected |
//! | `CHAR`, `CLOB`, `TEXT` | text | rejected |
//! | `BLOB` | bytes | rejected |
//! | `REAL`, `FLOA`, `DOUB` | numbers, as floats | rejected |
//! | any other, or none | integers, floats and text, by their exact text | bytes are rejected |
//!
//! For each column of the last kind, the statement has two columns: floats are read as floats, because SQLite's own
//! text of a float has only 15 digits. The statement itself makes a first row, from which the driver learns the types.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::DataType;
use inrush_rows::column_type::ColumnType;
use inrush_rows::sql_text::{alone, identifier, in_parentheses};
use inrush_rows::type_name::{self, TypeName};
use inrush_rows::typed_rows::{Cells, RowFault};
use inrush_source::{SourceError, choose_columns, chosen_rows, refuse_unknown_key};

use crate::arrays::with_valid_texts;
use crate::columns::{Column, ROWS, literal, qualified};
use crate::error::{Refused, input_error};
use crate::keys::{self, Dialect, FoundKeys, KeyAsked};
use crate::session::Session;
use crate::table::{Block, Table};
use crate::{Rows, Settings};

/// A view of this session. It shows the declarations of a query's columns.
const VIEW: &str = "inrush_query";

/// The number of columns of the statement before the columns of the table. The first is 1 in the first row, which the
/// statement makes. The second is the number of the column whose value does not fit; 0 if all values fit. The third is
/// this value as SQL writes it. The text of the key follows, if the rows are cut by a key.
const OWN_COLUMNS: usize = 3;

/// A table, a view or a query.
#[derive(Debug)]
pub struct SqliteTable {
    columns: Vec<Column>,
    kinds: Vec<Kind>,
    statement: String,
    keys: Option<FoundKeys>,
    /// The table, if all of its rows are read.
    whole: Option<String>,
    /// The text after FROM, without the alias of the rows.
    all_rows: String,
    /// Notes for the user about its columns.
    notes: Vec<String>,
}

/// The kind of values that a column must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Text,
    Blob,
    /// Integers, floats and text.
    Mixed,
}

impl Kind {
    /// The affinity of a declaration: "Determination Of Column Affinity" of SQLite's manual, section 3.1.
    fn of(declared: &str) -> Kind {
        let upper = declared.to_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| upper.contains(word));
        match () {
            () if has(&["INT"]) => Kind::Integer,
            () if has(&["CHAR", "CLOB", "TEXT"]) => Kind::Text,
            () if has(&["BLOB"]) => Kind::Blob,
            () if has(&["REAL", "FLOA", "DOUB"]) => Kind::Real,
            () => Kind::Mixed,
        }
    }

    /// The types of values that a column of this kind accepts, as `typeof` names them.
    fn types(self) -> &'static str {
        match self {
            Kind::Integer => "'null', 'integer'",
            Kind::Real => "'null', 'real', 'integer'",
            Kind::Text => "'null', 'text'",
            Kind::Blob => "'null', 'blob'",
            Kind::Mixed => "'null', 'integer', 'real', 'text'",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Integer => "an integer",
            Kind::Real => "a number",
            Kind::Text => "text",
            Kind::Blob => "bytes",
            Kind::Mixed => "a number or text",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Integer => DataType::Int64,
            Kind::Real => DataType::Float64,
            Kind::Text | Kind::Mixed => DataType::Utf8,
            Kind::Blob => DataType::Binary,
        }
    }

    /// The expressions of the statement for a column: first for the first row, which the statement itself makes, then
    /// for the rows of the table.
    fn expressions(self, column: &str) -> Vec<(&'static str, String)> {
        let of = |types: &str, value: &str| {
            format!("CASE WHEN typeof({column}) IN ({types}) THEN {value} END")
        };
        let cast = |to: &str| format!("CAST({column} AS {to})");
        match self {
            Kind::Integer => vec![("0", of("'integer'", column))],
            Kind::Real => vec![("0.0", of("'real', 'integer'", &cast("REAL")))],
            Kind::Text => vec![("''", of("'text'", column))],
            Kind::Blob => vec![("x''", of("'blob'", column))],
            Kind::Mixed => vec![
                ("''", of("'integer', 'text'", &cast("TEXT"))),
                ("0.0", of("'real'", column)),
            ],
        }
    }
}

impl SqliteTable {
    /// Opens a table, a view or a query. The session has begun the transaction that shows one moment. `range` is the
    /// condition of an incremental load.
    pub fn open(
        session: &mut Session,
        name: &str,
        settings: &Settings,
        range: Option<&str>,
        refused: Refused<'_>,
    ) -> Result<SqliteTable, SourceError> {
        let input = Path::new(name);
        let doing = format!("asking for the columns of {name}");
        let failed = |error| refused(&doing, &error);
        let (from, declared) = match &settings.rows {
            Rows::Table { schema, name } => {
                let declared = declared(session, schema.as_deref(), name).map_err(failed)?;
                (qualified(schema.as_deref(), name), declared)
            }
            Rows::Query(query) => {
                let select = format!("SELECT {ROWS}.* FROM {} AS {ROWS}", in_parentheses(query));
                session
                    .schema(&format!("{select} LIMIT 0"))
                    .map_err(failed)?;
                let view = view_of(&settings.rows).unwrap_or_default();
                session.run(&view).map_err(failed)?;
                let declared = declared(session, None, VIEW).map_err(failed)?;
                (VIEW.to_owned(), declared)
            }
        };
        if declared.is_empty() {
            return Err(not_there(session, input));
        }
        let names: Vec<String> = declared.iter().map(|one| one.name.clone()).collect();
        let chosen = choose_columns(input, &names, &settings.columns)?;
        let mut columns = Vec::with_capacity(chosen.len());
        let mut kinds = Vec::with_capacity(chosen.len());
        let mut notes = Vec::new();
        let name_of_rows = name;
        for (name, is_text) in &chosen {
            let own = declared.iter().find(|own| own.name == *name);
            let kind_name = own.map_or("", |own| own.kind.as_str());
            let kind = match is_text {
                true => Kind::Mixed,
                false => Kind::of(kind_name),
            };
            columns.push(Column {
                name: name.clone(),
                data_type: kind.data_type(),
                is_uuid: false,
                sql_type: match is_text {
                    true => None,
                    false => sql_type(kind, kind_name),
                },
                declared: own
                    .map(|own| own.kind.clone())
                    .filter(|kind| !kind.is_empty()),
                not_null: own.is_some_and(|own| own.not_null),
            });
            if !is_text && kind == Kind::Mixed && is_unknown(kind_name) {
                notes.push(format!(
                    "the column {} of {name_of_rows} declares the type {kind_name}, which SQLite does not know: its values \
                     are loaded as they are, numbers and text",
                    identifier(name)
                ));
            }
            kinds.push(kind);
        }
        let whole = match (&settings.rows, &settings.filter, range) {
            (Rows::Table { .. }, None, None) => Some(from.clone()),
            _ => None,
        };
        let (from, alone) = match &settings.filter {
            Some(filter) => (
                format!("(SELECT * FROM {from} WHERE {})", in_parentheses(filter)),
                Some(format!("SELECT 1 FROM {from} WHERE {}", alone(filter))),
            ),
            None => (from, None),
        };
        let from = match range {
            Some(range) => format!("(SELECT * FROM {from} AS {ROWS} WHERE {range})"),
            None => from,
        };
        let all_rows = from.clone();
        let from = format!("{from} AS {ROWS}");
        let key = settings.split_by.as_deref().map(key_of);
        let statement = statement(&columns, &kinds, &from, key.as_deref());
        // A mistake in the condition is found before the load begins.
        if let Some(column) = &settings.split_by {
            refuse_unknown_key(input, column, &names, "split_by")?;
        }
        session.schema(&statement).map_err(failed)?;
        if let Some(alone) = &alone {
            session
                .schema(&format!("{alone} LIMIT 0"))
                .map_err(failed)?;
        }
        if range.is_some() {
            // Rows that a limit leaves out would be below the next mark, and would never be loaded.
            refuse_chosen_rows(session, input, &from, "since", refused)?;
        }
        let keys = match (&settings.split_by, &key) {
            (Some(column), Some(key)) => {
                refuse_chosen_rows(session, input, &from, "split_by", refused)?;
                let asked = KeyAsked {
                    input,
                    column,
                    key,
                    from: &from,
                    takes_nulls: settings.split_nulls,
                    dialect: Dialect::Sqlite,
                };
                Some(keys::find(session, &asked, refused)?)
            }
            _ => None,
        };
        Ok(SqliteTable {
            columns,
            kinds,
            statement,
            keys,
            whole,
            all_rows,
            notes,
        })
    }
}

/// The statement that makes the view of a query, which each connection needs.
pub fn view_of(rows: &Rows) -> Option<String> {
    let Rows::Query(query) = rows else {
        return None;
    };
    let select = format!("SELECT {ROWS}.* FROM {} AS {ROWS}", in_parentheses(query));
    Some(format!("CREATE TEMP VIEW IF NOT EXISTS {VIEW} AS {select}"))
}

/// The column of a key in SQL.
fn key_of(column: &str) -> String {
    format!("{ROWS}.{}", identifier(column))
}

/// Refuses a query whose rows may differ when it is run again: with a LIMIT or random(). `setting` is the setting that
/// needs the same rows each time.
fn refuse_chosen_rows(
    session: &mut Session,
    input: &Path,
    from: &str,
    setting: &str,
    refused: Refused<'_>,
) -> Result<(), SourceError> {
    let doing = "asking for the program of the query";
    let program = session.rows(&format!("EXPLAIN SELECT * FROM {from}"));
    let program = program.map_err(|error| refused(doing, &error))?;
    for step in program {
        let mut step = step.into_iter().map(Option::unwrap_or_default);
        let (code, text) = (
            step.nth(1).unwrap_or_default(),
            step.nth(3).unwrap_or_default(),
        );
        // This instruction ends a loop after a number of rows.
        if code == "DecrJumpZero" {
            return Err(chosen_rows(input, "a LIMIT", setting));
        }
        if code.ends_with("Function") && text.starts_with("random") {
            return Err(chosen_rows(input, "the function random()", setting));
        }
    }
    Ok(())
}

/// A column as it is declared.
struct Declared {
    name: String,
    kind: String,
    not_null: bool,
}

fn declared(
    session: &mut Session,
    schema: Option<&str>,
    name: &str,
) -> adbc_core::error::Result<Vec<Declared>> {
    let schema = schema.map_or(String::new(), |schema| format!(", {}", literal(schema)));
    let sql = format!(
        "SELECT name, type, \"notnull\" FROM pragma_table_xinfo({}{schema}) WHERE hidden <> 1 ORDER BY cid",
        literal(name)
    );
    let rows = session.rows(&sql)?;
    let of_row = |row: Vec<Option<String>>| {
        let mut row = row.into_iter().map(Option::unwrap_or_default);
        Declared {
            name: row.next().unwrap_or_default(),
            kind: row.next().unwrap_or_default(),
            not_null: row.next().is_some_and(|told| told == "1"),
        }
    };
    Ok(rows.into_iter().map(of_row).collect())
}

fn not_there(session: &mut Session, input: &Path) -> SourceError {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' \
               ORDER BY name LIMIT 20";
    let known = session.rows(sql).unwrap_or_default();
    let known: Vec<String> = known.into_iter().flatten().flatten().collect();
    let fix = match known.is_empty() {
        true => "name a file with tables".to_owned(),
        false => format!("its tables and views are {}", known.join(", ")),
    };
    input_error(input, "the file has no table or view of this name", fix)
}

/// The statement that reads all rows, after one row from which the driver takes the types. A condition may follow.
fn statement(columns: &[Column], kinds: &[Kind], from: &str, key: Option<&str>) -> String {
    let mut first = vec!["1".to_owned(), "0".to_owned(), "''".to_owned()];
    let mut numbers = String::new();
    let mut values = String::new();
    let mut list = Vec::new();
    if let Some(key) = key {
        first.push("''".to_owned());
        list.push(format!("CAST({key} AS TEXT)"));
    }
    for (index, (column, kind)) in columns.iter().zip(kinds).enumerate() {
        let name = format!("{ROWS}.{}", identifier(&column.name));
        let misfit = format!(" WHEN typeof({name}) NOT IN ({})", kind.types());
        numbers.push_str(&format!("{misfit} THEN {}", index + 1));
        values.push_str(&format!("{misfit} THEN quote({name})"));
        for (of_first, expression) in kind.expressions(&name) {
            first.push(of_first.to_owned());
            list.push(expression);
        }
    }
    format!(
        "SELECT {} UNION ALL SELECT 0, CASE{numbers} ELSE 0 END, CASE{values} END, {} FROM {from}",
        first.join(", "),
        list.join(", ")
    )
}

/// True if a declaration does not name a known type.
fn is_unknown(declared: &str) -> bool {
    let known = TypeName::parse(declared).and_then(|name| name.column_type());
    let is_numeric = declared.to_uppercase().starts_with("NUM");
    !declared.is_empty()
        && !is_numeric
        && known.is_none()
        && sql_type(Kind::Mixed, declared).is_none()
}

/// The type for a new target, if the declaration names a type that the values may have.
fn sql_type(kind: Kind, declared: &str) -> Option<String> {
    // Names that Inrush's destination writes for a type are read as this type.
    let known = declared
        .to_uppercase()
        .replace("DECIMAL_TEXT", "DECIMAL")
        .replace("JSON_TEXT", "JSON");
    let column_type = TypeName::parse(&known)?.column_type()?;
    let name = known.to_lowercase();
    match (kind, &column_type) {
        // SQLite does not enforce limits of length.
        (Kind::Text, ColumnType::Text { .. }) => None,
        // Columns of these kinds have no bytes as values.
        (_, ColumnType::Binary) => None,
        // DATETIME and STRING are names that other databases do not know.
        (Kind::Text | Kind::Mixed, ColumnType::Timestamp { .. } | ColumnType::Text { .. }) => {
            type_name::of_column(&column_type)
        }
        (Kind::Text | Kind::Mixed, _) => Some(name),
        _ => None,
    }
}

impl Table for SqliteTable {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn all_rows(&self) -> &str {
        &self.all_rows
    }

    fn keys(&self) -> Option<&FoundKeys> {
        self.keys.as_ref()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Computed from the numbers of its first and last row, which SQLite looks up. Rows between them may have been deleted. A
    /// view, and a table WITHOUT ROWID, have no such numbers.
    fn estimated_rows(&self, session: &mut Session) -> Option<u64> {
        let table = self.whole.as_ref()?;
        let asked = session.rows(&format!(
            "SELECT coalesce((SELECT max(rowid) FROM {table}) - (SELECT min(rowid) FROM {table}) + 1, 0)"
        ));
        let rows = asked.ok()?.into_iter().flatten().flatten().next()?;
        rows.parse().ok()
    }

    fn statement(&self, range: Range<u64>) -> String {
        let ranges = self.keys.as_ref().map(|keys| &keys.ranges);
        let condition = ranges.and_then(|ranges| ranges.condition(&key_of(&ranges.column), range));
        match condition {
            Some(condition) => format!("{} WHERE {condition}", self.statement),
            None => self.statement.clone(),
        }
    }

    fn block(&self, batch: &RecordBatch, is_first: bool) -> Result<Block, String> {
        let own = |index: usize| -> Option<&ArrayRef> {
            let array = batch.columns().get(index)?;
            (*array.data_type() == DataType::Int64).then_some(array)
        };
        let (Some(marks), Some(misfits)) = (own(0), own(1)) else {
            return Err("it sends columns of other types than requested".to_owned());
        };
        let marks = marks.as_primitive::<Int64Type>();
        if is_first && (marks.is_empty() || marks.value(0) != 1) {
            return Err("it sends rows in another order than requested".to_owned());
        }
        let rows = batch.slice(
            usize::from(is_first),
            batch.num_rows() - usize::from(is_first),
        );
        let misfits = misfits.slice(usize::from(is_first), rows.num_rows());
        let misfits = misfits.as_primitive::<Int64Type>();
        let raw = Cells::of(rows.column(2), false);
        let mut faults = Vec::new();
        for (row, number) in misfits.values().iter().enumerate() {
            let Some(index) = usize::try_from(*number)
                .ok()
                .and_then(|one| one.checked_sub(1))
            else {
                continue;
            };
            let (Some(column), Some(kind)) = (self.columns.get(index), self.kinds.get(index))
            else {
                continue;
            };
            let mut text = Vec::new();
            if let Some(raw) = &raw {
                raw.append(row, &mut text);
            }
            faults.push(RowFault {
                row,
                reason: format!(
                    "the value of the column `{}` is not {}, as the declaration of the column says: correct it, or \
                     read the column as {}::text",
                    column.name,
                    kind.name(),
                    column.name
                ),
                raw: text,
            });
        }
        let mut arrays = rows.columns().iter().skip(OWN_COLUMNS);
        let keys = self.keys.as_ref().and_then(|_| arrays.next().cloned());
        let mut columns = Vec::with_capacity(self.kinds.len());
        for kind in &self.kinds {
            let array = arrays.next().ok_or("it sends too few columns")?;
            columns.push(match kind {
                Kind::Mixed => mixed(array, arrays.next().ok_or("it sends too few columns")?)?,
                _ => array.clone(),
            });
        }
        Ok(Block {
            columns,
            row_ids: None,
            keys: keys.map(|keys| with_valid_texts(keys, "", &mut Vec::new())),
            faults,
        })
    }
}

/// Texts, and the exact texts of floats.
fn mixed(texts: &ArrayRef, floats: &ArrayRef) -> Result<ArrayRef, String> {
    if *texts.data_type() != DataType::Utf8 || *floats.data_type() != DataType::Float64 {
        return Err("it sends columns of other types than requested".to_owned());
    }
    if floats.as_primitive::<Float64Type>().null_count() == floats.len() {
        return Ok(texts.clone());
    }
    let cells = Cells::of(floats, false).ok_or("floats have no text")?;
    let strings = texts.as_string::<i32>();
    let merged = (0..strings.len()).map(|row| {
        if strings.is_valid(row) {
            return Some(strings.value(row).to_owned());
        }
        floats.is_valid(row).then(|| {
            let mut text = Vec::new();
            cells.append(row, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    Ok(Arc::new(merged.collect::<StringArray>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_mean_kinds_of_values() {
        for (declared, kind) in [
            ("INTEGER", Kind::Integer),
            ("POINT", Kind::Integer),
            ("VARCHAR(20)", Kind::Text),
            ("DECIMAL_TEXT(10,2)", Kind::Text),
            ("double precision", Kind::Real),
            ("BLOB", Kind::Blob),
            ("DECIMAL(10,2)", Kind::Mixed),
            ("DATE", Kind::Mixed),
            ("", Kind::Mixed),
        ] {
            assert_eq!(Kind::of(declared), kind, "{declared}");
        }
    }

    #[test]
    fn a_new_target_has_the_declared_type_where_values_may_be_of_it() {
        for (declared, expected) in [
            ("DECIMAL_TEXT(10,2)", Some("decimal(10,2)")),
            ("DECIMAL(10,2)", Some("decimal(10,2)")),
            ("JSON_TEXT", Some("json")),
            ("DATETIME", Some("timestamp")),
            ("DATETIME(3)", Some("timestamp(3)")),
            ("STRING", Some("text")),
            ("BINARY(16)", None),
            ("DATE", Some("date")),
            ("BOOLEAN", Some("boolean")),
            ("VARCHAR(20)", None),
            ("INTEGER", None),
            ("money!", None),
            ("", None),
        ] {
            let found = sql_type(Kind::of(declared), declared);
            assert_eq!(found.as_deref(), expected, "{declared}");
        }
    }
}
