//! Writes a report without the values of environment variables and passwords.
//!
//! A run may have a hundred thousand load units, and a unit as many files. Both are written one by one, so that no copy of
//! all of them is made.

use std::io;

use inrush_package::secrets::{mask_json, masked};
use inrush_page::WithList;
use serde::ser::{Error, Serialize, Serializer};
use serde_json::Value;

use super::types::{RunReport, UnitReport};

/// The member of a report that lists its units.
pub const UNITS: &str = "units";

/// The member of a unit that lists its files.
const FILES: &str = "files";

/// The whole report except its units, which [`ShownUnits`] writes.
pub fn shown(report: &RunReport) -> io::Result<Value> {
    Ok(masked_json(report)?)
}

/// The units of a report.
pub struct ShownUnits<'a>(pub &'a [UnitReport]);

impl Serialize for ShownUnits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ShownUnit))
    }
}

struct ShownUnit<'a>(&'a UnitReport);

impl Serialize for ShownUnit<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unit = UnitReport {
            flow: self.0.flow.clone(),
            files: Vec::new(),
            staging_table: self.0.staging_table.clone(),
            server_copy: self.0.server_copy.clone(),
            ..*self.0
        };
        let whole = WithList {
            report: &masked_json(&unit).map_err(S::Error::custom)?,
            name: FILES,
            list: &ShownTexts(&self.0.files),
        };
        whole.serialize(serializer)
    }
}

struct ShownTexts<'a>(&'a [String]);

impl Serialize for ShownTexts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|text| masked(text)))
    }
}

fn masked_json(part: &impl Serialize) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(part)?;
    mask_json(&mut value);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_written_as_they_are() {
        let unit = |number, files: &[&str]| UnitReport {
            flow: "f".to_owned(),
            unit: number,
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            staging_table: "t".to_owned(),
            shared: false,
            straight: number == 2,
            kept: true,
            finished: true,
            careful: false,
            account: Default::default(),
            server_copy: None,
            rows_counted: Some(7),
            meter: Default::default(),
        };
        let units = [unit(1, &["a", "b"]), unit(2, &[])];
        assert_eq!(
            serde_json::to_string(&ShownUnits(&units)).expect("it is JSON"),
            serde_json::to_string(&units).expect("it is JSON"),
        );
    }
}
