//! The grants that `ALTER DEFAULT PRIVILEGES IN SCHEMA` gives on tables that a role creates in a schema.
//!
//! Staging tables are created in another schema and then moved, so the server does not apply these grants.

use super::error::PostgresError;
use super::session::Session;
use crate::quote::identifier;

/// Privileges that one role gets on a new table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultGrant {
    /// The privileges, as in `SELECT, INSERT`.
    pub privileges: String,
    /// The role that gets them; `None` means PUBLIC.
    pub grantee: Option<String>,
    /// True if the grantee may grant them to others.
    pub grantable: bool,
}

impl DefaultGrant {
    /// The statement that grants them on a table.
    pub fn statement(&self, table: &str) -> String {
        format!(
            "GRANT {} ON TABLE {table} TO {}{}",
            self.privileges,
            self.grantee
                .as_deref()
                .map_or_else(|| "PUBLIC".to_owned(), identifier),
            if self.grantable {
                " WITH GRANT OPTION"
            } else {
                ""
            }
        )
    }
}

/// The default grants on tables that the current role creates in `schema`. Its default grants for all schemas are not
/// included, because a staging table already has them.
pub async fn of_schema(
    session: &Session,
    schema: &str,
) -> Result<Vec<DefaultGrant>, PostgresError> {
    let rows = session
        .query(
            "SELECT string_agg(e.privilege_type, ', ' ORDER BY e.privilege_type), \
                    (SELECT rolname::text FROM pg_roles WHERE oid = e.grantee), e.is_grantable \
             FROM pg_default_acl d JOIN pg_namespace n ON n.oid = d.defaclnamespace, \
                  LATERAL aclexplode(d.defaclacl) e \
             WHERE n.nspname = $1 AND d.defaclobjtype = 'r' \
               AND d.defaclrole = (SELECT oid FROM pg_roles WHERE rolname = current_user) \
             GROUP BY e.grantee, e.is_grantable ORDER BY 2, 3",
            &[&schema],
            "reading the default privileges of the target's schema",
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| DefaultGrant {
            privileges: row.get(0),
            grantee: row.get(1),
            grantable: row.get(2),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_quote_roles() {
        let grant = DefaultGrant {
            privileges: "INSERT, SELECT".to_owned(),
            grantee: Some("re\"ader".to_owned()),
            grantable: true,
        };
        assert_eq!(
            grant.statement("t"),
            "GRANT INSERT, SELECT ON TABLE t TO \"re\"\"ader\" WITH GRANT OPTION"
        );
        let public = DefaultGrant {
            grantee: None,
            grantable: false,
            ..grant
        };
        assert_eq!(
            public.statement("t"),
            "GRANT INSERT, SELECT ON TABLE t TO PUBLIC"
        );
    }
}
