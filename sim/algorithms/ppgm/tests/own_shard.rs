//! A client sees its own shard and what it is sent: see `folkmoot_checks`.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::{Change, check, data, holds, play};
use folkmoot_ppgm::{Params, federated, only};

/// Training is the trusted set-up that PPGM declares: the model that the server hands out knows all
/// graphs. Untrained, what devices say is still theirs.
#[test]
fn in_ppgm() {
    let small =
        "training: (epochs: 0), size: (hidden: 8, layers: 2, codes: 2, heads: 2), deployment: (matches_per_client: 3)";
    let (exchange, result): (&[&str], &[&str]) = (&["exchange"], &["invite", "result"]);
    let models = [
        ("Ppgm", exchange),
        ("NoCodes", exchange),
        ("Gmn", exchange),
        ("Mgmn", exchange),
        ("H2mn", exchange),
        ("Sgnn", result),
        ("SgnnLdp()", result),
        ("SgnnPrivate()", result),
        ("SimGnn", result),
        ("EgscTeacher(sends: Nodes)", result),
        ("EgscStudent()", result),
    ];
    let cases = models.map(|(model, sent)| (format!("(model: {model}, {small})"), sent));
    let cases: Vec<(&str, &[&str])> = cases.iter().map(|(text, sent)| (text.as_str(), *sent)).collect();
    holds::<Params>(&only(), data::devices, &cases);

    let trained: Params = only()
        .settings(&format!("({})", small.replace("epochs: 0", "epochs: 1")))
        .unwrap();
    let two = data::devices(Change::everything(101));
    let [_, server] = check(&trained, &two).unwrap();
    assert_eq!(
        (server.sent, server.parted),
        (vec![], true),
        "the first model that it sends knows all graphs"
    );
    assert!(play(&trained, &two.one, &two.partition).trusted.is_some());
}

#[test]
fn in_federated_ppgm() {
    let update: &[&str] = &["update"];
    holds::<federated::Params>(
        &only(),
        data::shares,
        &[
            (
                "(size: (hidden: 8, layers: 2, codes: 2, heads: 2), protocol: (rounds: 2))",
                update,
            ),
            (
                "(model: Sgnn, size: (hidden: 8, layers: 2), protocol: (rounds: 2, weighting: Uniform))",
                update,
            ),
            (
                "(model: Gmn, size: (hidden: 8, layers: 2), protocol: (rounds: 2))",
                update,
            ),
        ],
    );
}
