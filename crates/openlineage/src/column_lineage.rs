//! The facet `columnLineage`: the fields from which each loaded column is made, including fields of the references of
//! lookups, and the fields that decide which rows are loaded.

use std::path::Path;

use inrush_plan::lineage::{
    ColumnOrigin, FlowLineage, ReadColumn, StepLineage, Traced, TracedFrom, traced, traced_before,
};
use serde_json::{Map, Value, json};

use crate::datasets::Dataset;
use crate::facets::facet;

/// How a value is made from a field, or which decision depends on the field.
#[derive(Clone, Debug, PartialEq)]
struct Transformation {
    /// `DIRECT` or `INDIRECT`.
    kind: &'static str,
    /// OpenLineage's name for it.
    subtype: &'static str,
    /// The expression or condition; empty for a value that is copied.
    description: String,
}

impl Transformation {
    fn identity() -> Transformation {
        Transformation {
            kind: "DIRECT",
            subtype: "IDENTITY",
            description: String::new(),
        }
    }

    fn expression(description: String) -> Transformation {
        Transformation {
            kind: "DIRECT",
            subtype: "TRANSFORMATION",
            description,
        }
    }

    fn indirect(subtype: &'static str, description: String) -> Transformation {
        Transformation {
            kind: "INDIRECT",
            subtype,
            description,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "type": self.kind,
            "subtype": self.subtype,
            "description": self.description,
            "masking": false,
        })
    }
}

/// Fields of datasets, each once, with everything that is done with it.
struct InputFields<'a> {
    source: &'a Dataset,
    folder: &'a Path,
    fields: Vec<(Dataset, String, Vec<Transformation>)>,
}

impl<'a> InputFields<'a> {
    fn new(source: &'a Dataset, folder: &'a Path) -> InputFields<'a> {
        InputFields {
            source,
            folder,
            fields: Vec::new(),
        }
    }

    /// Adds the fields of a column. `how` is what a later step does with it.
    fn collect(&mut self, column: &Traced<'_>, how: Option<&Transformation>) {
        match &column.from {
            TracedFrom::Read(read) => {
                if let Some(name) = field_name(read) {
                    self.add(self.source.clone(), name, how);
                }
            }
            TracedFrom::Step { step, of, .. } => {
                let own = self.of_step(column, step, how);
                // An INDIRECT use stays INDIRECT, and a later expression takes precedence over an earlier one.
                let later = how.filter(|how| how.kind == "INDIRECT" || own.kind == "DIRECT");
                let how = later.unwrap_or(&own);
                for part in of {
                    self.collect(part, Some(how));
                }
            }
            TracedFrom::Unknown => {}
        }
    }

    /// What a step does with the columns from which it makes `column`. A value that a lookup takes is a field of the
    /// lookup's reference.
    fn of_step(
        &mut self,
        column: &Traced<'_>,
        step: &StepLineage,
        how: Option<&Transformation>,
    ) -> Transformation {
        let added = step.adds.iter().find(|added| added.name == column.name);
        let taken = added.and_then(|added| added.taken_from.as_ref());
        if let (Some(taken), Some(reference)) = (taken, &step.reference) {
            self.add(Dataset::of_source(reference, self.folder), taken, how);
            // The key only decides which row of the reference is taken.
            let description = format!("{taken} of {}", reference.words());
            return Transformation::indirect("JOIN", description);
        }
        let expression = added.and_then(|added| added.expression.clone());
        Transformation::expression(expression.unwrap_or_else(|| step.step.clone()))
    }

    fn add(&mut self, dataset: Dataset, field: &str, how: Option<&Transformation>) {
        let how = how.cloned().unwrap_or_else(Transformation::identity);
        let mut fields = self.fields.iter_mut();
        match fields.find(|(own, name, _)| *own == dataset && name == field) {
            Some((_, _, known)) if known.contains(&how) => {}
            Some((_, _, known)) => known.push(how),
            None => self.fields.push((dataset, field.to_owned(), vec![how])),
        }
    }

    fn to_json(&self) -> Vec<Value> {
        let fields = self.fields.iter();
        let fields = fields.map(|(dataset, field, how)| {
            json!({
                "namespace": dataset.namespace,
                "name": dataset.name,
                "field": field,
                "transformations": how.iter().map(Transformation::to_json).collect::<Vec<_>>(),
            })
        });
        fields.collect()
    }
}

/// The name that a field has in its source; `None` for a column that is not a field.
pub(crate) fn field_name(read: &ReadColumn) -> Option<&str> {
    match &read.origin {
        ColumnOrigin::Field { name, .. } => Some(name.as_deref().unwrap_or(&read.name)),
        ColumnOrigin::Provenance { .. } | ColumnOrigin::Constant { .. } => None,
    }
}

/// For each loaded column, the fields from which it is made; and the fields that decide whether a row is loaded. Relative paths
/// begin at `folder`.
pub(crate) fn column_lineage(flow: &FlowLineage, source: &Dataset, folder: &Path) -> Value {
    let mut fields = Map::new();
    for column in &flow.columns {
        let Some(found) = traced(flow, &column.name) else {
            continue;
        };
        let mut inputs = InputFields::new(source, folder);
        inputs.collect(&found, None);
        let inputs = json!({ "inputFields": inputs.to_json() });
        fields.insert(column.name.clone(), inputs);
    }
    let mut conditions = InputFields::new(source, folder);
    for (index, step) in flow.steps.iter().enumerate() {
        let Some(how) = decides(step) else {
            continue;
        };
        for name in &step.names {
            conditions.collect(&traced_before(flow, name, index), Some(&how));
        }
    }
    let mut content = json!({ "fields": fields });
    if !conditions.fields.is_empty() {
        content["dataset"] = Value::Array(conditions.to_json());
    }
    facet("1-2-0", "ColumnLineageDatasetFacet", content)
}

/// How a step decides which rows are loaded: by its condition, or by keeping one row for each key. A check that only
/// warns keeps all rows.
fn decides(step: &StepLineage) -> Option<Transformation> {
    match &step.condition {
        Some(_) if step.only_warns => None,
        Some(condition) => Some(Transformation::indirect("FILTER", condition.clone())),
        None if step.step == "distinct_on" => {
            Some(Transformation::indirect("GROUP_BY", step.step.clone()))
        }
        None => None,
    }
}
