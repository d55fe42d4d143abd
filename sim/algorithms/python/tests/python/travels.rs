//! Models of which updates bring a part.

use super::{desk, hash};

const ADAPTER: &str = "
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    base = np.arange(12, dtype=np.float32).reshape(4, 3)
    arrays = {'adapter.n': np.array(0), 'base': base, 'adapter.w': np.zeros(5, np.float32), 'steps': np.array(7)}
    return fm.Model(arrays, updated=['adapter.*'])

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    assert list(params) == ['adapter.n', 'base', 'adapter.w', 'steps']
    params['adapter.w'] = params['adapter.w'] + 1 + ctx.client
    params['adapter.n'] = params['adapter.n'] + 2
    BODY
    return fm.Update(params)

@fm.evaluate(on='whole')
def evaluate(params, data):
    is_kept = (params['base'] == initial(None, None).arrays['base']).all() and params['steps'] == 7
    return {'kept': float(is_kept), 'w': params['adapter.w'].mean(), 'n': float(params['adapter.n'])}
";

#[test]
fn updates_bring_the_named_arrays_alone() {
    let Some(desk) = desk(&ADAPTER.replace("BODY", "pass")) else {
        return;
    };
    let run = desk.whole("run", &["strategy.protocol.weighting=Uniform"]);
    assert_eq!(
        run.summary["model_payload_bytes"],
        run.summary["model_messages"] * 4.0 * 19.0
    );
    assert_eq!(
        run.summary["update_payload_bytes"],
        run.summary["update_messages"] * (4.0 * 6.0 + 4.0)
    );
    // Four rounds of five clients: each adds 1 + its id, 3 on average.
    assert_eq!(
        [run.summary["test_kept"], run.summary["test_w"], run.summary["test_n"]],
        [1.0, 12.0, 8.0]
    );
}

#[test]
fn arrays_that_updates_do_not_bring_stay_under_every_protocol() {
    let left_out = "del params['base'], params['steps']";
    let Some(desk) = desk(&ADAPTER.replace("BODY", left_out)) else {
        return;
    };
    for settings in [
        &["strategy.protocol.secure=Pairwise()"][..],
        &[
            "strategy.protocol.uplink_codec=TopK(share: 0.5, feedback: true)",
            "strategy.protocol.downlink_codec=Half()",
        ],
        &["strategy.protocol.aggregation=Buffered(size: 2)", "cohort=Size(n: 3)"],
        &["strategy.protocol.aggregation=Mixed()", "cohort=Size(n: 3)"],
        &[
            "strategy.protocol.aggregator=Median()",
            "strategy.protocol.server_optimizer=Adam()",
        ],
    ] {
        let name = format!("{settings:?}");
        let one = [settings, &["strategy.workers=1"]].concat();
        let run = desk.whole(&format!("one{name}"), &one);
        assert_eq!(run.summary["test_kept"], 1.0, "{name}");
        assert!(run.summary["test_w"] > 0.0, "{name}");
        desk.go(&format!("two{name}"), settings, (2, Some(2))).unwrap_err();
        let resumed = desk.go(&format!("two{name}"), settings, (2, None)).unwrap();
        assert_eq!(hash(&resumed), hash(&run), "{name}");
    }
}

#[test]
fn parts_of_models_that_make_no_sense_are_refused() {
    let told = |app: String, settings: &[&str]| Some(desk(&app)?.failure(settings));
    let changed = ADAPTER.replace("BODY", "params['base'] = params['base'] + 1");
    if let Some(failure) = told(changed, &[]) {
        assert!(
            failure.contains(
                "fm.Update: array 'base' has changed, and updates do not bring it; name it in updated= of fm.Model"
            ),
            "{failure}"
        );
    }
    let unknown = ADAPTER.replace("['adapter.*']", "['adaptor.*']");
    if let Some(failure) = told(unknown, &[]) {
        assert!(
            failure
                .contains("@fm.initial: updated names 'adaptor.*', and the model has no such array (adapter.n, base,"),
            "{failure}"
        );
    }
    let nothing = ADAPTER.replace("['adapter.*']", "['adapter.n']");
    if let Some(failure) = told(nothing, &[]) {
        assert!(
            failure.contains("@fm.initial: there is no array of floats to train"),
            "{failure}"
        );
    }
    let text = ADAPTER.replace("['adapter.*']", "'adapter.*'");
    if let Some(failure) = told(text, &[]) {
        assert!(
            failure.contains("updated: must be a list of names, such as [\"adapter.*\"]"),
            "{failure}"
        );
    }
    let private = [
        "strategy.protocol.private=Clients(clip: 1.0)",
        "strategy.protocol.weighting=Uniform",
    ];
    if let Some(failure) = told(ADAPTER.replace("BODY", "pass"), &private) {
        assert!(
            failure.contains("updates bring only some arrays of the model (fm.Model)"),
            "{failure}"
        );
    }
}

/// FedProto: sums and counts of each class's embeddings are the model; the network stays at the
/// client, and no two need to be alike.
const PROTOTYPES: &str = "
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    return {'sums': np.zeros((facts.n_classes, 4), np.float32), 'counts': np.zeros(facts.n_classes, np.float32)}

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx, state=None):
    network = state if state is not None else {'w': np.ones((shard.num_features, 4), np.float32) * (1 + ctx.client)}
    y = shard.y[shard.train_mask]
    embedded = shard.x[shard.train_mask] @ network['w']
    one_hot = np.eye(shard.num_classes, dtype=np.float32)[y]
    return fm.Update({'sums': one_hot.T @ embedded, 'counts': one_hot.sum(0)}, weight=1, state=network)

@fm.evaluate(on='whole')
def evaluate(params, data):
    return {'items': fm.Metric(float(params['counts'].sum()) * 5, unit='count'), 'spread': float(params['sums'].std())}
";

#[test]
fn prototypes_with_counts_are_a_model_of_their_own() {
    let Some(desk) = desk(PROTOTYPES) else { return };
    let run = desk.whole("run", &[]);
    // 3 classes of 4 numbers and 3 counts; the networks of 12 by 4 are never sent.
    assert_eq!(
        run.summary["update_payload_bytes"],
        run.summary["update_messages"] * (4.0 * 15.0 + 4.0)
    );
    // The mean over five clients times five: 11 training items of each are counted once.
    assert!(
        (run.summary["test_items"] - 55.0).abs() < 1e-3,
        "{}",
        run.summary["test_items"]
    );
    assert_eq!(hash(&desk.whole("one", &["strategy.workers=1"])), hash(&run));
}
