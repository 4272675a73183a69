//! The wording of verdicts: `cargo insta` shows how a change alters it.

mod made;

use std::fmt::Write as _;

use inrush_verdict::BackendState::{Client, Cpu, DataFile, Idle, Lock, Wal};
use inrush_verdict::Phase::{
    Convert, Decompress, Encode, FeedWait, Read, Scan, SendWait, ServerWait,
};
use made::{RACK, Run, Tcp, run, stream};

fn told(run: &Run) -> String {
    let verdict = run.verdict();
    let mut text = format!("{}\n", verdict.line);
    for cause in &verdict.causes {
        write!(
            text,
            "\n{:>5.1} %  {:?}, {:.1} s",
            cause.share * 100.0,
            cause.cause,
            cause.seconds
        )
        .unwrap();
        for clause in &cause.evidence {
            write!(text, "\n         {clause}").unwrap();
        }
    }
    text
}

#[test]
fn nothing_wrong_on_two_cores() {
    let healthy = stream(&[
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
    .event("IO:WALWrite", 2)
    .backend_cpu(0.75, 0.10);
    let run = run(20.0)
        .streams(2, &healthy)
        .local()
        .cpu(2, 1.95, 0.45, Some(1.45))
        .table("lineitem", 100e6);
    insta::assert_snapshot!(told(&run));
}

#[test]
fn a_slow_split() {
    let quick = stream(&[
        (Read, 0.05),
        (Convert, 0.35),
        (Encode, 0.1),
        (SendWait, 0.48),
    ])
    .seen(SendWait, &[(Cpu, 45), (Client, 4)])
    .seen(Convert, &[(Cpu, 25), (Client, 10)]);
    let slow = stream(&[(Read, 0.93), (Convert, 0.03), (SendWait, 0.03)]).reads(4.1e6);
    let mut run = run(41.0).local().table("lineitem", 30e6);
    for number in 0..8 {
        run = run.stream(if number == 2 {
            slow.clone()
        } else {
            quick.clone().ends(12.0)
        });
    }
    insta::assert_snapshot!(told(&run));
}

#[test]
fn segments_lost_and_a_lock() {
    let tcp = Tcp {
        busy: 0.5,
        receiver: 0.0,
        loss: 0.008,
        round_trip_ms: 1.1,
        window: 19_000.0,
        ..RACK
    };
    let both = stream(&[(Convert, 0.1), (SendWait, 0.58), (ServerWait, 0.3)])
        .reads(11e6)
        .seen(SendWait, &[(Client, 105), (Cpu, 10)])
        .seen(Convert, &[(Client, 15), (Cpu, 5)])
        .seen(ServerWait, &[(Lock, 55), (Cpu, 5)])
        .event("Lock:relation", 55)
        .blocker("psql, user anna: LOCK TABLE orders IN SHARE MODE")
        .tcp(tcp);
    insta::assert_snapshot!(told(&run(20.0).streams(4, &both).remote()));
}

#[test]
fn a_long_way() {
    let tcp = Tcp {
        busy: 0.98,
        receiver: 0.9,
        round_trip_ms: 81.0,
        round_trip_min_ms: 80.0,
        window: 2e6,
        ..RACK
    };
    let far = stream(&[(Convert, 0.05), (SendWait, 0.85), (ServerWait, 0.08)])
        .reads(12e6)
        .seen(SendWait, &[(Client, 160), (Cpu, 12)])
        .seen(Convert, &[(Client, 8), (Cpu, 2)])
        .seen(ServerWait, &[(Idle, 10), (Cpu, 2)])
        .tcp(tcp);
    insta::assert_snapshot!(told(&run(60.0).streams(4, &far).remote()));
}

#[test]
fn checkpoints() {
    let slow = stream(&[(Convert, 0.1), (SendWait, 0.5), (ServerWait, 0.38)])
        .seen(SendWait, &[(DataFile, 80), (Cpu, 15), (Client, 5)])
        .seen(ServerWait, &[(Wal, 70), (Cpu, 6)])
        .event("IO:DataFileWrite", 80)
        .event("IO:WALSync", 70);
    let run = run(30.0)
        .streams(2, &slow)
        .local()
        .wal(4_100_000_000, 4)
        .disk(0.97, 0.0, 180e6);
    insta::assert_snapshot!(told(&run));
}

#[test]
fn one_xz_file_for_all_streams() {
    let fed = stream(&[(FeedWait, 0.72), (Convert, 0.15), (SendWait, 0.12)])
        .seen(SendWait, &[(Cpu, 12), (Client, 2)])
        .reads(8e6);
    let run = run(35.0)
        .streams(4, &fed)
        .feed("orders.csv.xz", 0.02, 0.93, 0.04)
        .table("orders", 6e6)
        .local()
        .cpu(8, 2.2, 1.6, Some(0.5));
    insta::assert_snapshot!(told(&run));
}

#[test]
fn a_container_with_a_limit() {
    let starved = stream(&[
        (Read, 0.04),
        (Scan, 0.15),
        (Convert, 0.3),
        (Encode, 0.17),
        (SendWait, 0.33),
    ])
    .cpu(0.2, 0.4)
    .seen(Convert, &[(Client, 110), (Cpu, 30)])
    .seen(SendWait, &[(Client, 50), (Cpu, 12)]);
    let run = run(20.0)
        .streams(2, &starved)
        .remote()
        .cpu(4, 0.7, 0.5, None)
        .throttled(0.74);
    insta::assert_snapshot!(told(&run));
}

#[test]
fn too_short_to_tell() {
    let short =
        stream(&[(Read, 0.1), (Convert, 0.2), (SendWait, 0.65)]).seen(SendWait, &[(Cpu, 2)]);
    insta::assert_snapshot!(told(&run(0.4).streams(2, &short).local()));
}

#[test]
fn gzip_in_each_stream() {
    let packed = stream(&[
        (Read, 0.02),
        (Decompress, 0.55),
        (Scan, 0.05),
        (Convert, 0.2),
        (Encode, 0.08),
        (SendWait, 0.08),
    ])
    .cpu(0.93, 0.02)
    .seen(Convert, &[(Client, 100), (Cpu, 60)])
    .seen(SendWait, &[(Cpu, 12), (Client, 4)]);
    let run = run(50.0)
        .streams(4, &packed)
        .remote()
        .cpu(4, 3.9, 3.8, None);
    insta::assert_snapshot!(told(&run));
}
