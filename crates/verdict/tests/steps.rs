//! Tests the steps of flows as a cause, and waits of their thread for a CPU.

mod made;

use inrush_verdict::BackendState::{Client, Cpu};
use inrush_verdict::Cause;
use inrush_verdict::Phase::{Convert, Encode, Read, Scan, SendWait, Transform};

use made::{Stream, advice, expect, run, share, stream};

fn stepping() -> Stream {
    stream(&[
        (Read, 0.02),
        (Scan, 0.08),
        (Convert, 0.12),
        (Transform, 0.6),
        (Encode, 0.08),
        (SendWait, 0.08),
    ])
    .seen(Transform, &[(Client, 100), (Cpu, 4)])
    .seen(SendWait, &[(Cpu, 6), (Client, 3)])
}

#[test]
fn steps_with_cores_free() {
    let run = run(20.0)
        .streams(2, &stepping().cpu(0.92, 0.01))
        .remote()
        .cpu(16, 2.2, 1.9, None);
    let verdict = expect(&run, Cause::TransformCpu);
    let transform = share(&verdict, Cause::TransformCpu);
    assert!((0.55..0.61).contains(&transform), "{transform}");
    let evidence = &verdict.causes[0].evidence[0];
    assert!(
        evidence.starts_with("streams passed rows through their steps for 2"),
        "{evidence}"
    );
    assert!(
        verdict
            .line
            .starts_with("The steps of the flow held the load back (5"),
        "{}",
        verdict.line
    );
    let advice = advice(&verdict);
    assert!(
        advice.change.contains("4 streams instead of 2"),
        "{advice:?}"
    );
    // The streams' other work stays.
    assert!((5.0..=12.0).contains(&advice.gain_s), "{advice:?}");
}

#[test]
fn steps_on_a_full_machine() {
    let run = run(20.0)
        .streams(2, &stepping().cpu(0.92, 0.01))
        .remote()
        .cpu(2, 1.95, 1.9, None);
    let verdict = expect(&run, Cause::TransformCpu);
    let advice = advice(&verdict);
    assert!(advice.change.contains("the steps less to do"), "{advice:?}");
}

/// The steps take long because others have the CPUs: cheaper steps are no fix.
#[test]
fn steps_that_are_given_no_cpu() {
    let starved = stepping().cpu(0.3, 0.6);
    let neighbours = run(20.0)
        .streams(2, &starved)
        .remote()
        .cpu(2, 2.0, 0.6, None);
    let verdict = expect(&neighbours, Cause::ClientCpu);
    assert!(share(&verdict, Cause::TransformCpu) < 0.25);
    assert!(advice(&verdict).change.contains("other processes"));
    let limited = run(20.0)
        .streams(2, &stepping().cpu(0.3, 0.01))
        .remote()
        .cpu(8, 0.7, 0.6, None)
        .throttled(0.65);
    let verdict = expect(&limited, Cause::ClientCpu);
    assert!(share(&verdict, Cause::TransformCpu) < 0.25);
    assert!(advice(&verdict).change.contains("control group"));
}
