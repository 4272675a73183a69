//! The files of a run that are read through feeds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use inrush_plan::load_flow::LoadFlow;
use inrush_plan::units::places::{SplitPlace, UnitPlace};
use inrush_source::{Input, Split};

use super::feeding::FedFile;
use super::metering::FedSource;

/// Files that are read through feeds, by the positions of their splits.
#[derive(Default)]
pub struct FedFiles(BTreeMap<SplitPlace, FedFile>);

impl FedFiles {
    /// Finds the files of a plan that are read through feeds. `finished` returns the ranges of a split that are already
    /// committed.
    pub fn of(
        flows: &[Arc<LoadFlow>],
        chunk_bytes: usize,
        streams: usize,
        finished: impl Fn(SplitPlace) -> Vec<Range<u64>>,
    ) -> FedFiles {
        let mut found = BTreeMap::new();
        for (flow_at, flow) in flows.iter().enumerate() {
            for (unit_at, unit) in flow.units.iter().enumerate() {
                let splits = unit.splits.iter().enumerate();
                for (split_at, _) in splits.filter(|(_, split)| split.is_shared) {
                    let place = (flow_at, unit_at, split_at);
                    let file = FedFile::new(chunk_bytes, streams, finished(place));
                    found.insert(place, file);
                }
            }
        }
        FedFiles(found)
    }

    /// The file of a split, if it is fed.
    pub fn get(&self, place: SplitPlace) -> Option<&FedFile> {
        self.0.get(&place)
    }

    /// The files of a unit that are read through feeds.
    pub fn of_unit(&self, (flow, unit): UnitPlace) -> impl Iterator<Item = &FedFile> {
        let all = (flow, unit, 0)..=(flow, unit, usize::MAX);
        self.0.range(all).map(|(_, file)| file)
    }

    /// Closes the feeds of a unit's files, because one stream reads the files again.
    pub fn close(&self, unit: UnitPlace) {
        self.of_unit(unit).for_each(FedFile::close);
    }

    /// The end of the text of a flow's file, once the feed has handed out all of it.
    pub fn text_end(
        &self,
        flows: &[Arc<LoadFlow>],
        flow: usize,
        file: &Arc<dyn Input>,
    ) -> Option<u64> {
        let first = (flow, 0, 0);
        let last = (flow, usize::MAX, usize::MAX);
        let mut own = self.0.range(first..=last);
        let found = own.find(|(place, _)| Arc::ptr_eq(&split(flows, **place).input, file));
        found.and_then(|(_, fed)| fed.text_end())
    }

    /// The files with their paths, for measuring.
    pub fn sources(&self, flows: &[Arc<LoadFlow>]) -> Vec<(String, &dyn FedSource)> {
        let named = |(place, file): (&SplitPlace, _)| {
            let path = split(flows, *place).input.name().display().to_string();
            (path, file)
        };
        let all = self
            .0
            .iter()
            .map(|(place, file)| (place, file as &dyn FedSource));
        all.map(named).collect()
    }
}

fn split(flows: &[Arc<LoadFlow>], (flow, unit, split): SplitPlace) -> &Split {
    &flows[flow].units[unit].splits[split]
}
