//! Reads an expression: which columns it names, which functions it calls, and whether it is one expression at all.
//!
//! DuckDB's own parser reads it (`json_serialize_sql`), so nothing here can read it differently from the statement that
//! evaluates it later. The kinds of parts that an expression may have are a closed list: a part that a later version of
//! DuckDB adds is refused until it is listed.

use std::collections::BTreeSet;
use std::ops::Range;

use adbc_core::error::Error as AdbcError;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_rows::sql_text::in_parentheses;
use serde_json::Value;

use crate::error::StepErrorKind;
use crate::functions;
use crate::unclosed;

/// The text before the expression in the statement that DuckDB reads.
const PREFIX: &str = "SELECT ";

/// The longest text that `lpad` and `rpad` may make, in characters.
const LENGTH_MAX: u32 = 10_000;

/// An expression that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// Its text.
    pub text: String,
    /// The columns that it names, in the order of the text; a column may be there more than once.
    pub columns: Vec<Named>,
    /// The functions and operators that it calls.
    pub functions: Vec<Named>,
    /// The columns in the arguments of functions that are NULL for infinite dates.
    pub in_dates: BTreeSet<String>,
    /// The columns on both sides of subtractions.
    pub in_differences: BTreeSet<String>,
}

/// A name in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name as DuckDB read it, without quotes.
    pub name: String,
    /// The range of the name, or of the call, in bytes of the expression.
    pub range: Option<Range<usize>>,
}

/// Why an expression cannot be used, and where.
pub type Fault = (Option<Range<usize>>, StepErrorKind);

impl Expression {
    /// Reads a text.
    pub fn read(link: &Link, text: &str) -> Result<Expression, Fault> {
        if text.trim().is_empty() {
            return Err((None, StepErrorKind::Empty));
        }
        if let Some(at) = text.find('\0') {
            let message = "it has a NUL byte".to_owned();
            return Err((Some(at..at + 1), StepErrorKind::Syntax { message }));
        }
        let statements = serialized(link, text, text.len()).map_err(|fault| match &fault.1 {
            StepErrorKind::Syntax { .. } => unclosed::fault(text).unwrap_or(fault),
            _ => fault,
        })?;
        let part = single_part(&statements).ok_or((None, StepErrorKind::NotOneExpression))?;
        if let Some(name) = part["alias"].as_str().filter(|name| !name.is_empty()) {
            let name = name.to_owned();
            let last = text.to_ascii_lowercase().rfind(&name.to_ascii_lowercase());
            let range = last.map(|start| start..start + name.len());
            return Err((range, StepErrorKind::NamedResult { name }));
        }
        let mut expression = Expression {
            text: text.to_owned(),
            columns: Vec::new(),
            functions: Vec::new(),
            in_dates: BTreeSet::new(),
            in_differences: BTreeSet::new(),
        };
        expression.walk(part)?;
        // The expression will be used in parentheses, as a part of longer statements.
        let enclosed = serialized(link, &in_parentheses(text), text.len());
        let enclosed = enclosed.map_err(|(_, kind)| (None, kind))?;
        match single_part(&enclosed) {
            Some(_) => Ok(expression),
            None => Err((None, StepErrorKind::NotOneExpression)),
        }
    }

    /// Visits a part and all parts in it.
    fn walk(&mut self, part: &Value) -> Result<(), Fault> {
        match part {
            Value::Array(parts) => parts.iter().try_for_each(|part| self.walk(part)),
            Value::Object(fields) => {
                if let Some(class) = fields.get("class").and_then(Value::as_str) {
                    self.visit(class, part)?;
                    if class == "CONSTANT" {
                        return Ok(());
                    }
                }
                fields.values().try_for_each(|part| self.walk(part))
            }
            _ => Ok(()),
        }
    }

    /// Notes the name of a part, or refuses it.
    fn visit(&mut self, class: &str, part: &Value) -> Result<(), Fault> {
        let range = range_of(part);
        let not_allowed = |what, instead| {
            let kind = StepErrorKind::NotAllowed { what, instead };
            Err((range.clone(), kind))
        };
        match class {
            "TYPE" if is_unbounded(part) => not_allowed(
                "the type BIGNUM",
                "use DECIMAL(38,0) or HUGEINT: the time to read more digits grows with their square",
            ),
            "CONSTANT" | "CAST" | "TYPE" | "CASE" | "COMPARISON" | "CONJUNCTION" | "BETWEEN" => {
                Ok(())
            }
            "COLUMN_REF" => {
                let names = part["column_names"]
                    .as_array()
                    .map_or(&[][..], Vec::as_slice);
                let [Value::String(name)] = names else {
                    return not_allowed(
                        "a name with a point",
                        "write the column's name alone, and a name that contains a point in double quotes",
                    );
                };
                self.columns.push(Named {
                    name: name.clone(),
                    range,
                });
                Ok(())
            }
            "FUNCTION" => {
                let is_plain = part["filter"].is_null()
                    && part["distinct"] == Value::Bool(false)
                    && is_empty(&part["order_bys"]["orders"]);
                if !is_plain {
                    return not_allowed(
                        "FILTER, DISTINCT or ORDER BY",
                        "they belong to functions that aggregate rows, and a step sees one row at a time",
                    );
                }
                if part["schema"] != "" || part["catalog"] != "" {
                    return not_allowed(
                        "a function with its schema",
                        "write the function's name alone",
                    );
                }
                let name = part["function_name"].as_str().unwrap_or_default();
                if ["lpad", "rpad"].contains(&name.to_lowercase().as_str()) && !is_short(part) {
                    return not_allowed(
                        "a length that is not a number up to 10,000",
                        "write the length out, as in lpad(a, 10, '0'): memory for longer texts is not limited",
                    );
                }
                let name = name.to_lowercase();
                if functions::is_of_finite_dates(&name) {
                    add_columns(part, &|_| true, &mut self.in_dates);
                }
                if functions::subtracts(&name) {
                    let passes = |name: &str| !functions::makes_number_of_date(name);
                    add_columns(part, &passes, &mut self.in_differences);
                }
                self.functions.push(Named { name, range });
                Ok(())
            }
            "OPERATOR" => match part["type"].as_str().unwrap_or_default() {
                "OPERATOR_NOT"
                | "OPERATOR_IS_NULL"
                | "OPERATOR_IS_NOT_NULL"
                | "OPERATOR_COALESCE"
                | "OPERATOR_TRY"
                | "COMPARE_IN"
                | "COMPARE_NOT_IN"
                | "ARRAY_EXTRACT"
                | "ARRAY_SLICE" => Ok(()),
                _ => not_allowed("this operator", "write it with the functions of the list"),
            },
            "SUBQUERY" => not_allowed(
                "a subquery",
                "a step sees one row at a time; use a lookup for rows of other tables",
            ),
            "WINDOW" => not_allowed(
                "a window function",
                "a step sees one row at a time: compute it in the source's query, or after the load",
            ),
            "STAR" => not_allowed("`*`", "name the columns"),
            "PARAMETER" => not_allowed(
                "a parameter of a statement",
                "write {name} for a parameter of the package",
            ),
            "LAMBDA" | "LAMBDA_REF" => not_allowed(
                "a lambda",
                "write the calculation out, or derive it after the load",
            ),
            "COLLATE" => not_allowed(
                "COLLATE",
                "texts are compared by their bytes; compare lower(a) with lower(b) to ignore the case",
            ),
            "POSITIONAL_REFERENCE" => not_allowed("`#` and a number", "name the column"),
            "DEFAULT" => not_allowed("DEFAULT", "write the value"),
            _ => not_allowed(
                "this part of SQL",
                "write it with the functions of the list",
            ),
        }
    }
}

/// The parse tree of an expression. `length` is the length of the expression that the user wrote.
fn serialized(link: &Link, expression: &str, length: usize) -> Result<Value, Fault> {
    let text = format!("{PREFIX}{expression}").replace('\'', "''");
    let engine = |message: String| (None, StepErrorKind::Engine { message });
    let rows = link
        .query(&format!("SELECT json_serialize_sql('{text}')"))
        .and_then(|mut answer| answer.rows())
        .map_err(|error: AdbcError| engine(error.message))?;
    let json = rows.into_iter().flatten().flatten().next();
    let json = json.ok_or_else(|| engine("it returned no parse tree".to_owned()))?;
    // Only the depth limit of the JSON parser can fail here, because DuckDB itself wrote the JSON.
    let tree: Value = serde_json::from_str(&json).map_err(|_| (None, StepErrorKind::TooDeep))?;
    if tree["error"] != Value::Bool(true) {
        return Ok(tree);
    }
    let message = tree["error_message"].as_str().unwrap_or_default();
    if tree["error_type"] != "parser" {
        // A statement that is not a SELECT follows the expression.
        return Err((None, StepErrorKind::NotOneExpression));
    }
    let position = tree["position"].as_str().and_then(|text| text.parse().ok());
    let start = position.and_then(|position: usize| position.checked_sub(PREFIX.len()));
    let range = start
        .filter(|start| *start <= length)
        .map(|start| start..start + 1);
    let message = message.to_owned();
    Err((range, StepErrorKind::Syntax { message }))
}

/// The only result of the only SELECT, if it has no clause. It may have a name.
fn single_part(tree: &Value) -> Option<&Value> {
    let [statement] = tree["statements"].as_array()?.as_slice() else {
        return None;
    };
    let node = &statement["node"];
    let is_bare = node["type"] == "SELECT_NODE"
        && node["from_table"]["type"] == "EMPTY"
        && ["modifiers", "group_expressions", "group_sets"]
            .iter()
            .all(|clause| is_empty(&node[clause]))
        && ["where_clause", "having", "sample", "qualify"]
            .iter()
            .all(|clause| node[clause].is_null())
        && is_empty(&node["cte_map"]["map"]);
    let [part] = node["select_list"].as_array()?.as_slice() else {
        return None;
    };
    is_bare.then_some(part)
}

/// True if the second argument of a call is a written number of at most [`LENGTH_MAX`].
fn is_short(call: &Value) -> bool {
    let length = &call["arguments"][1]["expression"];
    let number = length["literal"]["text"].as_str();
    let number = number.and_then(|text| text.parse::<u32>().ok());
    length["class"] == "CONSTANT" && number.is_some_and(|number| number <= LENGTH_MAX)
}

/// Adds the columns from which the value of a part may come. A condition only chooses between values: of `CASE WHEN a <
/// b THEN c END`, only `c` is added. `passes` is true for a function whose result may be a date that comes from its
/// arguments.
fn add_columns(part: &Value, passes: &dyn Fn(&str) -> bool, columns: &mut BTreeSet<String>) {
    let word = |name: &str| part[name].as_str().unwrap_or_default();
    let mut add = |part: &Value| add_columns(part, passes, columns);
    match (word("class"), word("type")) {
        ("COLUMN_REF", _) => {
            let name = part["column_names"][0].as_str().unwrap_or_default();
            columns.insert(name.to_ascii_lowercase());
        }
        ("CAST", _) => add(&part["child"]),
        ("CASE", _) => {
            for check in part["case_checks"].as_array().into_iter().flatten() {
                add(&check["then_expr"]);
            }
            add(&part["else_expr"]);
        }
        ("FUNCTION", _) if passes(&word("function_name").to_lowercase()) => {
            for argument in part["arguments"].as_array().into_iter().flatten() {
                add(&argument["expression"]);
            }
        }
        ("OPERATOR", "OPERATOR_COALESCE" | "OPERATOR_TRY" | "ARRAY_EXTRACT" | "ARRAY_SLICE") => {
            for child in part["children"].as_array().into_iter().flatten() {
                add(child);
            }
        }
        _ => {}
    }
}

/// True for the type of whole numbers without a limit of their digits.
fn is_unbounded(part: &Value) -> bool {
    let name = part["type_name"].as_str().unwrap_or_default();
    ["bignum", "varint"].contains(&name.to_lowercase().as_str())
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_some_and(Vec::is_empty)
}

/// The place of a part in the expression.
fn range_of(part: &Value) -> Option<Range<usize>> {
    // A part that the parser has added has the largest number of 64 bits as its place.
    let start = usize::try_from(part["query_location"].as_u64()?).ok()?;
    let length = usize::try_from(part["query_location_length"].as_u64()?).ok()?;
    let start = start.checked_sub(PREFIX.len())?;
    Some(start..start.checked_add(length)?)
}
