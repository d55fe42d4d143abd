//! A client sees its own shard and what it is sent: see `folkmoot_checks`.

use folkmoot_checks::{Change, Two, data, holds};
use folkmoot_classifiers::{fed_avg, federated, gossip, only, scaffold};
use folkmoot_graphs::{Dataset, TaskLabels};
use std::sync::Arc;

/// The same graphs with three binary tasks instead of classes, some labels missing.
fn with_tasks(change: Change) -> Two {
    let of = |dataset: Arc<Dataset>| {
        let mut dataset = Arc::unwrap_or_clone(dataset);
        let classes = dataset.graph_labels.take().unwrap_or_default();
        let label = |(item, class): (usize, u32)| (0..3).map(move |task| (item % 4 != 0).then_some(class == task));
        let values = classes.into_iter().enumerate().flat_map(label).collect();
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        dataset.graph_tasks = TaskLabels::new(names, values).ok();
        Arc::new(dataset)
    };
    let Two { one, other, partition } = data::graphs(change);
    Two {
        one: of(one),
        other: of(other),
        partition,
    }
}

#[test]
fn in_fed_avg() {
    // When the others are done depends on what they train, and with it when the survivors' list
    // comes: unmasking comes after it.
    let (update, masked): (&[&str], &[&str]) = (&["update"], &["keys", "shares", "masked_update"]);
    holds::<fed_avg::Params>(
        &only(),
        data::graphs,
        &[
            ("(protocol: (rounds: 2))", update),
            (
                "(model: (encoder: GinBatchNorm, dropout: 0.3),
                  training: (epochs: 2, batch_size: 3, optimiser: Adam, fedprox_mu: 0.1),
                  split: Published, protocol: (rounds: 2, weighting: Uniform, server_optimizer: Yogi()))",
                update,
            ),
            (
                "(inputs: Degree(most: 4), training: (batch_size: 2),
                  protocol: (rounds: 3, aggregation: Buffered(size: 2), server_optimizer: Momentum()))",
                update,
            ),
            ("(inputs: Constant, protocol: (rounds: 2, secure: Pairwise()))", masked),
            ("(scale: Federated, protocol: (rounds: 2))", &["statistics"]),
            (
                "(protocol: (rounds: 3, uplink_codec: TopK(share: 0.1), downlink_codec: Half()))",
                &["packed_update"],
            ),
            (
                "(protocol: (rounds: 2, secure: Pairwise(), uplink_codec: RandomK(share: 0.1, feedback: true)))",
                masked,
            ),
        ],
    );
    holds::<fed_avg::Params>(
        &only(),
        with_tasks,
        &[
            ("(protocol: (rounds: 2))", update),
            (
                "(training: (batch_size: 2), split: Published, protocol: (rounds: 2))",
                update,
            ),
        ],
    );
    holds::<fed_avg::Params>(
        &only(),
        data::parts,
        &[
            ("(model: (head_layers: 0), protocol: (rounds: 2))", update),
            (
                "(model: (encoder: Gat(heads: 2)), training: (batch_size: 3), split: All, protocol: (rounds: 2))",
                update,
            ),
        ],
    );
}

#[test]
fn in_scaffold() {
    let both: &[&str] = &["control_change", "update"];
    let cases: [(&str, &[&str]); 4] = [
        ("(protocol: (rounds: 2))", both),
        ("(scale: Federated, protocol: (rounds: 2))", &["statistics"]),
        (
            "(protocol: (rounds: 2, uplink_codec: TopK(share: 0.1), downlink_codec: Uniform(bits: 8)))",
            &["packed_control_change", "packed_update"],
        ),
        (
            "(renewal: FromGradient, model: (encoder: GinBatchNorm), training: (batch_size: 3), protocol: (rounds: 2))",
            both,
        ),
    ];
    holds::<scaffold::Params>(&only(), data::graphs, &cases);
    holds::<scaffold::Params>(&only(), data::parts, &cases);
}

#[test]
fn in_federated_methods() {
    let update: &[&str] = &["update"];
    let cases: [(&str, &[&str]); 10] = [
        // Of others it learns by its turns alone: when they are done.
        ("(method: LocalOnly(), protocol: (rounds: 2))", update),
        ("(method: FineTuned(), protocol: (rounds: 2))", update),
        (
            "(method: FedNova(), training: (batch_size: 2), protocol: (rounds: 2))",
            update,
        ),
        ("(method: FedDyn(), protocol: (rounds: 2, weighting: Uniform))", update),
        ("(method: Moon(), protocol: (rounds: 3))", update),
        (
            "(method: FedPer(), model: (encoder: GinBatchNorm), protocol: (rounds: 2))",
            update,
        ),
        (
            "(method: FedRep(), training: (epochs: 2), protocol: (rounds: 2))",
            update,
        ),
        ("(method: Ditto(), protocol: (rounds: 2))", update),
        ("(method: Ifca(), protocol: (rounds: 2))", update),
        (
            "(method: Ditto(), protocol: (rounds: 2, secure: Pairwise()))",
            &["keys", "shares", "masked_update"],
        ),
    ];
    holds::<federated::Params>(&only(), data::graphs, &cases);
    // Where all have as many items, nothing of others' data is seen of those who train alone.
    holds::<federated::Params>(&only(), data::parts, &cases[1..9]);
    // A model of one's own is made of others' updates, from the second round on.
    let own: [(&str, &[&str]); 3] = [
        (
            "(method: Gcfl(mean_norm: 1000, longest_norm: 0, first_rounds: 1, by: Gradients(rounds: 2)), protocol: (rounds: 3))",
            update,
        ),
        ("(method: FedGta(), protocol: (rounds: 3))", update),
        ("(method: FedPub(), protocol: (rounds: 3))", update),
    ];
    holds::<federated::Params>(&only(), data::parts, &own);
}

#[test]
fn in_gossip() {
    let (nothing, model, both): (&[&str], &[&str], &[&str]) = (&[], &["model"], &["model", "report"]);
    let ring = "(topology: Ring(), start: Own, rounds: 2)";
    let d_psgd = "(topology: Complete(), method: Dpsgd, rounds: 3)";
    let pairs = "(topology: Complete(), method: Pairwise(pause_s: 1), rounds: 3)";
    let changing =
        "(topology: Changing(neighbours: 2), method: Dpsgd, weights: Uniform, training: (batch_size: 2), rounds: 3)";
    // A neighbour has smaller graphs to train on, and is heard before client 0 has said anything.
    let graphs = [(ring, nothing), (d_psgd, model), (pairs, model), (changing, model)];
    holds::<gossip::Params>(&only(), data::graphs, &graphs);
    let packed: &[&str] = &["packed_model"];
    let few = "(topology: Complete(), method: Dpsgd, codec: TopK(share: 0.5), mixing: 0.5, rounds: 3)";
    holds::<gossip::Params>(&only(), data::graphs, &[(few, packed)]);
    // As the first models of all are one, a round of D-PSGD goes by before anybody learns of
    // others.
    holds::<gossip::Params>(
        &only(),
        data::parts,
        &[(ring, model), (d_psgd, both), (pairs, model), (changing, both)],
    );
}
