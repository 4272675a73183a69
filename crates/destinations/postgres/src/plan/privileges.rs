//! Privileges that a plan needs, and those that the role has.

use inrush_package::Package;
use inrush_plan::PlanError;

use super::members::MemberTable;
use super::{FlowPlan, is_all_straight};
use crate::plan::failure::PlanFailure;
use crate::quote::{identifier, qualified};
use crate::server_facts::ServerFacts;
use crate::{PostgresError, Session, ledger};

/// The purpose of privileges on the ledger.
pub const FOR_LEDGER: &str = "the ledger";

/// A privilege, and whether it is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// The privilege: `CREATE on schema "public"`.
    pub what: String,
    /// Its purpose.
    pub needed_for: String,
    /// True if the role has it.
    pub held: bool,
    /// The statement that grants it.
    pub grant: String,
}

/// The privileges that a schema needs.
struct SchemaNeed<'a> {
    /// The schema.
    pub schema: &'a str,
    /// The purpose of the privileges.
    pub needed_for: &'a str,
    /// True if the run creates the schema when it is missing.
    pub made: bool,
    /// True if something is created in it.
    pub create: bool,
}

/// Looks up privileges on schemas, and CREATE on the database if a schema must be created.
async fn on_schemas(
    session: &Session,
    role: &str,
    database: &str,
    needs: &[SchemaNeed<'_>],
) -> Result<Vec<Privilege>, PlanFailure> {
    let mut privileges = Vec::new();
    for need in needs {
        let rows = session
            .query(
                "SELECT has_schema_privilege(oid, 'CREATE'), has_schema_privilege(oid, 'USAGE') \
                 FROM pg_namespace WHERE nspname = $1",
                &[&need.schema],
                "looking up privileges",
            )
            .await?;
        match rows.first() {
            Some(row) => {
                let held = (row.get(0) || !need.create) && row.get::<_, bool>(1);
                let words = match need.create {
                    true => "USAGE, CREATE",
                    false => "USAGE",
                };
                privileges.push(Privilege {
                    what: format!("{words} on schema {}", identifier(need.schema)),
                    needed_for: need.needed_for.to_owned(),
                    held,
                    grant: format!(
                        "GRANT {words} ON SCHEMA {} TO {};",
                        identifier(need.schema),
                        identifier(role)
                    ),
                });
            }
            None if need.made => {
                let what = format!("CREATE on database {}", identifier(database));
                if privileges
                    .iter()
                    .all(|known: &Privilege| known.what != what)
                {
                    privileges.push(Privilege {
                        what,
                        needed_for: need.needed_for.to_owned(),
                        held: may_create_schemas(session).await?,
                        grant: format!(
                            "GRANT CREATE ON DATABASE {} TO {};",
                            identifier(database),
                            identifier(role)
                        ),
                    });
                }
            }
            None => {
                return Err(PlanError::Limit {
                    what: format!("the schema {} does not exist", identifier(need.schema)),
                    hint: format!("CREATE SCHEMA {};", identifier(need.schema)),
                }
                .into());
            }
        }
    }
    Ok(privileges)
}

/// Looks up privileges on the ledger's tables, if they exist: another role may have created them.
async fn on_ledger(
    session: &Session,
    role: &str,
    ledger_schema: &str,
) -> Result<Option<Privilege>, PlanFailure> {
    let rows = session
        .query(
            "SELECT bool_and(has_table_privilege(c.oid, wanted)) \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, \
                  unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) wanted \
             WHERE n.nspname = $1 AND c.relname IN ('run', 'unit', 'shard', 'switched_table') \
               AND c.relkind = 'r'",
            &[&ledger_schema],
            "looking up privileges",
        )
        .await?;
    Ok(rows[0].get::<_, Option<bool>>(0).map(|held| Privilege {
        what: format!(
            "SELECT, INSERT, UPDATE, DELETE on the tables of schema {}",
            identifier(ledger_schema)
        ),
        needed_for: FOR_LEDGER.to_owned(),
        held,
        grant: format!(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {} TO {};",
            identifier(ledger_schema),
            identifier(role)
        ),
    }))
}

/// Ownership of the schema and of the table in an older ledger that the run alters.
async fn on_older_ledger(
    session: &Session,
    role: &str,
    ledger_schema: &str,
) -> Result<Vec<Privilege>, PlanFailure> {
    let rows = session
        .query(
            "SELECT DISTINCT pg_get_userbyid(owner)::text, pg_has_role(owner, 'USAGE') \
             FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'shard', \
                  unnest(ARRAY[n.nspowner, c.relowner]) owner \
             WHERE n.nspname = $1 ORDER BY 1",
            &[&ledger_schema],
            "looking up privileges",
        )
        .await?;
    let privileges = rows.iter().map(|row| {
        let owner: &str = row.get(0);
        Privilege {
            what: format!(
                "membership in {}, the owner of schema {}",
                identifier(owner),
                identifier(ledger_schema)
            ),
            needed_for: "altering the ledger, which an older version of Inrush made".to_owned(),
            held: row.get(1),
            grant: format!("GRANT {} TO {};", identifier(owner), identifier(role)),
        }
    });
    Ok(privileges.collect())
}

async fn may_create_schemas(session: &Session) -> Result<bool, PostgresError> {
    let rows = session
        .query(
            "SELECT has_database_privilege(current_database(), 'CREATE')",
            &[],
            "looking up privileges",
        )
        .await?;
    Ok(rows[0].get(0))
}

/// INSERT on the loaded columns of a target: all that direct writes need.
async fn insert(
    session: &Session,
    schema: &str,
    table: &str,
    columns: &[String],
    role: &str,
) -> Result<Privilege, PlanFailure> {
    let target = qualified(schema, table);
    let rows = session
        .query(
            "SELECT bool_and(has_column_privilege($1::text, c, 'INSERT')) FROM unnest($2::text[]) c",
            &[&target, &columns],
            "looking up privileges",
        )
        .await?;
    Ok(Privilege {
        what: format!("INSERT on {target}"),
        needed_for: "rows that are written directly".to_owned(),
        held: rows[0].get::<_, Option<bool>>(0).unwrap_or(true),
        grant: format!("GRANT INSERT ON {target} TO {};", identifier(role)),
    })
}

/// The privileges on the ledger's table of members, which another role may have made.
async fn on_members(
    session: &Session,
    role: &str,
    ledger_schema: &str,
) -> Result<Privilege, PlanFailure> {
    let table = qualified(ledger_schema, "inferred_member");
    let words = "SELECT, INSERT, UPDATE, DELETE";
    let sql = "SELECT bool_and(has_table_privilege($1::text, wanted)) \
               FROM unnest(string_to_array($2, ', ')) wanted";
    let rows = session
        .query(sql, &[&table, &words], "looking up privileges")
        .await?;
    Ok(Privilege {
        what: format!("{words} on {table}"),
        needed_for: FOR_LEDGER.to_owned(),
        held: rows[0].get(0),
        grant: format!("GRANT {words} ON {table} TO {};", identifier(role)),
    })
}

/// The privileges for adding members to the reference of a lookup, and for numbering them.
async fn on_reference(
    session: &Session,
    reference: &MemberTable,
    role: &str,
) -> Result<Vec<Privilege>, PlanFailure> {
    let MemberTable {
        table,
        sequence,
        number,
        ..
    } = reference;
    let mut columns: Vec<&str> = reference
        .key
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    columns.push(number);
    let rows = session
        .query(
            "SELECT bool_and(has_column_privilege($1::text, c, 'INSERT') AND has_column_privilege($1::text, c, 'SELECT')), \
                    has_sequence_privilege($3::text, 'USAGE') FROM unnest($2::text[]) c",
            &[table, &columns, sequence],
            "looking up privileges",
        )
        .await?;
    let privilege = |words: &str, object: String, held| Privilege {
        what: format!("{words} on {object}"),
        needed_for: "members that a lookup adds".to_owned(),
        held,
        grant: format!("GRANT {words} ON {object} TO {};", identifier(role)),
    };
    Ok(vec![
        privilege("SELECT, INSERT", table.clone(), rows[0].get(0)),
        privilege("USAGE", format!("SEQUENCE {sequence}"), rows[0].get(1)),
    ])
}

/// Ownership of a target: only its owner can create a table like it, attach partitions to it, or replace it.
fn ownership(schema: &str, table: &str, owner: &str, owned: bool, role: &str) -> Privilege {
    Privilege {
        what: format!(
            "membership in {}, the owner of {}",
            identifier(owner),
            qualified(schema, table)
        ),
        needed_for: "staging tables that become a part of it".to_owned(),
        held: owned,
        grant: format!("GRANT {} TO {};", identifier(owner), identifier(role)),
    }
}

/// An error that names all missing privileges, if there are any.
pub fn require(role: &str, privileges: &[Privilege]) -> Result<(), PlanError> {
    let missing: Vec<&Privilege> = privileges
        .iter()
        .filter(|privilege| !privilege.held)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = |text: fn(&Privilege) -> String| {
        missing
            .iter()
            .map(|privilege| text(privilege))
            .collect::<Vec<_>>()
    };
    Err(PlanError::Privileges {
        role: role.to_owned(),
        missing: list(|privilege| format!("{} (for {})", privilege.what, privilege.needed_for))
            .join("; "),
        grants: list(|privilege| privilege.grant.clone()).join(" "),
    })
}

/// The privileges that the flows of a package need, and whether they are held.
pub async fn find(
    session: &Session,
    package: &Package,
    server: &ServerFacts,
    flows: &[FlowPlan],
) -> Result<Vec<Privilege>, PlanFailure> {
    let all_straight = is_all_straight(flows);
    let ledger_tables = ledger::find(session, &package.run.ledger_schema).await?;
    let adds = flows.iter().any(|flow| !flow.members.is_empty());
    let makes_members = adds && !ledger::has_members(session, &package.run.ledger_schema).await?;
    let mut needs = vec![SchemaNeed {
        schema: &package.run.ledger_schema,
        needed_for: FOR_LEDGER,
        made: true,
        create: !(all_straight && ledger_tables.are_complete) || makes_members,
    }];
    if !all_straight {
        needs.push(SchemaNeed {
            schema: &package.run.staging_schema,
            needed_for: "staging tables",
            made: true,
            create: true,
        });
    }
    // Flows that create tables come first: their privileges are enough for the others.
    let (straight, others): (Vec<_>, Vec<_>) = flows.iter().partition(|flow| flow.is_straight());
    for flow in others.into_iter().chain(straight) {
        if needs.iter().all(|need| need.schema != flow.schema) {
            needs.push(SchemaNeed {
                schema: &flow.schema,
                needed_for: "the target",
                made: false,
                create: !flow.is_straight(),
            });
        }
    }
    let mut found = on_schemas(session, &server.role, &server.database, &needs).await?;
    found.extend(on_ledger(session, &server.role, &package.run.ledger_schema).await?);
    if ledger_tables.are_older {
        found.extend(on_older_ledger(session, &server.role, &package.run.ledger_schema).await?);
    }
    if adds && !makes_members {
        let privilege = on_members(session, &server.role, &package.run.ledger_schema);
        found.push(privilege.await?);
    }
    for members in flows.iter().flat_map(|flow| &flow.members) {
        for privilege in on_reference(session, &members.reference, &server.role).await? {
            if !found.contains(&privilege) {
                found.push(privilege);
            }
        }
    }
    for flow in flows {
        if flow.is_straight() {
            let columns: Vec<String> = flow.columns.iter().map(|c| c.name.clone()).collect();
            let (schema, table) = (&flow.schema, &flow.table);
            found.push(insert(session, schema, table, &columns, &server.role).await?);
        } else if let Some(facts) = &flow.facts {
            found.push(ownership(
                &flow.schema,
                &flow.table,
                &facts.owner,
                facts.owned,
                &server.role,
            ));
        }
    }
    Ok(found)
}
