//! Trial loads for a destination that has no place of its own for them: into temporary destinations, in a folder beside the real
//! one and so on the same disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow_array::RecordBatch;
use inrush_destination::address::DestinationKind;
use inrush_destination::{
    Address, AfterRows, Destination, Error as ContractError, LoadMethod, NewRun, NoSource, OpenRun,
    Result as ContractResult, StreamSetup, TargetPlan, TrialLoad, TrialPlace, TrialScope,
    TrialStream, UnitPart, UnitRecord, UnitStream, WriteMode, Written,
};
use inrush_rows::ids::{RunName, UnitKey};

use super::{ContractPlan, OpenDestination};

/// The folder that a preflight makes beside the destination at this URL and removes again, so that an interrupt handler can
/// remove it too. A relative path of the destination begins in `folder`. `None` if the destination has no path.
pub fn folder_beside(url: &str, folder: &Path) -> Option<PathBuf> {
    let kind = DestinationKind::of(url)?;
    let place = folder.join(kind.path()?);
    let name = format!(".inrush-preflight-{}", std::process::id());
    Some(place.parent().unwrap_or(Path::new("")).join(name))
}

/// The settings of temporary destinations: those of the real one.
#[derive(Clone, Debug)]
pub struct ScratchSettings {
    /// Opens them.
    pub open: OpenDestination,
    /// The URL of the real destination.
    pub url: String,
    /// The options of its connection.
    pub options: BTreeMap<String, String>,
    /// The folder in which relative paths begin.
    pub folder: PathBuf,
    /// The folder of Python packages in which drivers are looked for, if there is one.
    pub site_packages: Option<PathBuf>,
    /// The schema of the ledger's tables.
    pub ledger_schema: String,
}

impl ScratchSettings {
    /// The settings of the destination at this address.
    pub fn of(address: &Address<'_>, open: OpenDestination) -> ScratchSettings {
        ScratchSettings {
            open,
            url: address.url.to_owned(),
            options: address.options.clone(),
            folder: address.folder.to_owned(),
            site_packages: address.site_packages.map(Path::to_owned),
            ledger_schema: address.ledger_schema.to_owned(),
        }
    }

    /// Makes the folder for trials of this plan; `None` if the destination cannot have a temporary one beside it.
    pub fn make<'a>(
        &'a self,
        destination: &dyn Destination,
        plan: &'a ContractPlan,
    ) -> ContractResult<Option<Scratch<'a>>> {
        let Some(folder) = folder_beside(&self.url, &self.folder) else {
            return Ok(None);
        };
        let inner = folder.join("one");
        let absolute = std::path::absolute(&inner).unwrap_or_else(|_| inner.clone());
        let Some(url) = destination.scratch(&absolute) else {
            return Ok(None);
        };
        make_folder(&folder)?;
        Ok(Some(Scratch {
            settings: self,
            plan,
            folder,
            inner,
            url,
        }))
    }
}

/// The place of trial loads of a plan: a folder for temporary destinations, which is removed on drop.
pub struct Scratch<'a> {
    settings: &'a ScratchSettings,
    /// The plan that is tried.
    plan: &'a ContractPlan,
    folder: PathBuf,
    /// The folder of one temporary destination at a time. Files beside the destination's own file, such as a log, are
    /// removed with it.
    inner: PathBuf,
    /// The URL of a destination in `inner`.
    url: String,
}

impl Scratch<'_> {
    /// Opens a temporary destination in the inner folder.
    fn open(&self) -> ContractResult<Box<dyn Destination>> {
        let settings = self.settings;
        (settings.open)(&Address {
            url: &self.url,
            options: &settings.options,
            folder: &settings.folder,
            site_packages: settings.site_packages.as_deref(),
            ledger_schema: &settings.ledger_schema,
        })
    }
}

impl TrialPlace for Scratch<'_> {
    fn begin(&self, target: usize, _: TrialScope) -> ContractResult<Box<dyn TrialLoad + '_>> {
        let folder = InnerFolder::make(&self.inner)?;
        let destination = self.open()?;
        let plan = self.plan;
        let planned = &plan.flows[target].target;
        let target = TargetPlan {
            name: destination.target_name(None, &planned.name.name)?,
            mode: WriteMode::Create,
            merge: None,
            members: Vec::new(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
            ..planned.clone()
        };
        let run = destination.begin(
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
        Ok(Box::new(ScratchLoad {
            target: target.name.sql,
            run,
            _destination: destination,
            _folder: folder,
        }))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // A failure here cannot be reported to anybody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn make_folder(path: &Path) -> ContractResult<()> {
    std::fs::create_dir(path).map_err(ContractError::file("cannot create the folder", path))
}

/// The folder of one temporary destination; removed on drop.
struct InnerFolder<'a>(&'a Path);

impl InnerFolder<'_> {
    fn make(path: &Path) -> ContractResult<InnerFolder<'_>> {
        make_folder(path)?;
        Ok(InnerFolder(path))
    }
}

impl Drop for InnerFolder<'_> {
    fn drop(&mut self) {
        // If it cannot be removed now, it is removed with the outer folder.
        let _ = std::fs::remove_dir_all(self.0);
    }
}

/// A run of a temporary destination. The fields are dropped in this order: the folder goes last.
struct ScratchLoad<'a> {
    /// The target's name.
    target: String,
    run: Box<dyn OpenRun>,
    _destination: Box<dyn Destination>,
    _folder: InnerFolder<'a>,
}

impl TrialLoad for ScratchLoad<'_> {
    fn open_stream<'s>(
        &'s self,
        setup: &StreamSetup<'s>,
    ) -> ContractResult<Box<dyn TrialStream + 's>> {
        Ok(Box::new(ScratchStream {
            target: &self.target,
            key: UnitKey::new(format!("inrush_preflight_{}", setup.number)),
            stream: self.run.open_stream(setup)?,
        }))
    }

    fn publish(&self) -> ContractResult<Option<f64>> {
        let publishing = Instant::now();
        self.run.publish(&|_| {}, &mut NoSource)?;
        Ok(Some(publishing.elapsed().as_secs_f64()))
    }
}

/// A stream of a temporary destination, with a unit of its own.
struct ScratchStream<'a> {
    target: &'a str,
    key: UnitKey,
    stream: Box<dyn UnitStream + 'a>,
}

impl TrialStream for ScratchStream<'_> {
    fn begin(&mut self, _: usize) -> ContractResult<()> {
        let unit = UnitPart::whole(0, &self.key);
        self.stream.begin(&unit, LoadMethod::Quick)
    }

    fn begin_rows(&mut self) -> ContractResult<()> {
        self.stream.begin_split("the sample")
    }

    fn write(&mut self, batch: &RecordBatch) -> ContractResult<Written> {
        self.stream.write(batch, u64::MAX)
    }

    fn end_rows(&mut self) -> ContractResult<()> {
        self.stream.end_split()
    }

    fn finish(&mut self, rows: u64) -> ContractResult<AfterRows> {
        let committing = Instant::now();
        self.stream.commit(&UnitRecord {
            key: self.key.clone(),
            target: self.target.to_owned(),
            rows_loaded: rows,
            detail: String::new(),
        })?;
        Ok(AfterRows {
            ready_s: committing.elapsed().as_secs_f64(),
            ..AfterRows::default()
        })
    }

    fn is_metered(&self) -> bool {
        self.stream.is_metered()
    }
}
