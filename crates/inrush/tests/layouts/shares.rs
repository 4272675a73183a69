//! Several processes load one run (clause D-40 of docs/specs/destination.md), with any layout of the destination. Here
//! the processes are threads, each with its own destination, plan and sources.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use inrush::cancel::{Stop, StopReason};
use inrush::shares::{SentPlan, ShareError, ShareLoaded, Shares};
use inrush::{Error, ExitStatus};

use super::*;

const SHARES: usize = 2;

/// Ends the run that waits for shares if the test fails meanwhile.
struct StopOnPanic(Stop);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.ask(StopReason::Failed);
        }
    }
}

impl Files {
    /// Runs the package in shares; `join` loads them, once the plan is there.
    fn run_in_shares<T>(&self, join: impl FnOnce(&Path) -> T) -> (T, Result<RunReport, Failure>) {
        let options = RunOptions {
            shares: NonZeroUsize::new(SHARES).map(|count| Shares {
                count,
                silence_max: Shares::SILENCE_MAX,
            }),
            ..self.options()
        };
        let stop = options.stop.clone();
        thread::scope(|scope| {
            let holding = scope.spawn(|| Driver::of_contract(open).run(&package(2), &options));
            let stop_on_panic = StopOnPanic(stop);
            let joined = join(&self.plan());
            drop(stop_on_panic);
            let ended = holding.join().expect("no panic");
            (joined, ended.map(|success| success.report))
        })
    }

    /// The plan of the only run, once it is there.
    fn plan(&self) -> PathBuf {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let runs = fs::read_dir(self.path().join("runs")).into_iter().flatten();
            let plans = runs.map(|run| run.expect("it can be read").path().join("plan.json"));
            match plans.filter(|plan| plan.exists()).last() {
                Some(plan) => return plan,
                None => assert!(Instant::now() < until, "no plan is written"),
            }
            thread::yield_now();
        }
    }

    fn join(&self, plan: &Path, share: usize, streams: usize) -> Result<ShareLoaded, Error> {
        Driver::of_contract(open).load_share(&package(streams), &self.options(), plan, share)
    }
}

fn each_split(splits: &[SplitFacts<'_>]) -> Layout {
    Layout::one_unit_each(splits.len(), Filling::OneStream, || PublishesInto::Target)
}

#[test]
fn shares_of_any_layout_load_each_row_once() {
    let layouts: [(&str, LayOut); 3] = [
        // Ranges of a file whose quotes hide line ends: only the process that holds the run knows where they begin.
        ("each split", each_split),
        ("one stream for each pair", one_stream_each_pair),
        ("all in one unit", all_in_one_unit),
    ];
    for (name, lay_out) in layouts {
        let files = Files::new(true);
        let scene = laid_out::set(files.path(), scene(lay_out));
        let (loaded, ended) = files.run_in_shares(|plan| {
            let sent = SentPlan::read(plan).expect("it is whole");
            // Both shares are loaded at the same time.
            let loaded: Vec<ShareLoaded> = thread::scope(|scope| {
                let joins = (1..=SHARES).map(|share| {
                    let files = &files;
                    scope.spawn(move || files.join(plan, share, share).expect("it is loaded"))
                });
                let joins: Vec<_> = joins.collect();
                joins
                    .into_iter()
                    .map(|join| join.join().expect("no panic"))
                    .collect()
            });
            let starts = sent.flows[0].units.iter().flat_map(|unit| &unit.splits);
            let located = starts.filter(|split| split.first_record.is_some()).count();
            assert!(located > 0, "{name}: a range begins within quotes");
            loaded
        });
        let report = ended.unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert!(files.loaded() == files.rows, "{name}");
        assert_eq!(
            report.account.rows_loaded,
            files.rows.len() as u64,
            "{name}"
        );
        assert!(!report.resumed && report.units.iter().all(|unit| unit.finished && !unit.kept));
        // Units that several streams fill stay with the process that holds the run.
        let shared = report.units.iter().filter(|unit| unit.shared).count();
        let elsewhere: usize = loaded.iter().map(|loaded| loaded.units).sum();
        assert_eq!(shared + elsewhere, report.units.len(), "{name}");
        assert_eq!(elsewhere == 0, name == "all in one unit", "{name}");
        let (begun, committed) = seen(&scene);
        assert_eq!(
            begun.len(),
            committed.len(),
            "{name}: a key for each record"
        );
    }
}

#[test]
fn a_host_that_lays_out_other_units_is_refused() {
    let files = Files::new(false);
    let scene = scene(each_split);
    laid_out::set(files.path(), scene);
    let (refused, ended) = files.run_in_shares(|plan| {
        let other: LayOut = |splits| pairs(splits, Filling::OneStream);
        laid_out::set(files.path(), super::scene(other));
        let refused = files.join(plan, 1, 1);
        laid_out::set(files.path(), super::scene(each_split));
        for share in 1..=SHARES {
            files
                .join(plan, share, 1)
                .expect("it is the same plan again");
        }
        refused
    });
    match refused {
        Err(Error::Share(ShareError::Differs { what })) => {
            assert!(what.contains("units"), "{what}")
        }
        other => panic!("{other:?}"),
    }
    assert!(ended.is_ok() && files.loaded() == files.rows);
}

/// The mistake that D-40 forbids: a result alone loads no rows, because only the ledger's records count.
#[test]
fn rows_that_only_a_result_tells_of_are_not_published() {
    let files = Files::new(false);
    let scene = Scene {
        joined_commits_are_lost: true,
        ..scene(each_split)
    };
    laid_out::set(files.path(), scene);
    let (_, ended) = files.run_in_shares(|plan| {
        for share in 1..=SHARES {
            files.join(plan, share, 1).expect("it does not know better");
        }
    });
    let failure = ended.expect_err("nothing is there");
    assert_eq!(
        failure.error.exit_status(),
        ExitStatus::Verification,
        "{failure:?}"
    );
    assert!(!files.path().join("lake").join("t").exists());
}
