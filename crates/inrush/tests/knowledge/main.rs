//! No source file outside a destination's crate knows which database it loads into: the test reads the sources of all
//! other crates and reports lines that only fit one database. Texts for users (URLs, names of settings, the words of
//! COPY's dialect) are allowed, except that texts in [`NAMELESS`] crates must not name a product. [`dependencies`]
//! reads the dependencies of each crate from its `Cargo.toml`.

mod dependencies;

use std::fs;
use std::path::{Path, PathBuf};

/// Words that only code for one database has: crates of destinations, types of their connections, words of catalogs.
const WORDS: &[&str] = &[
    "DestinationKind::Adbc",
    "DestinationKind::DuckDb",
    "DestinationKind::Parquet",
    "DestinationKind::SqlServer",
    "DestinationKind::of",
    "tokio_postgres",
    "ClientError",
    "PostgresError",
    "LedgerError",
    "PgType",
    "ServerConnection",
    "Session",
    "SwitchError",
    "UndoError",
    "catalog::",
    "hash_record_extended",
    "inrush_adbc",
    "inrush_parquet",
    "inrush_pgclient",
    "inrush_postgres",
    "inrush_sqlserver",
    "inrush_tdsclient",
    "pg_",
    "regclass",
    "search_path",
];

/// Words of SQL, in lower case; upper and lower case are not distinguished. Words that also occur in prose are left
/// out.
const SQL: &[&str] = &[
    "alter table",
    "attach partition",
    "checkpoint",
    "create table",
    "delete from",
    "drop table",
    "from stdin",
    "insert into",
    "lock table",
    "select ",
    "truncate table",
    "vacuum",
];

/// Names of products.
const PRODUCTS: &[&str] = &["PostgreSQL", "DuckDB", "SQLite", "SQL Server", "Parquet"];

/// The sources that must not name a product, not even in texts for users: these texts hold for every destination.
const NAMELESS: &[&str] = &[
    "rows/src/",
    "source/src/",
    "plan/src/",
    "engine/src/",
    "openlineage/src/",
];

/// A file that is allowed to contain such words.
struct Exception {
    /// The file's path from `crates/` on.
    file: &'static str,
    why: &'static str,
    /// The allowed words; all others are faults, as in any other file.
    words: &'static [&'static str],
}

/// Why the files of `destination/src/sql_ledger` know SQL.
const SHARED_LEDGER: &str = "has the ledger that destinations of SQL databases share; each of them makes the tables in its own dialect";

/// The exceptions. This list may only get shorter.
const KNOW: &[Exception] = &[
    Exception {
        file: "cli/src/embedded.rs",
        why: "makes the server extension in the server that `embedded` starts",
        words: &["postgres"],
    },
    Exception {
        file: "destination/src/address.rs",
        why: "says which URL means which kind of destination",
        words: &[
            "DestinationKind::Adbc",
            "DestinationKind::DuckDb",
            "DestinationKind::Parquet",
            "DestinationKind::SqlServer",
        ],
    },
    Exception {
        file: "plan/src/contract/scratch.rs",
        why: "makes the URL of a destination that is thrown away",
        words: &["DestinationKind::of"],
    },
    Exception {
        file: "plan/src/memory.rs",
        why: "names the library that evaluates the steps of a flow, whatever its destination is",
        words: &["DuckDB"],
    },
    Exception {
        file: "package/src/check.rs",
        why: "says in which line of a package a schema begins with pg_, before any server is asked, and which URLs \
              there are",
        words: &["pg_", "DestinationKind::of"],
    },
    Exception {
        file: "package/src/check_direct_writes.rs",
        why: "checks direct writes only for PostgreSQL; other destinations are asked first whether they have them",
        words: &["DestinationKind::of"],
    },
    Exception {
        file: "transform/src/expression.rs",
        why: "reads expressions, which are SQL of DuckDB whatever the destination is",
        words: &["select "],
    },
    Exception {
        file: "transform/src/functions.rs",
        why: "asks DuckDB for the functions that expressions may call",
        words: &["select "],
    },
    Exception {
        file: "transform/src/plan.rs",
        why: "asks DuckDB for the types of expressions",
        words: &["select "],
    },
    Exception {
        file: "transform/src/statement.rs",
        why: "writes the statement by which DuckDB evaluates steps",
        words: &["select "],
    },
    Exception {
        file: "package/src/connection.rs",
        why: "makes the path in a URL absolute",
        words: &["DestinationKind::of"],
    },
    Exception {
        file: "package/src/trust.rs",
        why: "asks which code a URL loads, before anything is loaded",
        words: &["DestinationKind::of"],
    },
    Exception {
        file: "inrush/src/registry.rs",
        why: "opens the destination that a URL means, and is the only file that chooses an implementation",
        words: &[
            "DestinationKind::Adbc",
            "DestinationKind::DuckDb",
            "DestinationKind::Parquet",
            "DestinationKind::SqlServer",
            "DestinationKind::of",
            "inrush_adbc",
            "inrush_parquet",
            "inrush_postgres",
            "inrush_sqlserver",
        ],
    },
    Exception {
        file: "destination/src/merge/mod.rs",
        why: "has the parts of a merge that SQL databases share; each destination writes the other parts in its own dialect",
        words: &["select "],
    },
    Exception {
        file: "destination/src/merge/statements.rs",
        why: "has the statements of a merge, which destinations of SQL databases share",
        words: &["insert into", "select "],
    },
    Exception {
        file: "destination/src/sql_ledger/changes.rs",
        why: SHARED_LEDGER,
        words: &[
            "delete from",
            "drop table",
            "insert into",
            "select ",
            "update ... set",
        ],
    },
    Exception {
        file: "destination/src/sql_ledger/lineage.rs",
        why: SHARED_LEDGER,
        words: &["delete from", "insert into", "select "],
    },
    Exception {
        file: "destination/src/sql_ledger/mod.rs",
        why: SHARED_LEDGER,
        words: &["select "],
    },
    Exception {
        file: "destination/src/sql_ledger/runs.rs",
        why: SHARED_LEDGER,
        words: &["delete from", "insert into", "select ", "update ... set"],
    },
    Exception {
        file: "destination/src/sql_ledger/units.rs",
        why: SHARED_LEDGER,
        words: &["delete from", "insert into"],
    },
    Exception {
        file: "inrush/src/lib.rs",
        why: "re-exports the types of PostgreSQL that the demo, the record workload and the command use",
        words: &["inrush_postgres"],
    },
    Exception {
        file: "cli/src/credentials.rs",
        why: "reads what libpq reads of environment and files, which the library never does",
        words: &["pg_", "postgres"],
    },
    Exception {
        file: "workloads/src/session.rs",
        why: "opens sessions with the server that a workload was loaded into",
        words: &["Session", "PostgresError", "postgres"],
    },
    Exception {
        file: "workloads/src/demo/contents.rs",
        why: "compares the demo's rows with those in the server that it starts itself",
        words: &["postgres", "select "],
    },
    Exception {
        file: "workloads/src/etlwr/database.rs",
        why: "the record workload makes a server ready before each run, and measures its tables",
        words: &[
            "Session",
            "PostgresError",
            "catalog::",
            "checkpoint",
            "drop table",
            "pg_",
            "postgres",
            "regclass",
            "select ",
        ],
    },
];

/// The sources that are searched, from `crates/` on. Crates for one kind of database (destinations, the sources that
/// are databases, `pgclient`, `pgcopy`, `tdsclient`, `tds`, `adbcclient` and `embedded`) are left out, and so is
/// `verdict`, which has advice for a single kind of database. [`dependencies`] keeps the crates for one database apart
/// from each other.
const FOLDERS: &[&str] = &[
    "scan/src",
    "rows/src",
    "system/src",
    "source/src",
    "sources/files/src",
    "convert/src",
    "package/src",
    "sniff/src",
    "destination/src",
    "transform/src",
    "fault/src",
    "plan/src",
    "engine/src",
    "openlineage/src",
    "inrush/src",
    "workloads/src",
    "cli/src",
    "python/src",
    "page/src",
];

#[test]
fn nobody_else_knows_which_database_it_is() {
    let mut found = Vec::new();
    for (name, path) in sources() {
        let known = KNOW.iter().find(|known| known.file == name);
        let excused = known.map_or(&[][..], |known| known.words);
        let mut seen = Vec::new();
        let is_nameless = NAMELESS.iter().any(|folder| name.starts_with(folder));
        let words = |line: &str| match is_nameless {
            true => [words_of_databases(line), products(line)].concat(),
            false => words_of_databases(line),
        };
        for (line, word) in places(&path, words) {
            seen.push(word);
            if !excused.contains(&word) {
                found.push(format!("{name}:{line}: {word}"));
            }
        }
        for word in excused.iter().filter(|word| !seen.contains(word)) {
            found.push(format!(
                "{name} no longer knows {word:?}: take it off the list"
            ));
        }
    }
    assert!(
        found.is_empty(),
        "these lines name a database, which only the crate of a destination may do:\n{}",
        found.join("\n")
    );
    let names: Vec<String> = sources().into_iter().map(|(name, _)| name).collect();
    for Exception { file, why, .. } in KNOW {
        let is_there = names.iter().any(|name| name == file);
        assert!(is_there, "{file} ({why}) does not exist any more");
    }
}

/// The names of products in a line.
fn products(line: &str) -> Vec<&'static str> {
    let names = PRODUCTS.iter().filter(|name| has(line, name));
    names.copied().collect()
}

/// The words of a line that only code for one database has.
fn words_of_databases(line: &str) -> Vec<&'static str> {
    let lower = line.to_lowercase();
    let words = WORDS.iter().filter(|word| has(line, word));
    let sql = SQL.iter().filter(|word| has(&lower, word));
    let mut found: Vec<&'static str> = words.chain(sql).copied().collect();
    found.extend(paths_to(line, "postgres"));
    if is_update(&lower) {
        found.push("update ... set");
    }
    found
}

/// The module of this name, if a line has it in a path, alone or in a group of braces.
fn paths_to(line: &str, module: &'static str) -> Vec<&'static str> {
    let is_path = |before: &str, after: &str| {
        let before = before.trim_end();
        let is_in_group = before.ends_with(['{', ',']) && line.contains("::{");
        after.starts_with("::") || before.ends_with("::") || is_in_group
    };
    let mut found = line.match_indices(module);
    let has_path = found.any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + module.len()..]);
        is_whole(before, after) && is_path(before, after)
    });
    if has_path { vec![module] } else { Vec::new() }
}

/// True if a line has `update TABLE set`. The line must be in lower case.
fn is_update(line: &str) -> bool {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || c == '"')
        .collect();
    let mut threes = words.windows(3);
    threes.any(|words| words[0] == "update" && words[2] == "set")
}

/// All sources of [`FOLDERS`] except tests, with their paths relative to `crates/`.
fn sources() -> Vec<(String, PathBuf)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in FOLDERS {
        let before = found.len();
        gather(&crates.join(folder), folder, &mut found);
        assert!(found.len() > before, "no sources in {folder}");
    }
    assert!(
        found.len() > 300,
        "the sources are not where they are looked for"
    );
    found
}

fn gather(folder: &Path, name: &str, found: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of it").path();
        let own = path
            .file_name()
            .and_then(|own| own.to_str())
            .unwrap_or_default();
        let name = format!("{name}/{own}");
        if path.is_dir() && own != "tests" {
            gather(&path, &name, found);
        } else if own.ends_with(".rs") && !is_test(own) {
            found.push((name, path));
        }
    }
}

/// True if a file with this name has tests.
fn is_test(own: &str) -> bool {
    own == "tests.rs" || own.ends_with("_test.rs") || own.ends_with("_tests.rs")
}

/// The words that `look` finds in the code of a file, each with its line number. Comments and tests are left out.
fn places(path: &Path, look: impl Fn(&str) -> Vec<&'static str>) -> Vec<(usize, &'static str)> {
    let text = fs::read_to_string(path).expect("a source");
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines = code.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|(index, line)| look(line).into_iter().map(move |word| (index + 1, word)))
        .collect()
}

/// True if a line has a word that is not part of a longer one.
fn has(line: &str, word: &str) -> bool {
    let ends_in_a_word = word.ends_with(|c: char| c.is_ascii_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        is_whole(&line[..at], if ends_in_a_word { after } else { "" })
    })
}

/// True if the characters around a word are not part of a longer one.
fn is_whole(before: &str, after: &str) -> bool {
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !before.ends_with(is_of_a_word) && !after.starts_with(is_of_a_word)
}

#[test]
fn a_planted_word_is_found_in_code_alone() {
    let path = std::env::temp_dir().join(format!("inrush-planted-{}.rs", std::process::id()));
    let text = "//! FROM pg_class\nfn f() {\n    g(\"FROM pg_class\");\n}\n#[cfg(test)]\nmod tests {\n    \
                // pg_\n    g(\"pg_class\");\n}\n";
    fs::write(&path, text).expect("a source");
    let found = places(&path, words_of_databases);
    fs::remove_file(&path).expect("the source goes");
    assert_eq!(found, [(3, "pg_")]);
}

#[test]
fn names_of_products_are_found() {
    let line = "\"only the network to PostgreSQL is measured, and no SQL Server\"";
    assert_eq!(products(line), ["PostgreSQL", "SQL Server"]);
    assert!(products("fn parquet_rows() {}").is_empty());
}

#[test]
fn words_of_sql_are_found_in_any_case() {
    assert_eq!(words_of_databases("\"insert into t\""), ["insert into"]);
    assert_eq!(
        words_of_databases("(\"UPDATE t SET a = 1\")"),
        ["update ... set"]
    );
    assert!(words_of_databases("truncate: csv(), text(3)").is_empty());
}

#[test]
fn modules_are_found_in_paths() {
    for line in [
        "use inrush::postgres::Session;",
        "use super::super::postgres;",
        "use inrush::{self, postgres};",
        "use inrush::{postgres, Error};",
        "postgres::quote::identifier(name)",
    ] {
        assert_eq!(paths_to(line, "postgres"), ["postgres"], "{line}");
    }
    assert!(paths_to("tokio_postgres::Config", "postgres").is_empty());
    assert!(paths_to("let postgres = \"postgres\";", "postgres").is_empty());
}

#[test]
fn words_are_whole() {
    assert!(has("use tokio_postgres::Row;", "tokio_postgres"));
    assert!(has("(\"SELECT 1\")", "SELECT "));
    assert!(has("FROM pg_class", "pg_"));
    assert!(has("use inrush_postgres::Postgres;", "inrush_postgres"));
    assert!(!has("let SessionCount = 1;", "Session"));
    assert!(!has("my_pg_class", "pg_"));
}
