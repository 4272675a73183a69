//! The steps of a run as `inrush check` prints them: each operation on files as a sentence. The run gets its paths from
//! the same functions. Words in angle brackets stand for values that only the run can know.

use std::fmt::Display;
use std::path::PathBuf;

use inrush_destination::{RunSteps, Step, StepsRequest};

use crate::files::Layout;

/// The number of the run, in a plan.
const RUN: &str = "<run>";

/// The steps of a planned run.
pub fn of_run(layout: &Layout, request: &StepsRequest<'_>) -> RunSteps {
    let inside = |path: PathBuf| match path.strip_prefix(layout.folder()) {
        Ok(inside) => inside.to_owned(),
        Err(_) => path,
    };
    let step =
        |doing: &str, path: PathBuf| Step::other(format!("{doing} {}", inside(path).display()));
    // A stopped run may have other numbers, because a target had other settings.
    let staging = |place: usize| -> Box<dyn Display> {
        match request.resumes {
            Some(_) => Box::new("<staging>"),
            None => Box::new(place + 1),
        }
    };
    let mut begin = vec![
        step("lock", layout.run_lock(request.run_key)),
        step("write", layout.run_file(RUN)),
    ];
    let mut units = Vec::new();
    for place in 0..request.targets.len() {
        let staging = staging(place);
        let (records, rows) = (layout.units(RUN, &staging), layout.rows(RUN, &staging));
        units.push(vec![
            step("write", rows.join("<unit>.json")),
            step("write", records.join("<unit>.json")),
        ]);
        begin.extend([
            step("make the folder", records),
            step("make the folder", rows),
        ]);
    }
    RunSteps {
        begin,
        units,
        publish: vec![
            step("lock", layout.catalog_lock()),
            step("write", layout.catalog()),
        ],
        ..RunSteps::default()
    }
}
