//! Checks by the `Cargo.toml` files which crates depend on sources and destinations: only the façade may. No
//! implementation depends on another one or on the engine. A client of a database is for the implementations, and
//! depends on none of them.

use std::fs;
use std::path::Path;

/// A dependency that the layout forbids, and that is there nevertheless.
struct Departure {
    from: &'static str,
    to: &'static str,
    why: &'static str,
}

/// Clients of a database, which its source and its destination share.
const CLIENTS: &[&str] = &["inrush-pgclient", "inrush-adbcclient", "inrush-tdsclient"];

/// Evaluates the expressions of steps by DuckDB, so it may use a client as well.
const STEPS: &str = "inrush-transform";

/// This list may only get shorter.
const DEPARTURES: &[Departure] = &[
    Departure {
        from: "inrush-postgres",
        to: "inrush-plan",
        why: "its plan says more than the contract asks for, so it has a planner of its own",
    },
    Departure {
        from: "inrush-sniff",
        to: "inrush-files",
        why: "samples are pieces of files",
    },
];

#[test]
fn implementations_are_named_by_the_facade_alone() {
    let found = forbidden(&packages());
    let is_excused = |(from, to): &(String, String)| {
        let mut all = DEPARTURES.iter();
        all.any(|departure| departure.from == from && departure.to == to)
    };
    let more: Vec<_> = found.iter().filter(|found| !is_excused(found)).collect();
    assert!(
        more.is_empty(),
        "these crates depend on ones that they may not know: {more:?}"
    );
    for Departure { from, to, why } in DEPARTURES {
        let is_there = found.contains(&((*from).to_owned(), (*to).to_owned()));
        assert!(
            is_there,
            "{from} no longer depends on {to} ({why}): take it off the list"
        );
    }
}

/// A crate of the workspace.
struct Package {
    /// The name that other crates depend on.
    name: String,
    /// Its folder, from `crates/` on.
    folder: String,
    /// The crates of the workspace that it depends on, its tests included.
    takes: Vec<String>,
}

impl Package {
    /// True if it is a source or a destination.
    fn is_implementation(&self) -> bool {
        ["destinations/", "sources/"]
            .iter()
            .any(|folder| self.folder.starts_with(folder))
    }

    /// True if it is a client of a database.
    fn is_client(&self) -> bool {
        CLIENTS.contains(&self.name.as_str())
    }
}

/// The forbidden dependencies. Only the façade may depend on an implementation, and only an implementation on a client.
/// Neither of them may depend on a crate above it.
fn forbidden(packages: &[Package]) -> Vec<(String, String)> {
    let above = [
        "inrush-plan",
        "inrush-engine",
        "inrush",
        "inrush-workloads",
        "inrush-cli",
        "inrush-python",
    ];
    let implementations: Vec<&str> = packages
        .iter()
        .filter(|package| package.is_implementation())
        .map(|package| package.name.as_str())
        .collect();
    let mut found = Vec::new();
    for package in packages.iter().filter(|package| package.name != "inrush") {
        for taken in &package.takes {
            let is_below = package.is_implementation() || package.is_client();
            let is_above = is_below && above.contains(&taken.as_str());
            let may_use_clients = package.is_implementation() || package.name == STEPS;
            let is_client = !may_use_clients && CLIENTS.contains(&taken.as_str());
            if is_above || is_client || implementations.contains(&taken.as_str()) {
                found.push((package.name.clone(), taken.clone()));
            }
        }
    }
    found
}

/// All crates below `crates/`.
fn packages() -> Vec<Package> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in ["", "destinations/", "sources/"] {
        for entry in fs::read_dir(crates.join(folder)).expect("a folder of crates") {
            let path = entry.expect("an entry of it").path();
            let own = path.file_name().and_then(|own| own.to_str());
            if let (Some(own), Ok(text)) = (own, fs::read_to_string(path.join("Cargo.toml"))) {
                found.push(package(format!("{folder}{own}"), &text));
            }
        }
    }
    let implementations = found.iter().filter(|package| package.is_implementation());
    assert!(
        implementations.count() >= 4 && found.len() > 15,
        "the crates are not where they are looked for"
    );
    found
}

/// A crate by its `Cargo.toml`: all members write a dependency as `inrush-NAME.workspace = true`.
fn package(folder: String, text: &str) -> Package {
    let mut names = text
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let name = names.next().expect("the name of a crate").to_owned();
    let words = text
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next());
    let takes = words.filter(|word| *word == "inrush" || word.starts_with("inrush-"));
    Package {
        name,
        folder,
        takes: takes.map(str::to_owned).collect(),
    }
}

#[test]
fn forbidden_dependencies_are_found() {
    let of = |folder: &str, name: &str, takes: &str| {
        let text = format!("[package]\nname = \"{name}\"\n\n[dependencies]\n{takes}\n");
        package(folder.to_owned(), &text)
    };
    let packages = [
        of("destinations/a", "inrush-a", "inrush-b.workspace = true"),
        of(
            "destinations/b",
            "inrush-b",
            "inrush-engine = { path = \"../../engine\" }",
        ),
        of("sources/c", "inrush-c", "inrush-pgclient.workspace = true"),
        of("pgclient", "inrush-pgclient", "inrush-c.workspace = true"),
        of("engine", "inrush-engine", "inrush-c.workspace = true"),
        of(
            "inrush",
            "inrush",
            "inrush-a.workspace = true\ninrush-b.workspace = true",
        ),
        of(
            "cli",
            "inrush-cli",
            "inrush.workspace = true\ninrush-a.workspace = true",
        ),
        of(
            "workloads",
            "inrush-workloads",
            "inrush-pgclient.workspace = true",
        ),
    ];
    let expected = [
        ("inrush-a", "inrush-b"),
        ("inrush-b", "inrush-engine"),
        ("inrush-pgclient", "inrush-c"),
        ("inrush-engine", "inrush-c"),
        ("inrush-cli", "inrush-a"),
        ("inrush-workloads", "inrush-pgclient"),
    ];
    let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
    assert_eq!(forbidden(&packages), expected);
}
