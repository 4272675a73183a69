//! Measures how fast a destination takes rows, by trial loads ([`TrialPlace`]). It first measures the destination alone
//! ([`alone`]), with rows that are converted already, and then all steps together ([`together`]). Each is measured with
//! one stream and with all streams.

mod alone;
mod kept_rows;
mod streams;
mod together;

use std::time::Duration;

use inrush_destination::{Available, TrialLoad, TrialPlace, TrialScope};
use inrush_plan::Reading;
use inrush_plan::units::load_unit::LoadUnit;
use inrush_source::Split;

use self::alone::Alone;
use self::kept_rows::KeptRows;
use self::together::AllSteps;
use super::client::Client;
use super::decode::MakeEncoder;
use super::flow_found::FlowFound;
use super::measuring_time::MeasuringTime;
use super::result::{Finding, PreflightStep, Weight};
use super::sample::Portion;
use super::{findings, sample_batches};
use crate::error::Error;
use crate::pipeline::row_maker::RowMaker;

/// The settings of all trials of a preflight.
#[derive(Clone, Copy)]
pub struct TrialSettings<'a> {
    /// The loader's part of the plan.
    pub client: Client<'a>,
    /// The most bytes that all streams send in a second, if the package limits them.
    pub rate_bytes_max: Option<u64>,
    /// The time of each measurement.
    pub measuring_time: MeasuringTime,
}

/// The flows that are tried, for any destination.
pub struct Trials<'a> {
    /// The settings.
    pub settings: TrialSettings<'a>,
    /// The flows, the largest first.
    pub flows: Vec<TrialFlow<'a>>,
    /// The findings besides the speeds.
    pub found: TrialFound,
}

/// A flow that is tried.
pub struct TrialFlow<'a> {
    /// Its measurements.
    pub found: &'a mut FlowFound,
    /// Its reading.
    pub reading: &'a Reading,
    /// Its load units.
    pub units: Vec<&'a LoadUnit>,
    /// True if the destination takes encoded rows, and the sample is encoded already.
    pub is_encoded: bool,
    /// True if rows of the sample reach the destination.
    pub has_rows: bool,
}

/// A piece of work that is tried.
struct TrialWork<'a> {
    /// The unit; `None` if the portions are those of all units.
    unit: Option<(usize, &'a LoadUnit)>,
    /// The portions of its files that are read.
    portions: Vec<Portion>,
    /// The split of its file, if one reader feeds it to several streams.
    fed: Option<&'a Split>,
}

/// The findings of the trials besides the speeds. The speeds are kept with the flows.
#[derive(Default)]
pub struct TrialFound {
    /// The steps that were not measured, and the reasons.
    pub why_not: Vec<(PreflightStep, String)>,
    /// Findings: for each flow, the first row of the sample that the destination refuses; and the differences between
    /// the trial and a run.
    pub findings: Vec<Finding>,
}

impl Trials<'_> {
    /// Measures all flows in the place that the destination offers. If it offers none, notes the reason, also if that is an
    /// error.
    pub fn measure_in(
        &mut self,
        place: inrush_destination::Result<Available<Box<dyn TrialPlace + '_>>>,
    ) -> Result<(), Error> {
        let why = match place {
            Ok(Available::Yes(place)) => return self.measure(&*place),
            Ok(Available::No(why)) => why,
            Err(inrush_destination::Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => findings::words(&error),
        };
        for step in [PreflightStep::Destination, PreflightStep::Together] {
            self.found.not_measured(step, &why);
        }
        Ok(())
    }

    fn measure(&mut self, place: &dyn TrialPlace) -> Result<(), Error> {
        let found = &mut self.found;
        for flow in &mut self.flows {
            flow.alone(place, &self.settings, found)?;
        }
        for flow in &mut self.flows {
            flow.together(place, &self.settings, found)?;
        }
        found.findings.extend(place.note().map(Finding::tells));
        Ok(())
    }
}

impl TrialFlow<'_> {
    /// Makes rows of the sample as a stream makes them, and encodes them if the destination takes encoded rows.
    pub fn decode(
        &mut self,
        client: &Client<'_>,
        encoder: Option<&MakeEncoder<'_>>,
        measuring_time: Duration,
    ) -> Result<(), Error> {
        let reading = self.reading;
        let unit = match self.found.works.as_slice() {
            [(unit, _)] => unit.map(|unit| self.units[unit]),
            // A sample of several units has rows with several bounds, and rows of one unit are not rejects of another.
            _ => None,
        };
        let row_maker = || match unit {
            Some(unit) => RowMaker::of_unit(unit, reading, sample_batches::stamp()),
            None => sample_batches::row_maker(reading),
        };
        client.decode(self.found, reading, (&row_maker, encoder), measuring_time)
    }

    /// Measures the speed at which the destination takes converted rows, by one stream and by all.
    fn alone(
        &mut self,
        place: &dyn TrialPlace,
        settings: &TrialSettings<'_>,
        told: &mut TrialFound,
    ) -> Result<(), Error> {
        let kept = match self.is_encoded {
            true => KeptRows::encoded(self.found),
            false => KeptRows::of_sample(&settings.client, self.reading, self.found)?,
        };
        // If all rows of the sample are rejected, none reaches this step.
        self.has_rows = kept.has_rows();
        if !self.has_rows {
            return Ok(());
        }
        let alone = Alone {
            settings,
            kept: &kept,
            units: self.units.len(),
        };
        let mut measure = |streams| {
            self.attempt(
                (place, PreflightStep::Destination, TrialScope::Rows),
                told,
                |load| alone.measure(load, streams),
            )
        };
        let one = measure(1)?;
        let all = match (&one, settings.client.streams) {
            (Some(_), streams @ 2..) => measure(streams)?,
            _ => one,
        };
        let paced_of_text = kept.paced_of_text();
        (self.found.destination, self.found.destination_all) = (one, all);
        self.found.paced_of_text = paced_of_text;
        Ok(())
    }

    /// Measures all steps together, by one stream and by all.
    fn together(
        &mut self,
        place: &dyn TrialPlace,
        settings: &TrialSettings<'_>,
        told: &mut TrialFound,
    ) -> Result<(), Error> {
        let works = self.works();
        if works.is_empty() || (!self.is_encoded && !self.has_rows) {
            return Ok(());
        }
        let steps = AllSteps {
            settings,
            making: settings.client.making(self.reading, self.found),
        };
        let measuring_time = settings.measuring_time.together;
        let streams = settings.client.streams;
        let step = PreflightStep::Together;
        let one = match streams {
            1 => None,
            // One stream alone is measured for half of the time.
            _ => self.attempt((place, step, TrialScope::Units), told, |load| {
                steps.measure(load, &works[..1], 1, measuring_time / 2)
            })?,
        };
        let before = place.log_position();
        let scope = TrialScope::UnitsAndPublish;
        let mut all = self.attempt((place, step, scope), told, |load| {
            let mut all = steps.measure(load, &works, streams, measuring_time)?;
            all.try_publish(load)?;
            Ok(all)
        })?;
        if let (Some(all), Some(before), Some(after)) = (&mut all, before, place.log_position()) {
            all.wal_bytes = Some((after - before).unsigned_abs());
        }
        drop(works);
        (self.found.together, self.found.together_all) = (one.or(all.clone()), all);
        Ok(())
    }

    /// Makes one trial load; `None` if the destination could not do it.
    fn attempt<T>(
        &self,
        (place, step, scope): (&dyn TrialPlace, PreflightStep, TrialScope),
        told: &mut TrialFound,
        measure: impl FnOnce(&dyn TrialLoad) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let load = match place.begin(self.found.index, scope) {
            Ok(load) => load,
            Err(error) => return told.told(step, Err(error.into())),
        };
        let measured = measure(&*load);
        if measured.is_err()
            && let Some(message) = load.refused_row()
        {
            told.row_refused(self.reading, &message);
        }
        told.told(step, measured)
    }

    /// The pieces of work that are tried: those with sample rows.
    fn works(&self) -> Vec<TrialWork<'_>> {
        let works = self.found.works.iter().map(|(unit, portions)| {
            let unit = unit.map(|unit| (unit, self.units[unit]));
            let fed = unit.and_then(|(_, unit)| unit.splits.iter().find(|split| split.is_shared));
            TrialWork {
                unit,
                portions: portions.clone(),
                fed,
            }
        });
        works
            .filter(|work| work.fed.is_some() || !work.portions.is_empty())
            .collect()
    }
}

impl TrialFound {
    /// Notes why a step is not measured.
    fn not_measured(&mut self, step: PreflightStep, why: &str) {
        self.why_not.push((step, why.to_owned()));
    }

    /// The result of a measurement that the destination makes itself. If there is none, notes the reason.
    pub fn available<T>(
        &mut self,
        step: PreflightStep,
        measured: inrush_destination::Result<Available<T>>,
    ) -> Result<Option<T>, Error> {
        match self.told(step, measured.map_err(Error::from))? {
            Some(Available::Yes(found)) => Ok(Some(found)),
            Some(Available::No(why)) => {
                self.not_measured(step, &why);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Why a step was not measured.
    pub fn why_not(&self, step: PreflightStep) -> &str {
        let mut all = self.why_not.iter();
        all.find(|(of, _)| *of == step)
            .map_or("no row of the sample reached this step", |(_, why)| why)
    }

    /// Notes why a step could not be measured, if the destination still answers after the error. Such an error does not
    /// fail the preflight.
    fn told<T>(
        &mut self,
        step: PreflightStep,
        measured: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let error = match measured {
            Ok(found) => return Ok(Some(found)),
            Err(error) => error,
        };
        match &error {
            Error::Destination(own) if !own.is_lost() => {}
            Error::Verification { .. } | Error::Verify(_) => {}
            _ => return Err(error),
        }
        self.not_measured(step, &findings::words(&error));
        Ok(None)
    }

    /// Reports the first row of a flow that the destination refuses.
    fn row_refused(&mut self, reading: &Reading, message: &str) {
        let begin = format!(
            "flow `{}`: the server refuses a row of the sample",
            reading.name
        );
        let mut known = self.findings.iter();
        if known.any(|known| known.what.starts_with(&begin)) {
            return;
        }
        self.findings.push(Finding {
            weight: match reading.reject_limit.rows_accepted() {
                0 => Weight::Stops,
                _ => Weight::Hurts,
            },
            what: format!("{begin}: {message}"),
            hint: Some(format!(
                "{}, or accept rejects (`rejects`): then the unit is loaded again, row by row where needed",
                reading.input_kind().fix_rows()
            )),
        });
    }
}

#[cfg(test)]
mod tests {
    use inrush_destination::Error as ContractError;

    use super::*;

    fn refused() -> Error {
        let error = ContractError::Refused {
            doing: "creating a table".to_owned(),
            message: "permission denied".to_owned(),
            hint: None,
        };
        error.into()
    }

    fn lost() -> Error {
        let error = ContractError::Lost {
            doing: "creating a table".to_owned(),
            reason: "reset by peer".to_owned(),
            hint: String::new(),
        };
        error.into()
    }

    #[test]
    fn an_error_of_the_destination_is_why_a_step_is_not_measured() {
        let step = PreflightStep::Destination;
        let mut found = TrialFound::default();
        assert_eq!(found.told(step, Ok(7)).expect("a result"), Some(7));
        assert_eq!(
            found.why_not(step),
            "no row of the sample reached this step"
        );
        let told: Option<u32> = found.told(step, Err(refused())).expect("a note");
        assert_eq!(told, None);
        assert_eq!(found.why_not(step), "creating a table: permission denied");
        let other = found.why_not(PreflightStep::Together);
        assert_eq!(other, "no row of the sample reached this step");
    }

    #[test]
    fn a_measurement_that_the_destination_cannot_make_has_a_reason() {
        let step = PreflightStep::Network;
        let mut found = TrialFound::default();
        let measured = found.available(step, Ok(Available::Yes(7)));
        assert_eq!(measured.expect("a result"), Some(7));
        let measured = found.available::<u32>(step, Ok(Available::No("no right".to_owned())));
        assert_eq!(measured.expect("a note"), None);
        assert_eq!(found.why_not(step), "no right");
    }

    #[test]
    fn a_lost_connection_and_a_stop_end_the_preflight() {
        let step = PreflightStep::Together;
        for error in [lost(), Error::Interrupted] {
            let mut found = TrialFound::default();
            assert!(found.told::<()>(step, Err(error)).is_err());
            assert!(found.why_not.is_empty());
        }
    }
}
