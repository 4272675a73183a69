//! Nothing outside `destination/` knows which database it is: reads the sources of the engine, the workloads and the command, and
//! says where one does. What they say to users (URLs, names of settings, the words of COPY's dialect) is no knowledge.

use std::fs;
use std::path::{Path, PathBuf};

/// What only somebody who knows a database writes: paths into the engines, types of their connections, and words of
/// catalogs. Both engines are private, so the compiler says the same of the first; this says it of groups in a `use`, too.
const WORDS: &[&str] = &[
    "DestinationKind::Adbc",
    "DestinationKind::DuckDb",
    "DestinationKind::Parquet",
    "DestinationKind::of",
    "tokio_postgres",
    "PostgresError",
    "LedgerError",
    "PgType",
    "Session",
    "SwitchError",
    "UndoError",
    "catalog::",
    "hash_record_extended",
    "pg_",
    "regclass",
    "search_path",
];

/// Words of SQL, in any case. Words that prose has as well are left out.
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

/// A file that knows a database all the same.
struct Exception {
    file: &'static str,
    why: &'static str,
    /// What it may know; all other words are found in it as in any other file.
    words: &'static [&'static str],
}

/// These may only become fewer, and know less.
const KNOW: &[Exception] = &[
    Exception {
        file: "inrush/src/package/check.rs",
        why: "says in which line of a package a schema begins with pg_, before any server is asked, and which URLs \
              there are",
        words: &["pg_", "DestinationKind::of"],
    },
    Exception {
        file: "inrush/src/package/connection.rs",
        why: "makes the path in a URL absolute",
        words: &["DestinationKind::of"],
    },
    Exception {
        file: "inrush/src/package/trust.rs",
        why: "asks which code a URL loads, before anything is loaded",
        words: &["DestinationKind::of"],
    },
    Exception {
        file: "inrush/src/registry.rs",
        why: "opens the destination that a URL means, and is the only file that names their crates",
        words: &[
            "DestinationKind::Adbc",
            "DestinationKind::DuckDb",
            "DestinationKind::Parquet",
            "DestinationKind::of",
        ],
    },
    Exception {
        file: "cli/src/credentials.rs",
        why: "reads what libpq reads of environment and files, which the library never does",
        words: &["pg_"],
    },
    Exception {
        file: "workloads/src/session.rs",
        why: "opens sessions with the server that a workload was loaded into",
        words: &["Session", "PostgresError"],
    },
    Exception {
        file: "workloads/src/demo/contents.rs",
        why: "proves what the demo has loaded into the server that it starts itself",
        words: &["select "],
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
            "regclass",
            "select ",
        ],
    },
];

#[test]
fn nobody_else_knows_which_database_it_is() {
    let mut found = Vec::new();
    for (name, path) in sources() {
        if name.starts_with("inrush/src/destination/") {
            continue;
        }
        let known = KNOW.iter().find(|known| known.file == name);
        let excused = known.map_or(&[][..], |known| known.words);
        let mut seen = Vec::new();
        for (line, word) in places(&path, words_of_databases) {
            seen.push(word);
            if !excused.contains(&word) {
                found.push(format!("{name}:{line}: {word}"));
            }
        }
        for word in excused.iter().filter(|word| !seen.contains(word)) {
            found.push(format!(
                "{name} knows {word:?} no more: take it off the list"
            ));
        }
    }
    assert!(
        found.is_empty(),
        "these know a database, and belong into an engine:\n{}",
        found.join("\n")
    );
    let names: Vec<String> = sources().into_iter().map(|(name, _)| name).collect();
    for Exception { file, why, .. } in KNOW {
        let is_there = names.iter().any(|name| name == file);
        assert!(is_there, "{file} ({why}) is not there any more");
    }
}

#[test]
fn the_engines_do_not_know_each_other() {
    let engines = [
        ("inrush/src/destination/postgres/", "contract"),
        ("inrush/src/destination/contract/", "postgres"),
    ];
    let mut found = Vec::new();
    for (name, path) in sources() {
        for (folder, other) in engines {
            if name.starts_with(folder) {
                let places = places(&path, |line| paths_to(line, other));
                found.extend(places.iter().map(|(line, _)| format!("{name}:{line}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The words of a line that only somebody who knows a database writes.
fn words_of_databases(line: &str) -> Vec<&'static str> {
    let lower = line.to_lowercase();
    let words = WORDS.iter().filter(|word| has(line, word));
    let sql = SQL.iter().filter(|word| has(&lower, word));
    let mut found: Vec<&'static str> = words.chain(sql).copied().collect();
    found.extend(
        ["contract", "postgres"]
            .iter()
            .flat_map(|engine| paths_to(line, engine)),
    );
    if is_update(&lower) {
        found.push("update ... set");
    }
    found
}

/// The module of this name where a line has it in a path, alone or in a group of braces.
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

/// Whether a line has `update TABLE set`; it is given in lower case.
fn is_update(line: &str) -> bool {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || c == '"')
        .collect();
    let mut threes = words.windows(3);
    threes.any(|words| words[0] == "update" && words[2] == "set")
}

/// All sources that are no tests, by their names from `crates/` on.
fn sources() -> Vec<(String, PathBuf)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in ["inrush/src", "workloads/src", "cli/src", "python/src"] {
        gather(&crates.join(folder), folder, &mut found);
    }
    assert!(
        found.len() > 100,
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

/// By the name of a file.
fn is_test(own: &str) -> bool {
    own == "tests.rs" || own.ends_with("_test.rs") || own.ends_with("_tests.rs")
}

/// The lines where code, and not a comment or a test, has what is looked for, by their numbers.
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

/// Whether a line has a word that is no part of a longer one.
fn has(line: &str, word: &str) -> bool {
    let ends_in_a_word = word.ends_with(|c: char| c.is_ascii_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        is_whole(&line[..at], if ends_in_a_word { after } else { "" })
    })
}

/// Whether what stands between these is no part of a longer word.
fn is_whole(before: &str, after: &str) -> bool {
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !before.ends_with(is_of_a_word) && !after.starts_with(is_of_a_word)
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
fn engines_are_found_in_paths() {
    for line in [
        "use crate::destination::postgres::Session;",
        "use super::super::postgres;",
        "use crate::destination::{self, postgres};",
        "use crate::destination::{postgres, EngineError};",
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
    assert!(!has("let SessionCount = 1;", "Session"));
    assert!(!has("my_pg_class", "pg_"));
}
