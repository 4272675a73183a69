//! Names of types that every destination understands: those of SQL, and the synonyms of PostgreSQL and DuckDB.

use crate::column_type::ColumnType;

/// The parts of a type's name: `numeric(15, 2)` is `numeric` with 15 and 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// The words in lower case, separated by one blank: `timestamp with time zone`.
    pub base: String,
    /// The numbers in its parentheses.
    pub arguments: Vec<i64>,
}

const SECOND_FRACTION_DIGITS: u8 = 6;

impl TypeName {
    /// Parses a name; `None` if it is not the name of a type.
    pub fn parse(text: &str) -> Option<TypeName> {
        let (before, rest) = match text.split_once('(') {
            Some((before, rest)) => (before, Some(rest)),
            None => (text, None),
        };
        let mut arguments = Vec::new();
        let mut after = "";
        if let Some(rest) = rest {
            let (inside, behind) = rest.split_once(')')?;
            for number in inside.split(',') {
                arguments.push(number.trim().parse().ok()?);
            }
            after = behind;
        }
        let words: Vec<String> = before
            .split_whitespace()
            .chain(after.split_whitespace())
            .map(str::to_lowercase)
            .collect();
        let is_word = |word: &String| {
            let mut characters = word.chars();
            let begins = characters
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
            begins && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        (!words.is_empty() && words.iter().all(is_word)).then(|| TypeName {
            base: words.join(" "),
            arguments,
        })
    }

    /// The column type of this name; `None` if its meaning differs between databases.
    pub fn column_type(&self) -> Option<ColumnType> {
        let plain = |column_type| self.arguments.is_empty().then_some(column_type);
        match self.base.as_str() {
            "boolean" | "bool" => plain(ColumnType::Bool),
            "smallint" | "int2" => plain(ColumnType::Int16),
            "integer" | "int" | "int4" => plain(ColumnType::Int32),
            "bigint" | "int8" => plain(ColumnType::Int64),
            "real" | "float4" => plain(ColumnType::Float32),
            "double precision" | "double" | "float8" | "float" => plain(ColumnType::Float64),
            "numeric" | "decimal" | "dec" => self.decimal(),
            "text" | "string" => plain(ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            }),
            "varchar" | "character varying" => self.text(None, false),
            "char" | "character" | "bpchar" => self.text(Some(1), true),
            "date" => plain(ColumnType::Date),
            "time" | "time without time zone" => Some(ColumnType::Time {
                fraction_digits: self.fraction_digits()?,
            }),
            "timestamp" | "timestamp without time zone" | "datetime" => {
                Some(ColumnType::Timestamp {
                    fraction_digits: self.fraction_digits()?,
                })
            }
            "timestamptz" | "timestamp with time zone" => Some(ColumnType::TimestampTz {
                fraction_digits: self.fraction_digits()?,
            }),
            "interval" => Some(ColumnType::Interval {
                fraction_digits: self.fraction_digits()?,
                has_infinity: false,
            }),
            "uuid" => plain(ColumnType::Uuid),
            "bytea" | "blob" | "binary" | "varbinary" => plain(ColumnType::Binary),
            "json" | "jsonb" => plain(ColumnType::Json),
            _ => None,
        }
    }

    fn decimal(&self) -> Option<ColumnType> {
        let (precision, scale) = match self.arguments.as_slice() {
            [] => return Some(ColumnType::DecimalText { limit: None }),
            [precision] => (*precision, 0),
            [precision, scale] => (*precision, *scale),
            _ => return None,
        };
        if !(1..=1000).contains(&precision) || !(-1000..=1000).contains(&scale) {
            return None;
        }
        Some(ColumnType::numeric(precision as u16, scale as i16))
    }

    fn text(&self, characters_default: Option<u32>, blank_padded: bool) -> Option<ColumnType> {
        let characters_max = match self.arguments.as_slice() {
            [] => characters_default,
            [characters] => Some(u32::try_from(*characters).ok().filter(|count| *count > 0)?),
            _ => return None,
        };
        Some(ColumnType::Text {
            characters_max,
            blank_padded,
        })
    }

    fn fraction_digits(&self) -> Option<u8> {
        match self.arguments.as_slice() {
            [] => Some(SECOND_FRACTION_DIGITS),
            [digits] => u8::try_from(*digits)
                .ok()
                .filter(|digits| *digits <= SECOND_FRACTION_DIGITS),
            _ => None,
        }
    }
}

/// The name of a type for a new column of these values; `None` if no name has this meaning in every database.
pub fn of_column(column_type: &ColumnType) -> Option<String> {
    let seconds = |base: &str, digits: u8| match digits {
        SECOND_FRACTION_DIGITS => base.to_owned(),
        digits => format!("{base}({digits})"),
    };
    Some(match column_type {
        ColumnType::Bool => "boolean".to_owned(),
        ColumnType::Int16 => "smallint".to_owned(),
        ColumnType::Int32 => "integer".to_owned(),
        ColumnType::Int64 => "bigint".to_owned(),
        ColumnType::Float32 => "real".to_owned(),
        ColumnType::Float64 => "double precision".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        } => "text".to_owned(),
        ColumnType::Text {
            characters_max: Some(characters),
            blank_padded: false,
        } => format!("varchar({characters})"),
        ColumnType::Text {
            characters_max: Some(characters),
            blank_padded: true,
        } => format!("char({characters})"),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Time { fraction_digits } => seconds("time", *fraction_digits),
        ColumnType::Timestamp { fraction_digits } => seconds("timestamp", *fraction_digits),
        ColumnType::TimestampTz { fraction_digits } => seconds("timestamptz", *fraction_digits),
        ColumnType::Uuid => "uuid".to_owned(),
        ColumnType::Binary => "bytea".to_owned(),
        ColumnType::Json => "json".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_type_means_this_type() {
        for name in [
            "boolean",
            "smallint",
            "integer",
            "bigint",
            "real",
            "double precision",
            "numeric(38,10)",
            "text",
            "varchar(7)",
            "char(7)",
            "date",
            "time(3)",
            "timestamp",
            "timestamptz(0)",
            "uuid",
            "bytea",
            "json",
        ] {
            let column_type = of(name).expect("a type");
            assert_eq!(of_column(&column_type).as_deref(), Some(name));
        }
        assert_eq!(of_column(&ColumnType::DecimalText { limit: None }), None);
    }

    fn of(text: &str) -> Option<ColumnType> {
        TypeName::parse(text)?.column_type()
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(
            of("numeric(15, 2)"),
            Some(ColumnType::Decimal {
                precision: 15,
                scale: 2
            })
        );
        assert_eq!(
            of("TIMESTAMP(3) with  time zone"),
            Some(ColumnType::TimestampTz { fraction_digits: 3 })
        );
        assert_eq!(
            of("numeric(3,5)"),
            Some(ColumnType::DecimalText {
                limit: Some((3, 5))
            })
        );
        assert_eq!(
            of("char"),
            Some(ColumnType::Text {
                characters_max: Some(1),
                blank_padded: true
            })
        );
        for wrong in [
            "",
            "int(3)",
            "numeric(0)",
            "numeric(1,2,3)",
            "varchar(0)",
            "varchar(x)",
            "timestamp(7)",
            "text; drop table x",
            "\"odd\"",
            "point",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
