//! The hold model: pop the earliest event, push it again an exponential time later, with a constant
//! number pending.
//!
//! `cargo bench -p folkmoot-engine --bench queue`; throughput is in holds (one pop and one push).
//! The binary heap of the standard library stands beside ours as the measure.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{Rng, SeedableRng, SimRng};
use folkmoot_engine::queue::{EventKey, Queue, QueuedEvent};
use folkmoot_metrics::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

const HOLDS: u64 = 100_000;
const PENDING: [usize; 4] = [1_000, 100_000, 1_000_000, 10_000_000];

/// Exponential delays with a mean of one millisecond, drawn before the clock starts.
fn delays(rng: &mut SimRng) -> Vec<u64> {
    (0..1 << 16)
        .map(|_| (-libm::log(1.0 - f64::from(rng.next_u32()) / 4_294_967_296.0) * 1e6) as u64)
        .collect()
}

fn event(at: u64, seq: u32) -> QueuedEvent {
    QueuedEvent {
        key: EventKey::new(SimTime(at), seq % 1000, seq),
        to: 0,
        slot: seq,
    }
}

fn hold(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine/hold");
    group.throughput(Throughput::Elements(HOLDS)).sample_size(10);
    for pending in PENDING {
        let mut rng = SimRng::seed_from_u64(1);
        let delays = delays(&mut rng);
        let delay = |i: u64| delays[(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize];
        group.bench_function(BenchmarkId::new("radix", pending), |b| {
            let mut queue = Queue::new();
            (0..pending).for_each(|i| queue.push(event(delay(i as u64), i as u32)));
            let mut n = pending as u64;
            b.iter(|| {
                for _ in 0..HOLDS {
                    let Some(next) = queue.pop() else { return };
                    n += 1;
                    queue.push(event(next.key.at.0 + delay(n), n as u32));
                }
                black_box(queue.len());
            });
        });
        group.bench_function(BenchmarkId::new("binary_heap", pending), |b| {
            let mut queue: BinaryHeap<Reverse<QueuedEvent>> = (0..pending)
                .map(|i| Reverse(event(delay(i as u64), i as u32)))
                .collect();
            let mut n = pending as u64;
            b.iter(|| {
                for _ in 0..HOLDS {
                    let Some(Reverse(next)) = queue.pop() else { return };
                    n += 1;
                    queue.push(Reverse(event(next.key.at.0 + delay(n), n as u32)));
                }
                black_box(queue.len());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
