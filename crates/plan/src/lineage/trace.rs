//! Follows a loaded column back through the steps to the fields of the source.

use super::record::{FlowLineage, ReadColumn, StepLineage};

/// A column and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced<'a> {
    /// Its name in the flow.
    pub name: &'a str,
    /// Its type; empty for a column that the lineage does not know.
    pub data_type: &'a str,
    /// Its origin.
    pub from: TracedFrom<'a>,
}

/// The origin of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum TracedFrom<'a> {
    /// A column that is read.
    Read(&'a ReadColumn),
    /// A step that added the column.
    Step {
        /// The index of the step.
        index: usize,
        /// The step.
        step: &'a StepLineage,
        /// The columns that the step's expression, or the key of its lookup, names.
        of: Vec<Traced<'a>>,
    },
    /// The lineage does not have the origin.
    Unknown,
}

/// The origin of a column that is loaded; `None` if the flow loads no column of this name.
pub fn traced<'a>(flow: &'a FlowLineage, column: &'a str) -> Option<Traced<'a>> {
    let is_it = |name: &str| name.eq_ignore_ascii_case(column);
    let loaded = flow.columns.iter().find(|loaded| is_it(&loaded.name))?;
    Some(Traced {
        data_type: &loaded.data_type,
        ..traced_before(flow, &loaded.name, flow.steps.len())
    })
}

/// The origin of a column before the step with this index: an earlier step added it, or it was read. A step does not
/// see the columns that it adds itself, so the recursion ends.
pub fn traced_before<'a>(flow: &'a FlowLineage, column: &'a str, end: usize) -> Traced<'a> {
    // DuckDB compares names without case.
    let is_it = |name: &str| name.eq_ignore_ascii_case(column);
    for (index, step) in flow.steps[..end.min(flow.steps.len())]
        .iter()
        .enumerate()
        .rev()
    {
        let Some(added) = step.adds.iter().find(|added| is_it(&added.name)) else {
            continue;
        };
        let names = match added.taken_from {
            Some(_) => &step.names,
            None => &added.names,
        };
        return Traced {
            name: &added.name,
            data_type: &added.data_type,
            from: TracedFrom::Step {
                index,
                step,
                of: names
                    .iter()
                    .map(|name| traced_before(flow, name, index))
                    .collect(),
            },
        };
    }
    match flow.read.iter().find(|read| is_it(&read.name)) {
        Some(read) => Traced {
            name: &read.name,
            data_type: &read.data_type,
            from: TracedFrom::Read(read),
        },
        None => Traced {
            name: column,
            data_type: "",
            from: TracedFrom::Unknown,
        },
    }
}

impl<'a> Traced<'a> {
    /// The read columns from which its values come, each once, in the order of the flow.
    pub fn fields(&self) -> Vec<&'a ReadColumn> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut Vec<&'a ReadColumn>) {
        match &self.from {
            TracedFrom::Read(read) => {
                if !found.contains(read) {
                    found.push(read);
                }
            }
            TracedFrom::Step { of, .. } => of.iter().for_each(|column| column.collect(found)),
            TracedFrom::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{AddedColumn, ColumnOrigin, LoadedColumn, RowSource, RunLineage};
    use super::*;

    fn read(name: &str, position: usize) -> ReadColumn {
        ReadColumn {
            name: name.to_owned(),
            data_type: "BIGINT".to_owned(),
            origin: ColumnOrigin::Field {
                position,
                name: None,
            },
        }
    }

    fn derive(name: &str, expression: &str, names: &[&str]) -> StepLineage {
        StepLineage {
            step: "derive".to_owned(),
            adds: vec![AddedColumn {
                name: name.to_owned(),
                data_type: "BIGINT".to_owned(),
                expression: Some(expression.to_owned()),
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                taken_from: None,
            }],
            ..StepLineage::default()
        }
    }

    fn flow() -> FlowLineage {
        let loaded = |name: &str| LoadedColumn {
            name: name.to_owned(),
            data_type: "bigint".to_owned(),
        };
        FlowLineage {
            flow: "f".to_owned(),
            target: "\"t\"".to_owned(),
            source: RowSource::Files {
                patterns: vec!["f.csv".to_owned()],
            },
            read: vec![read("a", 1), read("b", 2)],
            steps: vec![
                derive("c", "a + 1", &["a"]),
                derive("d", "C * b + a", &["C", "b", "a"]),
            ],
            columns: vec![loaded("a"), loaded("d"), loaded("odd")],
        }
    }

    #[test]
    fn a_column_is_followed_through_the_steps() {
        let flow = flow();
        let found = traced(&flow, "D").expect("it is loaded");
        assert_eq!((found.name, found.data_type), ("d", "bigint"));
        let TracedFrom::Step { index: 1, of, .. } = &found.from else {
            panic!("{found:?}");
        };
        assert!(matches!(of[0].from, TracedFrom::Step { index: 0, .. }));
        let fields: Vec<&str> = found.fields().iter().map(|it| it.name.as_str()).collect();
        assert_eq!(fields, ["a", "b"]);
    }

    #[test]
    fn columns_that_no_step_makes_are_read() {
        let flow = flow();
        let found = traced(&flow, "a").expect("it is loaded");
        assert_eq!(found.from, TracedFrom::Read(&flow.read[0]));
        assert_eq!(traced(&flow, "c"), None);
        let odd = traced(&flow, "odd").expect("it is loaded");
        assert_eq!(odd.from, TracedFrom::Unknown);
    }

    /// Ledgers have this form.
    #[test]
    fn the_text_of_the_ledger_stays_as_it_is() {
        let run = RunLineage {
            version: 1,
            inrush_version: "0.1.0".to_owned(),
            flows: vec![FlowLineage {
                steps: vec![derive("c", "a + 1", &["a"])],
                columns: Vec::new(),
                read: vec![read("a", 1)],
                ..flow()
            }],
        };
        let text = r#"{"version":1,"inrush_version":"0.1.0","flows":[{"flow":"f","target":"\"t\"","source":{"kind":"files","patterns":["f.csv"]},"read":[{"name":"a","data_type":"BIGINT","origin":{"is":"field","position":1}}],"steps":[{"step":"derive","adds":[{"name":"c","data_type":"BIGINT","expression":"a + 1","names":["a"]}]}],"columns":[]}]}"#;
        assert_eq!(run.to_text(), text);
        assert_eq!(RunLineage::from_text(text), Some(run));
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert_eq!(RunLineage::from_text(&newer), None);
        assert_eq!(RunLineage::from_text("{}"), None);
    }
}
