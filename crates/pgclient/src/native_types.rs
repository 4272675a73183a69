//! The binary form of a type, as a text that is the same for two types if their values have the same bytes.
//!
//! The server sends and takes each value of COPY in binary form. For most types the bytes mean the same to every
//! server: ranges, bit strings, network addresses. The bytes of arrays and composites also have the OIDs of their
//! elements and attributes, which differ from database to database for types that users have made: a
//! [shape](NativeShape) says where these OIDs are, and they are replaced. A value of a type such as `regclass` is an
//! OID itself, so these types have no such text. The bytes of `money` depend on a setting, those of `interval` on the
//! server's version: the texts of these two types say how many digits amounts have, and whether an interval may be
//! infinite.

use std::collections::BTreeMap;

use inrush_pgcopy::NativeShape;
use inrush_rows::native_type::NativeType;
use tokio_postgres::Row;

use super::connection::ServerConnection;
use super::error::ClientError;
use super::types::money_scale;

/// OIDs below this one are the same in every database (`FirstGenbkiObjectId`).
const OWN_OIDS_FROM: u32 = 10_000;

/// The first version that has infinite intervals.
const INFINITE_INTERVALS_VERSION: i32 = 170_000;

const MONEY: &str = "money";

/// The deepest nesting of types, more than any real database has.
const DEPTH_MAX: usize = 32;

/// A type that was found in the catalog, with the types that it is made of.
#[derive(Clone, Debug, Default)]
struct Found {
    /// `pg_type.typtype`, but `a` for arrays.
    kind: String,
    name: String,
    has_binary_form: bool,
    /// The labels of an enum, or the extension of a type in C.
    detail: String,
    parts: Vec<Part>,
}

/// An element, an attribute, a bound, or the base of a domain.
#[derive(Clone, Debug)]
struct Part {
    name: String,
    oid: u32,
    modifier: i32,
}

/// Types by their OIDs.
#[derive(Debug)]
pub struct NativeTypes {
    types: BTreeMap<u32, Found>,
    server_version: i32,
}

impl NativeTypes {
    /// The statement that finds these types, and the types that they are made of.
    pub fn query(oids: &[u32]) -> String {
        let oids: Vec<String> = oids.iter().map(|oid| format!("({oid}::oid)")).collect();
        format!(
            "WITH RECURSIVE part AS NOT MATERIALIZED ( \
               SELECT t.oid AS type, '' AS name, t.typelem AS oid, -1 AS modifier, 0 AS place \
               FROM pg_catalog.pg_type AS t WHERE t.typinput = 'pg_catalog.array_in'::pg_catalog.regproc \
               UNION ALL \
               SELECT t.oid, '', t.typbasetype, t.typtypmod, 0 FROM pg_catalog.pg_type AS t WHERE t.typtype = 'd' \
               UNION ALL \
               SELECT r.rngtypid, '', r.rngsubtype, -1, 0 FROM pg_catalog.pg_range AS r \
               UNION ALL \
               SELECT r.rngmultitypid, '', r.rngsubtype, -1, 0 FROM pg_catalog.pg_range AS r \
               UNION ALL \
               SELECT t.oid, a.attname::text, a.atttypid, a.atttypmod, a.attnum \
               FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.typrelid \
               WHERE t.typtype = 'c' AND a.attnum > 0 AND NOT a.attisdropped \
             ), reached AS ( \
               SELECT v.oid FROM (VALUES {}) AS v (oid) \
               UNION \
               SELECT part.oid FROM reached JOIN part ON part.type = reached.oid \
             ) \
             SELECT t.oid::text, \
                    CASE WHEN t.typinput = 'pg_catalog.array_in'::pg_catalog.regproc THEN 'a' ELSE t.typtype::text END, \
                    CASE WHEN t.oid < {OWN_OIDS_FROM} THEN t.typname::text \
                         ELSE pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname) END, \
                    CASE WHEN t.typsend <> 0 AND t.typreceive <> 0 THEN 't' ELSE 'f' END, \
                    CASE WHEN t.typtype = 'e' THEN ARRAY(SELECT e.enumlabel FROM pg_catalog.pg_enum AS e \
                           WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)::text \
                         ELSE (SELECT x.extname || ' ' || x.extversion FROM pg_catalog.pg_depend AS d \
                               JOIN pg_catalog.pg_extension AS x ON x.oid = d.refobjid \
                               WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid \
                               AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e') \
                    END, \
                    part.name, part.oid::text, part.modifier::text, \
                    pg_catalog.current_setting('server_version_num') \
             FROM (SELECT DISTINCT oid FROM reached) AS reached \
             JOIN pg_catalog.pg_type AS t ON t.oid = reached.oid \
             JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace \
             LEFT JOIN part ON part.type = t.oid ORDER BY t.oid, part.place",
            oids.join(", ")
        )
    }

    /// The types in the rows that the statement returned, as texts.
    pub fn of_rows(rows: &[Vec<Option<String>>]) -> NativeTypes {
        let mut types: BTreeMap<u32, Found> = BTreeMap::new();
        let mut server_version = 0;
        for row in rows {
            let text = |index: usize| row.get(index).and_then(Option::as_deref);
            let number = |index| text(index).and_then(|text| text.parse::<i64>().ok());
            let Some(oid) = number(0).and_then(|oid| u32::try_from(oid).ok()) else {
                continue;
            };
            let owned = |index| text(index).unwrap_or_default().to_owned();
            server_version = number(8).map_or(server_version, |version| version as i32);
            let found = types.entry(oid).or_default();
            found.kind = owned(1);
            found.name = owned(2);
            found.has_binary_form = text(3) == Some("t");
            found.detail = owned(4);
            if let (Some(part), Some(modifier)) = (number(6), number(7)) {
                found.parts.push(Part {
                    name: owned(5),
                    oid: part as u32,
                    modifier: modifier as i32,
                });
            }
        }
        NativeTypes {
            types,
            server_version,
        }
    }

    /// True if one of the types is `money`: its form depends on the setting `lc_monetary`.
    pub fn has_money(&self) -> bool {
        self.types.values().any(|found| found.name == MONEY)
    }

    /// The form of a type; `None` if its values have no binary form that another database could accept.
    pub fn form(&self, oid: u32, money_scale: Option<u8>) -> Option<String> {
        let form = self.form_of(oid, money_scale, 0)?;
        Some(format!("postgresql {form}"))
    }

    /// The base type of a domain, also of a domain over a domain, and its modifier. Another type is returned as it is.
    /// The server describes a column of a domain by its base type.
    pub fn base(&self, mut oid: u32, mut modifier: i32) -> (u32, i32) {
        for _ in 0..DEPTH_MAX {
            let found = self.types.get(&oid).filter(|found| found.kind == "d");
            let Some(base) = found.and_then(|found| found.parts.first()) else {
                break;
            };
            (oid, modifier) = (base.oid, base.modifier);
        }
        (oid, modifier)
    }

    /// The places where values of a type have OIDs of this database.
    pub fn shape(&self, oid: u32) -> NativeShape {
        let shape = self.shape_of(oid, 0);
        match self.has_own_oids(oid, 0) {
            true => shape,
            false => NativeShape::Plain,
        }
    }

    fn shape_of(&self, oid: u32, depth: usize) -> NativeShape {
        let Some(found) = self.types.get(&oid).filter(|_| depth < DEPTH_MAX) else {
            return NativeShape::Plain;
        };
        let shape = |part: &Part| self.shape_of(part.oid, depth + 1);
        match (found.kind.as_str(), found.parts.first()) {
            ("a", Some(element)) => NativeShape::Array {
                oid: element.oid,
                element: Box::new(shape(element)),
            },
            ("d", Some(base)) => shape(base),
            ("r", Some(bound)) => NativeShape::Range(Box::new(shape(bound))),
            ("m", Some(bound)) => NativeShape::Multirange(Box::new(shape(bound))),
            ("c", _) => {
                let fields = found.parts.iter();
                NativeShape::Composite(fields.map(|part| (part.oid, shape(part))).collect())
            }
            _ => NativeShape::Plain,
        }
    }

    /// True if values of a type may contain an OID that is unknown to other databases.
    fn has_own_oids(&self, oid: u32, depth: usize) -> bool {
        let Some(found) = self.types.get(&oid).filter(|_| depth < DEPTH_MAX) else {
            return false;
        };
        let has_oids = matches!(found.kind.as_str(), "a" | "c");
        found.parts.iter().any(|part| {
            (has_oids && part.oid >= OWN_OIDS_FROM) || self.has_own_oids(part.oid, depth + 1)
        })
    }

    fn form_of(&self, oid: u32, money_scale: Option<u8>, depth: usize) -> Option<String> {
        let found = self.types.get(&oid).filter(|_| depth < DEPTH_MAX)?;
        if !found.has_binary_form {
            return None;
        }
        let name = &found.name;
        let form = |oid| self.form_of(oid, money_scale, depth + 1);
        // For a type that has exactly one part: that part.
        let part = || found.parts.first();
        Some(match found.kind.as_str() {
            "a" => format!("{}[]", form(part()?.oid)?),
            "d" => {
                let base = part()?;
                format!("{name} over {} {}", form(base.oid)?, base.modifier)
            }
            "r" | "m" => format!("{name} of {}", form(part()?.oid)?),
            "e" => format!("{name} {}", found.detail),
            "c" => {
                let attribute = |part: &Part| {
                    let (name, modifier) = (&part.name, part.modifier);
                    Some(format!("{name:?} {} {modifier}", form(part.oid)?))
                };
                let attributes: Option<Vec<String>> = found.parts.iter().map(attribute).collect();
                format!("{name} ({})", attributes?.join(", "))
            }
            "b" if oid >= OWN_OIDS_FROM => match found.detail.as_str() {
                "" => return None,
                extension => format!("{name} of {extension}"),
            },
            "b" if name.starts_with("reg") => return None,
            "b" if name == MONEY => format!("{name} with {} digits", money_scale?),
            "b" if name == "interval" && self.server_version >= INFINITE_INTERVALS_VERSION => {
                format!("{name} with infinity")
            }
            "b" => name.clone(),
            _ => return None,
        })
    }
}

/// The limit that a modifier sets; `None` if it sets none.
pub fn limit(modifier: i32) -> Option<i32> {
    (modifier >= 0).then_some(modifier)
}

/// How values can be passed unchanged into a column of this type on the server; `None` if they cannot.
pub async fn passing(
    connection: &ServerConnection,
    sent: &NativeType,
    taken: (u32, i32),
) -> Result<Option<NativeShape>, ClientError> {
    let pairs = [(sent.clone(), taken)];
    Ok(passing_all(connection, &pairs).await?.pop().flatten())
}

/// [`passing`] for several columns. Each pair is the type that is sent, and the OID and modifier of the column's type.
pub async fn passing_all(
    connection: &ServerConnection,
    columns: &[(NativeType, (u32, i32))],
) -> Result<Vec<Option<NativeShape>>, ClientError> {
    let mut oids: Vec<u32> = columns.iter().map(|(_, (oid, _))| *oid).collect();
    oids.sort_unstable();
    oids.dedup();
    if oids.is_empty() {
        return Ok(Vec::new());
    }
    let doing = "looking for the binary form of types";
    let rows = connection
        .query(&NativeTypes::query(&oids), &[], doing)
        .await?;
    let texts = |row: &Row| (0..row.len()).map(|index| row.get(index)).collect();
    let rows: Vec<Vec<Option<String>>> = rows.iter().map(texts).collect();
    let types = NativeTypes::of_rows(&rows);
    let money_scale = match types.has_money() {
        true => Some(money_scale(connection).await?),
        false => None,
    };
    let before_infinity = NativeTypes {
        types: types.types.clone(),
        server_version: INFINITE_INTERVALS_VERSION - 1,
    };
    let shape = |(sent, (oid, modifier)): &(NativeType, (u32, i32))| {
        let (oid, modifier) = types.base(*oid, *modifier);
        // The intervals of an older server are all finite, so a newer server accepts them. An older server may not
        // accept those of a newer one.
        let forms = [&types, &before_infinity].map(|types| types.form(oid, money_scale));
        let mut forms = forms.into_iter().flatten();
        let passes = forms.any(|form| sent.fits_in(&form, limit(modifier)));
        passes.then(|| types.shape(oid))
    };
    Ok(columns.iter().map(shape).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row as the statement returns it.
    fn row(texts: [&str; 8]) -> Vec<Option<String>> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut row: Vec<Option<String>> = texts.into_iter().map(text).collect();
        row.push(Some("180000".to_owned()));
        row
    }

    #[test]
    fn a_form_names_all_that_its_bytes_depend_on() {
        let types = NativeTypes::of_rows(&[
            row(["23", "b", "int4", "t", "", "", "", ""]),
            row(["1007", "a", "_int4", "t", "", "", "23", "-1"]),
            row(["790", "b", "money", "t", "", "", "", ""]),
            row(["2205", "b", "regclass", "t", "", "", "", ""]),
            row(["1186", "b", "interval", "t", "", "", "", ""]),
            row(["20000", "e", "public.mood", "t", "{sad,ok}", "", "", ""]),
            row(["20001", "a", "public._mood", "t", "", "", "20000", "-1"]),
            row(["20002", "c", "public.pair", "t", "", "a", "23", "-1"]),
            row(["20002", "c", "public.pair", "t", "", "b", "20001", "-1"]),
            row(["20003", "b", "public.box3", "t", "", "", "", ""]),
            row(["20004", "b", "public.hstore", "t", "hstore 1.8", "", "", ""]),
            row(["20005", "b", "public.odd", "f", "hstore 1.8", "", "", ""]),
            row(["20006", "d", "public.four", "t", "", "", "23", "7"]),
        ]);
        let form = |oid| types.form(oid, Some(2));
        let some = |text: &str| Some(format!("postgresql {text}"));
        assert_eq!(form(1007), some("int4[]"));
        assert_eq!(form(790), some("money with 2 digits"));
        assert_eq!(form(1186), some("interval with infinity"));
        assert_eq!(form(20001), some("public.mood {sad,ok}[]"));
        assert_eq!(
            form(20002),
            some(r#"public.pair ("a" int4 -1, "b" public.mood {sad,ok}[] -1)"#)
        );
        assert_eq!(form(20004), some("public.hstore of hstore 1.8"));
        for none in [2205, 20003, 20005, 99] {
            assert_eq!(form(none), None, "{none}");
        }
        assert_eq!(types.form(790, None), None);
        assert_eq!(types.base(20006, -1), (23, 7));
        let moods = NativeShape::Array {
            oid: 20000,
            element: Box::new(NativeShape::Plain),
        };
        let fields = vec![(23, NativeShape::Plain), (20001, moods.clone())];
        assert_eq!(types.shape(20002), NativeShape::Composite(fields));
        assert_eq!(types.shape(20001), moods);
        assert_eq!(types.shape(1007), NativeShape::Plain);
    }
}
