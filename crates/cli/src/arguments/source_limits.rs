//! Arguments that limit how a database is read.

use clap::Args;
use inrush::package::Package;

use crate::errors::CommandError;

/// Limits that protect the databases that are read.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "A database that is read")]
pub struct SourceLimitArguments {
    /// The most connections to the database that is read, one of which keeps the snapshot
    ///
    /// Default: the package's setting; without one, one more than streams.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1024))]
    pub source_connections: Option<u16>,

    /// The most bytes that are read from the database per second, such as 20MB or 500KiB
    ///
    /// All streams together. --max-rate limits what is sent to the destination instead.
    #[arg(long, value_name = "RATE", value_parser = super::common::byte_count)]
    pub source_max_rate: Option<u64>,
}

impl SourceLimitArguments {
    /// Replaces the limits of every database that a package reads.
    pub fn replace_those_of(&self, package: &mut Package) -> Result<(), CommandError> {
        let given = [
            ("--source-connections", self.source_connections.is_some()),
            ("--source-max-rate", self.source_max_rate.is_some()),
        ];
        let Some((argument, _)) = given.iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        let mut sources = package
            .flows
            .iter_mut()
            .filter_map(|flow| flow.source.as_mut())
            .peekable();
        if sources.peek().is_none() {
            return Err(CommandError::Usage {
                what: format!("{argument}: no flow of the package reads a database"),
                hint: format!(
                    "leave {argument} out; --max-rate limits what is sent to the destination"
                ),
            });
        }
        for source in sources {
            source.max_connections = self.source_connections.or(source.max_connections);
            source.rate_bytes_max = self.source_max_rate.or(source.rate_bytes_max);
        }
        Ok(())
    }
}
