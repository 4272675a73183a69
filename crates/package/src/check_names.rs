//! Checks for names that are too long for their database, as far as the package alone shows it. Other destinations than
//! PostgreSQL check the names of their tables and columns themselves, while planning.

use inrush_destination::address::{self, DestinationKind};

use super::check_direct_writes::is_postgres;
use super::faults::Faults;
use super::name::{NameFault, TableName};
use super::{ColumnSpec, Flow, Keep, Package};

impl Package {
    /// The most bytes of a name that the target's database certainly accepts.
    pub fn name_bytes_max(&self) -> usize {
        self.single_connection()
            .map_or(address::POSTGRES_NAME_BYTES_MAX, |it| {
                DestinationKind::name_bytes_max(it.address())
            })
    }

    /// True if a connection of this name leads to PostgreSQL.
    fn is_postgres(&self, connection: &str) -> bool {
        let connection = self.connections.get(connection);
        connection.is_some_and(is_postgres)
    }
}

/// Checks the names of tables and columns that PostgreSQL would truncate.
pub(super) fn check_names(package: &Package, faults: &mut Faults<'_>) {
    let is_into_postgres = package.loads_into_postgres();
    for (index, flow) in package.flows.iter().enumerate() {
        let at = |setting: &str| format!("flow[{index}].{setting}");
        if is_into_postgres {
            check_table(&at("table"), &flow.table, faults);
            check_target(flow, &at, faults);
        }
        if let Some(source) = &flow.source
            && package.is_postgres(&source.connection)
            && let Some(table) = &source.table
        {
            check_table(&at("source.table"), table, faults);
        }
        for (place, step) in flow.steps.iter().enumerate() {
            if let Some(lookup) = &step.lookup
                && let (Some(connection), Some(table)) = (&lookup.connection, &lookup.table)
                && package.is_postgres(connection)
            {
                let path = format!("flow[{index}].step[{place}].lookup.table");
                check_table(&path, table, faults);
            }
        }
    }
}

fn check_target(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    for (place, column) in flow.columns.iter().enumerate() {
        // Another fault of the column is found by its own check.
        let Ok(detail) = column.detail() else {
            continue;
        };
        // A field that is not loaded has no column.
        if detail.skip {
            continue;
        }
        if let Err(fault) = fits_postgres(&detail.name) {
            let path = at(&format!("columns[{place}]"));
            let kind = match column {
                ColumnSpec::Short(text) => fault.of_value("columns", text),
                ColumnSpec::Long(_) => fault.of_value("name", &detail.name),
            };
            faults.add(&path, kind);
        }
    }
    if let Keep::Name(name) = &flow.replace.keep
        && let Err(fault) = fits_postgres(name)
    {
        add(&at("replace.keep"), name, &fault, faults);
    }
}

fn check_table(path: &str, text: &str, faults: &mut Faults<'_>) {
    let Ok(TableName { schema, name }) = TableName::parse(text) else {
        return;
    };
    let mut names = schema.iter().chain([&name]);
    if let Some(fault) = names.find_map(|name| fits_postgres(name).err()) {
        add(path, text, &fault, faults);
    }
}

fn add(path: &str, value: &str, fault: &NameFault, faults: &mut Faults<'_>) {
    faults.value(path, value, &fault.cause, &fault.mend);
}

/// Checks that PostgreSQL does not truncate this name.
pub(super) fn fits_postgres(name: &str) -> Result<(), NameFault> {
    let most = address::POSTGRES_NAME_BYTES_MAX;
    match name.len() > most {
        false => Ok(()),
        true => Err(NameFault {
            cause: format!(
                "a name of PostgreSQL has at most {most} bytes, but this one has {}",
                name.len()
            ),
            mend: "choose a shorter name; the server would truncate it".to_owned(),
        }),
    }
}
