//! Loads by the engine's own driver: CSV files into the folder, then that folder into another one by the example of a source.
//!
//! A package names destinations and files that this build knows; the tests put the examples in their places.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;
use inrush::package::{Overrides, Package};
use inrush::report::{Outcome, RunReport};
use inrush::{Failure, RunOptions, open_files};
use inrush_destination::{Address, Destination};
use inrush_engine::driver::Driver;
use inrush_example_source::{JsonFiles, Settings};
use inrush_plan::reading::flow_inputs::{
    FlowAsked, FlowInputs, InputForm, OpenInputs, OpenSources, Sources, TypedField, TypedInputs,
};
use inrush_plan::{FieldOrigin, PlanError};
use inrush_rows::cancel::Stop;
use inrush_scan::Dialect;
use inrush_source::Source;

/// Opens the destination of a package whose URL is `parquet:FOLDER`.
fn open(address: &Address<'_>) -> inrush_destination::Result<Box<dyn Destination>> {
    let folder = address.url.trim_start_matches("parquet:");
    inrush_example_destination::open(address, &address.folder.join(folder))
}

/// The sources of flows whose files are a folder of JSON files.
fn open_json(stop: &Stop) -> Arc<dyn Sources> {
    Arc::new(JsonFolders(stop.clone()))
}

#[derive(Debug)]
struct JsonFolders(Stop);

impl JsonFolders {
    fn open(&self, asked: &FlowAsked<'_>) -> Result<Looked, PlanError> {
        let [folder] = asked.flow.files.patterns() else {
            panic!("a flow of these tests has one folder");
        };
        let settings = Settings {
            folder: asked.folder.join(folder),
            columns: vec![
                ("id".to_owned(), DataType::Int64),
                ("note".to_owned(), DataType::Utf8),
            ],
        };
        let columns = settings.columns.clone();
        let source = Arc::new(JsonFiles::open(settings, &self.0)?);
        Ok(Looked { columns, source })
    }
}

impl Sources for JsonFolders {
    fn look(&self, asked: &FlowAsked<'_>, _: &mut Vec<String>) -> Result<FlowInputs, PlanError> {
        let looked = self.open(asked)?;
        Ok(FlowInputs {
            // Rows of such a file are not text.
            dialect: Dialect::csv(),
            format: Default::default(),
            reject_hint: None,
            primary_key: Vec::new(),
            structure: None,
            own_columns: Vec::new(),
            collations: Vec::new(),
            nothing_new: None,
            header: Some(
                looked
                    .columns
                    .iter()
                    .map(|(name, _)| name.clone())
                    .collect(),
            ),
            header_input: None,
            details: asked.flow.column_details()?,
            first_field_count: Some(looked.columns.len()),
            opener: Box::new(looked),
        })
    }

    fn find(&self, asked: &FlowAsked<'_>) -> Result<(), PlanError> {
        self.open(asked).map(drop)
    }
}

struct Looked {
    columns: Vec<(String, DataType)>,
    source: Arc<JsonFiles>,
}

impl OpenInputs for Looked {
    fn typed(&self) -> Option<TypedInputs> {
        let field = |(name, data_type): &(String, DataType)| TypedField {
            name: name.clone(),
            data_type: data_type.clone(),
            is_uuid: false,
            native: None,
        };
        Some(TypedInputs {
            kind: "JSON",
            origin: FieldOrigin::Files,
            columns: self.columns.iter().map(field).collect(),
        })
    }

    fn open(&mut self, _: InputForm<'_>) -> Arc<dyn Source> {
        self.source.clone()
    }
}

/// Loads files into the table `t` of a folder.
fn run(
    folder: &Path,
    files: &str,
    into: &str,
    sources: OpenSources<'_>,
) -> Result<RunReport, Failure> {
    let (package, options) = loading(folder, files, into, sources);
    let ended = Driver::of_contract(open).run(&package, &options);
    ended.map(|success| success.report)
}

/// The package that loads files into the table `t` of a folder.
fn loading<'a>(
    folder: &Path,
    files: &str,
    into: &str,
    sources: OpenSources<'a>,
) -> (Package, RunOptions<'a>) {
    let text = format!(
        "name = 'example'\n[connections.target]\nurl = 'parquet:{into}'\n[run]\nstreams = 2\n\
         [[flow]]\nfiles = '{files}'\ntable = 't'\nmode = 'create'\n\
         columns = ['id bigint not null', 'note text']\nrejects = {{ rows_max = 9 }}\n"
    );
    let package = Package::parse(&text, Path::new("example.toml")).expect("it is right");
    let package = package.resolve(&Overrides::default(), &|_| {
        Err(std::env::VarError::NotPresent)
    });
    let package = package.expect("it resolves");
    package.check().expect("it is right");
    let options = RunOptions {
        folder: folder.to_owned(),
        runs_folder: folder.join("runs"),
        open_sources: sources,
        ..RunOptions::default()
    };
    (package, options)
}

/// The paths of all files in a folder, inside it.
fn files_in(folder: &Path, inside: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder.join(inside)).expect("a folder") {
        let path = inside.join(entry.expect("an entry").file_name());
        match folder.join(&path).is_dir() {
            true => files_in(folder, &path, found),
            false => found.push(path.display().to_string()),
        }
    }
}

/// True if a path is that of a step, in which words in angle brackets stand for some names.
fn is_of_step(step: &str, path: &str) -> bool {
    let (steps, paths) = (step.split('/'), path.split('/'));
    step.split('/').count() == path.split('/').count()
        && steps.zip(paths).all(|(planned, name)| {
            let (before, rest) = planned.split_once('<').unwrap_or((planned, ""));
            match rest.split_once('>') {
                Some((_, after)) => name.starts_with(before) && name.ends_with(after),
                None => name == planned,
            }
        })
}

#[test]
fn a_run_writes_the_files_that_its_plan_names() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in 0..2 {
        fs::write(folder.path().join(format!("{file}.csv")), "id,note\n1,a\n").expect("a file");
    }
    let (package, options) = loading(folder.path(), "*.csv", "lake", &open_files);
    let driver = Driver::of_contract(open);
    let plan = driver
        .check(&package, &options)
        .expect("a plan")
        .to_string();
    let mut planned: Vec<(&str, usize)> = plan
        .lines()
        .filter_map(|line| line.trim().strip_prefix("-- "))
        .filter_map(|step| step.strip_prefix("write ").or(step.strip_prefix("lock ")))
        .map(|step| (step, 0))
        .collect();
    assert_eq!(planned.len(), 6, "{plan}");
    run(folder.path(), "*.csv", "lake", &open_files).expect("it is loaded");
    let mut found = Vec::new();
    files_in(&folder.path().join("lake"), Path::new(""), &mut found);
    for path in &found {
        let step = planned.iter_mut().find(|(step, _)| is_of_step(step, path));
        step.unwrap_or_else(|| panic!("{path} is not in the plan:\n{plan}"))
            .1 += 1;
    }
    // The rows and the record of each of two units, and one file for each other step.
    let of_units = |step: &str| step.ends_with("<unit>.json");
    for (step, files) in planned {
        assert_eq!(files, if of_units(step) { 2 } else { 1 }, "{step}");
    }
}

/// The rows of the table `t`, and the folder that has its files.
fn read(folder: &Path) -> (Vec<(i64, Option<String>)>, String) {
    let text = fs::read_to_string(folder.join("catalog.json")).expect("a catalog");
    let catalog: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let part = catalog["tables"]["t"]["parts"][0]["folder"]
        .as_str()
        .expect("a folder")
        .to_owned();
    let mut rows = Vec::new();
    for file in fs::read_dir(folder.join(&part)).expect("a folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a file");
        let found: Vec<serde_json::Value> = serde_json::from_str(&text).expect("an array");
        rows.extend(found.iter().map(|row| {
            let note = row
                .get("note")
                .map(|note| note.as_str().expect("a text").to_owned());
            (row["id"].as_i64().expect("a number"), note)
        }));
    }
    rows.sort();
    (rows, part)
}

#[test]
fn rows_go_from_files_to_a_folder_and_from_there_to_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut expected = Vec::new();
    for file in 0..3_i64 {
        let mut text = "id,note\n".to_owned();
        for id in file * 1_000..(file + 1) * 1_000 {
            let note = (id % 7 > 0).then(|| format!("“{id}”, \\ and\nmore"));
            let field = note.as_ref().map(|note| format!("\"{note}\""));
            text += &format!("{id},{}\n", field.unwrap_or_default());
            expected.push((id, note));
        }
        fs::write(folder.path().join(format!("{file}.csv")), text).expect("a file");
    }
    let report = run(folder.path(), "*.csv", "first", &open_files).expect("it is loaded");
    assert_eq!(
        (report.outcome, report.account.rows_loaded),
        (Outcome::Loaded, 3_000)
    );
    let (rows, part) = read(&folder.path().join("first"));
    assert!(rows == expected, "{} rows", rows.len());
    let again = run(folder.path(), "*.csv", "first", &open_files).expect("it is known");
    assert_eq!(again.outcome, Outcome::AlreadyLoaded);

    let report = run(
        folder.path(),
        &format!("first/{part}"),
        "second",
        &open_json,
    )
    .expect("it is loaded");
    assert_eq!(
        (report.outcome, report.account.rows_loaded),
        (Outcome::Loaded, 3_000)
    );
    assert!(read(&folder.path().join("second")).0 == expected);
}

#[test]
fn a_row_with_a_fault_is_a_reject_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("in")).expect("a folder");
    let text =
        "[\n{\"id\":1,\"note\":\"a\"},\n{\"id\":\"two\"},\n{\"note\":\"no id\"},\n{\"id\":4}\n]\n";
    fs::write(folder.path().join("in/rows.json"), text).expect("a file");
    let report = run(folder.path(), "in", "out", &open_json).expect("it is loaded");
    let account = &report.account;
    assert_eq!(
        (
            account.rows_read,
            account.rows_loaded,
            account.rows_rejected
        ),
        (4, 2, 2)
    );
    assert_eq!(
        read(&folder.path().join("out")).0,
        [(1, Some("a".to_owned())), (4, None)]
    );
    let places = report
        .rejects
        .iter()
        .map(|reject| (reject.line, reject.key.as_deref()));
    let places: Vec<_> = places.collect();
    assert_eq!(places, [(2, Some("line = 3")), (3, Some("line = 4"))]);
}
