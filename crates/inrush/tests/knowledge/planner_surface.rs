//! The engine's public modules: those for its callers, and `planner`, the surface for a destination that makes its plan
//! itself. The destination PostgreSQL uses nothing else of the engine, and `planner` has nothing that it does not use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The public modules of the engine for its callers: the façade, the command, and tests of the contract.
const FOR_CALLERS: &[&str] = &[
    "compare",
    "driver",
    "driver_error",
    "driver_trait",
    "error",
    "event",
    "ledger",
    "lineage",
    "meter",
    "peek",
    "pipeline",
    "plan",
    "plan::flow_inputs",
    "plan::since",
    "preflight",
    "preflight::capacity",
    "reject_replay",
    "report",
    "shares",
    "undo",
    "upkeep",
    "verify",
];

/// The surface for destinations that make their plans themselves.
const PLANNER: &str = "planner";

#[test]
fn the_engine_has_no_other_public_modules() {
    let engine = crates().join("engine/src");
    let mut found = BTreeSet::new();
    public_modules(&engine.join("lib.rs"), &engine, "", &mut found);
    let mut expected: BTreeSet<String> = FOR_CALLERS.iter().map(ToString::to_string).collect();
    expected.insert(PLANNER.to_owned());
    assert_eq!(found, expected);
}

#[test]
fn postgresql_takes_of_the_engine_what_callers_and_planners_use() {
    let mut found = Vec::new();
    for path in sources(&crates().join("destinations/postgres/src")) {
        let text = fs::read_to_string(&path).expect("a source");
        for taken in paths_of_engine(&text) {
            let is_meant =
                |module: &&str| taken == **module || taken.starts_with(&format!("{module}::"));
            if !FOR_CALLERS.iter().chain(&[PLANNER]).any(is_meant) {
                found.push(format!("{}: {taken}", path.display()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "these are not on the surface:\n{}",
        found.join("\n")
    );
}

#[test]
fn the_planner_surface_has_only_names_that_postgresql_takes() {
    let own = sources(&crates().join("destinations/postgres/src"));
    let own: Vec<String> = own
        .iter()
        .map(|path| fs::read_to_string(path).expect("a source"))
        .collect();
    let mut unused = Vec::new();
    let mut names = 0;
    for path in sources(&crates().join("engine/src/planner")) {
        let text = fs::read_to_string(&path).expect("a source");
        for name in exported(&text) {
            names += 1;
            if !own.iter().any(|text| has_word(text, &name)) {
                unused.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(names > 50, "the names of the surface are not found");
    assert!(
        unused.is_empty(),
        "nobody uses these: take them off the surface\n{}",
        unused.join("\n")
    );
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Adds the public modules that a file declares, and the public modules inside them, except the modules inside
/// [`PLANNER`].
fn public_modules(file: &Path, folder: &Path, before: &str, found: &mut BTreeSet<String>) {
    let text = fs::read_to_string(file).expect("a source");
    let declared = text.lines().filter_map(|line| {
        let name = line.strip_prefix("pub mod ")?;
        Some(name.trim_end_matches(';'))
    });
    for name in declared {
        let path = format!("{before}{name}");
        if path != PLANNER {
            let own = folder.join(name);
            let file = match own.is_dir() {
                true => own.join("mod.rs"),
                false => folder.join(format!("{name}.rs")),
            };
            public_modules(&file, &own, &format!("{path}::"), found);
        }
        found.insert(path);
    }
}

/// The paths in the engine that a text names, up to the first group of braces.
fn paths_of_engine(text: &str) -> Vec<String> {
    let begin = "inrush_engine::";
    let places = text.match_indices(begin);
    let paths = places.map(|(at, _)| {
        let rest = &text[at + begin.len()..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')));
        let path = &rest[..end.unwrap_or(rest.len())];
        path.trim_end_matches(':').to_owned()
    });
    paths.collect()
}

/// The names that a file of the surface exports.
fn exported(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in text.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let names = match statement.split_once('{') {
            Some((_, names)) => names.trim_end_matches('}'),
            None => statement.rsplit("::").next().unwrap_or_default(),
        };
        let names = names.split(',').map(str::trim);
        found.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    found
}

fn has_word(text: &str, word: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_of_word) && !text[at + word.len()..].starts_with(is_of_word)
    })
}

#[test]
fn names_are_found_in_groups_and_alone() {
    let text = "/// One.\npub use crate::a::One;\n\npub mod b {\n    pub use crate::b::{\n        Two,\n        three,\n    };\n}\n";
    assert_eq!(exported(text), ["One", "Two", "three"]);
    let text = "use inrush_engine::planner::plan::{A, b};\nlet x = inrush_engine::event::reach();";
    assert_eq!(paths_of_engine(text), ["planner::plan", "event::reach"]);
    assert!(has_word("use a::{Part, Parts};", "Part"));
    assert!(!has_word("use a::Parts;", "Part"));
}
