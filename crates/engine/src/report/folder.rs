//! A run's folder: report, log and rejects, readable only for the user who started the run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use inrush_package::secrets::{mask_json, note_shown_path};
use inrush_page::WithList;
use inrush_plan::earlier::run_folder::REPORT_FILE;
use inrush_rows::ids::RunName;
use serde_json::json;

use super::disk_reserve::{require_reserve, require_room, reserve_bytes};
use super::rejects_folder::{REJECTS, RejectsFolder, complete_renewal};
use super::shown::{ShownUnits, UNITS, shown};
use super::types::RunReport;
use crate::error::Error;
use crate::event::{Event, Observer};

/// The package that was run, in a run's folder.
pub const PACKAGE_FILE: &str = "package.toml";

/// The report as a page, in a run's folder.
pub const PAGE_FILE: &str = "report.html";

/// `runs/<run>/`.
pub struct RunFolder {
    path: PathBuf,
    rejects: Arc<RejectsFolder>,
    log: Mutex<File>,
    look_every: u64,
}

impl RunFolder {
    /// Creates the folder, or opens that of an earlier attempt and continues its log.
    pub fn open(runs_folder: &Path, run: &RunName) -> Result<RunFolder, Error> {
        let path = runs_folder.join(run.as_str());
        note_shown_path(runs_folder);
        note_shown_path(&path);
        let rejects = path.join(REJECTS);
        complete_renewal(&path)?;
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| Error::Folder { path, source }
        };
        // The folder contains rows of the input, so only its owner may read it.
        for folder in [&path, &rejects] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .and_then(|()| refuse_link(folder))
                .map_err(failed(folder))?;
        }
        RunFolder::with_log(path, "log.jsonl")
    }

    /// Opens the folder of a run that another process has begun, to load a share of it. The log of a share is a
    /// separate file, because hosts cannot append to one file together.
    pub fn join(path: &Path, share: usize) -> Result<RunFolder, Error> {
        note_shown_path(path);
        RunFolder::with_log(path.to_owned(), &format!("log.share-{share}.jsonl"))
    }

    fn with_log(path: PathBuf, log_name: &str) -> Result<RunFolder, Error> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| Error::Folder { path, source }
        };
        require_room(&path).map_err(failed(&path))?;
        let log_path = path.join(log_name);
        let log = private_file(&log_path, true).map_err(failed(&log_path))?;
        let reserve = reserve_bytes(&path).map_err(failed(&path))?;
        Ok(RunFolder {
            look_every: reserve / 2,
            rejects: Arc::new(RejectsFolder::open(&path.join(REJECTS))?),
            path,
            log: Mutex::new(log),
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of rejects of this attempt.
    pub fn rejects(&self) -> &Arc<RejectsFolder> {
        &self.rejects
    }

    /// Keeps the files of rejects whose names `is_kept` accepts. After this call, processes that loaded the run before
    /// this one cannot change a file of rejects any more.
    pub fn take_rejects(&mut self, is_kept: impl Fn(&str) -> bool) -> Result<(), Error> {
        self.rejects = Arc::new(self.rejects.renew(is_kept)?);
        Ok(())
    }

    /// The path of the report.
    pub fn report_path(&self) -> PathBuf {
        self.path.join(REPORT_FILE)
    }

    /// Removes the report of an earlier attempt: it does not contain the rows that this attempt publishes.
    pub fn remove_report(&self) -> Result<(), Error> {
        let path = self.report_path();
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Folder {
                path: path.display().to_string(),
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Writes the report and its page, each completely or not at all. If only the page cannot be written, the report
    /// gets a note: the rows are loaded, and the page can be made from the report at any time.
    pub fn write_report(&self, report: &mut RunReport) -> Result<(), Error> {
        let units = std::mem::take(&mut report.units);
        let written = self.write_both(report, &ShownUnits(&units));
        report.units = units;
        written
    }

    /// Writes a report whose units are passed separately.
    fn write_both(&self, report: &mut RunReport, units: &ShownUnits<'_>) -> Result<(), Error> {
        let page = self.write_page(report, units).err().map(|source| {
            // A page of an earlier attempt would describe that attempt.
            let _ = fs::remove_file(self.page_path());
            let text = format!(
                "the report's page could not be written: {source}; `inrush report {}` writes it from the report",
                report.run
            );
            report.notes.push(text.clone());
            text
        });
        let written = self.write_report_alone(report, units);
        match (page, &written) {
            // A note about the page would be of no use, because there is no report.
            (Some(_), Err(_)) => drop(report.notes.pop()),
            (Some(text), Ok(())) => self.notice(&Event::Note { text }),
            (None, _) => {}
        }
        written
    }

    fn write_report_alone(&self, report: &RunReport, units: &ShownUnits<'_>) -> Result<(), Error> {
        let path = self.report_path();
        let write = || {
            let report = WithList {
                report: &shown(report)?,
                name: UNITS,
                list: units,
            };
            write_whole_by(&path, |out| {
                serde_json::to_writer_pretty(&mut *out, &report)?;
                out.write_all(b"\n")
            })
        };
        write().map_err(|source| {
            // A report of an earlier attempt would describe that attempt.
            let _ = fs::remove_file(&path);
            Error::Folder {
                path: path.display().to_string(),
                source,
            }
        })
    }

    /// Fails if the disk has less free space than the reserve for the run's report and for other programs. Called while
    /// rejects are written, because their number has no limit.
    pub fn require_reserve(&self) -> Result<(), Error> {
        let path = self.rejects.path();
        require_reserve(path).map_err(|source| Error::Folder {
            path: path.display().to_string(),
            source,
        })
    }

    /// The number of bytes of rejects after which the disk is checked again: a part of the reserve.
    pub fn look_every(&self) -> u64 {
        self.look_every
    }

    fn page_path(&self) -> PathBuf {
        self.path.join(PAGE_FILE)
    }

    fn write_page(&self, report: &RunReport, units: &ShownUnits<'_>) -> io::Result<()> {
        let report = shown(report)?;
        write_whole_by(&self.page_path(), |out| {
            inrush_page::write_page(out, &report, UNITS, units)
        })
    }

    /// Writes the package of the run, without secrets; loading its rejects again needs it.
    pub fn write_package(&self, text: &str) -> Result<(), Error> {
        let path = self.path.join(PACKAGE_FILE);
        write_whole(&path, &[text.as_bytes()]).map_err(|source| Error::Folder {
            path: path.display().to_string(),
            source,
        })
    }
}

/// Writes a file completely or not at all. Only its owner may read the file.
pub fn write_whole(target: &Path, parts: &[&[u8]]) -> io::Result<()> {
    write_whole_by(target, |out| {
        parts.iter().try_for_each(|part| out.write_all(part))
    })
}

/// Like [`write_whole`], for content that is written piece by piece.
fn write_whole_by(
    target: &Path,
    content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut draft = target.as_os_str().to_owned();
    draft.push(".draft");
    let draft = PathBuf::from(draft);
    let write = || -> io::Result<()> {
        let file = private_file(&draft, false)?;
        let mut out = BufWriter::new(&file);
        content(&mut out)?;
        out.flush()?;
        file.sync_all()?;
        fs::rename(&draft, target)
    };
    // An incomplete draft is of no use to anybody.
    write().inspect_err(|_| drop(fs::remove_file(&draft)))
}

impl Observer for RunFolder {
    fn notice(&self, event: &Event) {
        if matches!(event, Event::Progress { .. }) {
            return;
        }
        let mut line = json!({ "at": jiff::Timestamp::now().to_string(), "what": event });
        mask_json(&mut line);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // A load continues even if its log cannot be written.
        let _ = writeln!(log, "{line}");
    }
}

/// Refuses a symbolic link in place of a folder, because files would be written elsewhere.
fn refuse_link(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other(
            "it is a symbolic link, and a run writes only into its own folders",
        )),
    }
}

/// A file that only its owner reads; a symbolic link in its place is not followed.
pub fn private_file(path: &Path, append: bool) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(append)
        .write(true)
        .truncate(!append)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}
