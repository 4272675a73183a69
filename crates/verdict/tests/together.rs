//! Two causes at once, long tails, and evidence that does not decide.

mod made;

use inrush_verdict::BackendState::{Client, Cpu, Idle, Lock, Other, Wal};
use inrush_verdict::Cause;
use inrush_verdict::Phase::{Convert, Encode, Read, SendWait, ServerWait};
use inrush_verdict::{Measurements, verdict};
use made::{RACK, Stream, Tcp, advice, expect, run, seconds, share, stream};

fn quick() -> Stream {
    stream(&[
        (Read, 0.05),
        (Convert, 0.35),
        (Encode, 0.1),
        (SendWait, 0.45),
        (ServerWait, 0.04),
    ])
    .seen(SendWait, &[(Cpu, 40), (Client, 4)])
    .seen(Convert, &[(Cpu, 25), (Client, 10)])
    .seen(ServerWait, &[(Cpu, 5)])
}

#[test]
fn slow_files_and_slow_wal() {
    let both = stream(&[
        (Read, 0.45),
        (Convert, 0.1),
        (SendWait, 0.3),
        (ServerWait, 0.14),
    ])
    .reads(5e6)
    .seen(Read, &[(Client, 60), (Wal, 10)])
    .seen(SendWait, &[(Wal, 50), (Cpu, 8), (Client, 2)])
    .seen(ServerWait, &[(Wal, 26), (Cpu, 2)])
    .event("IO:WALWrite", 86);
    let verdict = run(20.0).streams(2, &both).local().verdict();
    let first: Vec<Cause> = verdict.causes.iter().map(|share| share.cause).collect();
    assert_eq!(first[..2], [Cause::SourceRead, Cause::DestinationDisk]);
    for words in ["Reading the files", "the server's WAL (3"] {
        assert!(verdict.line.contains(words), "{}", verdict.line);
    }
}

#[test]
fn a_lock_and_loss() {
    let tcp = Tcp {
        busy: 0.5,
        receiver: 0.0,
        loss: 0.02,
        round_trip_ms: 0.4,
        window: 9_000.0,
        ..RACK
    };
    let both = stream(&[(Convert, 0.1), (SendWait, 0.48), (ServerWait, 0.4)])
        .seen(SendWait, &[(Client, 85), (Cpu, 10)])
        .seen(Convert, &[(Client, 15), (Cpu, 5)])
        .seen(ServerWait, &[(Lock, 75), (Cpu, 5)])
        .blocker("psql, user anna: LOCK TABLE orders")
        .tcp(tcp);
    let verdict = run(20.0).streams(2, &both).remote().verdict();
    for words in ["oss on the network", "ocks in the server", "anna"] {
        assert!(verdict.line.contains(words), "{}", verdict.line);
    }
}

/// A second cause that is small is only in the table, and not in the line.
#[test]
fn a_small_second_cause_is_left_out_of_the_line() {
    let mostly = stream(&[(Read, 0.8), (Convert, 0.1), (SendWait, 0.1)])
        .seen(SendWait, &[(Cpu, 20)])
        .reads(4e6);
    let verdict = expect(&run(20.0).streams(2, &mostly), Cause::SourceRead);
    assert!(!verdict.line.contains("CPU"), "{}", verdict.line);
    assert!(share(&verdict, Cause::DestinationCpu) > 0.05);
}

#[test]
fn one_slow_split_among_eight() {
    let slow = stream(&[(Read, 0.93), (Convert, 0.03), (SendWait, 0.03)]).reads(4e6);
    let mut run = run(40.0).local();
    for stream in 0..8 {
        run = run.stream(if stream == 2 {
            slow.clone()
        } else {
            quick().ends(10.0)
        });
    }
    let verdict = expect(&run, Cause::Coordination);
    assert!(verdict.line.contains("stream 3"), "{}", verdict.line);
    assert!(verdict.line.contains("4.0 MB/s"), "{}", verdict.line);
    // The last stream mostly reads; its own table shows it.
    let third = &verdict.streams[2].seconds;
    assert!(
        third
            .iter()
            .any(|&(cause, seconds)| cause == Cause::SourceRead && seconds > 30.0)
    );
}

#[test]
fn one_piece_that_is_too_large() {
    let run = run(40.0)
        .streams(3, &quick().ends(12.0))
        .stream(quick())
        .local();
    let verdict = expect(&run, Cause::Coordination);
    let advice = made::advice(&verdict);
    assert!(advice.change.contains("smaller pieces"), "{advice:?}");
    // If the work were divided equally, the load would take (3 x 12 + 40) / 4 seconds.
    assert!((advice.gain_s - 21.0).abs() < 0.5, "{advice:?}");
}

#[test]
fn streams_without_work() {
    let run = run(10.0)
        .stream(quick())
        .streams(3, &stream(&[]).reads(0.0).ends(0.0))
        .local();
    let verdict = expect(&run, Cause::Coordination);
    assert!(
        verdict.line.contains("never had any work")
            || verdict.line.contains("3 streams")
            || verdict.line.contains("1 stream:"),
        "{}",
        verdict.line
    );
    assert!((seconds(&verdict, Cause::Coordination) - 30.0).abs() < 1e-6);
}

/// A stream that sleeps between phases while its backend is busy waits for the backend.
#[test]
fn a_wait_that_no_phase_names() {
    let asleep = stream(&[(Convert, 0.3), (SendWait, 0.1)])
        .cpu(0.3, 0.0)
        .seen(SendWait, &[(Cpu, 20)])
        .seen(Convert, &[(Cpu, 20), (Client, 40)])
        .between(&[(Wal, 120), (Idle, 5)]);
    let verdict = expect(
        &run(20.0).streams(2, &asleep).local(),
        Cause::DestinationDisk,
    );
    assert!(share(&verdict, Cause::Coordination) < 0.05);
}

#[test]
fn streams_that_begin_late() {
    let run = run(10.0)
        .stream(quick())
        .stream(quick().begins(6.0))
        .local();
    let verdict = run.verdict();
    assert!((seconds(&verdict, Cause::Coordination) - 6.0).abs() < 0.01);
}

#[test]
fn a_server_that_was_not_looked_at() {
    let blind = stream(&[(Convert, 0.2), (SendWait, 0.75)]).tcp(RACK);
    let verdict = run(10.0).streams(2, &blind).verdict();
    assert!(!verdict.is_decided);
    assert_eq!(verdict.causes[0].cause, Cause::Undecided);
    assert!(verdict.advice.is_none());
    assert!(verdict.line.contains("do not decide"), "{}", verdict.line);
}

/// The destination works within the loader, so the CPU time of its threads is known.
#[test]
fn a_destination_within_the_loader() {
    let embedded = stream(&[(Convert, 0.1), (SendWait, 0.85)]).cpu(0.12, 0.0);
    let verdict = expect(
        &run(10.0).stream(embedded).cpu(2, 1.2, 1.1, None),
        Cause::DestinationCpu,
    );
    assert!(verdict.line.contains("destination"), "{}", verdict.line);
}

#[test]
fn a_load_that_was_too_short() {
    let short = stream(&[(Convert, 0.2), (SendWait, 0.7)]).seen(SendWait, &[(Cpu, 2)]);
    let verdict = run(0.4).stream(short).local().verdict();
    assert!(!verdict.is_decided);
    assert!(verdict.line.contains("longer load"), "{}", verdict.line);
}

/// The load ended before the first sample, so the server was never asked.
#[test]
fn a_load_that_was_over_before_the_first_look() {
    let short = stream(&[(Convert, 0.05), (SendWait, 0.9)]);
    let shut = Tcp {
        receiver: 0.9,
        ..RACK
    };
    let over = "and the load was over before it could be asked what it was doing";
    let verdict = run(0.1).stream(short.clone().tcp(shut)).verdict();
    assert_eq!(verdict.causes[0].cause, Cause::Undecided);
    assert_eq!(
        verdict.causes[0].evidence,
        [format!("streams waited 0.09 s for the server, {over}")]
    );
    let line = &verdict.line;
    assert!(line.ends_with(" A longer load would decide it."), "{line}");
    assert!(!line.contains("did not tell"), "{line}");
    // If it is unknown whether the destination is a server, less is promised.
    let line = run(0.1).stream(short).verdict().line;
    assert!(line.ends_with(" A longer load would show more."), "{line}");
    assert!(line.contains(over), "{line}");
}

/// The load was long enough for the server to answer.
#[test]
fn a_server_that_did_not_answer_for_seconds() {
    let blind = stream(&[(Convert, 0.2), (SendWait, 0.75)]).tcp(RACK);
    let line = run(10.0).streams(2, &blind).verdict().line;
    assert!(line.contains("did not report what it was doing"), "{line}");
    assert!(line.contains("CPU and disk while it loads"), "{line}");
}

/// The stream's own work needs no samples.
#[test]
fn a_short_load_can_be_decided() {
    let short = stream(&[(Convert, 0.9), (SendWait, 0.08)]);
    expect(&run(0.4).stream(short).local(), Cause::ClientCpu);
}

#[test]
fn few_samples_do_not_tell_close_causes_apart() {
    let few =
        stream(&[(Convert, 0.05), (ServerWait, 0.95)]).seen(ServerWait, &[(Cpu, 5), (Wal, 4)]);
    assert!(!run(1.0).stream(few.clone()).local().verdict().is_decided);
    let many = few.seen(ServerWait, &[(Cpu, 5_000), (Wal, 4_000)]);
    assert!(run(1.0).stream(many).local().verdict().is_decided);
}

#[test]
fn waits_that_nobody_knows_are_named() {
    let odd = stream(&[(Convert, 0.1), (ServerWait, 0.88)])
        .seen(ServerWait, &[(Other, 80), (Cpu, 5), (Idle, 2)])
        .event("Timeout:PgSleep", 80);
    let verdict = run(10.0).streams(2, &odd).local().verdict();
    assert!(!verdict.is_decided);
    assert!(verdict.line.contains("Timeout:PgSleep"), "{}", verdict.line);
}

#[test]
fn nothing_at_all() {
    let verdict = verdict(&Measurements::default());
    assert!(!verdict.is_decided);
    assert_eq!(verdict.causes.len(), 1);
    assert_eq!(
        verdict.line,
        "The measurements do not show what held the load back."
    );
}

/// The next limit bounds the promise: a client that is nearly as slow as the server leaves little to gain.
#[test]
fn a_gain_ends_at_the_next_limit() {
    let even = stream(&[(Convert, 0.46), (SendWait, 0.52)])
        .seen(Convert, &[(Cpu, 92)])
        .seen(SendWait, &[(Cpu, 104)]);
    let verdict = run(100.0)
        .streams(2, &even)
        .local()
        .cpu(4, 3.9, 0.95, Some(1.9))
        .verdict();
    assert_eq!(verdict.causes[0].cause, Cause::DestinationCpu);
    assert!(advice(&verdict).gain_s <= 53.0);
    // If both take turns on one CPU, a faster client gains nothing.
    let client = stream(&[(Convert, 0.55), (SendWait, 0.43)])
        .seen(Convert, &[(Cpu, 110)])
        .seen(SendWait, &[(Cpu, 86)]);
    let verdict = run(100.0)
        .streams(2, &client)
        .local()
        .cpu(4, 3.9, 1.1, Some(1.9))
        .verdict();
    assert_eq!(verdict.causes[0].cause, Cause::ClientCpu);
    assert!(advice(&verdict).gain_s < 3.0, "{:?}", verdict.advice);
    assert!(verdict.line.contains("almost nothing"), "{}", verdict.line);
}

/// Many small units: streams seldom wait to send; they wait until the server has created tables and committed. A
/// backend's work at such a moment is already part of its work in the whole run, and is not added again.
#[test]
fn a_backend_is_busy_once_for_all_that_is_known_of_it() {
    let small = |seen_sending: u32| {
        stream(&[(Convert, 0.55), (SendWait, 0.02), (ServerWait, 0.4)])
            .cpu(0.56, 0.0)
            .seen(ServerWait, &[(Cpu, 40)])
            .seen(SendWait, &[(Cpu, seen_sending)])
            .seen(Convert, &[(Client, 54), (Idle, 1)])
            .backend_cpu(0.42, 0.0)
    };
    let gain_s = |seen_sending: u32| {
        let run = run(100.0)
            .streams(2, &small(seen_sending))
            .local()
            .cpu(8, 2.1, 1.2, Some(0.84));
        let verdict = expect(&run, Cause::ClientCpu);
        assert!(!verdict.line.contains("almost nothing"), "{}", verdict.line);
        advice(&verdict).gain_s
    };
    // Four streams instead of two share the work; the backends would allow a larger gain.
    assert!((gain_s(0) - 50.0).abs() < 0.5, "{}", gain_s(0));
    // A few samples more or less do not change the order of the causes.
    assert!((gain_s(0) - gain_s(10)).abs() < 0.5, "{}", gain_s(10));
}

/// CPU time that is known to be used counts even if the samples do not show its purpose.
#[test]
fn a_backend_is_busy_for_its_cpu_at_least() {
    let small = stream(&[(Read, 0.7), (SendWait, 0.02), (ServerWait, 0.25)])
        .reads(4e6)
        .seen(ServerWait, &[(Cpu, 25)])
        .backend_cpu(0.8, 0.0);
    let run = run(100.0).streams(2, &small).local();
    let verdict = expect(&run, Cause::SourceRead);
    assert!(
        (advice(&verdict).gain_s - 20.0).abs() < 0.5,
        "{:?}",
        verdict.advice
    );
}

/// Other processes that compute take CPUs from the loader and from the server: without them both are faster.
#[test]
fn cpus_that_others_have_gain_for_both() {
    let starved = stream(&[(Convert, 0.5), (SendWait, 0.48)])
        .cpu(0.2, 0.3)
        .seen(Convert, &[(Client, 80), (Cpu, 20)])
        .seen(SendWait, &[(Cpu, 96)])
        .backend_cpu(0.25, 0.3);
    let run = run(100.0)
        .streams(2, &starved)
        .local()
        .cpu(2, 2.0, 0.4, Some(0.5));
    let verdict = run.verdict();
    let line = &verdict.line;
    assert!(
        line.starts_with("The CPUs of this machine, which other processes use, held the load back"),
        "{line}"
    );
    // Loader and backends together need 0.9 of two cores; either cause alone has about half of the time.
    let advice = made::advice(&verdict);
    assert!(advice.change.contains("other processes"), "{advice:?}");
    assert!((advice.gain_s - 55.0).abs() < 0.5, "{advice:?}");
}

/// A thread uses at most one core, however many cores there are.
#[test]
fn cpus_for_both_leave_what_a_thread_runs() {
    let starved = stream(&[(Convert, 0.5), (SendWait, 0.48)])
        .cpu(0.2, 0.3)
        .seen(Convert, &[(Client, 80), (Cpu, 20)])
        .seen(SendWait, &[(Cpu, 96)])
        .backend_cpu(0.25, 0.3);
    let busy = stream(&[(Convert, 0.5), (SendWait, 0.48)])
        .cpu(0.7, 0.3)
        .seen(Convert, &[(Client, 80), (Cpu, 20)])
        .seen(SendWait, &[(Cpu, 96)])
        .backend_cpu(0.25, 0.3);
    let run = run(100.0)
        .stream(starved)
        .stream(busy)
        .local()
        .cpu(4, 4.0, 0.9, Some(0.5));
    let verdict = run.verdict();
    assert!(
        verdict.line.starts_with("The CPUs of this"),
        "{}",
        verdict.line
    );
    assert!(
        (advice(&verdict).gain_s - 30.0).abs() < 0.5,
        "{:?}",
        verdict.advice
    );
}

const REASON: &str = "the role may not call inrush_fastcopy.open()";
const GRANT: &str = "GRANT USAGE ON SCHEMA inrush_fastcopy TO etl";

#[test]
fn copy_holds_the_load_back_where_the_extension_could_serve() {
    let server = stream(&[(Convert, 0.1), (SendWait, 0.85), (ServerWait, 0.04)])
        .seen(SendWait, &[(Cpu, 90), (Client, 2)])
        .seen(ServerWait, &[(Cpu, 5)]);
    let run = || run(20.0).streams(2, &server).local();
    let granted = |verdict: &inrush_verdict::Verdict| {
        let advice = verdict.advice.as_ref();
        advice.is_some_and(|advice| advice.change.contains(GRANT))
    };
    let evidence = |verdict: &inrush_verdict::Verdict| verdict.causes[0].evidence.join("; ");

    let refused = run().stored(8, "copy", Some((REASON, GRANT))).verdict();
    assert_eq!(refused.causes[0].cause, Cause::DestinationCpu);
    assert!(granted(&refused), "{:?}", refused.advice);
    let told = evidence(&refused);
    assert!(
        told.contains(&format!("8 units used COPY: {REASON}")),
        "{told}"
    );

    // If most units already use the extension, no privilege for it is missing.
    let few = run()
        .stored(6, "tuples", None)
        .stored(2, "copy", Some((REASON, GRANT)))
        .verdict();
    assert!(!granted(&few), "{:?}", few.advice);
    let told = evidence(&few);
    for words in [
        "6 units used the server's extension (way `tuples`)",
        "2 units used COPY",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert!(!granted(&run().verdict()));
}
