//! The line for people.

use crate::cpu::Holder;
use crate::facts::Facts;
use crate::numbers::{percent, seconds};
use crate::parts::Part;
use crate::verdict::{Advice, Cause, CauseShare};

/// The second cause is named if it has this share of the first one's time.
const CLOSE: f64 = 0.5;
/// The second cause is named only if it also has this share of all time.
const CONSIDERABLE: f64 = 0.15;
/// A smaller gain than this share is not mentioned.
const GAIN_MIN: f64 = 0.03;

/// True if another cause is close enough to be named beside the first one.
pub(crate) fn is_close(first: &CauseShare, other: &CauseShare) -> bool {
    other.share >= CLOSE * first.share && other.share >= CONSIDERABLE
}

/// The holder of this machine's CPUs, if the first two causes are that the loader lacks CPUs and that the server lacks
/// CPUs. The line names them as one, because a change that helps against one also helps against the other.
pub(crate) fn both_cpus(facts: &Facts, causes: &[CauseShare]) -> Option<Holder> {
    let cpus = [Cause::ClientCpu, Cause::DestinationCpu];
    let [first, second, ..] = causes else {
        return None;
    };
    let are_both = cpus.contains(&first.cause) && cpus.contains(&second.cause);
    facts
        .shared_cpus()
        .filter(|_| are_both && is_close(first, second))
}

/// The line: the limit, its evidence, and a change that helps.
pub(crate) fn line(
    facts: &Facts,
    causes: &[CauseShare],
    decided: bool,
    advice: Option<&Advice>,
) -> String {
    let Some(first) = causes.first().filter(|first| first.seconds > 0.0) else {
        return "The measurements do not show what held the load back.".to_owned();
    };
    if first.cause == Cause::Undecided {
        return undecided(facts, causes);
    }
    let mut rest: Vec<&CauseShare> = causes[1..].iter().collect();
    let share = |share: f64| format!("{} of the streams' time", percent(share));
    let mut text = String::new();
    if let Some(holder) = both_cpus(facts, causes) {
        let second = rest.remove(0);
        let of_cpus = |cause: Cause| match cause {
            Cause::ClientCpu => "loader",
            _ => "server",
        };
        text += &format!(
            "The CPUs of this machine{} held the load back (the {} {}, the {} {})",
            match holder {
                Holder::Others => ", which other processes use,",
                Holder::Host => ", from which the host takes time,",
                _ => "",
            },
            of_cpus(first.cause),
            share(first.share),
            of_cpus(second.cause),
            percent(second.share)
        );
    } else {
        text += &format!(
            "{} held the load back ({})",
            capital(&noun(facts, first.cause)),
            share(first.share)
        );
    }
    if let Some(clause) = first.evidence.first() {
        text += &format!(": {clause}");
    }
    // Undecided time is mentioned below.
    rest.retain(|other| other.cause != Cause::Undecided);
    let second = rest.first().filter(|second| is_close(first, second));
    if let Some(second) = second {
        text += &format!(
            "; {} {} ({})",
            if decided { "then" } else { "about as much," },
            noun(facts, second.cause),
            percent(second.share)
        );
        if let Some(clause) = second.evidence.first() {
            text += &format!(": {clause}");
        }
    }
    text.push('.');
    let undecided = causes.iter().find(|share| share.cause == Cause::Undecided);
    if let Some(undecided) = undecided.filter(|undecided| undecided.share >= CONSIDERABLE) {
        text += &format!(
            " {} are undecided: {}.",
            capital(&percent(undecided.share)),
            undecided.evidence.join("; ")
        );
    }
    if let Some(advice) = advice {
        text += &format!(" {}", advice.change);
        if advice.gain_s >= GAIN_MIN * facts.load_s {
            text += &format!(
                " (at most {} less of {}).",
                seconds(advice.gain_s),
                seconds(facts.load_s)
            );
        } else {
            text += &format!(
                " (this alone saves almost nothing of {}: something else is as slow).",
                seconds(facts.load_s)
            );
        }
    }
    text
}

fn undecided(facts: &Facts, causes: &[CauseShare]) -> String {
    let first = &causes[0];
    let mut text = format!(
        "The measurements do not decide what held the load back ({} of the streams' time): {}.",
        percent(first.share),
        first.evidence.join("; ")
    );
    if let Some(second) = causes.get(1).filter(|second| second.share >= CONSIDERABLE) {
        text += &format!(
            " The largest share of the rest is {} ({}).",
            noun(facts, second.cause),
            percent(second.share)
        );
    }
    let unsampled = facts.parts.of(Part::Unsampled) >= facts.parts.of(Part::OtherWait);
    text += if !unsampled {
        " The names of the wait events tell a DBA what the server waits for."
    } else if facts.has_backends() {
        " A longer load would decide it."
    } else if facts.was_over_too_soon() {
        // It is not known here whether the destination has a server.
        match facts.destination() {
            "server" => " A longer load would decide it.",
            _ => " A longer load would show more.",
        }
    } else {
        " A look at the destination's CPU and disk while it loads would decide it."
    };
    text
}

/// The name of a cause.
pub(crate) fn noun(facts: &Facts, cause: Cause) -> String {
    let word = facts.destination();
    match cause {
        Cause::SourceRead if facts.measurements.reads_database => {
            "waiting for the source's rows".to_owned()
        }
        Cause::SourceRead => "reading the files".to_owned(),
        Cause::SourceDatabaseCpu if facts.is_source_stopped() => {
            "processes of the source's server that were stopped".to_owned()
        }
        Cause::SourceDatabaseCpu if facts.others_have_cpus(cause) => {
            "other processes on the CPUs of the source's server".to_owned()
        }
        Cause::SourceDatabaseCpu => "the CPU of the source's server".to_owned(),
        Cause::SourceDatabaseDisk => "the disk of the source's server".to_owned(),
        Cause::SourceDatabaseNetwork => "the network from the source's server".to_owned(),
        Cause::Decompression => "decompressing the files".to_owned(),
        Cause::ClientCpu => match facts.cpu.holder_for_loader() {
            Holder::Limit => "the loader's CPU limit".to_owned(),
            Holder::Others => "other processes on the loader's CPUs".to_owned(),
            Holder::Host => "the CPU time that the host took from the loader".to_owned(),
            _ => "the loader's CPU".to_owned(),
        },
        Cause::TransformCpu => "the steps of the flow".to_owned(),
        Cause::NetworkLatency => "the network's round trip".to_owned(),
        Cause::NetworkRate => "the rate of the link".to_owned(),
        Cause::NetworkLoss => "loss on the network".to_owned(),
        Cause::DestinationCpu if facts.is_stopped() => {
            "server processes that were stopped".to_owned()
        }
        Cause::DestinationCpu if facts.others_have_cpus(cause) => {
            format!("other processes on the {word}'s CPUs")
        }
        Cause::DestinationCpu => format!("the {word}'s CPU"),
        Cause::DestinationDisk if facts.parts.of(Part::Wal) > facts.parts.of(Part::DataFile) => {
            format!("the {word}'s WAL")
        }
        Cause::DestinationDisk => format!("the {word}'s disk"),
        Cause::DestinationLocks => format!("locks in the {word}"),
        Cause::Coordination => match &facts.tail {
            Some(tail) if facts.parts.of(Part::Ended) > facts.parts.of(Part::NotBegun) => {
                format!("the long tail of stream {}", tail.stream)
            }
            _ => "a lack of work for all streams".to_owned(),
        },
        Cause::Pace => "the requested pace".to_owned(),
        Cause::Undecided => "undecided time".to_owned(),
    }
}

/// The work of a stream whose time goes to a cause.
pub(crate) fn doing(cause: Cause) -> &'static str {
    match cause {
        Cause::SourceRead => "reading its file",
        Cause::SourceDatabaseCpu => "waiting for the source's backend, which computed",
        Cause::SourceDatabaseDisk => "waiting for the source's backend, which read from disk",
        Cause::SourceDatabaseNetwork => "waiting for the network from the source",
        Cause::Decompression => "decompressing its file",
        Cause::ClientCpu => "converting rows",
        Cause::TransformCpu => "passing rows through the steps of its flow",
        Cause::NetworkLatency | Cause::NetworkRate | Cause::NetworkLoss => {
            "waiting for the network"
        }
        Cause::DestinationCpu => "waiting for its backend, which computed",
        Cause::DestinationDisk => "waiting for its backend, which wrote to disk",
        Cause::DestinationLocks => "waiting for its backend, which waited for locks",
        Cause::Coordination => "having nothing to do",
        Cause::Pace => "being held back by a limit of the package",
        Cause::Undecided => "waiting for its backend",
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
