//! The abilities of a load that is planned by the contract: those of the destination that the planner makes use of, and
//! those that the engine adds.

use inrush_destination::{Abilities, Ability, Destination};

/// Abilities of a destination that the planner makes use of. It does not use the others yet.
const USED: &[Ability] = &[
    Ability::Create,
    Ability::Append,
    Ability::Replace,
    Ability::ReplaceByRows,
    Ability::ReplacePartitions,
    Ability::KeepReplaced,
    Ability::Upsert,
    Ability::Versions,
    Ability::RejectRefused,
    Ability::AddMembers,
    Ability::Partitions,
    Ability::Bounds,
    Ability::Routing,
    Ability::UserSql,
    Ability::Analyze,
    Ability::VerifySums,
    Ability::SeveralHosts,
    Ability::Undo,
    Ability::StagedBytes,
];
/// Abilities that the engine gives every destination.
const OWN: &[Ability] = &[Ability::RateLimit];

/// The abilities of a load into a destination.
pub fn of(destination: &dyn Destination) -> Abilities {
    let mut abilities = destination.abilities().clone();
    abilities.can.retain(|ability| USED.contains(ability));
    abilities.can.extend(OWN);
    abilities
}
