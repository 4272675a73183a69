//! INSERT statements that may give values to the identity column of their table.

use inrush_destination::Result;
use inrush_tdsclient::Answer;

use crate::connection::SqlSession;

/// An INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The statement.
    pub sql: String,
    /// Its table (`"schema"."table"`), if the statement gives values to the identity column.
    pub identity_of: Option<String>,
}

impl Insert {
    /// The statements that [`run`](Self::run) sends, in their order.
    pub fn statements(self) -> Vec<String> {
        match self.identity_of {
            Some(table) => vec![statement(&table, true), self.sql, statement(&table, false)],
            None => vec![self.sql],
        }
    }

    /// Runs the statement, and returns its answer.
    pub fn run(&self, session: &mut SqlSession, doing: &str) -> Result<Answer> {
        let Some(table) = &self.identity_of else {
            return session.run(doing, &self.sql);
        };
        let identity = IdentityInsert::on(session, doing, table)?;
        let answer = identity.session.run(doing, &self.sql)?;
        identity.off(doing)?;
        Ok(answer)
    }
}

/// IDENTITY_INSERT of a table, ON while this lives. A session may have it ON for one table only (error 8107), and a rollback
/// does not turn it off.
struct IdentityInsert<'a> {
    session: &'a mut SqlSession,
    table: &'a str,
    is_on: bool,
}

impl<'a> IdentityInsert<'a> {
    fn on(session: &'a mut SqlSession, doing: &str, table: &'a str) -> Result<IdentityInsert<'a>> {
        session.run(doing, &statement(table, true))?;
        Ok(IdentityInsert {
            session,
            table,
            is_on: true,
        })
    }

    /// Turns IDENTITY_INSERT off, and returns an error if that fails.
    fn off(mut self, doing: &str) -> Result<()> {
        self.is_on = false;
        self.session
            .run(doing, &statement(self.table, false))
            .map(drop)
    }
}

impl Drop for IdentityInsert<'_> {
    fn drop(&mut self) {
        if self.is_on {
            // The first error is reported. A failure here means that the session was lost, so nothing is left to turn
            // off.
            let _ = self
                .session
                .run("cannot set up a session", &statement(self.table, false));
        }
    }
}

fn statement(table: &str, is_on: bool) -> String {
    let value = if is_on { "ON" } else { "OFF" };
    format!("SET IDENTITY_INSERT {table} {value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_an_identity_column_need_the_setting() {
        let insert = |identity_of: Option<&str>| Insert {
            sql: "INSERT".to_owned(),
            identity_of: identity_of.map(str::to_owned),
        };
        assert_eq!(insert(None).statements(), ["INSERT"]);
        assert_eq!(
            insert(Some("\"s\".\"t\"")).statements(),
            [
                "SET IDENTITY_INSERT \"s\".\"t\" ON",
                "INSERT",
                "SET IDENTITY_INSERT \"s\".\"t\" OFF",
            ]
        );
    }
}
