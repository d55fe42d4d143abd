//! Data of which client 0 holds the same in two versions.

use folkmoot_draws::{Purpose, SimRng, Streams, index};
use folkmoot_graphs::{
    CountScaling, DataDirs, DataSource, Dataset, Features, Graph, Labels, Partition, Partitioner, SparseRows, Splits,
    datasets, partition,
};
use proptest::prelude::*;
use std::sync::Arc;

const N_COLUMNS: u32 = 4;

/// How what other clients hold differs in the second version.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    seed: u64,
    /// The clients it happens to, client 0 never: a bit each, by their id modulo 64.
    clients: u64,
    edges: bool,
    features: bool,
    classes: bool,
}

impl Change {
    /// All that others hold.
    pub fn everything(seed: u64) -> Change {
        Change {
            seed,
            clients: u64::MAX,
            edges: true,
            features: true,
            classes: true,
        }
    }

    fn hits(self, client: usize) -> bool {
        client != 0 && self.clients >> (client % 64) & 1 == 1
    }
}

/// Changes as proptest draws them.
pub fn changes() -> impl Strategy<Value = Change> {
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>());
    (2u64..1 << 60, any::<u64>(), kinds).prop_map(|(seed, clients, (edges, features, classes))| Change {
        seed,
        clients,
        edges,
        features,
        classes,
    })
}

/// Two versions of a data set, shared out alike.
pub struct Two {
    pub one: Arc<Dataset>,
    /// The other: client 0 holds the same.
    pub other: Arc<Dataset>,
    /// Who holds what, in both.
    pub partition: Arc<Partition>,
}

fn stream(seed: u64) -> SimRng {
    Streams::new(seed).global(Purpose(*b"data    "))
}

fn load(spec: &dyn DataSource, seed: u64) -> Dataset {
    spec.load(&DataDirs::new(), &mut stream(seed)).unwrap()
}

/// Rows of small numbers.
fn rows(n_rows: usize, rng: &mut SimRng) -> Vec<Vec<(u32, f32)>> {
    let mut row = |_| {
        (0..N_COLUMNS)
            .map(|column| (column, 0.1 * (1 + index(rng, 20)) as f32))
            .collect()
    };
    (0..n_rows).map(&mut row).collect()
}

fn features(n_columns: u32, rows: &[Vec<(u32, f32)>]) -> Option<Features> {
    Some(Features::Sparse(SparseRows::from_rows(n_columns, rows).unwrap()))
}

/// The rows of each graph.
fn rows_of(dataset: &Dataset, graph: usize) -> Vec<Vec<(u32, f32)>> {
    let features = dataset.features.as_ref().unwrap();
    let row = |node: usize| {
        let mut row = vec![0.0; features.n_columns()];
        features.write_row(node as u32, &mut row);
        (0..).zip(row).collect()
    };
    dataset.node_range(graph).map(row).collect()
}

/// `one` with the graphs of some clients as `drawn` has them.
fn mixed(one: &Dataset, drawn: &Dataset, partition: &Partition, change: Change) -> Dataset {
    let mut other = one.clone();
    let n_columns = one.features.as_ref().unwrap().n_columns() as u32;
    let mut table: Vec<Vec<Vec<(u32, f32)>>> = (0..one.graphs.len()).map(|graph| rows_of(one, graph)).collect();
    for client in (0..partition.n_clients()).filter(|client| change.hits(*client)) {
        for item in partition.shard(client).iter().map(|item| *item as usize) {
            // The size of the first graph is a public fact of GW-LDP.
            if change.edges && item > 0 {
                other.graphs[item] = drawn.graphs[item].clone();
                // A graph of another size brings other rows, too.
                table[item] = rows_of(drawn, item);
            }
            if change.features {
                let own = &mut table[item];
                own.iter_mut().flatten().for_each(|(_, x)| *x = 1.5 * *x + 0.25);
            }
            if let (true, Some(classes), Some(drawn)) = (change.classes, &mut other.graph_labels, &drawn.graph_labels) {
                classes[item] = drawn[item];
            }
        }
    }
    other.features = features(n_columns, &table.concat());
    other
}

/// 36 labelled graphs of four clients, with features and a published split.
pub fn graphs(change: Change) -> Two {
    let drawn = |seed| {
        let spec = datasets::GraphClasses {
            n_graphs: 36,
            n_classes: 3,
            min_nodes: 5,
            max_nodes: 9,
        };
        let mut dataset = load(&spec, seed);
        dataset.features = features(N_COLUMNS, &rows(dataset.n_nodes(), &mut stream(seed + 1)));
        let labels = dataset.graph_labels.as_mut().unwrap();
        labels.iter_mut().for_each(|class| *class = (*class + seed as u32) % 3);
        dataset.splits = Some(Splits {
            train: (0..36).map(|item| item % 3 != 0).collect(),
            val: (0..36).map(|item| item % 6 == 0).collect(),
            test: (0..36).map(|item| item % 6 == 3).collect(),
        });
        dataset
    };
    let one = drawn(1);
    let partition = partition::Iid { n_clients: 4 }.divide(&one, &mut stream(1)).unwrap();
    let other = mixed(&one, &drawn(change.seed), &partition, change);
    Two {
        one: Arc::new(one),
        other: Arc::new(other),
        partition: Arc::new(partition),
    }
}

/// Variants of functions, in `n_clients` shares; who trains and tests is known to all, so classes
/// stay.
fn functions(n_clients: Option<u32>, change: Change) -> Two {
    let drawn = |seed| {
        let spec = datasets::ControlFlow {
            n_functions: 16,
            n_nodes: (5, 9),
            n_compilers: 2,
            n_levels: 2,
            variant_prob: 1.0,
            property_effect: 0.5,
            scaling: CountScaling::Log,
        };
        load(&spec, seed)
    };
    let one = drawn(1);
    let partition = match n_clients {
        None => Partition::one_item_each(one.graphs.len() as u32),
        Some(n_clients) => partition::Iid { n_clients }.divide(&one, &mut stream(1)).unwrap(),
    };
    let change = Change {
        classes: false,
        ..change
    };
    let other = mixed(&one, &drawn(change.seed), &partition, change);
    Two {
        one: Arc::new(one),
        other: Arc::new(other),
        partition: Arc::new(partition),
    }
}

/// A device for each variant of a function.
pub fn devices(change: Change) -> Two {
    functions(None, change)
}

/// Four clients with some variants each.
pub fn shares(change: Change) -> Two {
    functions(Some(4), change)
}

/// A graph of 40 vertices. Edges at the vertices of client 0 stay.
fn graph(partition: &Partition, change: Change) -> [Dataset; 2] {
    let n = 40;
    let owner: Vec<usize> = (0..n)
        .map(|v| {
            (0..partition.n_clients())
                .find(|client| partition.shard(*client).contains(&v))
                .unwrap()
        })
        .collect();
    let edges: Vec<(u32, u32)> = (0..n).flat_map(|v| [(v, (v + 1) % n), (v, (v + 7) % n)]).collect();
    let classes: Vec<Option<u32>> = (0..n).map(|v| Some(v % 3)).collect();
    let table = rows(n as usize, &mut stream(1));
    let whole = |edges: &[(u32, u32)], table: &[Vec<(u32, f32)>], classes: &[Option<u32>]| Dataset {
        features: features(N_COLUMNS, table),
        node_labels: Some(Labels::from_single(3, classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("ring", Graph::from_edges(n, edges, false).unwrap())
    };
    let rng = &mut stream(change.seed);
    let hit = |v: u32| change.hits(owner[v as usize]);
    let (mut edges_2, mut table_2, mut classes_2) = (edges.clone(), table.clone(), classes.clone());
    if change.edges {
        edges_2.retain(|(u, v)| owner[*u as usize] == 0 || owner[*v as usize] == 0 || !hit(*u) || !hit(*v));
        let others: Vec<u32> = (0..n).filter(|v| hit(*v)).collect();
        for _ in 0..2 * others.len() {
            let (u, v) = (others[index(rng, others.len())], others[index(rng, others.len())]);
            if u != v {
                edges_2.push((u, v));
            }
        }
    }
    for v in (0..n).filter(|v| hit(*v)) {
        if change.features {
            table_2[v as usize] = rows(1, rng).remove(0);
        }
        if change.classes {
            classes_2[v as usize] = Some(index(rng, 3) as u32);
        }
    }
    [whole(&edges, &table, &classes), whole(&edges_2, &table_2, &classes_2)]
}

fn two_graphs(partition: Partition, change: Change) -> Two {
    let [one, other] = graph(&partition, change).map(Arc::new);
    Two {
        one,
        other,
        partition: Arc::new(partition),
    }
}

/// Each vertex a client.
pub fn vertices(change: Change) -> Two {
    two_graphs(Partition::one_item_each(40), change)
}

/// Four clients with ten vertices each.
pub fn parts(change: Change) -> Two {
    let shards = (0..4)
        .map(|client| (10 * client..10 * (client + 1)).collect())
        .collect();
    two_graphs(Partition::from_shards(shards).unwrap(), change)
}
