//! The steps of a run, in order, as `inrush check` prints them: each operation on files as a sentence. Paths are
//! relative to the folder of tables. The run gets its paths from the same functions ([`ledger`](crate::ledger)). Words
//! in angle brackets stand for names that only the run can know.

use std::fmt;
use std::path::{Path, PathBuf};

use inrush_destination::steps::RUN;
use inrush_destination::{Result, RunSteps, Step, StepsRequest, WriteMode};

use crate::layout::Layout;
use crate::ledger::{GENERATION, Root, STAGED};
use crate::names;
use crate::next_generation::retired;
use crate::run::staged_target;
use crate::run_target::RunTarget;
use crate::table::Table;

/// An operation on files. Paths are relative to the folder of tables.
enum FileStep {
    /// Locks a file, which is made if it does not exist.
    Lock(PathBuf),
    /// Writes a file under another name, and renames it when it is complete.
    Write(PathBuf),
    /// Makes a folder, if it does not exist.
    Make(PathBuf),
    /// Gives each of several files a second name.
    Link { from: PathBuf, to: PathBuf },
    /// Gives a folder another name.
    Rename { from: PathBuf, to: PathBuf },
    /// Exchanges two folders.
    Exchange(PathBuf, PathBuf),
    /// Removes a file, or a folder with its contents.
    Remove(PathBuf),
}

impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileStep::Lock(path) => write!(f, "lock {}", path.display()),
            FileStep::Write(path) => write!(f, "write {}", path.display()),
            FileStep::Make(path) => write!(f, "make the folder {}", path.display()),
            FileStep::Link { from, to } => {
                write!(f, "link {} as {}", from.display(), to.display())
            }
            FileStep::Rename { from, to } => {
                write!(f, "rename {} to {}", from.display(), to.display())
            }
            FileStep::Exchange(one, other) => {
                write!(f, "exchange {} with {}", one.display(), other.display())
            }
            FileStep::Remove(path) => write!(f, "remove {}", path.display()),
        }
    }
}

/// The steps of a planned run.
pub(super) fn of_run(root: &Root, request: &StepsRequest<'_>) -> Result<RunSteps> {
    let mut targets = Vec::with_capacity(request.targets.len());
    for target in &request.targets {
        let path = names::path(&target.plan.name)?;
        let table = Table::read(root, &path)?;
        let layout = Layout::new(target.plan, table.as_ref())?;
        let (_, run_target) = staged_target(root, RUN, target.plan.clone(), path, layout);
        targets.push((run_target, table));
    }
    let planned = PlannedSteps { root };
    Ok(RunSteps {
        begin: planned.begin(request, &targets),
        units: targets.iter().map(|(it, _)| planned.unit(it)).collect(),
        publish: planned.publish(&targets),
        ..RunSteps::default()
    })
}

struct PlannedSteps<'a> {
    root: &'a Root,
}

impl PlannedSteps<'_> {
    /// Makes a path relative to the folder of tables.
    fn inside(&self, path: PathBuf) -> PathBuf {
        match path.strip_prefix(self.root.folder()) {
            Ok(inside) => inside.to_owned(),
            Err(_) => path,
        }
    }

    fn lock(&self, path: PathBuf) -> Step {
        step(&FileStep::Lock(self.inside(path)))
    }

    fn write(&self, path: PathBuf) -> Step {
        step(&FileStep::Write(self.inside(path)))
    }

    fn make(&self, path: PathBuf) -> Step {
        step(&FileStep::Make(self.inside(path)))
    }

    fn remove(&self, path: PathBuf) -> Step {
        step(&FileStep::Remove(self.inside(path)))
    }

    fn link(&self, from: PathBuf, to: PathBuf) -> Step {
        step(&FileStep::Link {
            from: self.inside(from),
            to: self.inside(to),
        })
    }

    fn begin(
        &self,
        request: &StepsRequest<'_>,
        targets: &[(RunTarget, Option<Table>)],
    ) -> Vec<Step> {
        let root = self.root;
        let mut steps = vec![
            self.lock(root.run_lock(request.run_key)),
            self.make(root.trial(request.run_key)),
            self.remove(root.trial(request.run_key)),
            self.lock(root.numbers_lock()),
            self.lock(root.fence_lock(request.run_key)),
            self.write(root.run_file(RUN)),
        ];
        for (target, _) in targets {
            steps.push(self.make(target.staging.clone()));
            if request.resumes.is_some() {
                let left = self.remove(target.staging.join("<file>"));
                steps.push(left.only_if("no record of a unit names it, or its unit is incomplete"));
            }
        }
        let old = self.remove(root.retired().join("<generation>"));
        steps.push(old.only_if("an earlier run has retired one"));
        steps
    }

    fn unit(&self, target: &RunTarget) -> Vec<Step> {
        let staged = target.staging.join(format!("<file of the unit>.{STAGED}"));
        let record = target.staging.join("<unit>.json");
        vec![
            step(&FileStep::Write(self.inside(staged)))
                .repeated("for each file of the unit's rows"),
            self.write(record),
        ]
    }

    fn publish(&self, targets: &[(RunTarget, Option<Table>)]) -> Vec<Step> {
        let root = self.root;
        let mut paths: Vec<&Path> = targets.iter().map(|(it, _)| it.path.as_path()).collect();
        paths.sort_unstable();
        let locks = paths.iter().map(|path| self.lock(root.table_lock(path)));
        let mut steps: Vec<Step> = locks.collect();
        for (target, table) in targets {
            self.next_generation(target, table.as_ref(), &mut steps);
        }
        steps.push(self.write(root.run_file(RUN)));
        let exchanges = |target: &RunTarget| root.folder().join(&target.path).is_dir();
        for (target, _) in targets {
            let (next, place) = (self.inside(target.next()), target.path.clone());
            steps.push(step(&match exchanges(target) {
                true => FileStep::Exchange(next, place),
                false => FileStep::Rename {
                    from: next,
                    to: place,
                },
            }));
        }
        for (target, _) in targets.iter().filter(|(target, _)| exchanges(target)) {
            let old = target.next();
            let place = self.inside(retired(root, RUN, &old));
            steps.push(step(&FileStep::Rename {
                from: self.inside(old),
                to: place.clone(),
            }));
            let files = step(&FileStep::Remove(place.join("<file>")));
            steps.push(files.repeated("for each file that only the old generation has"));
        }
        steps.extend([
            self.write(root.units_file(RUN)),
            self.write(root.run_file(RUN)),
            self.remove(root.staging(RUN)),
        ]);
        steps
    }

    /// The steps that make the next generation of a table.
    fn next_generation(&self, target: &RunTarget, table: Option<&Table>, steps: &mut Vec<Step>) {
        let next = target.next();
        steps.push(self.make(next.clone()));
        let link = |file: &str| self.link(target.path.join(file), next.join(file));
        if table.is_some() {
            let kept = match target.plan.mode {
                WriteMode::Append | WriteMode::Upsert => "for each file with rows",
                WriteMode::ReplacePartitions => "for each file of a partition that gets no rows",
                WriteMode::Create | WriteMode::Replace => "",
            };
            if !kept.is_empty() {
                steps.push(link("<file>").repeated(kept));
            }
            let others = link("<other file>");
            steps.push(others.repeated("for each file that is not a Parquet file of the table"));
        }
        let name = match target.layout.partitions.is_empty() {
            true => "part-<unit>.parquet",
            false => "<partition>/part-<unit>.parquet",
        };
        let staged = target.staging.join(format!("<file of the unit>.{STAGED}"));
        let staged = self.link(staged, next.join(name));
        steps.push(staged.repeated("for each staged file"));
        steps.push(
            self.write(next.join("part-<no unit>.parquet"))
                .only_if("the table would have no file"),
        );
        steps.push(self.write(next.join(GENERATION)));
    }
}

fn step(step: &FileStep) -> Step {
    Step::other(step.to_string())
}
