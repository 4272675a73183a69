//! Types: the names that packages use, and those of the catalog.

use inrush_destination::{Error, ResolvedType, Result};
use inrush_rows::column_type::ColumnType;
use inrush_rows::type_name::TypeName;

/// The digits of the fraction of a second in batches.
const FRACTION_DIGITS: u8 = 6;
const DECIMAL_DIGITS_MAX: u8 = 38;
/// `money` counts ten-thousandths in 64 bits, and `smallmoney` in 32. The encoder checks their ranges.
const MONEY: ColumnType = ColumnType::Decimal {
    precision: 19,
    scale: 4,
};
const SMALLMONEY: ColumnType = ColumnType::Decimal {
    precision: 10,
    scale: 4,
};

/// The type of a name in a package. Names of SQL Server mean its own types. Exceptions are `text`, `timestamp` and
/// others that mean something else in other databases: they have the same meaning for every destination.
pub fn resolve(type_name: &str) -> Result<ResolvedType> {
    let unknown = |hint: &str| Error::Unsuitable {
        what: format!(
            "SQL Server has no counterpart of the type {type_name:?} that keeps every value"
        ),
        hint: hint.to_owned(),
    };
    let parsed = TypeName::parse(without_max(type_name)).ok_or_else(|| {
        unknown("write a type's name, such as int, decimal(15,2) or nvarchar(40)")
    })?;
    if let Some(own) = own_type(&parsed) {
        return own.ok_or_else(|| unknown("check the numbers in its parentheses"));
    }
    let column_type = parsed
        .column_type()
        .ok_or_else(|| unknown("use another type, or text"))?;
    let sql = sql_of(&column_type).ok_or_else(|| match column_type {
        ColumnType::Interval { .. } => {
            unknown("make the column text, or load its parts into columns of numbers")
        }
        _ => unknown("use decimal with up to 38 digits, or text"),
    })?;
    Ok(ResolvedType { sql, column_type })
}

/// The name without `(max)`: `varchar` without a number means `varchar(max)`, too.
fn without_max(type_name: &str) -> &str {
    let parts = type_name
        .trim_end()
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('));
    match parts {
        Some((base, length))
            if length.trim().eq_ignore_ascii_case("max")
                && ["varchar", "nvarchar", "varbinary"]
                    .iter()
                    .any(|it| it.eq_ignore_ascii_case(base.trim())) =>
        {
            base
        }
        _ => type_name,
    }
}

/// The type of SQL Server with this name. `None` if the name does not mean such a type, `Some(None)` if its numbers are
/// wrong.
fn own_type(parsed: &TypeName) -> Option<Option<ResolvedType>> {
    let numbers = parsed.arguments.as_slice();
    let plain = |column_type: ColumnType| {
        numbers.is_empty().then(|| ResolvedType {
            sql: parsed.base.clone(),
            column_type,
        })
    };
    let text = |sql: &str, most: i64, blank_padded: bool| {
        let characters = match numbers {
            [] if blank_padded => 1,
            [characters] if (1..=most).contains(characters) => *characters,
            _ => return None,
        };
        Some(ResolvedType {
            sql: format!("{sql}({characters})"),
            column_type: ColumnType::Text {
                characters_max: u32::try_from(characters).ok(),
                blank_padded,
            },
        })
    };
    let long_text = |sql: &str| ResolvedType {
        sql: format!("{sql}(max)"),
        column_type: ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        },
    };
    let binary = |sql: &str| match numbers {
        [] => None,
        [bytes] if (1..=8000).contains(bytes) => Some(ResolvedType {
            sql: format!("{sql}({bytes})"),
            column_type: ColumnType::Binary,
        }),
        _ => None,
    };
    Some(match parsed.base.as_str() {
        "bit" => plain(ColumnType::Bool),
        "tinyint" => plain(ColumnType::Int16),
        "datetime2" | "time" | "datetimeoffset" => {
            let digits = match numbers {
                [] => Some(FRACTION_DIGITS),
                [digits] => u8::try_from(*digits).ok().filter(|digits| *digits <= 7),
                _ => None,
            };
            digits.map(|digits| ResolvedType {
                sql: format!("{}({digits})", parsed.base),
                column_type: of_moment(&parsed.base, digits),
            })
        }
        "datetime" | "smalldatetime" => plain(ColumnType::Timestamp {
            fraction_digits: FRACTION_DIGITS,
        }),
        "money" => plain(MONEY),
        "smallmoney" => plain(SMALLMONEY),
        "uniqueidentifier" => plain(ColumnType::Uuid),
        "xml" => plain(ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        }),
        "varchar" | "character varying" if numbers.is_empty() => Some(long_text("varchar")),
        "varchar" | "character varying" => text("varchar", 8000, false),
        "char" | "character" => text("char", 8000, true),
        "nvarchar" if numbers.is_empty() => Some(long_text("nvarchar")),
        "nvarchar" => text("nvarchar", 4000, false),
        "nchar" => text("nchar", 4000, true),
        "varbinary" | "binary" if !numbers.is_empty() => binary(&parsed.base),
        _ => return None,
    })
}

fn of_moment(base: &str, digits: u8) -> ColumnType {
    let fraction_digits = digits.min(FRACTION_DIGITS);
    match base {
        "time" => ColumnType::Time { fraction_digits },
        "datetimeoffset" => ColumnType::TimestampTz { fraction_digits },
        _ => ColumnType::Timestamp { fraction_digits },
    }
}

/// The type of SQL Server for new columns; `None` if none keeps every value.
fn sql_of(column_type: &ColumnType) -> Option<String> {
    Some(match column_type {
        ColumnType::Bool => "bit".to_owned(),
        ColumnType::Int16 => "smallint".to_owned(),
        ColumnType::Int32 => "int".to_owned(),
        ColumnType::Int64 => "bigint".to_owned(),
        ColumnType::Float32 => "real".to_owned(),
        ColumnType::Float64 => "float".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        // Numbers of any length are kept as their text.
        ColumnType::DecimalText { .. } | ColumnType::Json => "nvarchar(max)".to_owned(),
        ColumnType::Text { .. } => "nvarchar(max)".to_owned(),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Time { fraction_digits } => format!("time({fraction_digits})"),
        ColumnType::Timestamp { fraction_digits } => format!("datetime2({fraction_digits})"),
        ColumnType::TimestampTz { fraction_digits } => format!("datetimeoffset({fraction_digits})"),
        ColumnType::Uuid => "uniqueidentifier".to_owned(),
        ColumnType::Binary => "varbinary(max)".to_owned(),
        ColumnType::Interval { .. }
        | ColumnType::Enum { .. }
        | ColumnType::Opaque
        | ColumnType::Special(_) => return None,
    })
}

/// A column's type as the catalog has it (`sys.columns`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogType {
    /// The system's type: `nvarchar`.
    pub name: String,
    /// Bytes; -1 for `(max)`.
    pub max_length: i64,
    /// Digits.
    pub precision: u8,
    /// Digits after the point, or of the second's fraction.
    pub scale: u8,
    /// The collation, of texts.
    pub collation: Option<String>,
}

impl CatalogType {
    /// The type as a statement writes it, with its collation.
    pub fn sql(&self) -> String {
        let name = &self.name;
        let counted = |unit: i64| match self.max_length {
            -1 => format!("{name}(max)"),
            bytes => format!("{name}({})", bytes / unit),
        };
        let plain = match name.as_str() {
            "char" | "varchar" | "binary" | "varbinary" => counted(1),
            "nchar" | "nvarchar" => counted(2),
            "decimal" | "numeric" => format!("{name}({},{})", self.precision, self.scale),
            "time" | "datetime2" | "datetimeoffset" => format!("{name}({})", self.scale),
            _ => name.clone(),
        };
        // The name of a collation has letters, digits and _; anything else is not written into a statement.
        let is_word = |text: &&String| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match self.collation.as_ref().filter(is_word) {
            Some(collation) => format!("{plain} COLLATE {collation}"),
            None => plain,
        }
    }

    /// True if large values are stored apart from their rows.
    pub fn has_large_values(&self) -> bool {
        self.max_length == -1 || matches!(self.name.as_str(), "text" | "ntext" | "image")
    }

    /// True if it stores every value of the other type unchanged. The types must be the same. Only the collation of a text in UTF-16
    /// may differ, because it does not change the characters.
    pub fn keeps_all_of(&self, other: &CatalogType) -> bool {
        let is_utf16 = matches!(self.name.as_str(), "nchar" | "nvarchar");
        let plain = |of: &CatalogType| CatalogType {
            collation: of.collation.clone().filter(|_| !is_utf16),
            ..of.clone()
        };
        plain(self) == plain(other)
    }

    /// The values that fit; `None` if it cannot be loaded.
    pub fn column_type(&self) -> Option<ColumnType> {
        let text = |unit: i64, blank_padded: bool| ColumnType::Text {
            characters_max: u32::try_from(self.max_length / unit)
                .ok()
                .filter(|_| self.max_length > 0),
            blank_padded,
        };
        Some(match self.name.as_str() {
            "bit" => ColumnType::Bool,
            "tinyint" | "smallint" => ColumnType::Int16,
            "int" => ColumnType::Int32,
            "bigint" => ColumnType::Int64,
            "real" => ColumnType::Float32,
            "float" => ColumnType::Float64,
            "decimal" | "numeric"
                if self.precision <= DECIMAL_DIGITS_MAX && self.scale <= self.precision =>
            {
                ColumnType::Decimal {
                    precision: self.precision,
                    scale: self.scale,
                }
            }
            "money" => MONEY,
            "smallmoney" => SMALLMONEY,
            "date" => ColumnType::Date,
            "time" | "datetime2" | "datetimeoffset" => of_moment(&self.name, self.scale),
            "datetime" | "smalldatetime" => ColumnType::Timestamp {
                fraction_digits: FRACTION_DIGITS,
            },
            "char" => text(1, true),
            "varchar" => text(1, false),
            "nchar" => text(2, true),
            "nvarchar" => text(2, false),
            "xml" => text(1, false),
            "binary" | "varbinary" => ColumnType::Binary,
            "uniqueidentifier" => ColumnType::Uuid,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_resolved() {
        for (name, sql) in [
            ("integer", "int"),
            ("boolean", "bit"),
            ("tinyint", "tinyint"),
            ("numeric(15,2)", "decimal(15,2)"),
            ("numeric", "nvarchar(max)"),
            ("text", "nvarchar(max)"),
            ("varchar(44)", "varchar(44)"),
            ("VARCHAR", "varchar(max)"),
            ("VarChar ( MAX ) ", "varchar(max)"),
            ("nvarchar(max)", "nvarchar(max)"),
            ("varbinary(max)", "varbinary(max)"),
            ("money", "money"),
            ("smallmoney", "smallmoney"),
            ("nvarchar(25)", "nvarchar(25)"),
            ("char", "char(1)"),
            ("timestamp", "datetime2(6)"),
            ("timestamp(3) with time zone", "datetimeoffset(3)"),
            ("datetime2(7)", "datetime2(7)"),
            ("datetime", "datetime"),
            ("uuid", "uniqueidentifier"),
            ("bytea", "varbinary(max)"),
            ("varbinary(16)", "varbinary(16)"),
            ("double precision", "float"),
        ] {
            assert_eq!(resolve(name).expect(name).sql, sql, "{name}");
        }
        for wrong in [
            "interval",
            "nvarchar(4001)",
            "varchar(8001)",
            "money(3)",
            "char(max)",
            "varchar(max, 2)",
            "varchar(max",
            "timetz",
            "numeric(5,2)[]",
            "datetime2(8)",
            "x; drop",
        ] {
            let error = resolve(wrong).expect_err(wrong);
            assert!(
                error.to_string().contains(&format!("{wrong:?}")) && error.hint().is_some(),
                "{error}"
            );
        }
    }

    #[test]
    fn types_of_the_catalog_are_written_back() {
        let of = |name: &str, max_length, precision, scale, collation: Option<&str>| CatalogType {
            name: name.to_owned(),
            max_length,
            precision,
            scale,
            collation: collation.map(str::to_owned),
        };
        for (column, sql) in [
            (
                of("nvarchar", 50, 0, 0, Some("Latin1_General_CI_AS")),
                "nvarchar(25) COLLATE Latin1_General_CI_AS",
            ),
            (of("varchar", -1, 0, 0, Some("x; drop")), "varchar(max)"),
            (of("decimal", 9, 15, 2, None), "decimal(15,2)"),
            (of("datetime2", 8, 26, 6, None), "datetime2(6)"),
            (of("int", 4, 10, 0, None), "int"),
        ] {
            assert_eq!(column.sql(), sql);
            assert!(column.column_type().is_some());
        }
        let in_utf16 = |collation| of("nvarchar", 50, 0, 0, Some(collation));
        assert!(in_utf16("Latin1_General_BIN2").keeps_all_of(&in_utf16("Latin1_General_CI_AS")));
        let in_code_page = |collation| of("varchar", 50, 0, 0, Some(collation));
        assert!(!in_code_page("Greek_BIN2").keeps_all_of(&in_code_page("Latin1_General_BIN2")));
        assert!(!of("decimal", 9, 15, 1, None).keeps_all_of(&of("decimal", 9, 15, 2, None)));
        assert_eq!(of("geography", -1, 0, 0, None).column_type(), None);
        assert_eq!(
            of("nvarchar", 50, 0, 0, None).column_type(),
            Some(ColumnType::Text {
                characters_max: Some(25),
                blank_padded: false
            })
        );
    }
}
