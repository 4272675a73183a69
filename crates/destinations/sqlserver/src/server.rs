//! The server: its product and version, its settings, and its abilities.

use std::collections::BTreeSet;

use inrush_destination::{
    Abilities, Ability, Error, OwnMemory, PublishedTogether, Result, Streams,
};

use crate::connection::SqlSession;

/// Rows of a batch: its encoded rows are one block or a few.
const BATCH_ROWS: u32 = 4096;
/// Bytes that a stream's encoder holds: the packets of a batch.
const STREAM_BUFFER_BYTES: u64 = 4 << 20;

/// Editions by SERVERPROPERTY('EngineEdition').
const SYNAPSE: i64 = 6;
const FABRIC: i64 = 11;
const AZURE_DATABASE: i64 = 5;
const AZURE_INSTANCE: i64 = 8;
const FABRIC_DATABASE: i64 = 12;

/// Major versions.
const SQL_SERVER_2016: u32 = 13;
const SQL_SERVER_2017: u32 = 14;
const SQL_SERVER_2019: u32 = 15;

/// A server and its database.
#[derive(Clone, Debug)]
pub struct Server {
    /// Product and version.
    pub product: String,
    /// The schema of tables that a package names without one.
    pub schema: String,
    /// The collation of the database ignores the case of names.
    pub folds_names: bool,
    /// Collations can store UTF-8: SQL Server 2019 and later, and Azure.
    pub has_utf8: bool,
    /// Columnstores can have texts and bytes of any length.
    pub has_long_columnstores: bool,
    /// Readers see the last committed rows and do not wait for writers.
    pub reads_snapshots: bool,
    /// It is a service of Azure, or a SQL database in Fabric.
    pub is_azure: bool,
    /// It is PostgreSQL with the extension Babelfish.
    pub is_babelfish: bool,
}

impl Server {
    /// Asks the server.
    pub fn ask(session: &mut SqlSession) -> Result<Server> {
        let doing = "cannot read the version of the server";
        let question = "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), \
                        CAST(SERVERPROPERTY('EngineEdition') AS bigint), \
                        CAST(SERVERPROPERTY('babelfish') AS nvarchar(128)), SCHEMA_NAME(), \
                        CASE WHEN N'a' = N'A' THEN 1 ELSE 0 END, \
                        (SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = DB_NAME())";
        let row: Vec<Option<String>> = session
            .rows(doing, question)?
            .into_iter()
            .next()
            .unwrap_or_default();
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        let mut next = || values.next().unwrap_or_default();
        let (version, edition, babelfish) = (next(), next(), next());
        let (schema, folds, snapshots) = (next(), next(), next());
        let major = version.split('.').next();
        let major: u32 = major.and_then(|major| major.parse().ok()).unwrap_or(0);
        // Babelfish reports the version of the SQL Server that it imitates. SQL Server itself does not know Babelfish's
        // property and returns NULL.
        let is_babelfish = babelfish == "1";
        let edition = edition.parse();
        // On Azure the version number does not show which features exist.
        let is_azure = matches!(
            edition,
            Ok(AZURE_DATABASE | AZURE_INSTANCE | FABRIC_DATABASE)
        );
        let product = match edition {
            _ if is_babelfish => "Babelfish, as SQL Server",
            Ok(SYNAPSE) => return Err(unsupported("Azure Synapse")),
            Ok(FABRIC) => return Err(unsupported("a Fabric warehouse")),
            Ok(AZURE_DATABASE) => "Azure SQL Database",
            Ok(AZURE_INSTANCE) => "Azure SQL Managed Instance",
            Ok(FABRIC_DATABASE) => "SQL database in Fabric",
            _ if major < SQL_SERVER_2016 => {
                return Err(unsupported(&format!("SQL Server {version}")));
            }
            _ => "SQL Server",
        };
        if schema.is_empty() {
            return Err(Error::Unsuitable {
                what: "the login has no default schema in this database".to_owned(),
                hint: "map the login to a user of the database: CREATE USER ... WITH DEFAULT_SCHEMA = dbo".to_owned(),
            });
        }
        Ok(Server {
            has_utf8: is_azure || major >= SQL_SERVER_2019,
            has_long_columnstores: is_azure || major >= SQL_SERVER_2017,
            product: format!("{product} {version}"),
            schema,
            folds_names: folds == "1",
            reads_snapshots: snapshots == "1",
            is_azure,
            is_babelfish,
        })
    }

    /// The abilities of a load into this database, whose units have this many bytes of text.
    pub fn abilities(&self, unit_bytes: u64) -> Abilities {
        let mut not_promised = Vec::new();
        let who_waits = match self.reads_snapshots {
            true => {
                "Statements that begin to read a target during the switch wait until it is committed, if its rows are replaced."
            }
            false => {
                "Statements that begin to read a target during the switch wait until it is committed, because the database \
                 has READ_COMMITTED_SNAPSHOT off."
            }
        };
        not_promised.push(who_waits.to_owned());
        not_promised.push(
            "Inrush has not been tested with a real SQL Server yet: try the load on a copy first."
                .to_owned(),
        );
        let mut can = BTreeSet::from([
            Ability::Create,
            Ability::Append,
            Ability::Replace,
            Ability::ReplaceByRows,
            Ability::RejectRefused,
            Ability::UserSql,
        ]);
        match self.is_babelfish {
            true => not_promised.push(
                "Babelfish has no SWITCH and no bulk load into partitions: only plain tables are loaded, by staging tables and \
                 INSERT ... SELECT. Rows are counted, but their values cannot be summed up. Replaced rows cannot be kept, and runs cannot be undone."
                    .to_owned(),
            ),
            false => can.extend([
                Ability::ReplacePartitions,
                Ability::KeepReplaced,
                Ability::Undo,
                Ability::Partitions,
                Ability::Bounds,
                Ability::Routing,
                Ability::Analyze,
                Ability::VerifySums,
                Ability::Upsert,
                Ability::Versions,
                Ability::AddMembers,
                Ability::StagedBytes,
            ]),
        }
        Abilities {
            streams: Streams::Many,
            published_together: PublishedTogether::Run,
            can,
            folds_names: self.folds_names,
            unit_bytes,
            removes_units_alone: false,
            batch_rows: BATCH_ROWS,
            stream_buffer_bytes: STREAM_BUFFER_BYTES,
            own_memory: OwnMemory::None,
            not_promised,
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsuitable {
        what: format!("the server is {what}, and Inrush cannot load into it"),
        hint: "load into SQL Server 2016 or later, or Azure SQL".to_owned(),
    }
}
