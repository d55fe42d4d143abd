//! Skip-gram in words/s on a corpus of BlogCatalog's size class: 10 312 vertices under a power law,
//! walks of 40.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{Rng, SeedableRng, SimRng};
use folkmoot_learning::skip_gram::{Corpus, OutputLayer, SkipGram};

const N_VERTICES: u32 = 10_312;

/// `n_walks` walks of 40 vertices, the density of vertex `v` in proportion to `1 / sqrt(v)`: the
/// first has about 0.5 %.
fn corpus(n_walks: usize) -> Corpus {
    let mut rng = SimRng::seed_from_u64(1);
    let mut corpus = Corpus::with_capacity(n_walks, n_walks * 40);
    for _ in 0..n_walks {
        corpus.push((0..40).map(|_| {
            let unit = f64::from(rng.next_u32()) / 4_294_967_296.0;
            (f64::from(N_VERTICES) * unit * unit) as u32
        }));
    }
    corpus
}

fn skip_gram(c: &mut Criterion) {
    let corpus = corpus(20_000);
    let mut group = c.benchmark_group("skip_gram");
    group
        .throughput(Throughput::Elements(corpus.n_tokens() as u64))
        .sample_size(10);
    for (name, output, shared_negatives) in [
        ("negative", OutputLayer::Negative, true),
        ("negative_separate", OutputLayer::Negative, false),
        ("hierarchical", OutputLayer::Hierarchical, true),
    ] {
        let settings = SkipGram {
            output,
            shared_negatives,
            ..SkipGram::default()
        };
        for n_threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(n_threads)
                .build()
                .expect("threads start");
            group.bench_function(format!("{name}/{n_threads}"), |b| {
                b.iter(|| {
                    let mut rng = SimRng::seed_from_u64(2);
                    pool.install(|| settings.train(black_box(&corpus), N_VERTICES, &mut rng))
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, skip_gram);
criterion_main!(benches);
