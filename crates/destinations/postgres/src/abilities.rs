//! The abilities of PostgreSQL, from the list that all destinations have.

use std::collections::BTreeSet;

use inrush_destination::{Abilities, Ability, OwnMemory, PublishedTogether, Streams};
use inrush_package::RunSettings;

use crate::block_socket::BLOCK_BYTES;

/// The abilities of every server that Inrush loads into.
pub fn abilities() -> Abilities {
    Abilities {
        own_memory: OwnMemory::None,
        streams: Streams::Many,
        published_together: PublishedTogether::Run,
        can: BTreeSet::from([
            Ability::Create,
            Ability::Append,
            Ability::Replace,
            Ability::ReplaceByRows,
            Ability::ReplacePartitions,
            Ability::RejectRefused,
            Ability::KeepReplaced,
            Ability::Upsert,
            Ability::Versions,
            Ability::Partitions,
            Ability::Bounds,
            Ability::Parts,
            Ability::Routing,
            Ability::DirectWrites,
            Ability::OneTransaction,
            Ability::AddMembers,
            Ability::SourceIndexes,
            Ability::SourcePartitions,
            Ability::UserSql,
            Ability::SkipTriggers,
            Ability::RebuildIndexes,
            Ability::Analyze,
            Ability::VerifySums,
            Ability::VerifyRows,
            Ability::RateLimit,
            Ability::ReplicaLag,
            Ability::SlotBytes,
            Ability::ServerCopy,
            Ability::Undo,
            Ability::StagedBytes,
        ]),
        folds_names: false,
        // A unit is a partition or a file of any size; several streams share long ones.
        unit_bytes: 0,
        removes_units_alone: true,
        batch_rows: RunSettings::default().batch_rows,
        stream_buffer_bytes: BLOCK_BYTES as u64,
        not_promised: Vec::new(),
    }
}
