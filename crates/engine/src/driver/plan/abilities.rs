//! The abilities of a load by this driver: its own, and those of the destination that it makes use of.

use inrush_destination::{Abilities, Ability, Destination};

/// Abilities of a destination that the driver makes use of. It has no call for the others yet.
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
/// Abilities that the driver gives every destination.
const OWN: &[Ability] = &[Ability::RateLimit];

/// The abilities of a load into a destination.
pub fn of(destination: &dyn Destination) -> Abilities {
    let mut abilities = destination.abilities().clone();
    abilities.can.retain(|ability| USED.contains(ability));
    abilities.can.extend(OWN);
    abilities
}
