//! A user tells of what it holds and of nothing else: two runs of one seed differ in what all
//! others hold, and what user 0 sends is equal to the bit.

use crate::{N, blocks, params};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_users::{LocalGnn, Params, Up};
use std::sync::{Arc, Mutex};

/// Messages, each by its kind and content.
type Sent = Vec<(usize, Vec<u8>)>;

/// What user 0 sends, and all that others send together.
#[derive(Default)]
struct Ear(Mutex<[Sent; 2]>);

impl Evaluator<LocalGnn> for Ear {
    fn overhear(&self, heard: &Heard<'_, LocalGnn>) {
        if let (false, Letter::Up(message)) = (heard.arrives, heard.letter) {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let other = usize::from(heard.from != Party::Client(ClientId(0)));
            self.0.lock().unwrap()[other].push((message.kind(), bytes));
        }
    }
}

/// The same for user 0, its neighbours, its features, its class, and everything else for the
/// others.
fn changed(dataset: &Dataset) -> Dataset {
    let kept = dataset.graph().edges().filter(|(u, _)| *u == 0);
    let ring = (1..N).map(|v| (v, 1 + v % (N - 1)));
    let edges: Vec<(u32, u32)> = kept.chain(ring).collect();
    let mut row = vec![0.0; 24];
    dataset.features.as_ref().unwrap().write_row(0, &mut row);
    let own: Vec<(u32, f32)> = (0..)
        .zip(&row)
        .filter(|(_, x)| **x != 0.0)
        .map(|(column, x)| (column, *x))
        .collect();
    let rows: Vec<Vec<(u32, f32)>> = (0..N)
        .map(|v| if v == 0 { own.clone() } else { vec![(v % 24, 1.0)] })
        .collect();
    let labels = dataset.node_labels.as_ref().unwrap();
    let classes: Vec<Option<u32>> = (0..N)
        .map(|v| labels.single(v).map(|c| if v == 0 { c } else { (c + 1) % 3 }))
        .collect();
    Dataset {
        graphs: vec![Graph::from_edges(N, &edges, false).unwrap()],
        features: Some(Features::Sparse(SparseRows::from_rows(24, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        ..dataset.clone()
    }
}

fn heard(params: &Params, dataset: &Arc<Dataset>) -> [Sent; 2] {
    let partition = Arc::new(Partition::one_item_each(N));
    let prepared = params
        .prepare(&Source::new(dataset, &partition, Streams::new(5)))
        .unwrap();
    let ear = Ear::default();
    let system = System {
        evaluator: &ear,
        ..prepared.system()
    };
    let options = Options {
        wire_check: true,
        dry_run: true,
        ..Options::default()
    };
    run(system, &World::ideal(), 5, options, &mut Unobserved).unwrap();
    ear.0.into_inner().unwrap()
}

#[test]
fn what_a_user_sends_depends_on_what_it_holds_alone() {
    let one = blocks(0.8);
    let other = Arc::new(changed(&one));
    let edges = [
        "PublicEdges()",
        "EdgeResponse(epsilon: 1)",
        "EdgeResponse(epsilon: 1, lists: Triangle)",
        "Dprr()",
        "Blink()",
        "LaplaceEdges()",
    ];
    let features = [
        "ClearFeatures()",
        "MultiBitFeatures()",
        "OneBitFeatures()",
        "LaplaceFeatures()",
        "GaussianFeatures()",
    ];
    let labels = ["ClearLabels()", "LabelResponse()"];
    for i in 0..edges.len() {
        let (features, labels) = (features[i % features.len()], labels[i % 2]);
        let text = format!("edges: {}, features: {features}, labels: {labels}", edges[i]);
        let params = params(&text);
        let [[own, others], [again, changed]] = [&one, &other].map(|dataset| heard(&params, dataset));
        assert_eq!(own, again, "{text}");
        assert_ne!(others, changed, "{text}: the others' data change nothing");
        let expected = if i == 0 { 2 } else { 3 };
        assert_eq!(own.len(), expected);
    }
    assert_eq!(Up::KINDS.len(), 3);
}
