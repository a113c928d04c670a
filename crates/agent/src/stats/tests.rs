//! Merged statistics and clock offsets (agents.md C3, D1, D2, G).

use proptest::prelude::*;

use super::*;

fn latency(values: &[u64]) -> Latency {
    let mut latency = Latency::default();
    for value in values {
        latency.record(*value);
    }
    latency
}

fn operation(stage: Stage, started: u64, micros: u64) -> Operation {
    Operation {
        stage,
        intended: started,
        started,
        ended: started + micros,
        end: OperationEnd::Done,
    }
}

fn counts(ops: &[Operation]) -> Counts {
    let recorder = Recorder::default();
    for operation in ops {
        recorder.record(operation);
    }
    recorder.snapshot()
}

const SHARES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 1.0];

proptest! {
    #[test]
    fn g1_merged_percentiles_equal_those_of_one_histogram(
        samples in proptest::collection::vec((0..5_usize, 0..4_000_000_000_u64), 1..400)
    ) {
        let mut whole = Latency::default();
        let mut parts = vec![Latency::default(); 5];
        for (part, value) in samples {
            whole.record(value);
            parts[part].record(value);
        }
        let mut merged = Latency::default();
        for part in &parts {
            // As agents send them.
            merged.add(&Latency::of_buckets(&part.to_buckets()).unwrap());
        }
        prop_assert_eq!(merged.count(), whole.count());
        prop_assert_eq!(merged.saturated(), whole.saturated());
        prop_assert_eq!(merged.max(), whole.max());
        for share in SHARES {
            prop_assert_eq!(merged.quantile(share), whole.quantile(share), "at {}", share);
        }
    }

    #[test]
    fn g4_a_percentile_is_never_above_the_maximum(values in proptest::collection::vec(any::<u64>(), 1..100)) {
        let latency = latency(&values);
        prop_assert_eq!(latency.count(), values.len() as u64, "nothing is dropped");
        for share in SHARES {
            prop_assert!(latency.quantile(share) <= latency.max());
        }
    }

    #[test]
    fn g6_arbitrary_buckets_are_refused_or_read_and_never_panic(
        values in proptest::collection::vec(any::<u64>(), 0..20),
        counts in proptest::collection::vec(any::<u64>(), 0..20),
        saturated in any::<u64>(),
    ) {
        let bounds = Latency::default().to_buckets();
        let _ = Latency::of_buckets(&Buckets { values, counts, saturated, ..bounds });
    }

    #[test]
    fn c3_the_error_of_an_offset_is_within_its_uncertainty(
        offset in -5_000_000..5_000_000_i64,
        trips in proptest::collection::vec((100..60_000_u64, 100..60_000_u64), PROBES_MIN..20),
    ) {
        let mut now = 1_000_000_000;
        let mut probes = Vec::new();
        for (there, back) in trips {
            let agent = (now + there).saturating_add_signed(offset);
            probes.push(Probe { sent: now, agent, received: now + there + back });
            now += there + back + 500;
        }
        let estimate = Offset::estimate(&probes).unwrap();
        prop_assert!((estimate.micros - offset).unsigned_abs() <= estimate.uncertainty + 1);
        let smallest = probes.iter().map(|probe| probe.received - probe.sent).min().unwrap();
        prop_assert_eq!(estimate.uncertainty, smallest.div_ceil(2), "of the smallest round trip");
    }

    #[test]
    fn d1_dropping_live_messages_leaves_the_result_unchanged(kept in proptest::collection::vec(any::<bool>(), 20)) {
        let ops: Vec<Operation> = (0..20).map(|n| operation(Stage::Steady, n * 10, n + 1)).collect();
        let messages: Vec<Counts> = (1..=20).map(|upto| counts(&ops[..upto])).collect();
        let mut merged = Merged::default();
        let mut before = 0;
        for (sequence, message) in messages.iter().enumerate() {
            let is_last = sequence == 19;
            if kept[sequence] || is_last {
                merged.take(0, sequence as u64 + 1, message.clone());
            }
            prop_assert!(merged.total().ops() >= before, "never decreases");
            before = merged.total().ops();
        }
        merged.take(0, 3, messages[2].clone());
        prop_assert_eq!(merged.total(), messages[19].clone());
    }
}

#[test]
fn c3_forty_milliseconds_of_delay_one_way_stay_within_the_uncertainty() {
    let probe = |n: u64| Probe {
        sent: n * 100_000,
        agent: n * 100_000 + 40_000 + 300,
        received: n * 100_000 + 40_000 + 600,
    };
    let probes: Vec<Probe> = (0..8).map(probe).collect();
    let estimate = Offset::estimate(&probes).unwrap();
    assert!(estimate.micros.unsigned_abs() <= estimate.uncertainty, "{estimate:?}");
    assert_eq!(Offset::estimate(&probes[..7]), None, "at least eight probes");
    let shifted = Offset {
        micros: -3_000_000,
        uncertainty: 0,
    };
    assert_eq!(shifted.to_agent(5_000_000), 2_000_000);
    assert_eq!(shifted.to_controller(2_000_000), 5_000_000);
}

#[test]
fn g2_merged_percentiles_are_weighted_by_operations() {
    let mut merged = latency(&[1_000; 900]);
    merged.add(&latency(&[100_000; 100]));
    let p95 = merged.quantile(0.95);
    assert!((100_000..100_100).contains(&p95), "{p95}");
}

#[test]
fn g3_throughput_spans_the_earliest_start_and_the_latest_end() {
    let mut total = counts(&[operation(Stage::Steady, 1_000_000, 500_000)]);
    total.add(&counts(&[operation(Stage::Steady, 2_500_000, 500_000)]));
    assert!(
        (total.headline().throughput() - 1.0).abs() < 1e-9,
        "2 operations in 2 s"
    );
    assert!(Counts::default().headline().throughput().abs() < 1e-9);
}

#[test]
fn g3_readers_of_the_series_see_the_same_rate() {
    let mut series = Series::default();
    let ops: Vec<Operation> = (0..30).map(|n| operation(Stage::Steady, n, 10)).collect();
    let first = series.take(1_000_000, &counts(&ops[..10]));
    let second = series.take(3_000_000, &counts(&ops));
    assert!((first.rate - 10.0).abs() < 1e-9 && (second.rate - 10.0).abs() < 1e-9);
    for _ in 0..3 {
        assert_eq!(series.latest(), Some(second), "reading changes nothing");
    }
    assert_eq!(series.points(), [first, second]);
}

#[test]
fn g4_a_latency_beyond_the_range_saturates_and_counts() {
    let latency = latency(&[10, HIGHEST_MICROS * 2]);
    assert_eq!((latency.count(), latency.saturated()), (2, 1));
    assert!(latency.max() >= HIGHEST_MICROS);
}

#[test]
fn g6_mismatched_and_corrupt_histograms_are_refused() {
    let good = latency(&[10, 20]).to_buckets();
    assert!(Latency::of_buckets(&good).is_ok());
    let bad = [
        Buckets {
            digits: 2,
            ..good.clone()
        },
        Buckets {
            highest: 1_000,
            ..good.clone()
        },
        Buckets {
            counts: vec![1],
            ..good.clone()
        },
        Buckets {
            counts: vec![0, 1],
            ..good.clone()
        },
        Buckets {
            counts: vec![u64::MAX, 2],
            ..good.clone()
        },
        Buckets {
            values: vec![20, 10],
            ..good.clone()
        },
        Buckets {
            values: vec![10, u64::MAX],
            ..good.clone()
        },
        Buckets { saturated: 3, ..good },
    ];
    for buckets in bad {
        assert!(Latency::of_buckets(&buckets).is_err(), "{buckets:?}");
    }
}

#[test]
fn i1_and_d2_ramp_and_prepare_operations_stay_out_of_the_figures() {
    let counts = counts(&[
        operation(Stage::Prepare, 0, 9_000_000),
        operation(Stage::Ramp, 0, 5_000_000),
        operation(Stage::Steady, 0, 1_000),
    ]);
    assert_eq!((counts.ops(), counts.steady.ops, counts.ramp.ops), (2, 1, 1));
    assert_eq!((counts.prepare_ops, counts.prepare_errors), (1, 0));
    assert!(counts.steady.latency.max() < 2_000);
    assert_eq!(counts.ramp.span, Some((0, 5_000_000)));
    assert_eq!(counts.steady.span, Some((0, 1_000)));
}

#[test]
fn g5_latency_counts_from_the_intended_start_and_service_from_the_actual_one() {
    let waited = Operation {
        intended: 0,
        started: 990_000,
        ended: 1_000_000,
        ..operation(Stage::Steady, 0, 0)
    };
    let counts = counts(&[waited]);
    assert!(counts.steady.latency.quantile(0.99) >= 990_000);
    assert!(counts.steady.service.quantile(0.99) < 11_000);
}

#[test]
fn reasons_of_failures_are_counted_merged_and_bounded() {
    let mut failures = Failures::default();
    for number in 0..100 {
        failures.count(&format!("status {}", 500 + number % 20), 1);
    }
    failures.count(&"x".repeat(10_000), 1);
    let mut merged = failures.clone();
    merged.add(&failures);
    let reasons = merged.most_frequent();
    assert!(reasons.len() <= 17, "{reasons:?}");
    assert_eq!(
        reasons.iter().map(|(_, times)| times).sum::<u64>(),
        202,
        "none is dropped"
    );
    assert!(reasons.iter().all(|(reason, _)| reason.len() <= 160));
    assert_eq!(reasons[0].0, "other reasons");
}

#[test]
fn g4_memory_stays_flat_however_many_operations_are_counted() {
    let many: u64 = if std::env::var_os("SPRAG_PROVE").is_some() {
        100_000_000
    } else {
        1_000_000
    };
    let size = |latency: &Latency| latency.to_buckets().values.len();
    let mut latency = Latency::default();
    for number in 0..many / 10 {
        latency.record(number % 100_000);
    }
    let before = size(&latency);
    for number in 0..many - many / 10 {
        latency.record(number % 100_000);
    }
    assert_eq!((latency.count(), size(&latency)), (many, before));
}
