//! Tests measurements that show the causes of a source database.

mod made;

use inrush_verdict::BackendState::{Client, Cpu, DataFile, Lock, Other};
use inrush_verdict::Cause;
use inrush_verdict::Phase::{Convert, Encode, Read, SendWait};
use made::{Source, Stream, advice, expect, run, share, source, stream};

/// A stream that mostly waits for rows.
fn waiting(source: Source) -> Stream {
    stream(&[
        (Read, 0.85),
        (Convert, 0.06),
        (Encode, 0.02),
        (SendWait, 0.03),
    ])
    .cpu(0.12, 0.01)
    .reads(20e6)
    .source(source)
}

/// A backend that computes all the time.
fn computing() -> Source {
    source()
        .seen(Read, &[(Cpu, 160), (DataFile, 6), (Client, 4)])
        .seen(Convert, &[(Cpu, 18), (Client, 2)])
        .event("IO:DataFileRead", 6)
}

#[test]
fn a_source_that_computes() {
    let run = run(20.0)
        .streams(2, &waiting(computing().cpu(0.93, 0.02)))
        .reads_database(true, None)
        .cpu(8, 2.5, 0.3, None);
    let verdict = expect(&run, Cause::SourceDatabaseCpu);
    assert!(share(&verdict, Cause::SourceDatabaseCpu) > 0.7);
    assert!(
        verdict
            .line
            .starts_with("The CPU of the source's server held the load back"),
        "{}",
        verdict.line
    );
    let change = &advice(&verdict).change;
    assert!(
        change.starts_with("Load with 4 streams instead of 2"),
        "{change}"
    );
    let evidence = verdict.causes[0].evidence.join("; ");
    assert!(
        evidence.contains("computed in 94 % of 340 samples"),
        "{evidence}"
    );
    assert!(
        evidence.contains("1.9 of this machine's 8 cores"),
        "{evidence}"
    );
}

/// Source and loader share two cores, and all are busy: more streams cannot help.
#[test]
fn a_source_on_a_full_machine() {
    let run = run(20.0)
        .streams(2, &waiting(computing().cpu(0.80, 0.15)))
        .reads_database(true, None)
        .cpu(2, 1.98, 0.3, None);
    let verdict = expect(&run, Cause::SourceDatabaseCpu);
    assert!(
        advice(&verdict).change.contains("another machine"),
        "{verdict:#?}"
    );
    let first = &verdict.causes[0].evidence[0];
    assert_eq!(
        first,
        "of this machine's 2 cores the source's backends had 1.6 and the loader 0.3"
    );
}

#[test]
fn neighbours_of_a_source() {
    let run = run(20.0)
        .streams(2, &waiting(computing().cpu(0.40, 0.50)))
        .reads_database(true, None)
        .cpu(2, 2.0, 0.2, None);
    let verdict = expect(&run, Cause::SourceDatabaseCpu);
    assert!(
        advice(&verdict)
            .change
            .starts_with("Stop the other processes")
    );
    assert!(verdict.line.starts_with("Other processes on the CPUs"));
}

#[test]
fn a_source_that_is_stopped() {
    let stopped = source()
        .seen(Read, &[(Cpu, 165), (Client, 5)])
        .cpu(0.1, 0.0)
        .stopped(140);
    let run = run(20.0)
        .streams(2, &waiting(stopped))
        .reads_database(true, None);
    let verdict = expect(&run, Cause::SourceDatabaseCpu);
    assert!(verdict.line.contains("stopped"), "{}", verdict.line);
    assert!(advice(&verdict).change.contains("SIGSTOP"));
}

#[test]
fn a_source_that_reads_its_disk() {
    let reading = source()
        .seen(Read, &[(DataFile, 130), (Cpu, 36), (Client, 4)])
        .seen(Convert, &[(DataFile, 10), (Cpu, 8), (Client, 2)])
        .event("IO:DataFileRead", 140);
    let run = run(20.0)
        .streams(2, &waiting(reading))
        .reads_database(false, Some(0.3));
    let verdict = expect(&run, Cause::SourceDatabaseDisk);
    assert!(verdict.line.starts_with("The disk of the source's server"));
    assert_eq!(
        verdict.causes[0].evidence,
        [
            "the source's backends read or wrote files in 76 % of 340 samples taken while streams waited for rows",
            "of all their samples, IO:DataFileRead 74 %",
        ]
    );
}

/// The kernel copies pages from its cache: that takes a CPU and no disk.
#[test]
fn files_that_are_read_from_the_cache() {
    let copying = source()
        .seen(Read, &[(DataFile, 100), (Cpu, 66), (Client, 4)])
        .cpu(0.95, 0.0);
    let run = run(20.0)
        .streams(2, &waiting(copying))
        .reads_database(true, None)
        .cpu(8, 2.5, 0.3, None);
    expect(&run, Cause::SourceDatabaseCpu);
}

/// A backend that waits to send, while its stream waits to receive.
fn sending() -> Source {
    source()
        .seen(Read, &[(Client, 150), (Cpu, 20)])
        .seen(Convert, &[(Client, 14), (Cpu, 6)])
        .event("Client:ClientWrite", 164)
}

#[test]
fn a_slow_link_from_the_source() {
    let run = run(20.0)
        .streams(2, &waiting(sending()))
        .reads_database(false, Some(0.4));
    let verdict = expect(&run, Cause::SourceDatabaseNetwork);
    assert!(
        verdict
            .line
            .starts_with("The network from the source's server"),
        "{}",
        verdict.line
    );
    assert!(
        advice(&verdict).change.ends_with("carries 40.0 MB/s"),
        "{verdict:#?}"
    );
}

#[test]
fn a_source_far_away() {
    let run = run(20.0)
        .streams(2, &waiting(sending()))
        .reads_database(false, Some(80.0));
    let verdict = expect(&run, Cause::SourceDatabaseNetwork);
    let change = &advice(&verdict).change;
    assert!(change.contains("4 streams instead of 2"), "{change}");
    let evidence = verdict.causes[0].evidence.join("; ");
    assert!(evidence.contains("round trip of 80 ms"), "{evidence}");
}

/// The stream's thread is awake while it reads: it decrypts and copies what has arrived. The source is not the limit.
#[test]
fn rows_that_wait_for_the_loader() {
    for round_trip_ms in [None, Some(0.4)] {
        let busy = stream(&[(Read, 0.5), (Convert, 0.4), (Encode, 0.08)])
            .cpu(0.95, 0.02)
            .source(
                source()
                    .seen(Read, &[(Client, 90), (Cpu, 10)])
                    .seen(Convert, &[(Client, 78), (Cpu, 2)]),
            );
        let run = run(20.0)
            .streams(2, &busy)
            .reads_database(round_trip_ms.is_none(), round_trip_ms);
        let verdict = expect(&run, Cause::ClientCpu);
        let evidence = verdict.causes[0].evidence.join("; ");
        assert!(
            evidence.contains("receiving rows that the source had ready"),
            "{evidence}"
        );
        assert!(share(&verdict, Cause::SourceDatabaseNetwork) < 0.1);
    }
}

#[test]
fn a_lock_in_the_source() {
    let blocked = source()
        .seen(Read, &[(Lock, 150), (Cpu, 20)])
        .event("Lock:advisory", 150)
        .blocker("process 7 of user \"anna\", application \"psql\", idle in transaction");
    let run = run(20.0)
        .streams(2, &waiting(blocked))
        .reads_database(true, None);
    let verdict = expect(&run, Cause::SourceRead);
    assert!(
        verdict.line.contains("Lock:advisory 88 %"),
        "{}",
        verdict.line
    );
    let change = &advice(&verdict).change;
    assert!(
        change.contains("held the lock in the source") && change.contains("anna"),
        "{change}"
    );
}

#[test]
fn a_source_that_sleeps() {
    let asleep = source()
        .seen(Read, &[(Other, 160), (Cpu, 10)])
        .event("Timeout:PgSleep", 160);
    let run = run(20.0)
        .streams(2, &waiting(asleep))
        .reads_database(true, None);
    let verdict = expect(&run, Cause::SourceRead);
    assert!(
        verdict.line.contains("Timeout:PgSleep 94 %"),
        "{}",
        verdict.line
    );
}

#[test]
fn parallel_workers_of_the_source_compute() {
    let leader = source()
        .seen(Read, &[(Other, 120), (Cpu, 50)])
        .event("IPC:ExecuteGather", 120);
    let run = run(20.0)
        .streams(2, &waiting(leader))
        .reads_database(true, None);
    expect(&run, Cause::SourceDatabaseCpu);
}

#[test]
fn a_query_that_one_stream_reads() {
    let idle = stream(&[]).ends(0.1);
    let run = run(20.0)
        .stream(waiting(computing()))
        .stream(idle)
        .reads_database(false, Some(0.3));
    let verdict = run.verdict();
    let share = share(&verdict, Cause::SourceDatabaseCpu);
    assert!(share > 0.35, "{verdict:#?}");
}

/// A few samples decide nothing, and files have no backends.
#[test]
fn samples_that_do_not_count() {
    let few = source().seen(Read, &[(Cpu, 2)]);
    let run_of_few = run(20.0)
        .streams(2, &waiting(few))
        .reads_database(true, None);
    let verdict = expect(&run_of_few, Cause::SourceRead);
    assert_eq!(share(&verdict, Cause::SourceDatabaseCpu), 0.0);
    let files = run(20.0).streams(2, &waiting(computing()));
    let verdict = expect(&files, Cause::SourceRead);
    assert_eq!(share(&verdict, Cause::SourceDatabaseCpu), 0.0);
}
