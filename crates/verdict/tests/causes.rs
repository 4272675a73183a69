//! Tests measurements that show one cause at a time.

mod made;

use inrush_verdict::BackendState::{Client, Cpu, DataFile, Idle, Internal, Lock, Other, Wal};
use inrush_verdict::Cause;
use inrush_verdict::Phase::{
    Convert, Decompress, Encode, FeedWait, PaceWait, Read, Scan, SendWait, ServerWait,
};
use made::{RACK, Stream, Tcp, advice, expect, run, seconds, share, stream};

/// Two streams that mostly wait for backends that compute, on two cores of one machine: nothing is wrong.
fn healthy() -> Stream {
    stream(&[
        (Read, 0.03),
        (Scan, 0.05),
        (Convert, 0.15),
        (Encode, 0.10),
        (SendWait, 0.60),
        (ServerWait, 0.04),
    ])
    .cpu(0.35, 0.05)
    .seen(Convert, &[(Cpu, 50), (Client, 10)])
    .seen(
        SendWait,
        &[(Cpu, 95), (Client, 15), (DataFile, 8), (Wal, 2)],
    )
    .seen(ServerWait, &[(Cpu, 6), (Idle, 2)])
    .event("IO:DataFileExtend", 8)
    .backend_cpu(0.75, 0.10)
}

#[test]
fn a_server_that_computes() {
    let run = run(20.0)
        .streams(2, &healthy())
        .local()
        .cpu(2, 1.95, 0.45, Some(1.45));
    let verdict = expect(&run, Cause::DestinationCpu);
    assert!(share(&verdict, Cause::DestinationCpu) > 0.5);
    assert!(share(&verdict, Cause::ClientCpu) < 0.4);
    // The machine is full: only another machine helps, and more streams do not.
    let advice = made::advice(&verdict);
    assert!(advice.change.contains("another machine"), "{advice:?}");
    assert!(advice.gain_s < 14.0);
}

#[test]
fn a_remote_server_that_computes() {
    let run = run(20.0)
        .streams(4, &healthy().tcp(RACK))
        .remote()
        .cpu(16, 2.0, 1.8, None);
    let verdict = expect(&run, Cause::DestinationCpu);
    assert!(advice(&verdict).change.contains("8 streams instead of 4"));
}

#[test]
fn slow_files() {
    let slow = stream(&[
        (Read, 0.85),
        (Convert, 0.05),
        (Encode, 0.03),
        (SendWait, 0.05),
    ])
    .reads(4e6)
    .seen(Read, &[(Client, 150)])
    .seen(SendWait, &[(Cpu, 6), (Client, 2)]);
    let verdict = expect(
        &run(20.0).streams(2, &slow).local().table("rows", 8e6),
        Cause::SourceRead,
    );
    assert!(advice(&verdict).change.contains("faster storage"));
}

#[test]
fn a_source_database_that_is_slow() {
    let slow = stream(&[(Read, 0.85), (Convert, 0.10)]).reads(100e6);
    let mut run = run(20.0).streams(2, &slow).table("rows", 200e6);
    run.0.reads_database = true;
    let verdict = expect(&run, Cause::SourceRead);
    assert!(
        verdict.line.starts_with("Waiting for the source's rows"),
        "{}",
        verdict.line
    );
    assert!(advice(&verdict).change.contains("source's server"));
    let clauses = &verdict.causes[0].evidence;
    assert!(
        !clauses.iter().any(|clause| clause.contains("file")),
        "{clauses:?}"
    );
}

#[test]
fn files_on_a_disk_that_is_full() {
    let slow = stream(&[(Read, 0.85), (Convert, 0.10)]).reads(100e6);
    let run = run(20.0)
        .streams(2, &slow)
        .table("rows", 200e6)
        .disk(0.99, 200e6, 0.0);
    let verdict = expect(&run, Cause::SourceRead);
    assert!(advice(&verdict).change.contains("faster disk"));
}

#[test]
fn decompressing() {
    let packed = stream(&[
        (Read, 0.05),
        (Decompress, 0.6),
        (Convert, 0.2),
        (SendWait, 0.1),
    ])
    .seen(SendWait, &[(Cpu, 9), (Client, 1)]);
    expect(&run(10.0).streams(2, &packed).local(), Cause::Decompression);
}

#[test]
fn a_feed_that_decompresses() {
    let fed = stream(&[(FeedWait, 0.7), (Convert, 0.2), (SendWait, 0.08)])
        .seen(SendWait, &[(Cpu, 9), (Client, 1)]);
    let run = run(10.0)
        .streams(4, &fed)
        .feed("rows.csv.xz", 0.05, 0.90, 0.05)
        .local();
    let verdict = expect(&run, Cause::Decompression);
    let advice = made::advice(&verdict);
    assert!(
        advice.change.contains("rows.csv.xz as several"),
        "{advice:?}"
    );
}

#[test]
fn a_feed_that_reads_slowly() {
    let fed = stream(&[(FeedWait, 0.8), (Convert, 0.1), (SendWait, 0.05)])
        .seen(SendWait, &[(Cpu, 9), (Client, 1)]);
    let run = run(10.0).streams(2, &fed).feed("pipe", 0.95, 0.0, 0.05);
    expect(&run, Cause::SourceRead);
}

#[test]
fn converting_with_cores_free() {
    let busy = stream(&[
        (Read, 0.02),
        (Scan, 0.2),
        (Convert, 0.5),
        (Encode, 0.2),
        (SendWait, 0.05),
    ])
    .cpu(0.95, 0.01)
    .seen(Convert, &[(Client, 100), (Cpu, 60)])
    .seen(SendWait, &[(Cpu, 6), (Client, 3)]);
    let run = run(20.0).streams(4, &busy).remote().cpu(16, 4.5, 4.2, None);
    let verdict = expect(&run, Cause::ClientCpu);
    let advice = made::advice(&verdict);
    assert!(
        advice.change.contains("8 streams instead of 4"),
        "{advice:?}"
    );
    assert!(advice.gain_s <= 10.0);
}

/// Phases get longer and so does the hand-over: the threads that send have no CPU either.
fn starved() -> Stream {
    stream(&[
        (Read, 0.10),
        (Scan, 0.15),
        (Convert, 0.25),
        (Encode, 0.15),
        (SendWait, 0.33),
    ])
    .cpu(0.2, 0.4)
    .seen(Convert, &[(Client, 110), (Cpu, 30)])
    .seen(SendWait, &[(Client, 50), (Cpu, 12)])
}

#[test]
fn a_control_group_with_a_limit() {
    let run = run(20.0)
        .streams(2, &starved())
        .local()
        .cpu(2, 0.6, 0.3, Some(0.3))
        .throttled(0.7);
    let verdict = expect(&run, Cause::ClientCpu);
    assert!(advice(&verdict).change.contains("control group"));
    assert!(share(&verdict, Cause::ClientCpu) > 0.65);
}

/// The sampling thread is as short of CPU time as the loader, so it takes its samples just after the backend was given work.
#[test]
fn samples_that_are_taken_at_chosen_moments() {
    let starved = stream(&[
        (Read, 0.04),
        (Convert, 0.1),
        (Encode, 0.05),
        (SendWait, 0.8),
    ])
    .cpu(0.02, 0.6)
    .seen(Convert, &[(Client, 8), (Cpu, 8)])
    .seen(SendWait, &[(Client, 30), (Cpu, 90)])
    .backend_cpu(0.1, 0.06);
    let run = run(20.0)
        .streams(2, &starved)
        .local()
        .cpu(1, 2.0, 0.05, Some(0.2))
        .throttled(0.7);
    expect(&run, Cause::ClientCpu);
}

#[test]
fn neighbours_that_compute() {
    let run = run(20.0)
        .streams(2, &starved())
        .remote()
        .cpu(2, 2.0, 0.5, None);
    let verdict = expect(&run, Cause::ClientCpu);
    assert!(advice(&verdict).change.contains("other processes"));
}

#[test]
fn a_host_that_is_overbooked() {
    let run = run(20.0)
        .streams(2, &starved())
        .remote()
        .cpu(2, 1.0, 0.9, None)
        .stolen(0.9);
    let verdict = expect(&run, Cause::ClientCpu);
    assert!(advice(&verdict).change.contains("overcommitted"));
}

/// Streams wait to send, and backends wait for bytes.
fn by_wire(tcp: Tcp) -> Stream {
    stream(&[
        (Convert, 0.08),
        (Encode, 0.04),
        (SendWait, 0.85),
        (ServerWait, 0.01),
    ])
    .reads(12e6)
    .seen(SendWait, &[(Client, 150), (Cpu, 20)])
    .seen(Convert, &[(Client, 20), (Cpu, 5)])
    .tcp(tcp)
}

#[test]
fn a_link_that_is_full() {
    let tcp = Tcp {
        busy: 0.99,
        receiver: 0.0,
        round_trip_ms: 42.0,
        round_trip_min_ms: 0.2,
        loss: 0.002,
        ..RACK
    };
    let verdict = expect(
        &run(20.0).streams(2, &by_wire(tcp)).remote(),
        Cause::NetworkRate,
    );
    // Only the backends' own work remains.
    assert!(advice(&verdict).gain_s > 10.0);
}

#[test]
fn segments_that_are_lost() {
    let tcp = Tcp {
        busy: 0.99,
        receiver: 0.0,
        round_trip_ms: 1.0,
        round_trip_min_ms: 0.1,
        loss: 0.01,
        window: 15_000.0,
        ..RACK
    };
    expect(
        &run(20.0).streams(2, &by_wire(tcp)).remote(),
        Cause::NetworkLoss,
    );
}

#[test]
fn a_long_way_with_a_small_window() {
    let tcp = Tcp {
        busy: 0.99,
        receiver: 0.9,
        round_trip_ms: 80.0,
        round_trip_min_ms: 78.0,
        ..RACK
    };
    let verdict = expect(
        &run(20.0).streams(2, &by_wire(tcp)).remote(),
        Cause::NetworkLatency,
    );
    assert!(advice(&verdict).change.contains("tcp_rmem"));
}

#[test]
fn a_long_way_with_a_small_send_buffer() {
    let tcp = Tcp {
        busy: 0.99,
        receiver: 0.0,
        send_buffer: 0.9,
        round_trip_ms: 80.0,
        round_trip_min_ms: 78.0,
        ..RACK
    };
    let verdict = expect(
        &run(20.0).streams(2, &by_wire(tcp)).remote(),
        Cause::NetworkLatency,
    );
    assert!(advice(&verdict).change.contains("tcp_wmem"));
}

/// A few segments are lost, but far fewer bytes are in flight than congestion control allows.
#[test]
fn a_long_way_on_which_some_segments_are_lost() {
    let tcp = Tcp {
        busy: 0.99,
        receiver: 0.0,
        round_trip_ms: 80.0,
        round_trip_min_ms: 78.0,
        loss: 0.001,
        window: 5_000_000.0,
        ..RACK
    };
    let run = run(20.0).streams(2, &by_wire(tcp)).remote();
    let verdict = expect(&run, Cause::NetworkLatency);
    assert!(
        advice(&verdict).change.contains("tcp_wmem"),
        "{:?}",
        verdict.advice
    );
}

/// Congestion control that keeps queues short: the link is full, and the round trip is the shortest.
#[test]
fn a_long_way_with_a_full_link() {
    let tcp = Tcp {
        busy: 0.99,
        receiver: 0.0,
        round_trip_ms: 80.0,
        round_trip_min_ms: 78.0,
        window: 2_000_000.0,
        ..RACK
    };
    let run = run(20.0).streams(2, &by_wire(tcp)).remote();
    expect(&run, Cause::NetworkRate);
}

#[test]
fn answers_from_far_away() {
    let tcp = Tcp {
        busy: 0.2,
        receiver: 0.0,
        round_trip_ms: 150.0,
        round_trip_min_ms: 149.0,
        ..RACK
    };
    let far = stream(&[(Convert, 0.1), (SendWait, 0.1), (ServerWait, 0.75)])
        .seen(ServerWait, &[(Idle, 140), (Cpu, 10)])
        .seen(SendWait, &[(Cpu, 10), (Client, 10)])
        .tcp(tcp);
    let verdict = expect(&run(20.0).streams(2, &far).remote(), Cause::NetworkLatency);
    assert!(advice(&verdict).change.contains("fewer and larger units"));
}

#[test]
fn a_proxy_on_this_machine() {
    let tcp = Tcp {
        busy: 0.95,
        receiver: 0.9,
        is_loopback: true,
        round_trip_ms: 0.05,
        round_trip_min_ms: 0.03,
        ..RACK
    };
    let verdict = expect(
        &run(20.0).streams(2, &by_wire(tcp)).local(),
        Cause::NetworkRate,
    );
    assert!(advice(&verdict).change.contains("proxy"));
}

/// The receiver's window is shut because the backend computes: that is not the network.
#[test]
fn a_shut_window_before_a_busy_backend() {
    let run = run(20.0).streams(2, &healthy().tcp(RACK)).remote();
    let verdict = expect(&run, Cause::DestinationCpu);
    let network = [
        Cause::NetworkLatency,
        Cause::NetworkRate,
        Cause::NetworkLoss,
    ];
    let network: f64 = network.iter().map(|&cause| share(&verdict, cause)).sum();
    assert!(network < 0.12, "{verdict:#?}");
}

#[test]
fn backends_that_are_stopped() {
    let stopped = stream(&[(Convert, 0.1), (Encode, 0.05), (SendWait, 0.84)])
        .seen(SendWait, &[(Client, 70), (Cpu, 100)])
        .seen(Convert, &[(Cpu, 20), (Client, 10)])
        .backend_cpu(0.25, 0.0)
        .stopped(120);
    let verdict = expect(
        &run(20.0).streams(2, &stopped).local(),
        Cause::DestinationCpu,
    );
    assert!(verdict.line.contains("stopped"), "{}", verdict.line);
    assert!(advice(&verdict).change.contains("SIGSTOP"));
}

#[test]
fn a_slow_disk_for_wal() {
    let slow = stream(&[(Convert, 0.1), (SendWait, 0.5), (ServerWait, 0.38)])
        .seen(SendWait, &[(Wal, 80), (Cpu, 15), (Client, 5)])
        .seen(ServerWait, &[(Wal, 70), (Cpu, 6)])
        .seen(Convert, &[(Wal, 15), (Cpu, 5)])
        .event("IO:WALWrite", 120)
        .event("LWLock:WALWrite", 45);
    let run = run(20.0).streams(2, &slow).local().wal(1_900_000_000, 0);
    let verdict = expect(&run, Cause::DestinationDisk);
    let advice = made::advice(&verdict);
    assert!(advice.change.contains("wal_level = minimal"), "{advice:?}");
}

/// Pages stay locked while their WAL is written.
#[test]
fn locks_that_are_held_while_wal_is_written() {
    let slow = stream(&[(Convert, 0.02), (SendWait, 0.97)])
        .seen(SendWait, &[(Wal, 90), (Internal, 95), (Cpu, 9)])
        .event("IO:WalSync", 90)
        .event("LWLock:BufferContent", 95);
    let run = run(20.0).streams(2, &slow).local();
    let verdict = expect(&run, Cause::DestinationDisk);
    assert!(share(&verdict, Cause::DestinationLocks) < 0.1);
}

#[test]
fn checkpoints_that_come_too_often() {
    let slow = stream(&[(Convert, 0.1), (SendWait, 0.5), (ServerWait, 0.38)])
        .seen(SendWait, &[(DataFile, 80), (Cpu, 15), (Client, 5)])
        .seen(ServerWait, &[(Wal, 70), (Cpu, 6)])
        .event("IO:DataFileWrite", 80);
    let run = run(30.0).streams(2, &slow).local().wal(4_100_000_000, 4);
    let verdict = expect(&run, Cause::DestinationDisk);
    assert_eq!(
        advice(&verdict).change,
        "Raise `max_wal_size` to at least 9 GB: the server took 4 checkpoints in 30.0 s"
    );
}

#[test]
fn a_disk_that_wait_events_do_not_name() {
    let slow = stream(&[(Convert, 0.1), (SendWait, 0.85)])
        .seen(SendWait, &[(Cpu, 160), (Client, 8)])
        .event("IO:WALWrite", 8)
        .backend_cpu(0.15, 0.02)
        .disk_sleep(130);
    let verdict = expect(&run(20.0).streams(2, &slow).local(), Cause::DestinationDisk);
    // The decisive figures come before the other figures.
    assert_eq!(
        verdict.causes[0].evidence,
        [
            "backends slept on a disk (state D) in 260 of 336 samples",
            "of all samples of the backends, IO:WALWrite 5 %",
        ]
    );
    assert!(
        verdict
            .line
            .contains(": backends slept on a disk (state D)"),
        "{}",
        verdict.line
    );
}

/// If wait events name the disk too, they come before the samples in disk sleep. A few such samples are not listed.
#[test]
fn a_disk_that_wait_events_name() {
    let slow = |sleeps: u32| {
        stream(&[(Convert, 0.1), (SendWait, 0.85)])
            .seen(SendWait, &[(DataFile, 100), (Cpu, 20), (Client, 8)])
            .event("IO:DataFileWrite", 100)
            .backend_cpu(0.1, 0.0)
            .disk_sleep(sleeps)
    };
    let evidence = |sleeps: u32| {
        let run = run(20.0).streams(2, &slow(sleeps)).local();
        let verdict = expect(&run, Cause::DestinationDisk);
        verdict.causes[0].evidence.clone()
    };
    let named = "of all samples of the backends, IO:DataFileWrite 78 %";
    let slept = "backends slept on a disk (state D) in 180 of 256 samples";
    assert_eq!(evidence(90), [named, slept]);
    assert_eq!(evidence(1), [named]);
}

/// The kernel copies pages while a backend extends a file: that takes a CPU and no disk.
#[test]
fn data_files_that_are_written_into_memory() {
    let copying = stream(&[(Convert, 0.1), (SendWait, 0.85)])
        .seen(SendWait, &[(DataFile, 100), (Cpu, 60), (Client, 8)])
        .backend_cpu(0.9, 0.05);
    expect(
        &run(20.0).streams(2, &copying).local(),
        Cause::DestinationCpu,
    );
}

#[test]
fn a_lock_that_somebody_holds() {
    let blocked = stream(&[(Convert, 0.1), (SendWait, 0.2), (ServerWait, 0.68)])
        .seen(ServerWait, &[(Lock, 125), (Cpu, 6)])
        .seen(SendWait, &[(Cpu, 30), (Client, 8)])
        .event("Lock:relation", 125)
        .blocker("psql, user anna: LOCK TABLE orders");
    let verdict = expect(
        &run(20.0).streams(2, &blocked).local(),
        Cause::DestinationLocks,
    );
    assert!(verdict.line.contains("anna"), "{}", verdict.line);
}

#[test]
fn too_many_backends_at_one_table() {
    let crowded = stream(&[(Convert, 0.1), (SendWait, 0.85)])
        .seen(SendWait, &[(Internal, 120), (Cpu, 40), (Client, 4)])
        .event("Lock:extend", 100)
        .event("LWLock:BufferMapping", 20);
    let verdict = expect(
        &run(20.0).streams(16, &crowded).remote(),
        Cause::DestinationLocks,
    );
    assert!(advice(&verdict).change.contains("fewer streams than 16"));
}

#[test]
fn waits_of_sql_server_are_named_by_their_categories() {
    let logging = stream(&[(Convert, 0.1), (SendWait, 0.2), (ServerWait, 0.68)])
        .seen(ServerWait, &[(Wal, 125), (Cpu, 6)])
        .seen(SendWait, &[(Cpu, 30), (Client, 8)])
        .event("Tran Log IO:WRITELOG", 125);
    let verdict = expect(
        &run(20.0).streams(2, &logging).sql_server(3_000_000_000),
        Cause::DestinationDisk,
    );
    let evidence = &verdict.causes[0].evidence;
    assert!(evidence[0].contains("Tran Log IO:WRITELOG"), "{evidence:?}");
    let grown = "the files of its log grew by 3.0 GB";
    assert!(evidence.iter().any(|it| it == grown), "{evidence:?}");
    let change = advice(&verdict).change.clone();
    assert!(change.contains("files of the log"), "{change}");
    let crowded = stream(&[(Convert, 0.1), (SendWait, 0.85)])
        .seen(SendWait, &[(Internal, 120), (Cpu, 40), (Client, 4)])
        .event("Buffer Latch:PAGELATCH_UP", 120);
    let verdict = expect(
        &run(20.0).streams(16, &crowded).sql_server(0),
        Cause::DestinationLocks,
    );
    let evidence = verdict.causes[0].evidence.join("; ");
    assert!(evidence.contains("Buffer Latch:PAGELATCH_UP"), "{evidence}");
    let change = advice(&verdict).change.clone();
    assert!(change.contains("data files"), "{change}");
}

#[test]
fn the_reason_for_missing_samples_is_told() {
    let waiting = stream(&[(Convert, 0.1), (ServerWait, 0.88)]);
    let mut run = run(20.0).streams(2, &waiting).sql_server(0);
    let server = run.0.server.as_mut().expect("a server");
    server.not_sampled = Some("the login lacks the right VIEW SERVER STATE".to_owned());
    let verdict = run.verdict();
    assert_eq!(verdict.causes[0].cause, Cause::Undecided);
    let evidence = verdict.causes[0].evidence.join("; ");
    assert!(
        evidence.contains("lacks the right VIEW SERVER STATE"),
        "{evidence}"
    );
}

#[test]
fn a_pace_that_was_asked_for() {
    let paced = stream(&[(PaceWait, 0.8), (Convert, 0.1), (SendWait, 0.08)])
        .seen(SendWait, &[(Cpu, 9), (Client, 3)]);
    expect(&run(20.0).streams(2, &paced).local(), Cause::Pace);
}

#[test]
fn parallel_workers_compute() {
    let indexing = stream(&[(Convert, 0.1), (SendWait, 0.1), (ServerWait, 0.75)])
        .seen(ServerWait, &[(Other, 100), (Cpu, 50)])
        .seen(SendWait, &[(Cpu, 20)])
        .event("IPC:ParallelCreateIndexScan", 100);
    let verdict = expect(
        &run(20.0).streams(2, &indexing).local(),
        Cause::DestinationCpu,
    );
    assert_eq!(seconds(&verdict, Cause::Undecided), 0.0);
}
