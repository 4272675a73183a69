//! The connections that a server has left for a role, by the limits of the role, of the database and of the server.

use crate::quote::identifier;

/// A query for [`ConnectionsLeft`]: one row of texts.
pub const CONNECTIONS_LEFT: &str = "\
    SELECT r.rolname::pg_catalog.text, d.datname::pg_catalog.text, r.rolsuper::pg_catalog.text, \
           r.rolconnlimit::pg_catalog.text, \
           (SELECT count(*) FROM pg_catalog.pg_stat_activity \
            WHERE usename = current_user AND backend_type = 'client backend')::pg_catalog.text, \
           d.datconnlimit::pg_catalog.text, \
           (SELECT count(*) FROM pg_catalog.pg_stat_activity \
            WHERE datname = d.datname AND backend_type = 'client backend')::pg_catalog.text, \
           pg_catalog.current_setting('max_connections'), \
           coalesce(pg_catalog.current_setting('superuser_reserved_connections', true), '0'), \
           coalesce(pg_catalog.current_setting('reserved_connections', true), '0'), \
           (SELECT count(*) FROM pg_catalog.pg_stat_activity \
            WHERE backend_type = 'client backend')::pg_catalog.text \
    FROM pg_catalog.pg_roles AS r, pg_catalog.pg_database AS d \
    WHERE r.rolname = current_user AND d.datname = pg_catalog.current_database()";

/// The limits of connections, and how many are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionsLeft {
    role: String,
    database: String,
    is_superuser: bool,
    /// The limit of the role, and the number of connections in use. A limit of -1 means that there is no limit.
    of_role: (i64, i64),
    of_database: (i64, i64),
    of_server: (i64, i64),
    /// The number of connections that the server reserves for other roles.
    reserved: i64,
}

/// Too few connections for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LackOfConnections {
    /// A sentence with the limit, the free connections and the needed connections.
    pub what: String,
    /// How to raise the limit.
    pub raise: String,
    /// Connections that are free.
    pub free: i64,
}

impl ConnectionsLeft {
    /// Reads the row of [`CONNECTIONS_LEFT`].
    pub fn read(row: &[Option<String>]) -> Option<ConnectionsLeft> {
        let [Some(role), Some(database), Some(is_superuser), numbers @ ..] = row else {
            return None;
        };
        let numbers: Option<Vec<i64>> = numbers
            .iter()
            .map(|number| number.as_deref()?.parse().ok())
            .collect();
        let [
            role_limit,
            of_role,
            database_limit,
            of_database,
            most,
            superusers,
            others,
            all,
        ] = numbers?[..]
        else {
            return None;
        };
        Some(ConnectionsLeft {
            role: role.clone(),
            database: database.clone(),
            is_superuser: is_superuser == "true",
            of_role: (role_limit, of_role),
            of_database: (database_limit, of_database),
            of_server: (most, all),
            reserved: superusers + others,
        })
    }

    /// The limits that leave a run fewer connections than it needs; `own` is the number of connections in use that the
    /// run already has. The limits do not apply to a superuser.
    pub fn lacks(&self, needed: i64, own: i64) -> Vec<LackOfConnections> {
        let left = |(limit, used): (i64, i64)| limit - used + own;
        let mut found = Vec::new();
        if self.is_superuser {
            return found;
        }
        let (role, database) = (&self.role, &self.database);
        let limits = [
            (
                self.of_role,
                format!("the role {role} may have {} connections", self.of_role.0),
                format!("ALTER ROLE {} CONNECTION LIMIT", identifier(role)),
            ),
            (
                self.of_database,
                format!(
                    "the database {database} takes {} connections",
                    self.of_database.0
                ),
                format!("ALTER DATABASE {} CONNECTION LIMIT", identifier(database)),
            ),
        ];
        for (of, what, raise) in limits {
            let free = left(of);
            if of.0 >= 0 && free < needed {
                found.push(LackOfConnections {
                    what: format!("{what}, {free} of which are free, but the run needs {needed}"),
                    raise: format!("{raise} {}", of.0 - free + needed),
                    free,
                });
            }
        }
        let free = left(self.of_server) - self.reserved;
        if free < needed {
            found.push(LackOfConnections {
                what: format!(
                    "the server keeps {} of its {} connections for superusers and others, {free} are free, but the run needs \
                     {needed}",
                    self.reserved, self.of_server.0
                ),
                raise: "raise max_connections of the server".to_owned(),
                free,
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: [&str; 11]) -> ConnectionsLeft {
        let row = texts.map(|text| Some(text.to_owned()));
        ConnectionsLeft::read(&row).expect("a row")
    }

    #[test]
    fn each_limit_is_told_by_itself() {
        let of = |superuser, role, database, all| {
            read([
                "etl", "dw", superuser, role, "3", database, "4", "20", "3", "0", all,
            ])
        };
        let none = of("false", "-1", "-1", "5");
        assert_eq!(none.lacks(13, 1), []);
        let [server] = &none.lacks(14, 1)[..] else {
            panic!("one limit");
        };
        assert_eq!(server.free, 13);
        assert!(server.what.contains("keeps 3 of its 20") && server.what.contains("needs 14"));
        let [role] = &of("false", "4", "-1", "5").lacks(3, 1)[..] else {
            panic!("one limit");
        };
        assert_eq!(role.raise, "ALTER ROLE \"etl\" CONNECTION LIMIT 5");
        assert_eq!(role.free, 2);
        let [database] = &of("false", "-1", "5", "5").lacks(3, 1)[..] else {
            panic!("one limit");
        };
        assert!(
            database
                .what
                .contains("the database dw takes 5 connections, 2 of which are free")
        );
        assert_eq!(of("true", "0", "0", "20").lacks(99, 1), []);
        assert_eq!(ConnectionsLeft::read(&[Some("etl".to_owned())]), None);
    }
}
