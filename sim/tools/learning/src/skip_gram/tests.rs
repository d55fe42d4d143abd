use folkmoot_draws::{Rng, SeedableRng};
use folkmoot_parts::Value;

use super::*;
use crate::losses;

fn small() -> SkipGram {
    SkipGram {
        dim: 20,
        window: 3,
        ..SkipGram::default()
    }
}

/// `n_walks` walks of 12 on two cliques of 20 vertices; one step in fifty crosses.
fn communities(n_walks: usize) -> Corpus {
    let mut rng = SimRng::seed_from_u64(5);
    let mut corpus = Corpus::new();
    for _ in 0..n_walks {
        let mut side = rng.next_u32() % 2;
        corpus.push((0..12).map(|_| {
            side ^= u32::from(rng.next_u32() % 50 == 0);
            20 * side + rng.next_u32() % 20
        }));
    }
    corpus
}

fn bits(vectors: &Embeddings) -> Vec<u32> {
    vectors.values().iter().map(|x| x.to_bits()).collect()
}

fn train(settings: &SkipGram, corpus: &Corpus, n_vertices: u32) -> Embeddings {
    let mut rng = SimRng::seed_from_u64(7);
    settings.train(corpus, n_vertices, &mut rng).unwrap()
}

#[test]
fn results_have_the_same_bits_for_any_number_of_threads() {
    // A flat law over many vertices, so that rounds have many units; one long sentence, which is
    // cut.
    let mut rng = SimRng::seed_from_u64(1);
    let mut corpus = Corpus::new();
    for length in [30; 200].into_iter().chain([500, 0, 1]) {
        corpus.push((0..length).map(|_| rng.next_u32() % 700));
    }
    let mut all = Vec::new();
    for output in [OutputLayer::Negative, OutputLayer::Hierarchical, OutputLayer::Both] {
        for shared_negatives in [true, false] {
            let settings = SkipGram {
                output,
                shared_negatives,
                epochs: 2,
                ..small()
            };
            let results = [1, 2, 3, 8].map(|n_threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                bits(&pool.install(|| train(&settings, &corpus, 700)))
            });
            for result in &results[1..] {
                assert!(results[0] == *result, "{settings:?}");
            }
            all.push(results[0].clone());
        }
    }
    assert_ne!(all[0], all[1], "shared negatives are not separate ones");
    assert_ne!(all[0], all[2], "the tree is not sampling");
}

/// The cosine of the vectors of two vertices.
fn cosine(vectors: &Embeddings, a: u32, b: u32) -> f32 {
    let dot = |a: u32, b: u32| -> f32 { vectors.of(a).iter().zip(vectors.of(b)).map(|(x, y)| x * y).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn two_communities_separate_with_every_output_layer() {
    let corpus = communities(3000);
    for output in [OutputLayer::Negative, OutputLayer::Hierarchical, OutputLayer::Both] {
        for shared_negatives in [true, false] {
            let settings = SkipGram {
                output,
                shared_negatives,
                ..small()
            };
            let vectors = train(&settings, &corpus, 40);
            let (mut within, mut across) = (0.0, 0.0);
            for v in 1..20 {
                within += (cosine(&vectors, 0, v) + cosine(&vectors, 20, 20 + v)) / 38.0;
                across += (cosine(&vectors, 0, 20 + v) + cosine(&vectors, 20, v)) / 38.0;
            }
            assert!(within > across + 0.5, "{settings:?}: {within} within, {across} across");
        }
    }
}

#[test]
fn the_loss_falls_with_every_epoch() {
    let corpus = communities(200);
    let mean_loss = |epochs: usize| {
        let settings = SkipGram { epochs, ..small() };
        let mut rng = SimRng::seed_from_u64(7);
        let model = super::train::train(&settings, &corpus, 40, &mut rng).unwrap();
        let rows: Vec<f64> = model.rows.iter().map(|&x| x.into()).collect();
        let (input, output) = rows.split_at(40 * model.stride);
        let mut sum = 0.0;
        let mut n = 0;
        for sentence in corpus.sentences().take(50) {
            for (center, context) in window_pairs(sentence, 3) {
                let negatives = [(center * 7 + 3) % 40, (center + 23) % 40];
                let loss =
                    losses::skip_gram_negative_sampling(input, output, model.stride, context, center, &negatives);
                sum += loss.loss;
                n += 1;
            }
        }
        sum / f64::from(n)
    };
    let losses = [1, 4, 16].map(mean_loss);
    assert!(losses[0] <= 3.0 * std::f64::consts::LN_2 + 1e-3, "{losses:?}");
    assert!(
        losses[1] < losses[0] - 0.3 && losses[2] < losses[1] - 0.01,
        "{losses:?}"
    );
}

/// The kernel with one context is word2vec's step, whose gradient is the plain loss's.
#[test]
fn one_step_descends_the_plain_loss() {
    use crate::kernels::{Output, Scratch, Step, step};
    let stride = 16;
    let value = |i: usize| ((i * 31 % 23) as f32 - 11.0) / 9.0;
    let parameters: Vec<f32> = (0..4 * stride).map(value).collect();
    let mut inputs: Vec<f32> = (0..4 * stride).map(|i| value(i + 7)).collect();
    let double = |values: &[f32]| -> Vec<f64> { values.iter().map(|&x| x.into()).collect() };
    let before = double(&inputs);
    let plain = losses::skip_gram_negative_sampling(&before, &double(&parameters), stride, 2, 1, &[3, 0]);
    let outputs =
        [(1, 0, true), (3, 1, false), (0, 2, false)].map(|(row, slot, positive)| Output { row, slot, positive });
    let mut changes = vec![0.0; 3 * stride];
    let mut scratch = Scratch::new(stride, 1);
    let block = Step {
        stride,
        contexts: &[2],
        parameters: &parameters,
        outputs: &outputs,
        rate: 0.05,
    };
    step(&block, &mut inputs, &mut changes, &mut scratch);
    for (i, after) in double(&inputs).iter().enumerate() {
        assert!((before[i] - 0.05 * plain.grad_input[i] - after).abs() < 1e-6);
    }
    for output in outputs {
        for i in 0..stride {
            let change = f64::from(changes[output.slot as usize * stride + i]);
            assert!((change + 0.05 * plain.grad_output[output.row as usize * stride + i]).abs() < 1e-6);
        }
    }
}

#[test]
fn a_vertex_that_never_occurs_keeps_its_first_vector() {
    let corpus = communities(5);
    let [once, twice] = [1, 2].map(|epochs| train(&SkipGram { epochs, ..small() }, &corpus, 50));
    for v in 40..50 {
        assert_eq!(once.of(v), twice.of(v));
        assert!(once.of(v).iter().all(|x| x.abs() <= 0.5 / 20.0));
    }
    assert_ne!(once.of(0), twice.of(0));
}

#[test]
fn value_stability() {
    let vectors = train(&small(), &communities(50), 40);
    let first: Vec<u32> = bits(&vectors)[..3].to_vec();
    assert_eq!(first, [1_016_417_449, 3_165_475_046, 1_019_331_617]);
}

#[test]
fn what_cannot_be_trained_is_an_error() {
    let mut rng = SimRng::seed_from_u64(1);
    let mut corpus = Corpus::new();
    let empty = small().train(&corpus, 5, &mut rng).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "corpus: needs a sentence of two vertices or more, got 0 shorter ones"
    );
    corpus.push([3]);
    corpus.push([]);
    assert_eq!(
        small().train(&corpus, 5, &mut rng),
        Err(TrainError::NoPairs { n_sentences: 2 })
    );
    corpus.push([3, 5]);
    let out_of_range = small().train(&corpus, 5, &mut rng).unwrap_err();
    assert_eq!(
        out_of_range.to_string(),
        "corpus: sentence 2: vertex ids must lie below 5 (n_vertices), got 5"
    );
    assert!(small().train(&corpus, 6, &mut rng).is_ok());
    let settings = SkipGram {
        dim: 0,
        window: 2000,
        negatives: 0,
        epochs: 0,
        learning_rate: f32::NAN,
        min_learning_rate: -1.0,
        ..SkipGram::default()
    };
    let fields: Vec<String> = settings.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(
        fields,
        [
            "dim",
            "window",
            "negatives",
            "epochs",
            "learning_rate",
            "min_learning_rate"
        ]
    );
    assert!(matches!(
        settings.train(&corpus, 6, &mut rng),
        Err(TrainError::Algorithm(_))
    ));
    assert_eq!(SkipGram::default().broken(), []);
}

/// Rows padded to whole registers and groups of outputs do not show: any dimension and number of
/// negatives trains.
#[test]
fn odd_sizes_train() {
    let corpus = communities(20);
    for (dim, negatives, window) in [(1, 1, 1), (17, 7, 20), (33, 30, 2)] {
        let settings = SkipGram {
            dim,
            negatives,
            window,
            ..SkipGram::default()
        };
        let vectors = train(&settings, &corpus, 40);
        assert_eq!((vectors.dim(), vectors.n_vertices()), (dim, 40));
        assert!(vectors.values().iter().all(|x| x.is_finite()));
    }
}
