//! What updates give away of a client's graphs: a leak that is planted is found, and where there is
//! none, none is.

use super::*;
use folkmoot_classifiers::classifier::LocalOptimiser;
use folkmoot_graphs::Splits;

/// One graph a client and one plain step on it: the update is the step down that graph's own
/// gradient. With `copies`, graphs that nobody trains on are those that somebody does.
fn leaks(setting: Setting, copies: bool) -> Outcome {
    leaks_under(Secure::Off, setting, copies)
}

fn leaks_under(secure: Secure, setting: Setting, copies: bool) -> Outcome {
    let mut dataset = graphs();
    let n = dataset.graphs.len();
    if copies {
        dataset.graphs.truncate(n / 2);
        dataset.graphs.extend(dataset.graphs.clone());
        let classes = dataset.graph_labels.as_mut().unwrap();
        classes.truncate(n / 2);
        classes.extend(classes.clone());
    }
    let (train, test) = (
        (0..n).map(|i| i < n / 2).collect(),
        (0..n).map(|i| i >= n / 2).collect(),
    );
    dataset.splits = Some(Splits {
        train,
        val: vec![false; n],
        test,
    });
    let mut params = params(setting);
    params.protocol.secure = secure;
    params.split = Split::Published;
    params.model.dropout = 0.0;
    params.training = Training {
        optimiser: LocalOptimiser::Sgd { momentum: 0.0 },
        learning_rate: 0.1,
        weight_decay: 0.0,
        ..Training::default()
    };
    let partition = Arc::new(Partition::one_item_each(n as u32));
    play_over(&Arc::new(dataset), &partition, &params, Options::default())
}

#[test]
fn updates_tell_whose_graph_they_are_made_of_unless_others_are_the_same() {
    let told = leaks(Setting::Federated, false);
    assert!(number(&told, "membership_auc") > 0.95, "{:?}", told.summary);
    // Thirty updates in one tell less.
    assert!(number(&told, "membership_auc@aggregate") < 0.8);
    let same = leaks(Setting::Federated, true);
    for name in ["membership_auc", "membership_auc@aggregate", "membership_auc@loss"] {
        assert_eq!(number(&same, name), 0.5, "{name}");
    }
}

#[test]
fn updates_tell_edges_unless_no_edge_or_noise_alone_is_in_them() {
    let told = leaks(Setting::Federated, false);
    assert!(number(&told, "update_edge_auc") > 0.9, "{:?}", told.summary);
    assert!(number(&told, "update_edge_auc") > number(&told, "update_edge_auc@aggregate") + 0.1);
    // What is found in graphs that nobody trained on: 120 edges and as many other pairs, so a
    // deviation of 0.037.
    assert!(
        (number(&told, "update_edge_auc@others") - 0.5).abs() < 0.15,
        "{:?}",
        told.summary
    );
    assert_eq!(number(&leaks(Setting::NoEdges, false), "update_edge_auc"), 0.5);
    let noise = leaks(Setting::Noise { epsilon: 1e-6 }, false);
    assert!(
        (number(&noise, "update_edge_auc") - 0.5).abs() < 0.15,
        "{:?}",
        noise.summary
    );
}

/// Of masked updates the server has the sum alone, and so has whoever attacks.
#[test]
fn under_masks_nothing_is_read_but_the_mean() {
    let open = leaks(Setting::Federated, false);
    let masked = leaks_under(Secure::Pairwise { threshold: 0.6 }, Setting::Federated, false);
    for name in [
        "membership_auc",
        "membership_found",
        "update_edge_auc",
        "update_edge_found",
    ] {
        let of_mean = format!("{name}@aggregate");
        assert_eq!(number(&masked, name), number(&masked, &of_mean), "{name}");
        // Masks are over numbers of fixed point, so that models are the same but for their last
        // bits.
        assert!((number(&masked, name) - number(&open, &of_mean)).abs() < 0.05, "{name}");
    }
    assert!(number(&masked, "membership_auc") < number(&open, "membership_auc") - 0.1);
}
