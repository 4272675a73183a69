//! Destinations that are thrown away, in a folder beside the real one: on the same disk.

use std::path::{Path, PathBuf};
use std::time::Instant;

use inrush_destination::address::Kind;
use inrush_destination::{
    Address, Destination, NewRun, OpenRun, TargetPlan, UnitRecord, UnitStream, WriteMode,
};
use inrush_package::Package;

use super::measure::Preflight;
use crate::error::Error;
use crate::pipeline::RunOptions;
use crate::preflight::at_once::on_a_thread_each;

/// The folder that a preflight makes beside the destination, and takes away again: for whoever ends the process.
/// Nothing where there is no place beside it.
pub fn folder(package: &Package, options: &RunOptions<'_>) -> Option<PathBuf> {
    let connection = package.single_connection().ok()?;
    let place = match Kind::of(connection.address())? {
        Kind::DuckDb(file) | Kind::Parquet(file) => options.folder.join(file),
        Kind::Adbc(_) => return None,
    };
    let name = format!(".inrush-preflight-{}", std::process::id());
    Some(place.parent().unwrap_or(Path::new("")).join(name))
}

/// The folder, which goes with this.
pub struct Scratch<'a> {
    /// Whose plan is tried in it.
    pub preflight: &'a Preflight<'a>,
    folder: PathBuf,
    is_parquet: bool,
}

impl<'a> Scratch<'a> {
    /// Makes it.
    pub fn make(preflight: &'a Preflight<'a>, folder: &Path) -> Result<Scratch<'a>, Error> {
        let connection = preflight.package.single_connection()?;
        let is_parquet = matches!(Kind::of(connection.address()), Some(Kind::Parquet(_)));
        make_folder(folder)?;
        Ok(Scratch {
            preflight,
            folder: folder.to_owned(),
            is_parquet,
        })
    }

    /// Lets streams load into a destination of its own, which is removed then; also the seconds of publishing. Each is
    /// told the target's name, its own number, and its way in.
    pub fn run<T: Send>(
        &self,
        flow: usize,
        streams: usize,
        work: &(impl Fn(&str, usize, &mut dyn UnitStream) -> Result<T, Error> + Sync),
    ) -> Result<(Vec<T>, f64), Error> {
        // What stands beside its file, such as a log, goes with the folder.
        let folder = self.folder.join("one");
        make_folder(&folder)?;
        let done = self.run_in(&folder.join("sample"), flow, streams, work);
        // What cannot be removed now is taken away with the whole folder.
        let _ = std::fs::remove_dir_all(&folder);
        done
    }

    fn run_in<T: Send>(
        &self,
        place: &Path,
        flow: usize,
        streams: usize,
        work: &(impl Fn(&str, usize, &mut dyn UnitStream) -> Result<T, Error> + Sync),
    ) -> Result<(Vec<T>, f64), Error> {
        let plan = self.preflight.plan;
        let destination = self.open(place)?;
        let planned = &plan.flows[flow].target;
        let target = TargetPlan {
            name: destination.target_name(None, &planned.name.name)?,
            mode: WriteMode::Create,
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
            ..planned.clone()
        };
        let open: Box<dyn OpenRun> = destination.begin(
            &NewRun {
                run_key: plan.run_key.clone(),
                name: "inrush_preflight".to_owned(),
                package: plan.package.clone(),
                package_hash: plan.package_hash.clone(),
                holder: "inrush preflight".to_owned(),
                started_at_microseconds: 0,
                takes_over: None,
            },
            std::slice::from_ref(&target),
        )?;
        let results = on_a_thread_each(0..streams, &|number| {
            let mut stream = open.open_stream()?;
            stream.begin_unit(0, &key(number))?;
            work(&target.name.sql, number, stream.as_mut())
        })?;
        let found: Vec<T> = results.into_iter().collect::<Result<_, Error>>()?;
        let publishing = Instant::now();
        open.publish(&|_| {})?;
        Ok((found, publishing.elapsed().as_secs_f64()))
    }

    fn open(&self, place: &Path) -> Result<Box<dyn Destination>, Error> {
        let (package, options) = (self.preflight.package, self.preflight.options);
        let connection = package.single_connection()?;
        let absolute = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let kind = if self.is_parquet { "parquet" } else { "duckdb" };
        let destination = inrush_destination::open(&Address {
            url: &format!("{kind}:{}", absolute.display()),
            options: &connection.options,
            folder: Path::new("/"),
            site_packages: options.site_packages.as_deref(),
            ledger_schema: &package.run.ledger_schema,
        })?;
        Ok(destination)
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // Nobody is left who could be told that it failed.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path).map_err(|source| Error::Folder {
        path: path.display().to_string(),
        source,
    })
}

/// Commits the rows of a stream, of which the destination has its own count.
pub fn commit(
    stream: &mut dyn UnitStream,
    target: &str,
    number: usize,
    rows: u64,
) -> Result<(), Error> {
    stream.commit_unit(&UnitRecord {
        key: key(number),
        target: target.to_owned(),
        rows_loaded: rows,
        detail: String::new(),
    })?;
    Ok(())
}

fn key(number: usize) -> String {
    format!("inrush_preflight_{number}")
}
