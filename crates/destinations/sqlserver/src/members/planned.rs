//! The steps of members, as `inrush check` prints them.

use inrush_destination::Step;

use super::MemberTable;
use crate::bulk_target;
use crate::insert::Insert;
use crate::options::Options;
use crate::staging::Staging;

impl MemberTable {
    /// The steps that make the table of members.
    pub fn begin_steps(&self, resumes: bool) -> Vec<Step> {
        let create = Step::statement(self.create_statement());
        if resumes {
            return vec![create.only_if("it does not exist")];
        }
        let remove = Step::statement(self.remove_statement());
        vec![remove.only_if("such a table is left over"), create]
    }

    /// The step that takes numbers.
    pub fn take_step(&self) -> Step {
        let take = self.take_batch_of("<keys>", "SELECT <their numbers>");
        Step::sketch(take).only_if("keys have no number yet")
    }

    /// The step of a unit that keeps its members.
    pub fn keep_step(&self, options: &Options) -> Step {
        let keep = bulk_target::statement(&self.sql, "<its columns>", options);
        Step::sketch(keep).only_if("rows have new members")
    }

    /// The steps of the publish that add members to the reference.
    pub fn publish_steps(&self, stagings: &[Staging]) -> Vec<Step> {
        const OTHERS: &str = "others have added a member with the same key";
        let add = self.add_statement(stagings).into_iter();
        let add = add.flat_map(Insert::statements);
        let replace = self.replace_statements(stagings).into_iter();
        add.map(Step::statement)
            .chain(replace.map(|sql| Step::statement(sql).only_if(OTHERS)))
            .chain([Step::statement(self.remove_statement())])
            .collect()
    }
}
