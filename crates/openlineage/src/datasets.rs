//! The names of datasets, by the rules of OpenLineage: a namespace for the place, and a name within it.

use std::path::Path;

use inrush_plan::lineage::RowSource;
use inrush_rows::sql_text::take_identifier;

/// A dataset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dataset {
    /// The place: a server, or the files of this machine.
    pub namespace: String,
    /// The name within it.
    pub name: String,
}

impl Dataset {
    /// The dataset of a source. Paths begin at `folder`.
    pub fn of_source(source: &RowSource, folder: &Path) -> Dataset {
        match source {
            RowSource::Files { patterns } => {
                let paths = patterns.iter().map(|pattern| absolute(pattern, folder));
                Dataset {
                    namespace: "file".to_owned(),
                    name: paths.collect::<Vec<_>>().join(","),
                }
            }
            RowSource::Table { database, table } => Dataset::of_table(database, table, folder),
            // A query has no name, so its text is used.
            RowSource::Query { database, query } => Dataset {
                namespace: namespace(database, folder).0,
                name: query.split_whitespace().collect::<Vec<_>>().join(" "),
            },
            RowSource::Other { what } => Dataset {
                namespace: "inrush".to_owned(),
                name: what.clone(),
            },
        }
    }

    /// The dataset of a table in the database with this URL. `table` is the table's name in SQL.
    pub fn of_table(url: &str, table: &str, folder: &Path) -> Dataset {
        let (namespace, database) = namespace(url, folder);
        let parts = database.into_iter().chain(unquoted(table));
        Dataset {
            namespace,
            name: parts.collect::<Vec<_>>().join("."),
        }
    }
}

/// The namespace of a database, and the name of the database on its server.
fn namespace(url: &str, folder: &Path) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else {
        let (kind, path) = match url.split_once(':') {
            Some((kind, path)) => (kind, path),
            // A file of DuckDB.
            None => ("duckdb", url),
        };
        return match kind {
            "embedded" => (
                format!("postgres:{}", absolute(path, folder)),
                Some("postgres".to_owned()),
            ),
            "adbc" => (url.to_owned(), None),
            kind => (format!("{kind}:{}", absolute(path, folder)), None),
        };
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The user and the password, which is masked, are not part of the place.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (scheme, port) = match scheme {
        "postgresql" | "postgres" => ("postgres", "5432"),
        "mssql" | "sqlserver" => ("mssql", "1433"),
        other => (other, ""),
    };
    let host = match host {
        "" => "localhost",
        host => host,
    };
    let has_port = host.rsplit(':').next().is_some_and(|last| {
        host.contains(':') && !last.is_empty() && last.bytes().all(|it| it.is_ascii_digit())
    });
    let place = match has_port || port.is_empty() {
        true => format!("{scheme}://{host}"),
        false => format!("{scheme}://{host}:{port}"),
    };
    let database = path.split('/').next().unwrap_or_default();
    (place, (!database.is_empty()).then(|| database.to_owned()))
}

fn absolute(path: &str, folder: &Path) -> String {
    match path.contains("://") {
        true => path.to_owned(),
        false => folder.join(path).display().to_string(),
    }
}

/// The parts of a name as SQL writes it, without quotes.
fn unquoted(table: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = table.trim();
    loop {
        let (part, behind) = match take_identifier(rest) {
            Some((part, behind)) => (part, behind),
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        parts.push(part);
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None => return parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(url: &str, table: &str) -> (String, String) {
        let found = Dataset::of_table(url, table, Path::new("/jobs"));
        (found.namespace, found.name)
    }

    #[test]
    fn tables_are_named_by_server_database_and_schema() {
        for (url, name, expected) in [
            (
                "postgresql://etl:***@dw/tpch?sslmode=require",
                "\"public\".\"Line item\"",
                ("postgres://dw:5432", "tpch.public.Line item"),
            ),
            (
                "postgresql://[::1]:6000/tpch",
                "orders",
                ("postgres://[::1]:6000", "tpch.orders"),
            ),
            (
                "postgresql:///",
                "orders",
                ("postgres://localhost:5432", "orders"),
            ),
            (
                "mssql://sa@host/shop",
                "dbo.orders",
                ("mssql://host:1433", "shop.dbo.orders"),
            ),
            (
                "results.duckdb",
                "\"main\".\"orders\"",
                ("duckdb:/jobs/results.duckdb", "main.orders"),
            ),
            ("parquet:lake", "orders", ("parquet:/jobs/lake", "orders")),
            ("adbc:sqlite", "orders", ("adbc:sqlite", "orders")),
        ] {
            let (namespace, dataset) = table(url, name);
            assert_eq!((namespace.as_str(), dataset.as_str()), expected, "{url}");
        }
    }

    #[test]
    fn files_are_named_by_their_absolute_patterns() {
        let source = RowSource::Files {
            patterns: vec!["a.*.csv".to_owned(), "/b.csv".to_owned()],
        };
        let found = Dataset::of_source(&source, Path::new("/jobs"));
        assert_eq!(
            (found.namespace.as_str(), found.name.as_str()),
            ("file", "/jobs/a.*.csv,/b.csv")
        );
    }
}
