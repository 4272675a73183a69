//! The partitions of existing tables and of new tables.

use inrush_destination::{Error, Result, TargetPlan, WriteMode};
use inrush_rows::column_type::ColumnType;

use crate::catalog;
use crate::connection::SqlSession;
use crate::last_before::last_before;
use crate::options::{Options, Range};
use crate::sql;

const DOING: &str = "cannot read the partitions of a table";
/// The beginning of the names of functions and schemes that are made with a table. They stay with the table when it is
/// published.
pub const NAME_PREFIX: &str = "inrush_partitions_";
/// The most partitions of a table.
const PARTITIONS_MAX: usize = 15_000;

/// How a table is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// Its partition scheme.
    pub scheme: String,
    /// The function of the scheme.
    pub function: String,
    /// True if a bound is the first value of a partition (RANGE RIGHT); false if it is the last value of one (RANGE
    /// LEFT).
    pub is_right: bool,
    /// The column by whose values rows are assigned to partitions.
    pub column: String,
    /// The number of partitions.
    pub count: u64,
    /// When the function was made or changed last. Each change may give partitions other numbers.
    pub changed_at: String,
}

impl Partitioning {
    /// The partitioning of a table that exists; `None` if it has no partitions.
    pub fn of_table(session: &mut SqlSession, table: &str) -> Result<Option<Partitioning>> {
        let question = format!(
            "SELECT s.name, f.name, f.boundary_value_on_right, f.fanout, c.name, CONVERT(nvarchar(40), f.modify_date, 126) FROM sys.indexes i JOIN sys.partition_schemes s \
             ON s.data_space_id = i.data_space_id JOIN sys.partition_functions f ON f.function_id = s.function_id JOIN \
             sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id JOIN sys.columns c ON c.object_id = \
             k.object_id AND c.column_id = k.column_id WHERE i.object_id = OBJECT_ID({}) AND i.index_id < 2 AND \
             k.partition_ordinal = 1",
            sql::text(table)
        );
        let Some(row) = session.rows(DOING, &question)?.into_iter().next() else {
            return Ok(None);
        };
        let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        Ok(Some(Partitioning {
            scheme: text(0),
            function: text(1),
            is_right: text(2) == "1",
            count: text(3).parse().unwrap_or(0),
            column: text(4),
            changed_at: text(5),
        }))
    }

    /// The place of a table or index, as statements write it after ON.
    pub fn on(&self) -> String {
        format!(
            "{}({})",
            sql::identifier(&self.scheme),
            sql::identifier(&self.column)
        )
    }

    /// The number of a row's partition, from 1.
    pub fn number(&self) -> String {
        format!(
            "$PARTITION.{}({})",
            sql::identifier(&self.function),
            sql::identifier(&self.column)
        )
    }

    /// True if a table or index uses its scheme, or if another scheme uses its function.
    pub fn is_used(&self, session: &mut SqlSession) -> Result<bool> {
        let question = format!(
            "SELECT (SELECT COUNT_BIG(*) FROM sys.indexes i JOIN sys.partition_schemes s ON s.data_space_id = i.data_space_id WHERE \
             s.name = {}) + (SELECT COUNT_BIG(*) FROM sys.partition_functions f JOIN sys.partition_schemes o ON o.function_id = \
             f.function_id WHERE f.name = {} AND o.name <> {})",
            sql::text(&self.scheme),
            sql::text(&self.function),
            sql::text(&self.scheme)
        );
        Ok(session.number(DOING, &question)? != Some(0))
    }

    /// The partitioning in words.
    pub fn words(&self) -> String {
        format!(
            "partitioned by {} (function {}, RANGE {}, {} partitions)",
            self.column,
            self.function,
            if self.is_right { "RIGHT" } else { "LEFT" },
            self.count
        )
    }
}

/// Fails unless the target has, or can get, the partitions that the plan asks for.
pub fn check(session: &mut SqlSession, options: &Options, plan: &TargetPlan) -> Result<()> {
    let target = &plan.name;
    check_filegroups(session, options)?;
    let unsuitable = |what: &str, hint: &str| {
        Err(Error::Unsuitable {
            what: format!("{}: {what}", target.sql),
            hint: hint.to_owned(),
        })
    };
    if !catalog::is_table(session, target)? {
        return match plan.mode == WriteMode::ReplacePartitions && plan.partition_by.is_empty() {
            true => unsuitable(
                "it does not exist, so it has no partitions to replace",
                "name its partition column in partition_by, or use mode = \"create\"",
            ),
            // The name does not matter here.
            false => match NewPartitions::of_plan(plan, "")? {
                Some(partitions) => partitions.create_statements(options).map(drop),
                None => Ok(()),
            },
        };
    }
    let partitioning = Partitioning::of_table(session, &target.sql)?;
    match (&plan.partition_by[..], partitioning) {
        ([], None) if plan.mode == WriteMode::ReplacePartitions => unsuitable(
            "it has no partitions to replace",
            "leave `scope` out: all rows of the table are replaced",
        ),
        ([], _) => Ok(()),
        ([column], Some(partitioning)) if *column == partitioning.column => Ok(()),
        (asked, partitioning) => unsuitable(
            &format!(
                "it is partitioned by {}, but the flow has partition_by = {asked:?}",
                partitioning.map_or_else(|| "nothing".to_owned(), |found| found.column)
            ),
            "leave partition_by out, or name another target",
        ),
    }
}

/// Fails if the database lacks a filegroup of the options.
fn check_filegroups(session: &mut SqlSession, options: &Options) -> Result<()> {
    for filegroup in &options.filegroups {
        let question = format!(
            "SELECT name FROM sys.filegroups WHERE name = {}",
            sql::text(filegroup)
        );
        if session.rows(DOING, &question)?.is_empty() {
            return Err(Error::Unsuitable {
                what: format!(
                    "the database has no filegroup {filegroup}, which the option filegroups names"
                ),
                hint: "SELECT name FROM sys.filegroups shows those that it has".to_owned(),
            });
        }
    }
    Ok(())
}

/// The function and the scheme of a new table. Both have one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPartitions {
    target: String,
    name: String,
    column: String,
    column_type: ColumnType,
    type_sql: String,
    bounds: Vec<String>,
}

impl NewPartitions {
    /// The partitions that a plan asks for; `None` if it asks for none. Fails if SQL Server cannot have them.
    pub fn of_plan(plan: &TargetPlan, name: &str) -> Result<Option<NewPartitions>> {
        let unsuitable = |what: String, hint: &str| Error::Unsuitable {
            what: format!("{}: {what}", plan.name.sql),
            hint: hint.to_owned(),
        };
        let column = match &plan.partition_by[..] {
            [] => return Ok(None),
            [column] => column,
            more => {
                return Err(unsuitable(
                    format!(
                        "partition_by names {} columns, but SQL Server partitions by one",
                        more.len()
                    ),
                    "name one column in partition_by",
                ));
            }
        };
        let planned = plan.columns.iter().find(|planned| planned.name == *column);
        let planned = planned.ok_or_else(|| {
            unsuitable(
                format!("the partition column {column} is not loaded"),
                "name a column of the table in partition_by",
            )
        })?;
        if planned.sql.contains("(max)") {
            return Err(unsuitable(
                format!(
                    "column {column} has the type {}, which cannot be a partition key",
                    planned.sql
                ),
                "give it a size, such as varchar(40)",
            ));
        }
        if plan.bounds.len() >= PARTITIONS_MAX {
            return Err(unsuitable(
                format!(
                    "{} partitions are asked for, but a table has at most {PARTITIONS_MAX}",
                    plan.bounds.len() + 1
                ),
                "use fewer bounds, or a wider step",
            ));
        }
        Ok(Some(NewPartitions {
            target: plan.name.sql.clone(),
            name: name.to_owned(),
            column: column.clone(),
            column_type: planned.column_type.clone(),
            type_sql: planned.sql.clone(),
            bounds: plan.bounds.clone(),
        }))
    }

    /// The statements that make the partition function and the scheme. The partitions are assigned to the filegroups of the options
    /// in turn. Fails if RANGE LEFT is asked for and a bound has no last value before it.
    pub fn create_statements(&self, options: &Options) -> Result<[String; 2]> {
        let name = sql::identifier(&self.name);
        let primary = ["PRIMARY".to_owned()];
        let filegroups = if options.filegroups.is_empty() {
            &primary[..]
        } else {
            &options.filegroups
        };
        let literals = self.literals(options.range)?;
        let to = match filegroups {
            [one] => format!("ALL TO ({})", sql::identifier(one)),
            _ => {
                let dealt = filegroups.iter().map(String::as_str).cycle();
                format!("TO ({})", sql::names(dealt.take(literals.len() + 1)))
            }
        };
        Ok([
            format!(
                "CREATE PARTITION FUNCTION {name} ({}) AS RANGE {} FOR VALUES ({})",
                self.type_sql,
                options.range.word(),
                literals.join(", ")
            ),
            format!("CREATE PARTITION SCHEME {name} AS PARTITION {name} {to}"),
        ])
    }

    /// The bounds as literals. The bounds of a plan are the first values of partitions. RANGE LEFT needs the last values instead.
    fn literals(&self, range: Range) -> Result<Vec<String>> {
        let bounds = self.bounds.iter();
        let literals = bounds.map(|bound| match range {
            Range::Right => Ok(literal(bound, &self.column_type)),
            Range::Left => match last_before(bound, &self.column_type, &self.type_sql) {
                Some(before) => Ok(literal(&before, &self.column_type)),
                None => Err(Error::Unsuitable {
                    what: format!(
                        "{}: RANGE LEFT needs the last value before the bound {bound} of column {}, and the type {} has none",
                        self.target, self.column, self.type_sql
                    ),
                    hint: "leave the option range out: then the bounds are the first values of partitions (RANGE RIGHT)".to_owned(),
                }),
            },
        });
        literals.collect()
    }

    /// The place of the table, as statements write it after ON.
    pub fn on(&self) -> String {
        format!(
            "{}({})",
            sql::identifier(&self.name),
            sql::identifier(&self.column)
        )
    }
}

/// True if function and scheme were made together with the one table that has them.
pub fn are_made_for_one_table(partitioning: &Partitioning) -> bool {
    partitioning.scheme.starts_with(NAME_PREFIX) && partitioning.function == partitioning.scheme
}

/// The statements that remove a function and a scheme with this name, if they are there.
pub fn drop_statements(name: &str) -> [String; 2] {
    let of = |view: &str, kind: &str| {
        format!(
            "IF EXISTS (SELECT name FROM sys.{view} WHERE name = {}) DROP PARTITION {kind} {}",
            sql::text(name),
            sql::identifier(name)
        )
    };
    [
        of("partition_schemes", "SCHEME"),
        of("partition_functions", "FUNCTION"),
    ]
}

/// A bound of the plan as a literal that means the same under every DATEFORMAT and language.
pub fn literal(bound: &str, column_type: &ColumnType) -> String {
    match column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => bound.to_owned(),
        ColumnType::Timestamp { .. } => {
            format!("'{}'", bound.replace(' ', "T").replace('\'', "''"))
        }
        ColumnType::TimestampTz { .. } => {
            format!("'{}+00:00'", bound.replace(' ', "T").replace('\'', "''"))
        }
        ColumnType::Date => format!("'{}'", bound.replace('\'', "''")),
        _ => sql::text(bound),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use inrush_destination::{Address, ColumnPlan, ReplacedRows, TargetName};

    use super::*;

    fn plan(sql: &str, column_type: ColumnType, bounds: &[&str]) -> TargetPlan {
        TargetPlan {
            name: TargetName {
                schema: Some("dbo".to_owned()),
                name: "t".to_owned(),
                sql: sql::table("dbo", "t"),
            },
            columns: vec![ColumnPlan {
                name: "k".to_owned(),
                sql: sql.to_owned(),
                column_type,
                nullable: false,
            }],
            mode: WriteMode::Create,
            partition_by: vec!["k".to_owned()],
            bounds: bounds.iter().map(ToString::to_string).collect(),
            replaced: ReplacedRows::default(),
            merge: None,
            members: Vec::new(),
            shape: String::new(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
        }
    }

    fn options(written: &[(&str, &str)]) -> Options {
        let written = written
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        Options::read(&Address {
            url: "mssql://etl@dw/tpch",
            options: &written.collect(),
            folder: Path::new(""),
            site_packages: None,
            ledger_schema: "inrush",
        })
        .expect("understood")
    }

    fn made(plan: &TargetPlan, written: &[(&str, &str)]) -> Result<[String; 2]> {
        let partitions = NewPartitions::of_plan(plan, "p")
            .expect("suitable")
            .expect("asked");
        partitions.create_statements(&options(written))
    }

    #[test]
    fn functions_and_schemes_are_written_with_typed_bounds() {
        let of = |bounds: &str, sql: &str| {
            format!("CREATE PARTITION FUNCTION \"p\" ({sql}) AS RANGE RIGHT FOR VALUES ({bounds})")
        };
        let timestamp = ColumnType::Timestamp { fraction_digits: 3 };
        let zoned = ColumnType::TimestampTz { fraction_digits: 6 };
        let text = ColumnType::Text {
            characters_max: Some(9),
            blank_padded: false,
        };
        for (sql, column_type, bound, written) in [
            ("bigint", ColumnType::Int64, "-5", "-5"),
            ("date", ColumnType::Date, "2024-01-31", "'2024-01-31'"),
            (
                "datetime",
                timestamp,
                "2024-01-31 06:00:00",
                "'2024-01-31T06:00:00'",
            ),
            (
                "datetimeoffset(6)",
                zoned,
                "2024-01-31 06:00:00",
                "'2024-01-31T06:00:00+00:00'",
            ),
            ("varchar(9)", text, "it's", "N'it''s'"),
        ] {
            let [function, _] = made(&plan(sql, column_type, &[bound]), &[]).expect("suitable");
            assert_eq!(function, of(written, sql));
        }
    }

    #[test]
    fn bounds_of_range_left_are_the_last_values_of_partitions() {
        let left = [("range", "left")];
        let months = plan("date", ColumnType::Date, &["2024-02-01", "2024-03-01"]);
        let [function, _] = made(&months, &left).expect("suitable");
        assert!(
            function.ends_with("RANGE LEFT FOR VALUES ('2024-01-31', '2024-02-29')"),
            "{function}"
        );
        let text = ColumnType::Text {
            characters_max: Some(9),
            blank_padded: false,
        };
        for (sql, column_type, bound) in [
            ("varchar(9)", text, "m"),
            ("tinyint", ColumnType::Int16, "0"),
        ] {
            let error = made(&plan(sql, column_type, &[bound]), &left).expect_err(sql);
            assert!(error.to_string().contains("RANGE LEFT"), "{error}");
        }
    }

    #[test]
    fn partitions_are_dealt_to_filegroups() {
        let plan = plan("int", ColumnType::Int32, &["1", "2"]);
        for (filegroups, to) in [
            ("", "ALL TO (\"PRIMARY\")"),
            ("a", "ALL TO (\"a\")"),
            ("a, b", "TO (\"a\", \"b\", \"a\")"),
        ] {
            let [_, scheme] = made(&plan, &[("filegroups", filegroups)]).expect("suitable");
            assert_eq!(
                scheme,
                format!("CREATE PARTITION SCHEME \"p\" AS PARTITION \"p\" {to}")
            );
        }
    }

    #[test]
    fn partitions_that_cannot_be_are_refused() {
        let long = plan("nvarchar(max)", ColumnType::Int32, &[]);
        let mut two = plan("int", ColumnType::Int32, &[]);
        two.partition_by.push("k".to_owned());
        let mut missing = plan("int", ColumnType::Int32, &[]);
        missing.partition_by = vec!["x".to_owned()];
        let mut many = plan("int", ColumnType::Int32, &[]);
        many.bounds = (0..15_000).map(|number| number.to_string()).collect();
        for (wrong, said) in [
            (long, "nvarchar(max)"),
            (two, "2 columns"),
            (missing, "the partition column x is not loaded"),
            (many, "15001 partitions"),
        ] {
            let error = NewPartitions::of_plan(&wrong, "p").expect_err(said);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
