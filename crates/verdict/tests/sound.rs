//! Tests that the figures of a verdict add up for any measurements.

use inrush_verdict::{
    BackendSamples, BackendSeries, BackendState, FeedSeries, MachineSeries, Measurements, PHASES,
    Phase, ServerKind, ServerMeasurements, SourceServerMeasurements, StoredUnits, StreamSeries,
    TableSeries, TcpSeries, verdict,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

fn absurd_seconds() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..20.0_f64,
        1 => any::<f64>(),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(0.0), Just(1e300)],
    ]
}

fn narrow() -> impl Strategy<Value = Vec<u32>> {
    vec(prop_oneof![6 => 0..120_000_u32, 1 => any::<u32>()], 0..12)
}

fn wide() -> impl Strategy<Value = Vec<u64>> {
    vec(
        prop_oneof![6 => 0..10_000_000_u64, 1 => any::<u64>()],
        0..12,
    )
}

fn phase() -> impl Strategy<Value = Phase> {
    (0..PHASES.len()).prop_map(|index| PHASES[index])
}

fn state() -> impl Strategy<Value = BackendState> {
    prop_oneof![
        Just(BackendState::Cpu),
        Just(BackendState::Client),
        Just(BackendState::Wal),
        Just(BackendState::DataFile),
        Just(BackendState::Lock),
        Just(BackendState::Internal),
        Just(BackendState::Idle),
        Just(BackendState::Other),
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..50_u32, 1 => any::<u32>()]
}

prop_compose! {
    fn samples()(phase in option::of(phase()), state in state(), samples in count()) -> BackendSamples {
        BackendSamples { phase, state, samples }
    }
}

prop_compose! {
    fn backend()(
        samples in vec(samples(), 0..10),
        events in vec(("(IO|LWLock|IPC|Lock):[A-Z]{1,3}", count()), 0..5),
        blockers in vec("[a-z ]{0,9}", 0..4),
        cpu_us in option::of(narrow()),
        cpu_wait_us in option::of(narrow()),
        stopped_samples in option::of(count()),
        disk_sleep_samples in option::of(count()),
    ) -> BackendSeries {
        BackendSeries {
            process_id: 1, samples, events, blockers, cpu_us, cpu_wait_us, stopped_samples, disk_sleep_samples,
        }
    }
}

prop_compose! {
    fn tcp()(
        busy_us in narrow(),
        receiver_limited_us in narrow(),
        send_buffer_limited_us in narrow(),
        segments_sent_again in narrow(),
        segments_sent in narrow(),
        round_trip_us in narrow(),
        round_trip_min_us in count(),
        congestion_window_bytes in narrow(),
        delivery_rate in wide(),
        is_loopback in any::<bool>(),
    ) -> TcpSeries {
        TcpSeries {
            busy_us, receiver_limited_us, send_buffer_limited_us, segments_sent_again, segments_sent, round_trip_us,
            round_trip_min_us, congestion_window_bytes, delivery_rate, is_loopback,
        }
    }
}

prop_compose! {
    fn stream()(
        stream in 0..9_usize,
        ended_s in absurd_seconds(),
        phases_us in btree_map(phase(), narrow(), 0..10),
        rows in narrow(),
        text_bytes in wide(),
        sent_bytes in wide(),
        cpu_us in option::of(narrow()),
        cpu_wait_us in option::of(narrow()),
        backend in option::of(backend()),
        source_backend in option::of(backend()),
        tcp in option::of(tcp()),
    ) -> StreamSeries {
        StreamSeries {
            stream, ended_s, phases_us, rows, text_bytes, sent_bytes, cpu_us, cpu_wait_us, backend,
            source_backend, tcp,
        }
    }
}

prop_compose! {
    fn feed()(read_us in narrow(), decompress_us in narrow(), scan_us in narrow()) -> FeedSeries {
        FeedSeries { file: "rows.csv.gz".to_owned(), read_us, decompress_us, scan_us }
    }
}

prop_compose! {
    fn machine()(
        cores in prop_oneof![Just(0_usize), 1..64_usize, Just(usize::MAX)],
        cpu_us in narrow(),
        cpu_stolen_us in narrow(),
        loader_cpu_us in narrow(),
        backends_cpu_us in option::of(narrow()),
        cpu_throttled_us in option::of(narrow()),
        disk_read_bytes in wide(),
        disk_written_bytes in wide(),
        disk_busy_ms in narrow(),
    ) -> MachineSeries {
        MachineSeries {
            cores, cpu_us, cpu_stolen_us, loader_cpu_us, backends_cpu_us, cpu_throttled_us, disk_read_bytes,
            disk_written_bytes, disk_busy_ms, loader_memory_bytes: Vec::new(),
        }
    }
}

prop_compose! {
    fn server()(
        is_local in any::<bool>(),
        sample_ms in count(),
        wal_bytes in option::of(any::<u64>()),
        checkpoints_timed in option::of(any::<u64>()),
        checkpoints_requested in option::of(any::<u64>()),
        kind in prop::sample::select(vec![ServerKind::PostgreSql, ServerKind::SqlServer]),
        not_sampled in option::of(".*"),
        log_growth_bytes in option::of(any::<u64>()),
        data_growth_bytes in option::of(any::<u64>()),
    ) -> ServerMeasurements {
        ServerMeasurements {
            is_local, sample_ms, wal_bytes, checkpoints_timed, checkpoints_requested, kind, not_sampled, log_growth_bytes,
            data_growth_bytes,
        }
    }
}

prop_compose! {
    fn source_server()(
        is_local in any::<bool>(),
        is_over_network in any::<bool>(),
        round_trip_us in option::of(any::<u32>()),
        sample_ms in count(),
    ) -> SourceServerMeasurements {
        SourceServerMeasurements { is_local, is_over_network, round_trip_us, sample_ms }
    }
}

prop_compose! {
    fn stored()(units in any::<u64>(), way in "copy|tuples|.*", reason in option::of(".*"), fix in option::of(".*")) -> StoredUnits {
        StoredUnits { units, way, reason, fix }
    }
}

prop_compose! {
    fn measurements()(
        step_ms in prop_oneof![6 => Just(100_u32), 1 => Just(0), 1 => any::<u32>()],
        steps in any::<usize>(),
        load_s in absurd_seconds(),
        streams in vec(stream(), 0..5),
        feeds in vec(feed(), 0..3),
        stored_bytes in wide(),
        server in option::of(server()),
        reads_database in any::<bool>(),
        source_server in option::of(source_server()),
        machine in machine(),
        stored in vec(stored(), 0..3),
    ) -> Measurements {
        let tables = vec![TableSeries { flow: "rows".to_owned(), rows: Vec::new(), stored_bytes }];
        Measurements {
            step_ms, steps, load_s, streams, feeds, tables, server, stored, machine, metering_cpu_s: 0.0, reads_database,
            source_server,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_time_is_divided(measurements in measurements()) {
        let verdict = verdict(&measurements);
        let load_s = if measurements.load_s.is_nan() { 0.0 } else { measurements.load_s.clamp(0.0, 1e9) };
        let near = 1e-6 * load_s.max(1.0);
        prop_assert_eq!(verdict.streams.len(), measurements.streams.len());
        for stream in &verdict.streams {
            let sum: f64 = stream.seconds.iter().map(|(_, seconds)| seconds).sum();
            prop_assert!((sum - load_s).abs() <= near, "{} of {}", sum, load_s);
            prop_assert!(stream.seconds.iter().all(|(_, seconds)| seconds.is_finite() && *seconds > 0.0));
        }
        let shares: f64 = verdict.causes.iter().map(|cause| cause.share).sum();
        prop_assert!((shares - 1.0).abs() < 1e-6, "shares add up to {}", shares);
        for cause in &verdict.causes {
            prop_assert!((0.0..=1.0 + 1e-9).contains(&cause.share));
            prop_assert!(cause.seconds.is_finite() && cause.seconds >= 0.0);
        }
        prop_assert!(verdict.causes.is_sorted_by(|one, other| one.seconds >= other.seconds));
        let of_causes: f64 = verdict.causes.iter().map(|cause| cause.seconds).sum();
        prop_assert!((of_causes - load_s * measurements.streams.len() as f64).abs() <= 10.0 * near);
        if let Some(advice) = &verdict.advice {
            prop_assert!((0.0..=load_s).contains(&advice.gain_s), "gains {} of {}", advice.gain_s, load_s);
        }
        prop_assert!(!verdict.line.contains("NaN") && !verdict.line.contains("inf "), "{}", verdict.line);
        prop_assert!(!verdict.line.trim().is_empty() && !verdict.line.contains('\n'));
    }
}
