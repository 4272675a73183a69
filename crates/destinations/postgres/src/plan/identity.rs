//! Describes all settings that affect the rows and the staging tables of a flow's units, for the units' keys.

use inrush_package::{Trailer, Verify};
use inrush_plan::identity::description::{self, Description};
use inrush_plan::steps::StepPlan;
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use serde_json::{Value, json};

use super::routing::{Becomes, RouteNode, RoutePlan};
use super::{Commit, NewIndex, Publish, WireForm};
use crate::catalog::IndexFacts;
use crate::staging::{Model, NewColumn, Storage, UnitBounds, Upper};

/// The settings that affect the rows and the staging tables of a flow's units. If any of them has changed, units of a
/// stopped run cannot be used.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// The target, `schema.table`, quoted.
    pub target: &'a str,
    /// The dialect of the files.
    pub dialect: &'a Dialect,
    /// Their encoding, as the package names it.
    pub encoding: Option<&'a str>,
    /// The columns that the files fill.
    pub columns: &'a [Column],
    /// Their types as the server writes them.
    pub type_sql: &'a [String],
    /// The form in which rows are sent.
    pub wire: &'a WireForm,
    /// The partition key's column.
    pub key: Option<&'a str>,
    /// The structure of a target that exists, as one text, and its indexes.
    pub existing: Option<(&'a str, &'a [IndexFacts])>,
    /// The model of the staging tables.
    pub model: &'a Model,
    /// How units become part of the target.
    pub publish: &'a Publish,
    /// The level of verification.
    pub level: Verify,
    /// The trailer that ends each file.
    pub trailer: Option<&'a Trailer>,
    /// Columns with promised sums, by their positions.
    pub summed: &'a [usize],
    /// Indexes of a new target besides its primary key.
    pub new_indexes: &'a [NewIndex],
    /// The steps that rows pass before they are loaded.
    pub steps: Option<&'a StepPlan>,
}

impl Shape<'_> {
    /// The description, as text.
    pub fn describe(&self) -> String {
        let mut said = Description::default();
        said.say("target", self.target)
            .say("format", description::dialect(self.dialect))
            .say_some("encoding", self.encoding)
            .say("columns", description::columns(self.columns))
            .say("types", self.type_sql.to_vec())
            .say(
                "sent_as",
                match self.wire {
                    // The column types determine how each is sent.
                    WireForm::Binary(_) => "binary",
                    WireForm::Text { .. } => "text",
                },
            )
            .say_some("key", self.key);
        // A staging table that was created for another structure of the target cannot be attached.
        if let Some((structure, indexes)) = self.existing
            && !matches!(self.publish, Publish::Straight(_))
        {
            said.say("structure", structure)
                .say("indexes", indexes.iter().map(index).collect::<Vec<_>>())
                .say("model", model(self.model));
        }
        match self.publish {
            // A staging table that was created for other partitions cannot take some rows.
            Publish::Route(route) => said.say("route", route_plan(route)),
            // A load that commits everything at the switch cannot use splits that were committed one by one.
            Publish::Straight(Commit::AtSwitch) => said.say("straight", "at the switch"),
            // The staging table is created with or without the primary key.
            Publish::Rename {
                primary_key: Some(key),
            } => said.say("primary_key", key.columns.clone()),
            _ => &mut said,
        };
        // The staging table is created with these indexes.
        if !self.new_indexes.is_empty() {
            let indexes = self.new_indexes.iter().map(new_index);
            said.say("new_indexes", indexes.collect::<Vec<_>>());
        }
        said.say_word("verify", self.level);
        description::sums(&mut said, self.trailer, self.summed);
        description::steps(&mut said, self.steps);
        said.into_text()
    }
}

fn index(index: &IndexFacts) -> Value {
    let IndexFacts {
        name,
        definition,
        unique,
        constraint,
        tablespace,
    } = index;
    json!([name, definition, unique, constraint, tablespace])
}

fn new_index(index: &NewIndex) -> Value {
    let NewIndex {
        number,
        name: _,
        is_unique,
        definition,
        constraint,
    } = index;
    json!([number, is_unique, definition, constraint])
}

fn model(model: &Model) -> Value {
    match model {
        Model::Columns(columns) => {
            let column = |column: &NewColumn| {
                let NewColumn {
                    name,
                    type_sql,
                    not_null,
                    collation,
                } = column;
                match collation {
                    None => json!([name, type_sql, not_null]),
                    Some(collation) => json!([name, type_sql, not_null, collation]),
                }
            };
            json!({ "columns": columns.iter().map(column).collect::<Vec<_>>() })
        }
        Model::Target {
            schema,
            name,
            storage,
        } => {
            let Storage {
                access_method,
                tablespace,
            } = storage;
            json!({ "like": [schema, name, access_method, tablespace] })
        }
    }
}

fn route_plan(route: &RoutePlan) -> Value {
    let RoutePlan {
        partition_by,
        is_new,
        nodes,
    } = route;
    json!([
        partition_by,
        is_new,
        nodes.iter().map(route_node).collect::<Vec<_>>()
    ])
}

fn route_node(node: &RouteNode) -> Value {
    let RouteNode {
        number,
        bound,
        partition_by,
        constraints,
        becomes,
        indexes,
        nodes,
    } = node;
    let becomes = match becomes {
        Becomes::Existing => json!("existing"),
        Becomes::New { name, bounds } => json!([name, unit_bounds(bounds)]),
        Becomes::Copied { name } => {
            json!({ "copied": name, "indexes": indexes.iter().map(new_index).collect::<Vec<_>>() })
        }
    };
    let nodes: Vec<Value> = nodes.iter().map(route_node).collect();
    json!([number, bound, partition_by, constraints, becomes, nodes])
}

fn unit_bounds(bounds: &UnitBounds) -> Value {
    let UnitBounds {
        key,
        type_sql,
        lower,
        upper,
    } = bounds;
    let upper = match upper {
        None => Value::Null,
        Some(Upper::Exclusive(upper)) => json!({ "below": upper }),
        Some(Upper::Inclusive(upper)) => json!({ "to": upper }),
    };
    json!([key, type_sql, lower, upper])
}

#[cfg(test)]
mod tests {
    use inrush_pgcopy::PgType;
    use inrush_plan::identity::golden::assert_golden;
    use inrush_rows::column::ColumnType;

    use super::*;

    fn text_column(name: &str) -> NewColumn {
        NewColumn {
            name: name.to_owned(),
            type_sql: "bigint".to_owned(),
            not_null: true,
            collation: None,
        }
    }

    #[test]
    fn descriptions_stay_as_they_are() {
        let columns = [Column::new("id", ColumnType::Int64, 0)];
        let types = ["bigint".to_owned()];
        let new = Model::Columns(vec![text_column("id")]);
        let shape = Shape {
            target: "public.orders",
            dialect: &Dialect::tbl(),
            encoding: None,
            columns: &columns,
            type_sql: &types,
            wire: &WireForm::Binary(vec![PgType::Int8]),
            key: None,
            existing: None,
            model: &new,
            publish: &Publish::Rename { primary_key: None },
            level: Verify::Count,
            trailer: None,
            summed: &[],
            new_indexes: &[],
            steps: None,
        };
        let indexes = [IndexFacts {
            name: "orders_pkey".to_owned(),
            definition: "USING btree (id)".to_owned(),
            unique: true,
            constraint: Some("PRIMARY KEY (id)".to_owned()),
            tablespace: None,
        }];
        let like = Model::Target {
            schema: "public".to_owned(),
            name: "orders".to_owned(),
            storage: Storage {
                access_method: None,
                tablespace: Some("fast".to_owned()),
            },
        };
        let existing = Shape {
            wire: &WireForm::Text {
                reason: "no part of it".to_owned(),
            },
            key: Some("id"),
            existing: Some(("id bigint", &indexes)),
            model: &like,
            publish: &Publish::Attach,
            level: Verify::Rows,
            encoding: Some("latin1"),
            summed: &[0],
            ..shape
        };
        let route = Publish::Route(RoutePlan {
            partition_by: "RANGE (id)".to_owned(),
            is_new: false,
            nodes: vec![
                RouteNode {
                    number: 1,
                    bound: "DEFAULT".to_owned(),
                    partition_by: Some("HASH (id)".to_owned()),
                    constraints: vec!["CHECK (id > 0)".to_owned()],
                    becomes: Becomes::Existing,
                    indexes: Vec::new(),
                    nodes: Vec::new(),
                },
                RouteNode {
                    number: 2,
                    bound: "FOR VALUES FROM ('1') TO ('9')".to_owned(),
                    partition_by: None,
                    constraints: Vec::new(),
                    becomes: Becomes::New {
                        name: "orders_1".to_owned(),
                        bounds: UnitBounds {
                            key: "id".to_owned(),
                            type_sql: "bigint".to_owned(),
                            lower: Some("1".to_owned()),
                            upper: Some(Upper::Exclusive("9".to_owned())),
                        },
                    },
                    indexes: Vec::new(),
                    nodes: Vec::new(),
                },
            ],
        });
        let straight = Publish::Straight(Commit::AtSwitch);
        let shapes = [
            ("new", shape),
            ("existing", existing),
            (
                "routed",
                Shape {
                    publish: &route,
                    ..shape
                },
            ),
            (
                "at_the_switch",
                Shape {
                    publish: &straight,
                    ..existing
                },
            ),
        ];
        assert_golden(
            include_str!("golden.txt"),
            &shapes.map(|(name, shape)| (name, shape.describe())),
        );
    }
}
