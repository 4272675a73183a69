//! Loads the corrected rejects of a run, with the settings of the package in the run's folder.

use std::fs;
use std::path::{Path, PathBuf};

use inrush_package::secrets::masked;
use inrush_package::{
    Bounds, ColumnDetail, ColumnSpec, Flow, Mode, OneOrMany, Package, PackageOrigin, Preset,
    Replace,
};
use inrush_plan::Reading;
use inrush_rows::column::Column;
use inrush_rows::compression::Compression;
use inrush_rows::ids::RunName;
use inrush_rows::type_name;

use super::error::ReplayError;
use super::kept::{count, files, flow_of};
use super::outputs;
use crate::report::{PACKAGE_FILE, ROWS_SUFFIX, reject_file_name};

/// Separates the package's name from the run's name in the name of a replay.
const NAME_PART: &str = " rejects of ";

/// A package that loads the rejects of a run.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The run that had rejected them.
    pub run: RunName,
    /// The package: the rows of each flow, appended to its target.
    pub package: Package,
    /// The number of rows that the run rejected.
    pub rows_rejected: u64,
}

/// The package as it is stored in the run's folder, so that its rejects can be loaded later: flows have their full
/// names and targets, and guesses about their files are written out. Passwords are left out. Values of parameters are
/// inserted, and the parameters themselves are left out, because one of them may be a password.
pub fn to_save<'a>(
    package: &Package,
    flows: impl Iterator<Item = (&'a Reading, String)>,
    folder: &Path,
) -> String {
    let mut package = package.clone();
    let hide = |text: &mut String| *text = masked(text).into_owned();
    let each_text = |texts: &mut OneOrMany| match texts {
        OneOrMany::One(text) => hide(text),
        OneOrMany::Many(texts) => texts.iter_mut().for_each(hide),
    };
    package.parameters.clear();
    let first = package.flows.first();
    let target = first.and_then(|flow| package.connection_of(flow).ok().map(str::to_owned));
    for connection in package.connections.values_mut() {
        connection.make_absolute(folder);
    }
    if let Some(open_lineage) = &mut package.run.open_lineage {
        open_lineage.make_absolute(folder);
    }
    for (flow, (planned, table)) in package.flows.iter_mut().zip(flows) {
        flow.name = Some(planned.name.clone());
        flow.table = table;
        if flow.source.is_some() {
            // The rejects are files, so only the connection to the target is needed.
            flow.connection = target.clone();
        }
        if flow.columns.is_empty() {
            flow.columns = columns_for_steps(planned);
        }
        for step in &mut flow.steps {
            if let Some(lookup) = &mut step.lookup {
                make_absolute(&mut lookup.files, folder);
            }
        }
        // A replay does not use these fields; only people read them. So values of variables are not shown.
        each_text(&mut flow.files);
        for texts in [&mut flow.pre_sql, &mut flow.post_sql] {
            texts.iter_mut().for_each(each_text);
        }
        flow.format = planned.format.clone();
        flow.format.header = Some(planned.dialect.header);
        if flow.format.preset.is_none() && flow.format.fixed.is_none() {
            flow.format.preset = flow
                .files
                .patterns()
                .first()
                .and_then(|name| Preset::of_file(name))
                .or(Some(Preset::Csv));
        }
    }
    package.escape();
    package.to_toml()
}

/// Makes relative paths of files absolute. The paths may be patterns, so special characters in the name of the folder are escaped.
fn make_absolute(files: &mut OneOrMany, folder: &Path) {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let folder = glob::Pattern::escape(&folder.to_string_lossy());
    let absolute = |file: &mut String| {
        *file = Path::new(&folder)
            .join(&*file)
            .to_string_lossy()
            .into_owned();
    };
    match files {
        OneOrMany::One(file) if file.is_empty() => {}
        OneOrMany::One(file) => absolute(file),
        OneOrMany::Many(files) => files.iter_mut().for_each(absolute),
    }
}

/// The columns that the steps of a flow read, if it lists none: the target does not have the columns that only steps
/// use.
fn columns_for_steps(planned: &Reading) -> Vec<ColumnSpec> {
    let Some(steps) = &planned.steps else {
        return Vec::new();
    };
    let spec = |column: &Column| {
        let detail = ColumnDetail {
            type_name: type_name::of_column(&column.column_type),
            ..ColumnDetail::named(&column.name)
        };
        ColumnSpec::short(&detail).unwrap_or_else(|| ColumnSpec::Long(Box::new(detail)))
    };
    steps.read.iter().map(spec).collect()
}

/// The package that loads the rejects in the folder of a run; `None` if it has none.
pub fn replay(folder: &Path) -> Result<Option<Replay>, ReplayError> {
    let path = folder.join(PACKAGE_FILE);
    // Only Inrush writes this file, and its parameters are already inserted.
    let mut package = Package::read(&path)?;
    package.unescape();
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let run = absolute(folder)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let run = RunName::new(run);
    let embedded = |package: &Package| {
        let mut urls = package.connections.values().map(|known| known.url.trim());
        urls.any(|url| url == "embedded")
    };
    let mut flows = Vec::new();
    let rows_files = files(folder, ROWS_SUFFIX)?;
    let own_files: Vec<Vec<PathBuf>> = package
        .flows
        .iter()
        .map(|flow| {
            let name = reject_file_name(flow.name.as_deref().unwrap_or_default());
            let own = rows_files
                .iter()
                .filter(|path| flow_of(path, ROWS_SUFFIX).as_deref() == Some(&name))
                .filter(|path| fs::metadata(path).is_ok_and(|facts| facts.len() > 0));
            own.map(|path| absolute(path)).collect()
        })
        .collect();
    for (index, flow) in package.flows.iter().enumerate() {
        let rows = outputs::files_of(&package, index, &own_files)?;
        if !rows.is_empty() {
            flows.push(mended(flow, &rows));
        }
    }
    for path in &rows_files {
        let flow = flow_of(path, ROWS_SUFFIX).unwrap_or_default();
        let is_known =
            |known: &Flow| reject_file_name(known.name.as_deref().unwrap_or_default()) == flow;
        if !package.flows.iter().any(is_known) {
            return Err(ReplayError::UnknownFlow {
                file: path.clone(),
                flow,
            });
        }
    }
    if flows.is_empty() {
        return Ok(None);
    }
    let unpivots = |flow: &&Flow| flow.steps.iter().any(|step| step.unpivot.is_some());
    if let Some(flow) = flows.iter().find(unpivots) {
        return Err(ReplayError::Unpivoted {
            flow: flow.name.clone().unwrap_or_default(),
        });
    }
    if embedded(&package) {
        return Err(ReplayError::Gone { run });
    }
    // A replay of a replay keeps the first package's name.
    package.name = format!("{}{NAME_PART}{run}", first_package(&package.name));
    package.flows = flows;
    // An error in this copy cannot be fixed by the user, so it names no file.
    package.origin = PackageOrigin::default();
    Ok(Some(Replay {
        rows_rejected: count(folder)?,
        package,
        run,
    }))
}

/// The package whose rejects a run replays, by the name of the run's package; the package itself for all other runs.
pub fn first_package(package: &str) -> &str {
    package
        .split_once(NAME_PART)
        .map_or(package, |(first, _)| first)
}

/// A flow that appends the rows of these reject files to the target of the original flow.
fn mended(flow: &Flow, files: &[PathBuf]) -> Flow {
    let patterns = files
        .iter()
        .map(|path| glob::Pattern::escape(&path.to_string_lossy()))
        .collect();
    let mut flow = flow.clone();
    flow.files = OneOrMany::Many(patterns);
    flow.source = None;
    // Reject files are plain text, even if the original files were compressed.
    flow.format.compression = flow.format.compression.map(|_| Compression::None);
    // The rows are added to those of the run, whatever mode loaded them.
    if flow.mode != Mode::Upsert {
        flow.mode = Mode::Append;
    }
    flow.replace = Replace::default();
    // Statements that prepared the target for all rows must not run again for a few.
    flow.pre_sql = None;
    flow.post_sql = None;
    // Expectations are about all rows of the original files, and a replay has only a few of these rows.
    flow.expect = None;
    flow.trailer = None;
    flow.control_file = None;
    flow.partition_by = None;
    flow.bounds = Bounds::default();
    flow
}
