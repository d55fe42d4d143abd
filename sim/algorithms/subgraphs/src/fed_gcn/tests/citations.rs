//! Citation graphs: what other programs counted and logged of them. Where the real data are needed
//! and are not there, a test says that it is skipped.

#[path = "../../../../../tools/graphs/src/readers/testing.rs"]
mod testing;

use super::*;
use folkmoot_graphs::{Balance, Citation, DataDirs, DataSource, Partitioner, datasets, partition};

/// A whole citation graph, if there are real data.
fn planetoid(name: Citation) -> Option<Arc<Dataset>> {
    let dirs = DataDirs::new().with("FOLKMOOT_DATA", testing::real_data()?);
    let spec = datasets::Planetoid {
        name,
        largest_component: false,
    };
    Some(Arc::new(spec.load(&dirs, &mut stream(0)).unwrap()))
}

fn communities(data: &Dataset, n_clients: u32) -> Arc<Partition> {
    let spec = partition::Louvain {
        n_clients: Some(n_clients),
        balance: Balance::Fill,
        slack: 20,
        resolution: 1.0,
        shuffled: false,
    };
    Arc::new(spec.divide(data, &mut stream(0)).unwrap())
}

/// Counts of another program, on communities of citation graphs: rows of one hop, of two,
/// `Σ |N[V_k]|`, and rows of others' nodes.
#[test]
fn rows_of_citation_graphs_are_those_counted_by_another() {
    for (name, all) in [
        (
            Citation::Cora,
            [
                (5, [3434, 4160, 3434, 726]),
                (10, [3860, 5064, 3912, 1204]),
                (20, [4717, 7057, 5048, 2340]),
            ],
        ),
        (
            Citation::Citeseer,
            [
                (5, [3633, 3987, 3681, 354]),
                (10, [3718, 4157, 3766, 439]),
                (20, [4002, 4821, 4146, 819]),
            ],
        ),
    ] {
        let Some(data) = planetoid(name) else { return };
        for (n_clients, expected) in all {
            let partition = communities(&data, n_clients);
            let cut = Cut::new(&Source::new(&data, &partition, Streams::new(1))).unwrap();
            let counts = count(data.graph(), &cut, 2);
            let got = [counts.one_hop, counts.two_hop, counts.known, counts.foreign];
            assert_eq!(got, expected, "{name:?} at {n_clients} clients");
            if (name, n_clients) == (Citation::Cora, 10) {
                // Rows of others' nodes alone, with one hop.
                let params = Params {
                    hops: 1,
                    between: Between::Peers,
                    ..Params::default()
                };
                assert_eq!(counts.bytes(&Plan::of(&params, 1433), 10), 6_906_144);
            }
        }
    }
}

/// On Cora at ten clients, with the bytes as sent.
#[test]
fn cora_in_ten_pieces_is_whole_again() {
    let Some(data) = planetoid(Citation::Cora) else { return };
    let partition = communities(&data, 10);
    let params = Params {
        split: Split::Published,
        ..small()
    };
    let central = logits(
        &Params {
            hops: 0,
            ..params.clone()
        },
        &data,
        &turns(2708, 1),
    );
    let error = |hops| far(&central, &logits(&Params { hops, ..params.clone() }, &data, &partition));
    assert!(error(2) < 1e-5, "{}", error(2));
    assert!(error(0) > error(1) && error(1) > 1e-3, "{} {}", error(0), error(1));
    let outcome = play(
        &Params {
            hops: 1,
            between: Between::Peers,
            ..params
        },
        &data,
        &partition,
        true,
    );
    assert_eq!(number(&outcome, "exchange_bytes"), 6_906_144.0);
}

/// 200 rounds of ten clients, down and up, four bytes a weight of 23 063, 59 366 and 8 067;
/// FedGraph's log has 351.91, 905.85 and 123.09 MiB, weights alone
/// (`NC_comm_costs_old/nc_data_raw.csv`, at commit b7b073e).
#[test]
fn payload_of_training_is_that_of_the_logs_of_fed_graph() {
    for (d, n_classes, weights, mib) in [
        (1433, 7, 369_008_000_u64, "351.91"),
        (3703, 6, 949_856_000, "905.85"),
        (500, 3, 129_072_000, "123.09"),
    ] {
        let (data, cut) = (dataset(40, 60, d, n_classes), turns(40, 10));
        let params = Params {
            hops: 0,
            model: Model {
                hidden: 16,
                head_layers: 0,
                ..Model::default()
            },
            protocol: Protocol {
                rounds: 200,
                ..Protocol::default()
            },
            ..Params::default()
        };
        let outcome = play(&params, &data, &cut, true);
        let bytes: u64 = outcome.ledger.rows().map(|(.., cell)| cell.payload_bytes).sum();
        // Our updates say how many samples they are of.
        assert_eq!(bytes, weights + 4 * 10 * 200);
        assert_eq!(format!("{:.2}", weights as f64 / f64::from(1 << 20)), mib);
    }
}

/// FedGraph's log of the exchange among ten clients who hold nodes by chance: its formula is within
/// 0.2 % of it, and so are we.
#[test]
fn dense_matrices_of_citation_graphs_cost_what_fed_graph_logged() {
    for (name, d, logged) in [
        (Citation::Cora, 1433_u64, 202.69),
        (Citation::Citeseer, 3703, 610.84),
        (Citation::Pubmed, 500, 507.87),
    ] {
        let Some(data) = planetoid(name) else { return };
        let by_chance = partition::Iid { n_clients: 10 };
        let partition = Arc::new(by_chance.divide(&data, &mut stream(0)).unwrap());
        let cut = Cut::new(&Source::new(&data, &partition, Streams::new(1))).unwrap();
        let counts = count(data.graph(), &cut, 2);
        let params = Params {
            upload: Upload::Dense,
            weights: Weights::Plain,
            ..Params::default()
        };
        let ours = counts.bytes(&Plan::of(&params, d as usize), 10);
        let theirs = 4 * d * (10 * counts.n_nodes + counts.known);
        for bytes in [ours, theirs] {
            let mib = bytes as f64 / f64::from(1 << 20);
            assert!((mib / logged - 1.0).abs() < 2e-3, "{name:?}: {mib}, logged {logged}");
        }
    }
}
