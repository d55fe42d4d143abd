//! Methods whose server has a model for each client, by a row-stochastic matrix.

use super::*;
use folkmoot_classifiers::federated::{Learned, Local, Method};
use folkmoot_draws::{SimRng, unit};
use folkmoot_graphs::{Features, Graph, Labels, SparseRows};
use folkmoot_parts::component;
use folkmoot_rounds::Answers;

/// Models of clients by a matrix.
#[component(name = "TestRows", about = "for a test")]
#[derive(Clone, Copy, Debug)]
struct TestRows {
    /// The matrix.
    rows: Rows,
    /// What models are first: drawn by the server, as FedAvg's is, or known to all.
    #[component(default = false)]
    drawn: bool,
    /// Clients answer with what they were sent.
    #[component(default = false)]
    still: bool,
}

/// A matrix with a row for each client.
#[component]
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// The identity.
    #[default]
    Identity,
    /// All rows are weights by the card.
    Alike,
    /// Drawn, a third of it nothing.
    Drawn {
        /// By this seed.
        #[component(default = 0)]
        seed: u32,
    },
}

impl Method for TestRows {
    fn train(&self, local: &Local<'_>) -> Learned {
        Learned::sent(match self.still {
            true => local.parameters.to_vec(),
            false => local.train(local.parameters),
        })
    }
}

impl Personalisation<Federated> for TestRows {
    fn initial(&self, federated: &Federated, rng: &mut SimRng) -> Vec<f32> {
        let common = federated.common();
        match self.drawn {
            true => common.classifier.network().layout().initialise(rng),
            false => common.start(),
        }
    }

    fn rows(&self, _: &Federated, _: &mut Vec<f64>, answers: &Answers<'_>) -> Option<Vec<(ClientId, Vec<f64>)>> {
        let all = &answers.updates.all;
        let row = |i: usize| -> Vec<f64> {
            match self.rows {
                Rows::Identity => (0..all.len()).map(|j| if i == j { 1.0 } else { 0.0 }).collect(),
                Rows::Alike => all.iter().map(|update| update.weight).collect(),
                Rows::Drawn { seed } => {
                    let rng = &mut Streams::new(u64::from(seed)).global(Purpose(*b"test    "));
                    let counts: Vec<f64> = (0..all.len() * all.len())
                        .map(|_| (unit(rng) - 1.0 / 3.0).max(0.0))
                        .collect();
                    counts[i * all.len()..][..all.len()].to_vec()
                }
            }
        };
        Some((0..all.len()).map(|i| (all[i].client, row(i))).collect())
    }
}

const TRAINING: &str = "epochs: 2, batch_size: 4, learning_rate: 0.05";

fn of_rows(method: &str, rounds: u32, weighting: &str) -> Params {
    let mut registry = folkmoot_classifiers::only();
    registry.add_component::<dyn Method, TestRows>().unwrap();
    let text = format!(
        "({REST}, method: TestRows({method}), training: ({TRAINING}), protocol: (rounds: {rounds}, weighting: {weighting}))"
    );
    registry
        .settings(&text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// Rows that are all alike, or those of the identity.
pub(super) fn by_rows(alike: bool, rounds: u32, weighting: &str) -> Params {
    let rows = if alike { "Alike" } else { "Identity" };
    of_rows(&format!("rows: {rows}"), rounds, weighting)
}

/// What each client's model is after so many rounds by itself.
pub(super) fn alone(params: &Params, rounds: u32) -> Vec<Vec<f32>> {
    let prepared = prepared(params);
    let common = prepared.strategy.trainer().common();
    let of_client = |client: u32| {
        let shard = prepared.shared.shards.shard(ClientId(client));
        (0..rounds).fold(common.start(), |own, round| {
            let mut rng =
                Streams::new(SEED).party(Purpose(*b"rd-local"), Party::Client(ClientId(client)), Round(round));
            common.classifier.train(shard, &own, &mut rng)
        })
    };
    (0..N_CLIENTS).map(of_client).collect()
}

#[test]
fn the_identity_leaves_each_client_to_itself_to_the_bit() {
    let params = by_rows(false, 3, "Uniform");
    let left = left(&params, &World::ideal(), Options::default()).1;
    assert!(left.own == alone(&params, 3));
    let local = super::left(
        &super::params("LocalOnly()", TRAINING, "rounds: 3"),
        &World::ideal(),
        Options::default(),
    )
    .1;
    let kept: Vec<Vec<f32>> = local.kept.into_iter().flatten().collect();
    assert!(left.own == kept);
}

/// The run of the one model for all, and that of the strategy FedAvg.
#[test]
fn rows_that_are_alike_are_the_run_of_federated_averaging_to_the_bit() {
    for weighting in ["Uniform", "Samples"] {
        let protocol = format!("rounds: 4, weighting: {weighting}");
        let global = params("Global()", TRAINING, &protocol);
        let reference = model(&global);
        assert!(reference == averaged(&global, &World::ideal()), "{weighting}");
        let alike = of_rows("rows: Alike, drawn: true", 4, weighting);
        let left = left(&alike, &World::ideal(), Options::default()).1;
        assert!(left.model == reference, "{weighting}");
        assert!(
            left.own.len() == N_CLIENTS as usize && left.own.iter().all(|own| *own == reference),
            "{weighting}"
        );
        let identity = of_rows("rows: Identity, drawn: true", 4, weighting);
        let apart = super::left(&identity, &World::ideal(), Options::default()).1;
        assert!(
            apart.own.iter().all(|own| *own != reference),
            "another matrix is another run"
        );
    }
}

/// A mean of equals is that, whoever counts how much.
#[test]
fn equal_models_stay_as_they_are_under_any_matrix() {
    for seed in 0..6 {
        let run = |still: bool| {
            let params = of_rows(&format!("rows: Drawn(seed: {seed}), still: {still}"), 3, "Samples");
            let start = prepared(&params).strategy.trainer().common().start();
            (left(&params, &World::ideal(), Options::default()).1, start)
        };
        let (left, start) = run(true);
        assert!(
            left.own.len() == N_CLIENTS as usize && left.own.iter().all(|own| *own == start),
            "{seed}"
        );
        assert!(left.model == start, "{seed}");
        // Models that are not equal do not stay so, nor become equal.
        let (left, start) = run(false);
        assert!(
            left.own.iter().all(|own| *own != start) && left.own[0] != left.own[1],
            "{seed}"
        );
    }
}

#[test]
fn rows_that_are_alike_are_federated_averaging_to_the_bit() {
    for weighting in ["Uniform", "Samples"] {
        let params = by_rows(true, 3, weighting);
        let left = left(&params, &World::ideal(), Options::default()).1;
        for own in &left.own {
            assert!(*own == left.model, "{weighting}");
        }
        // After one round that is the mean of what each learns by itself.
        let first = by_rows(true, 1, weighting);
        let left = super::left(&first, &World::ideal(), Options::default()).1;
        let all = alone(&first, 1);
        let prepared = prepared(&first);
        let weights: Vec<f64> = (0..N_CLIENTS)
            .map(|client| match weighting {
                "Uniform" => 1.0,
                _ => prepared.shared.shards.shard(ClientId(client)).n_train() as f64,
            })
            .collect();
        let n: f64 = weights.iter().sum();
        for (at, got) in left.model.iter().enumerate() {
            let sum: f64 = all
                .iter()
                .zip(&weights)
                .map(|(model, weight)| weight * f64::from(model[at]))
                .sum();
            assert_eq!(*got, (sum / n) as f32, "{weighting} {at}");
        }
    }
}

/// What one cluster learns is the mean of all, and heads stay where they are.
#[test]
fn gcfl_that_never_parts_is_fed_per_to_the_bit() {
    let left = |method: &str, weighting: &str| {
        let params = params(
            method,
            "epochs: 2, batch_size: 4, learning_rate: 0.05",
            &format!("rounds: 3, weighting: {weighting}"),
        );
        super::left(&params, &World::ideal(), Options::default()).1
    };
    for weighting in ["Uniform", "Samples"] {
        let fed_per = left("FedPer()", weighting);
        for by in ["Cosine", "Gradients(rounds: 2)", "Changes(rounds: 2)"] {
            let gcfl = left(&format!("Gcfl(mean_norm: 0, first_rounds: 0, by: {by})"), weighting);
            assert!(
                gcfl.model == fed_per.model && gcfl.kept == fed_per.kept,
                "{weighting} {by}"
            );
            assert!(gcfl.own.iter().all(|own| *own == fed_per.model), "{weighting} {by}");
        }
    }
    let parted = left("Gcfl(mean_norm: 1000, longest_norm: 0, first_rounds: 1)", "Uniform");
    let mut models = parted.own.clone();
    models.sort_by(|a, b| a.partial_cmp(b).unwrap());
    models.dedup();
    assert_eq!(
        models.len(),
        3,
        "parted after the second round, and a part after the third, or both"
    );
}

/// Two channels of four, two layers, two steps and two degrees of structure.
const STAR: &str = "model: (encoder: Structured(structure: 4), hidden: 8, readout: Sum), inputs: Structured(walks: 2, degrees: 2), \
                    split: Shares(train: 0.6, validation: 0.1)";

fn star(method: &str, model_and_inputs: &str) -> Result<Params, String> {
    let text = format!(
        "({model_and_inputs}, method: {method}, training: (epochs: 2, batch_size: 4, learning_rate: 0.05), protocol: (rounds: 3))"
    );
    folkmoot_classifiers::only()
        .settings(&text)
        .map_err(|problems| format!("{problems:?}"))
}

#[test]
fn fed_star_shares_what_graphs_are_like_about_their_nodes_and_nothing_else() {
    // From 4 numbers of structure to 4, and twice from 4 to 4.
    let n_shared = 3 * (4 * 4 + 4);
    let shared = star("FedStar()", STAR).unwrap();
    let (outcome, left) = super::left(&shared, &World::ideal(), Options::default());
    let bytes = |name: &str| {
        let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
        rows.map(|(.., cell)| cell.payload_bytes).sum::<u64>()
    };
    let n = u64::from(3 * N_CLIENTS);
    assert_eq!(
        (bytes("model"), bytes("update")),
        (n * 4 * n_shared, n * (4 * n_shared + 4))
    );
    assert_eq!(left.model.len(), n_shared as usize);
    let prepared = prepared(&shared);
    let n_own = prepared.strategy.trainer().common().n_parameters() - n_shared as usize;
    let kept: Vec<&Vec<f32>> = left.kept.iter().map(|kept| kept.as_ref().unwrap()).collect();
    assert!(kept.iter().all(|kept| kept.len() == n_own));
    assert!(
        kept.windows(2).all(|pair| pair[0] != pair[1]),
        "what is a client's own stays so"
    );

    let other = STAR.replace("structure: 4", "structure: 5");
    let said = star("FedStar()", &other).unwrap_err();
    assert!(said.contains("walks + degrees = 5"), "{said}");
    let said = star("FedStar()", "model: (encoder: Gin)").unwrap_err();
    assert!(
        said.contains("model.encoder") && said.contains("must be Structured()"),
        "{said}"
    );
    let said = star("Global()", &STAR.replace("hidden: 8", "hidden: 7, head_layers: 0")).unwrap_err();
    assert!(
        said.contains("must be even") && said.contains("must be at least 1 with Structured"),
        "{said}"
    );
}

/// Six rings of 20 nodes, two classes in stretches of five.
fn rings() -> (Arc<Dataset>, Arc<Partition>) {
    let edges: Vec<(u32, u32)> = (0..120).map(|v| (v, v / 20 * 20 + (v + 1) % 20)).collect();
    let class = |v: u32| v / 5 % 2;
    let rows: Vec<[(u32, f32); 1]> = (0..120).map(|v| [(class(v) + 2 * (v % 2), 1.0)]).collect();
    let classes: Vec<Option<u32>> = (0..120).map(|v| Some(class(v))).collect();
    let dataset = Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(4, &rows).unwrap())),
        node_labels: Some(Labels::from_single(2, &classes).unwrap()),
        n_classes: 2,
        ..Dataset::of_graph("rings", Graph::from_edges(120, &edges, false).unwrap())
    };
    let shards = partition::Iid { n_clients: 6 };
    let partition = shards
        .divide(&dataset, &mut Streams::new(1).global(Purpose(*b"partitn ")))
        .unwrap();
    (Arc::new(dataset), Arc::new(partition))
}

fn on_nodes(method: &str) -> Params {
    let text = format!(
        "(model: (hidden: 4, head_layers: 0), inputs: Features, split: Shares(train: 0.5, validation: 0), method: {method}, \
         training: (epochs: 2, learning_rate: 0.1), protocol: (rounds: 2, weighting: Uniform))"
    );
    folkmoot_classifiers::only()
        .settings(&text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn play_on_nodes(params: &Params, options: Options) -> (Outcome, Left) {
    let (dataset, partition) = rings();
    let prepared = params
        .prepare(&Source::new(&dataset, &partition, Streams::new(SEED)))
        .unwrap();
    let kept = Arc::default();
    let look = Watched(Look(Arc::clone(&kept)));
    let watched = System {
        evaluator: &look,
        ..prepared.system()
    };
    let outcome = run(watched, &World::ideal(), SEED, options, &mut Unobserved).unwrap();
    (outcome, std::mem::take(&mut *kept.lock().unwrap()))
}

#[test]
fn fed_gta_averages_among_those_who_are_alike() {
    let all = play_on_nodes(&on_nodes("FedGta(similarity: -2)"), Options::default()).1;
    assert!(
        all.own.len() == 6 && all.own.iter().all(|own| *own == all.own[0]),
        "everybody is alike"
    );
    let nobody = play_on_nodes(&on_nodes("FedGta(similarity: 2)"), Options::default()).1;
    assert!(nobody.own.iter().any(|own| *own != nobody.own[0]), "nobody is alike");
    // 4 inputs, 4 hidden, 2 classes: 30 numbers; 2 kinds of 10 orders of 2 classes; samples and
    // confidence.
    let (wet, _) = play_on_nodes(&on_nodes("FedGta()"), Options::default());
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let (dry, _) = play_on_nodes(&on_nodes("FedGta()"), dry);
    for outcome in [&wet, &dry] {
        let bytes = |name: &str| {
            let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
            rows.map(|(.., cell)| cell.payload_bytes).sum::<u64>()
        };
        assert_eq!(
            (bytes("model"), bytes("update")),
            (12 * 4 * 30, 12 * (4 * 30 + 4 * 40 + 8))
        );
    }
}

#[test]
fn fed_pub_averages_among_those_who_answer_alike() {
    let all = play_on_nodes(&on_nodes("FedPub(similarity_scale: 0)"), Options::default()).1;
    assert!(
        all.own.len() == 6 && all.own.iter().all(|own| *own == all.model),
        "everybody is alike"
    );
    let few = play_on_nodes(&on_nodes("FedPub(similarity_scale: 10000)"), Options::default()).1;
    assert!(few.own.iter().any(|own| *own != few.own[0]), "few are alike");
    // 30 numbers, an embedding of 2, since without a head the last graph layer has the logits.
    let (wet, left) = play_on_nodes(&on_nodes("FedPub()"), Options::default());
    let bytes = |name: &str| {
        let rows = wet.ledger.rows().filter(|(kind, ..)| kind.name == name);
        rows.map(|(.., cell)| cell.payload_bytes).sum::<u64>()
    };
    assert_eq!(
        (bytes("model"), bytes("update")),
        (12 * 4 * 30, 12 * (4 * 30 + 4 * 2 + 4))
    );
    // Masks have moved where weights are, and biases, 4 and 2 of them, have none.
    for kept in left.kept.iter().take(6) {
        let kept = kept.as_ref().unwrap();
        let n_still = kept.iter().filter(|m| **m == 1.0).count();
        assert!(kept.len() == 30 && (6..20).contains(&n_still), "{kept:?}");
    }
    // A penalty on it makes a mask smaller.
    let sum = |left: &Left| -> f32 { left.kept.iter().flatten().flatten().map(|m| m.abs()).sum() };
    let sparse = play_on_nodes(&on_nodes("FedPub(sparsity: 1)"), Options::default()).1;
    assert!(sum(&sparse) < sum(&left));
    // The other keeps what learns near what was sent, from the second training on.
    let near = play_on_nodes(&on_nodes("FedPub(nearness: 1)"), Options::default()).1;
    assert!(near.model != left.model);
}

#[test]
fn what_does_not_go_with_models_of_clients_is_refused() {
    let (dataset, partition) = unlike::data(MIN_SIZE);
    let graphs =
        params("FedGta()", "epochs: 1", "rounds: 1").prepare(&Source::new(&dataset, &partition, Streams::new(SEED)));
    let said = graphs.err().unwrap().to_string();
    assert!(said.contains("a graph has one label"), "{said}");
    for (protocol, path, rule) in [
        (
            "aggregator: Median()",
            "protocol.aggregator",
            "must be Mean() with FedGta",
        ),
        ("secure: Pairwise()", "protocol.secure", "must be Off with FedGta"),
        (
            "aggregation: Buffered(size: 2)",
            "protocol.aggregation",
            "must be Synchronous with FedGta",
        ),
    ] {
        let text = format!("({REST}, method: FedGta(), protocol: ({protocol}))");
        let problems = format!(
            "{:?}",
            folkmoot_classifiers::only().settings::<Params>(&text).unwrap_err()
        );
        assert!(problems.contains(path) && problems.contains(rule), "{problems}");
    }
}
