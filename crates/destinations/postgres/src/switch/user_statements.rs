//! The user's own statements in the switch: `pre_sql` and `post_sql`.

use super::error::SwitchError;
use super::search_path;
use crate::Session;
use crate::plan::FlowPlan;

/// Runs statements of the user one by one, so that the server does not accept a second one in the same text, which
/// could end the transaction.
pub async fn run(
    session: &Session,
    flow: &FlowPlan,
    setting: &str,
    statements: &[String],
) -> Result<(), SwitchError> {
    if statements.is_empty() {
        return Ok(());
    }
    let doing = "running a statement of the package";
    search_path::of_users(session, doing).await?;
    for (index, statement) in statements.iter().enumerate() {
        session
            .client
            .execute(statement.as_str(), &[])
            .await
            .map_err(|error| SwitchError::Statement {
                flow: flow.name.clone(),
                setting: match statements.len() {
                    1 => setting.to_owned(),
                    count => format!("statement {} of {count} of {setting}", index + 1),
                },
                statement: shortened(statement),
                source: Box::new(session.error(error, doing)),
            })?;
    }
    search_path::our_own(session, doing).await?;
    Ok(())
}

fn shortened(statement: &str) -> String {
    const SHOWN: usize = 200;
    match statement.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &statement[..end]),
        None => statement.to_owned(),
    }
}
