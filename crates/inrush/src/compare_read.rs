//! Compares a flow's source with its target if at least one of them is not PostgreSQL. The engine reads the rows of
//! both sides through the sources of flows, and hashes them.

use std::path::Path;
use std::sync::Arc;

use inrush_engine::compare::{CompareOptions, ComparedSide, compare};
use inrush_engine::error::Error;
use inrush_package::{Flow, FlowSource, OneOrMany, Package};
use inrush_plan::PlanError;
use inrush_plan::reading::flow_inputs::{FlowAsked, FlowInputs, OpenSources, Sources};
use inrush_rows::cancel::Stop;
use inrush_rows::column::Column;
use inrush_rows::column_type::ColumnType;
use inrush_rows::type_name::TypeName;
use inrush_source::Comparison;
use inrush_system::threads::cores;

use crate::compared_side::{SOURCE, TARGET, of_side};

/// A flow whose two sides are read.
pub struct BothRead<'a> {
    /// The package.
    pub package: &'a Package,
    /// The flow.
    pub flow: &'a Flow,
    /// Its name.
    pub name: &'a str,
    /// The connection of its target.
    pub into: &'a str,
    /// Relative paths start here.
    pub folder: &'a Path,
    /// Opens the two sides.
    pub open_sources: OpenSources<'a>,
}

/// What was compared, and the result.
pub struct ReadCompared {
    /// Source and target, in words.
    pub names: [String; 2],
    /// The columns of the key.
    pub key: Vec<String>,
    /// Columns that only one side has.
    pub left_out: Vec<String>,
    /// Columns whose values have no common form in the two databases.
    pub without_form: Vec<String>,
    /// The result.
    pub comparison: Comparison,
}

/// A side whose columns are known.
struct Side {
    flow: Flow,
    inputs: FlowInputs,
    columns: Vec<SideColumn>,
    /// Keeps the databases open.
    _sources: Arc<dyn Sources>,
}

struct SideColumn {
    name: String,
    /// The name of the column's type; `None` if only this database knows the form of its values.
    type_name: Option<String>,
}

impl BothRead<'_> {
    /// Compares the rows of the source with those of the target, by the columns whose names both have. `own_key` is the key that
    /// the flow names.
    pub fn compare(
        &self,
        source: FlowSource,
        target: FlowSource,
        own_key: Vec<String>,
        stop: &Stop,
    ) -> Result<ReadCompared, Error> {
        let mut sides = [
            (self.look(source, false, stop)).map_err(|error| of_side(self.name, SOURCE, error))?,
            (self.look(target, true, stop)).map_err(|error| of_side(self.name, TARGET, error))?,
        ];
        let mut columns = [Vec::new(), Vec::new()];
        let (mut left_out, mut without_form) = (Vec::new(), Vec::new());
        let [here, there] = &sides;
        for (index, column) in here.columns.iter().enumerate() {
            let mut others = there.columns.iter();
            let Some(other) = others.position(|other| other.name == column.name) else {
                left_out.push(column.name.clone());
                continue;
            };
            let Some(column_type) = common_type(column, &there.columns[other]) else {
                without_form.push(column.name.clone());
                continue;
            };
            columns[0].push(Column::new(&column.name, column_type.clone(), index));
            columns[1].push(Column::new(&column.name, column_type, other));
        }
        let has = |side: &Side, name: &str| side.columns.iter().any(|column| column.name == name);
        let of_target = there.columns.iter().map(|column| column.name.clone());
        left_out.extend(of_target.filter(|name| !has(here, name)));
        if columns[0].is_empty() {
            return Err(self.refused(
                "its two sides have no column in common that can be compared",
                "is the target the one that the flow loads?",
            ));
        }
        let keys = [own_key, there.key().to_vec(), here.key().to_vec()];
        let place = |name: &String| columns[0].iter().position(|column| column.name == *name);
        let places = keys.iter().filter(|key| !key.is_empty());
        let mut places = places.map(|key| key.iter().map(place).collect::<Option<Vec<_>>>());
        let all = || (0..columns[0].len()).collect();
        let key: Vec<usize> = places.next().flatten().unwrap_or_else(all);
        let key_names = key.iter().map(|at| columns[0][*at].name.clone()).collect();
        let [of_source, of_target] = columns;
        let [here, there] = &mut sides;
        let compared = [
            self.settle(here, of_source)?,
            self.settle(there, of_target)?,
        ];
        let options = CompareOptions {
            flow: self.name,
            key: &key,
            threads: cores(),
            stop,
        };
        let comparison = compare(&compared, options)?;
        Ok(ReadCompared {
            names: compared.map(|side| side.name),
            key: key_names,
            left_out,
            without_form,
            comparison,
        })
    }

    fn refused(&self, what: &str, hint: &str) -> Error {
        Error::Plan(PlanError::Mismatch {
            flow: self.name.to_owned(),
            what: what.to_owned(),
            hint: hint.to_owned(),
        })
    }

    /// Opens a side as the source of a separate flow.
    fn look(&self, source: FlowSource, is_target: bool, stop: &Stop) -> Result<Side, Error> {
        let flow = Flow {
            source: Some(FlowSource {
                // A comparison needs no proof that the rows are unchanged.
                unchanged_by: None,
                ..source
            }),
            connection: Some(self.into.to_owned()),
            files: OneOrMany::default(),
            steps: Vec::new(),
            ..self.flow.clone()
        };
        let package = Package {
            flows: vec![flow.clone()],
            ..self.package.clone()
        };
        let sources = (self.open_sources)(stop);
        let asked = FlowAsked {
            flow: &flow,
            name: self.name,
            folder: self.folder,
            package: &package,
            filled: None,
            since: None,
            ranges: &[],
            // The target counts as a reference, because a reference may be read from the target's own file.
            is_reference: is_target,
        };
        let inputs = sources.look(&asked, &mut Vec::new())?;
        let typed = inputs.opener.typed().map_or_else(Vec::new, |it| it.columns);
        let columns = typed.into_iter().enumerate().map(|(at, field)| {
            let own = inputs.own_columns.get(at);
            let type_name = own.and_then(|own| own.type_name.clone());
            SideColumn {
                name: field.name,
                type_name: type_name.filter(|_| field.native.is_none()),
            }
        });
        Ok(Side {
            columns: columns.collect(),
            flow,
            inputs,
            _sources: sources,
        })
    }

    fn settle(&self, side: &mut Side, mut columns: Vec<Column>) -> Result<ComparedSide, Error> {
        let field_count = side.columns.len();
        let source = side
            .inputs
            .settle(&side.flow, self.name, &mut columns, field_count)?;
        Ok(ComparedSide {
            name: source.describe(),
            source,
            columns,
            dialect: side.inputs.dialect.clone(),
            field_count,
        })
    }
}

impl Side {
    /// The columns of its primary key, if they are known.
    fn key(&self) -> &[String] {
        &self.inputs.primary_key
    }
}

/// The type by which a column of the source is compared with one of the target: the type of the target. `None` if this
/// type cannot hold the values of both. An example is `jsonb`, which PostgreSQL writes in its own form.
fn common_type(source: &SideColumn, target: &SideColumn) -> Option<ColumnType> {
    let (own, type_name) = (source.type_name.as_deref()?, target.type_name.as_deref()?);
    if type_name == "jsonb" && own != type_name {
        return None;
    }
    TypeName::parse(type_name)?.column_type()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(type_name: Option<&str>) -> SideColumn {
        SideColumn {
            name: "c".to_owned(),
            type_name: type_name.map(str::to_owned),
        }
    }

    #[test]
    fn the_type_of_the_target_is_compared() {
        let common = |source, target| common_type(&column(source), &column(target));
        assert_eq!(
            common(Some("bigint"), Some("integer")),
            Some(ColumnType::Int32)
        );
        assert_eq!(common(Some("json"), Some("json")), Some(ColumnType::Json));
        assert_eq!(common(Some("jsonb"), Some("jsonb")), Some(ColumnType::Json));
        assert_eq!(common(Some("json"), Some("jsonb")), None);
        assert_eq!(common(Some("text"), None), None, "a form of its own");
        assert_eq!(common(Some("text"), Some("inet")), None);
    }
}
