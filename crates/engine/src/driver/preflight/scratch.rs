//! Temporary destinations, in a folder beside the real one and so on the same disk.

use std::path::{Path, PathBuf};
use std::time::Instant;

use inrush_destination::address::DestinationKind;
use inrush_destination::{
    Address, LoadMethod, NewRun, NoSource, OpenRun, StreamSetup, TargetPlan, UnitPart, UnitRecord,
    UnitStream, WriteMode,
};
use inrush_package::Package;
use inrush_rows::ids::{RunName, UnitKey};

use super::measure::ContractPreflight;
use crate::error::Error;
use crate::pipeline::RunOptions;
use crate::preflight::at_once::on_a_thread_each;

/// The folder that a preflight makes beside the destination and removes again, so that an interrupt handler can remove
/// it too. `None` if the destination has no path.
pub fn folder(package: &Package, options: &RunOptions<'_>) -> Option<PathBuf> {
    let connection = package.single_connection().ok()?;
    let kind = DestinationKind::of(connection.address())?;
    let place = options.folder.join(kind.path()?);
    let name = format!(".inrush-preflight-{}", std::process::id());
    Some(place.parent().unwrap_or(Path::new("")).join(name))
}

/// The folder; removed on drop.
pub struct Scratch<'a> {
    /// The preflight whose plan is tried.
    pub preflight: &'a ContractPreflight<'a>,
    folder: PathBuf,
    /// The folder of one temporary destination at a time. Files beside the destination's own file, such as a log, are
    /// removed with it.
    inner: PathBuf,
    /// The URL of a destination in `inner`.
    url: String,
}

impl<'a> Scratch<'a> {
    /// Makes the folder; `None` if the destination cannot have a temporary one beside it.
    pub fn make(preflight: &'a ContractPreflight<'a>) -> Result<Option<Scratch<'a>>, Error> {
        let Some(folder) = folder(preflight.package, preflight.options) else {
            return Ok(None);
        };
        let inner = folder.join("one");
        let absolute = std::path::absolute(&inner).unwrap_or_else(|_| inner.clone());
        let Some(url) = preflight.destination.scratch(&absolute) else {
            return Ok(None);
        };
        make_folder(&folder)?;
        Ok(Some(Scratch {
            preflight,
            folder,
            inner,
            url,
        }))
    }

    /// Runs `work` in this number of streams, each with the target's name, its number and its stream, and publishes.
    /// Returns the results and the seconds of publishing. The temporary destination is removed afterwards.
    pub fn run<T: Send>(
        &self,
        flow: usize,
        streams: usize,
        work: &(impl Fn(&str, usize, &mut dyn UnitStream) -> Result<T, Error> + Sync),
    ) -> Result<(Vec<T>, f64), Error> {
        make_folder(&self.inner)?;
        let done = self.load(flow, streams, work);
        // If it cannot be removed now, it is removed with the outer folder.
        let _ = std::fs::remove_dir_all(&self.inner);
        done
    }

    fn load<T: Send>(
        &self,
        flow: usize,
        streams: usize,
        work: &(impl Fn(&str, usize, &mut dyn UnitStream) -> Result<T, Error> + Sync),
    ) -> Result<(Vec<T>, f64), Error> {
        let ContractPreflight {
            open,
            package,
            plan,
            options,
            ..
        } = self.preflight;
        let destination = open(&Address {
            url: &self.url,
            options: &package.single_connection()?.options,
            folder: &options.folder,
            site_packages: options.site_packages.as_deref(),
            ledger_schema: &package.run.ledger_schema,
        })?;
        let planned = &plan.flows[flow].target;
        let target = TargetPlan {
            name: destination.target_name(None, &planned.name.name)?,
            mode: WriteMode::Create,
            merge: None,
            members: Vec::new(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
            ..planned.clone()
        };
        let open: Box<dyn OpenRun> = destination.begin(
            &NewRun {
                run_key: plan.run_key.clone(),
                name: RunName::new("inrush_preflight"),
                package: plan.package.clone(),
                package_hash: plan.package_hash.clone(),
                holder: "inrush preflight".to_owned(),
                started_at_microseconds: 0,
                takes_over: None,
                lineage: plan.lineage.to_text(),
            },
            std::slice::from_ref(&target),
        )?;
        let results = on_a_thread_each(0..streams, &|number| {
            let mut stream = open.open_stream(&StreamSetup::alone())?;
            stream.begin(&UnitPart::whole(0, &key(number)), LoadMethod::Quick)?;
            work(&target.name.sql, number, stream.as_mut())
        })?;
        let found: Vec<T> = results.into_iter().collect::<Result<_, Error>>()?;
        let publishing = Instant::now();
        open.publish(&|_| {}, &mut NoSource)?;
        Ok((found, publishing.elapsed().as_secs_f64()))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // A failure here cannot be reported to anybody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path).map_err(|source| Error::Folder {
        path: path.display().to_string(),
        source,
    })
}

/// Commits the rows of a stream and compares their number with the destination's count.
pub fn commit(
    stream: &mut dyn UnitStream,
    target: &str,
    number: usize,
    rows: u64,
) -> Result<(), Error> {
    stream.commit(&UnitRecord {
        key: key(number),
        target: target.to_owned(),
        rows_loaded: rows,
        detail: String::new(),
    })?;
    Ok(())
}

fn key(number: usize) -> UnitKey {
    UnitKey::new(format!("inrush_preflight_{number}"))
}
