//! A report with a long list that is not in memory as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// A report with one member that is written from a separate list.
pub struct WithList<'a, L> {
    /// The report; its member `name` only marks where the list belongs.
    pub report: &'a Value,
    /// The name of the member.
    pub name: &'a str,
    /// The list for this member.
    pub list: &'a L,
}

impl<L: Serialize> Serialize for WithList<'_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(members) = self.report else {
            return self.report.serialize(serializer);
        };
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, value) in members {
            match name == self.name {
                true => map.serialize_entry(name, self.list)?,
                false => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_takes_its_place() {
        let report = json!({ "run": "x", "units": [], "notes": ["n"] });
        let whole = WithList {
            report: &report,
            name: "units",
            list: &[1, 2],
        };
        let text = serde_json::to_string(&whole).expect("it is JSON");
        assert_eq!(text, r#"{"run":"x","units":[1,2],"notes":["n"]}"#);
    }
}
