//! What trained models and embeddings reveal of edges: membership inference and link stealing.

use crate::controls::{FEATURE_COSINE, cosine, cosine_of};
use crate::data::Held;
use crate::division::{Division, Part};
use crate::measures::area;
use crate::pairs::{Pairs, Plane, non_edges};
use crate::settings::{CrossEdges, Params};
use crate::train::LinkTrainer;
use folkmoot_draws::draw_first;
use folkmoot_engine::prelude::*;
use folkmoot_scenarios::algorithm::Source;

const ATTACKED: Purpose = Purpose(*b"lk-attac");

/// The pairs that attackers rank, with the AUC of the cosine of features where nodes have such.
pub(crate) struct Attacks {
    /// Edges that clients train to predict, against held-out edges.
    membership: (Pairs, Option<f64>),
    /// Edges that clients know, against pairs without an edge.
    links: (Pairs, Option<f64>),
}

impl Attacks {
    /// Draws up to `params.attacked_edges` pairs of each kind. Where clients know no edges to
    /// others, all pairs are within clients: then it reveals nothing that two nodes are at one.
    pub(crate) fn new(params: &Params, held: &Held, source: &Source<'_>) -> Attacks {
        let graph = source.dataset.graph();
        let is_known = |(u, v): (u32, u32)| {
            let [first, second] = [u, v].map(|node| held.owner(node));
            let is_held = first != u32::MAX && second != u32::MAX;
            is_held && (params.cross_edges == CrossEdges::Known || first == second)
        };
        let edges = Division::new(params.split, source.streams).edges(graph);
        let rng = &mut source.streams.global(ATTACKED);
        let most = params.attacked_edges as usize;
        let mut drawn = |keep: fn(Part) -> bool| -> Vec<(u32, u32)> {
            let of_part = edges.iter().filter(|(edge, part)| keep(*part) && is_known(*edge));
            let mut all: Vec<(u32, u32)> = of_part.map(|(edge, _)| *edge).collect();
            let wanted = most.min(all.len());
            draw_first(rng, &mut all, wanted);
            all.truncate(wanted);
            all
        };
        let members = drawn(Part::is_predicted);
        let held_out = drawn(|part| part == Part::Test);
        let known = drawn(|part| !part.is_held_out());
        let sides = crate::data::sides(source.dataset);
        let plane = Plane { graph, sides: &sides };
        let others = match params.cross_edges {
            CrossEdges::Known => {
                let nodes: Vec<u32> = (0..graph.n_nodes() as u32)
                    .filter(|node| held.owner(*node) != u32::MAX)
                    .collect();
                non_edges(plane, &nodes, known.len(), rng)
            }
            CrossEdges::Unknown => {
                let of_client = |client: u32| {
                    let n = known.iter().filter(|(u, _)| held.owner(*u) == client).count();
                    non_edges(plane, source.partition.shard(client as usize), n, rng)
                };
                (0..source.n_clients()).flat_map(of_client).collect()
            }
        };
        let by_features = |pairs: Pairs| {
            let features = source.dataset.features.as_ref();
            let score = |features| {
                pairs
                    .pairs
                    .iter()
                    .map(|(u, v)| cosine(features, *u, *v))
                    .collect::<Vec<f64>>()
            };
            let found = features.and_then(|features| area(&pairs, &score(features)));
            (pairs, found)
        };
        Attacks {
            membership: by_features(Pairs::new(members, held_out)),
            links: by_features(Pairs::new(known, others)),
        }
    }

    /// The AUC of both attacks by a model and the embeddings of all nodes, of shape
    /// `(n_nodes, width)`: logits of members against held-out edges, and the cosine of embeddings of
    /// edges against other pairs.
    pub(crate) fn areas(
        &self,
        trainer: &LinkTrainer,
        rows: &[f32],
        parameters: &[f32],
    ) -> [(&'static str, Option<f64>); 2] {
        let predictor = trainer.predictor();
        let row = |node: u32| &rows[node as usize * predictor.width()..][..predictor.width()];
        let (membership, links) = (&self.membership.0, &self.links.0);
        let logits = predictor.scores(rows, &membership.pairs, parameters);
        let alike: Vec<f64> = links.pairs.iter().map(|(u, v)| cosine_of(row(*u), row(*v))).collect();
        [
            ("membership_auc", area(membership, &logits)),
            ("link_auc", area(links, &alike)),
        ]
    }

    /// Writes down what the last model reveals, beside features and the untrained model.
    pub(crate) fn conclude(
        &self,
        trained: [(&'static str, Option<f64>); 2],
        untrained: [(&'static str, Option<f64>); 2],
        sheet: &mut Sheet,
    ) {
        let features = [self.membership.1, self.links.1];
        for (((name, found), (_, before)), of_features) in trained.into_iter().zip(untrained).zip(features) {
            sheet.number_if(name, found);
            for (label, value) in [("untrained", before), (FEATURE_COSINE, of_features)] {
                if let Some(value) = value {
                    sheet.reference(name, label, value);
                }
            }
        }
    }
}
