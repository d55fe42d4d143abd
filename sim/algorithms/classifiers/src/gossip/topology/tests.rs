use super::*;
use folkmoot_draws::{Purpose, Streams};
use proptest::prelude::*;

fn rng(seed: u64) -> SimRng {
    Streams::new(seed).global(Purpose(*b"testtopo"))
}

fn degrees(graph: &Graph) -> Vec<usize> {
    (0..graph.n_nodes() as u32).map(|u| graph.degree(u)).collect()
}

fn made(topology: &dyn Topology, n: u32) -> Graph {
    connected(topology, None, n, &mut rng(1)).unwrap()
}

fn refused(topology: &dyn Topology, n: u32) -> String {
    connected(topology, None, n, &mut rng(1)).unwrap_err().to_string()
}

#[test]
fn regular_topologies_give_everybody_as_many_neighbours() {
    assert_eq!(degrees(&made(&Complete {}, 5)), [4; 5]);
    assert_eq!(made(&Complete {}, 1).n_edges(), 0);
    let ring = made(&Ring { neighbours: 4 }, 7);
    assert_eq!(degrees(&ring), [4; 7]);
    assert_eq!(ring.neighbours(0), [1, 2, 5, 6]);
    let torus = made(&Torus { rows: None }, 12);
    assert_eq!(degrees(&torus), [4; 12]);
    // Three rows of four: beside client 0 are 1 and 3, above and below 4 and 8.
    assert_eq!(torus.neighbours(0), [1, 3, 4, 8]);
    assert_eq!(degrees(&made(&Torus { rows: Some(2) }, 6)), [3; 6]);
}

#[test]
fn what_does_not_fit_is_refused_with_the_way_out() {
    let ring = refused(&Ring { neighbours: 6 }, 6);
    assert!(
        ring.contains("below the number of clients, 6, got 6") && ring.contains("Complete"),
        "{ring}"
    );
    let prime = refused(&Torus { rows: None }, 7);
    assert!(
        prime.contains("7 clients cannot form") && prime.contains("choose Ring"),
        "{prime}"
    );
    let rows = refused(&Torus { rows: Some(5) }, 12);
    assert!(rows.contains("cannot form in 5 rows"), "{rows}");
    let many = refused(&Complete {}, 100_000);
    assert!(many.contains("4999950000 links") && many.contains("Changing"), "{many}");
    let degree = refused(&ErdosRenyi { degree: 8.0 }, 6);
    assert!(degree.contains("at most 5"), "{degree}");
    let parts = refused(&ErdosRenyi { degree: 0.5 }, 30);
    assert!(
        parts.contains("parts that never hear") && parts.contains("raise topology.degree"),
        "{parts}"
    );
}

#[test]
fn a_file_must_link_all_clients_and_no_others() {
    let file = File {
        path: "links.txt".to_owned(),
    };
    let listed = Graph::from_edges(4, &[(0, 1), (2, 1), (2, 3)], false).unwrap();
    let of = |n: u32| connected(&file, Some(&listed), n, &mut rng(1)).map_err(|error| error.to_string());
    assert_eq!(of(4).unwrap(), listed);
    let few = of(3).unwrap_err();
    assert!(few.contains("links.txt names client 3, and there are 3"), "{few}");
    let many = of(6).unwrap_err();
    assert!(
        many.contains("3 parts") && many.contains("add links to the file"),
        "{many}"
    );
}

#[test]
fn drawn_topologies_follow_their_stream() {
    let topologies: [&dyn Topology; 3] = [
        &SmallWorld {
            neighbours: 4,
            rewired: 0.5,
        },
        &ErdosRenyi { degree: 8.0 },
        &Changing { neighbours: 2 },
    ];
    for topology in topologies {
        let drawn = |seed| topology.graph(40, &mut rng(seed)).unwrap();
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}

proptest! {
    #[test]
    fn a_changing_topology_pairs_clients_off(n in 1_u32..40, neighbours in 1_u32..5, seed in 0_u64..100) {
        let graph = Changing { neighbours }.graph(n, &mut rng(seed)).unwrap();
        let degrees = degrees(&graph);
        prop_assert!(degrees.iter().all(|degree| *degree <= neighbours as usize));
        if neighbours == 1 {
            prop_assert_eq!(degrees.iter().filter(|degree| **degree == 0).count() as u32, n % 2);
        }
    }
}
