//! Names of staging tables, for destinations that stage the rows of a target in one separate table.

use inrush_rows::hexadecimal::hexadecimal;
use inrush_rows::ids::{RunId, RunKey};
use sha2::{Digest, Sha256};

use crate::members::MembersPlan;
use crate::target::TargetPlan;

/// The beginning of the names.
pub const PREFIX: &str = "inrush_staging_";

/// The name of a target's staging table in the run with this number. The table differs if the run, the shape of the
/// rows or the bounds differ.
pub fn of_run(run_key: &RunKey, run_id: RunId, plan: &TargetPlan) -> String {
    let run_id = run_id.to_string();
    let mut described = vec![run_key.as_str(), &run_id, &plan.name.sql, &plan.shape];
    described.extend(plan.bounds.iter().map(String::as_str));
    let digest = Sha256::digest(described.join("\0").as_bytes());
    format!("{PREFIX}{}", hexadecimal(&digest[..8]))
}

/// The name of the table that keeps the members of a reference until the run with this number is published.
pub fn of_members(run_key: &RunKey, run_id: RunId, members: &MembersPlan) -> String {
    let run_id = run_id.to_string();
    let mut described = vec![
        run_key.as_str(),
        &run_id,
        &members.table.sql,
        &members.number,
    ];
    described.extend(members.key.iter().map(String::as_str));
    let digest = Sha256::digest(described.join("\0").as_bytes());
    format!("members_{}", hexadecimal(&digest[..8]))
}

/// The name in a plan, whose run has no number yet: words in angle brackets replace the end of the name. `place` is the
/// index of the target.
pub fn planned(place: usize) -> String {
    format!("{PREFIX}<{}>", place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{ReplacedRows, TargetName, WriteMode};

    #[test]
    fn runs_shapes_and_bounds_have_tables_of_their_own() {
        let of = |run: i64, shape: &str, bounds: &[&str]| {
            let plan = TargetPlan {
                name: TargetName {
                    schema: None,
                    name: "t".to_owned(),
                    sql: "t".to_owned(),
                },
                columns: Vec::new(),
                mode: WriteMode::Create,
                replaced: ReplacedRows::Removed,
                merge: None,
                members: Vec::new(),
                partition_by: Vec::new(),
                bounds: bounds.iter().map(|&bound| bound.to_owned()).collect(),
                shape: shape.to_owned(),
                pre_sql: Vec::new(),
                post_sql: Vec::new(),
            };
            of_run(&RunKey::new("k"), RunId::new(run), &plan)
        };
        // Stopped runs of earlier versions have these names.
        assert_eq!(of(1, "1", &[]), "inrush_staging_6d1687e1619400ac");
        assert_ne!(of(1, "1", &[]), of(2, "1", &[]));
        assert_ne!(of(1, "1", &[]), of(1, "2", &[]));
        assert_ne!(of(1, "1", &[]), of(1, "1", &["5"]));
        assert_eq!(planned(0), "inrush_staging_<1>");
    }
}
