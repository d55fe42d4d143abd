//! A client sees its own shard and what it is sent: for every shipped strategy, under every setting that changes what is sent.
//!
//! Two runs of one seed differ in what the *other* clients hold: their graphs, edges, features and classes, as proptest draws them. How
//! many clients and items there are, and the declared public facts, are the same. Client 0 and the server are then followed message by
//! message. What either sends is a function of what it holds and of what it has received, so the first difference between the two runs
//! must be something that reached it, never something it sent: until then what it sends is equal to the bit, at the same instant.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "own_shard/data.rs"]
mod data;
#[path = "own_shard/planted.rs"]
mod planted;

use data::{Change, Two};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Options;
use folkmoot_engine::world::devices;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_scenarios::registry::Registry;
use folkmoot_strategies::settings::{Settings, Source};
use folkmoot_strategies::{deep_walk, fed_avg, federated, fedwalk, fgcl, gossip, gw_ldp, ppgm, scaffold};
use folkmoot_subgraphs::{ada_fgl, fed_gcn, fed_sage};
use proptest::test_runner::Config;
use proptest::{prop_assert, proptest};
use std::sync::{Arc, Mutex};

const SEED: u64 = 5;
const ME: Party = Party::Client(ClientId(0));

/// A message at one of its ends.
#[derive(Clone, PartialEq, Debug)]
struct Event {
    arrives: bool,
    at: SimTime,
    from: Party,
    to: Party,
    round: Round,
    kind: &'static str,
    bytes: Vec<u8>,
}

/// Writes down what client 0 and the server send and receive.
#[derive(Default)]
struct Ear(Mutex<Vec<Event>>);

fn encoded<M: Wire>(message: &M) -> (&'static str, Vec<u8>) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    let declared = M::KINDS.iter().find(|declared| declared.place == message.kind());
    (declared.unwrap().kind.name, bytes)
}

impl<S: Strategy> Study<S> for Ear {
    fn overhear(&self, heard: &Heard<'_, S>) {
        let party = if heard.arrives { heard.to } else { heard.from };
        if party == ME || party == Party::Server {
            let (kind, bytes) = match heard.letter {
                Letter::Down(message) => encoded(message),
                Letter::Up(message) => encoded(message),
                Letter::Peer(message) => encoded(message),
            };
            self.0.lock().unwrap().push(Event {
                arrives: heard.arrives,
                at: heard.at,
                from: heard.from,
                to: heard.to,
                round: heard.round,
                kind,
                bytes,
            });
        }
    }
}

/// What is outside of a run's clients.
struct Run {
    facts: String,
    trusted: Option<&'static str>,
    events: Vec<Event>,
}

impl Run {
    /// What happened at one party, in its order.
    fn at(&self, party: Party) -> impl Iterator<Item = &Event> {
        let here = move |event: &&Event| party == if event.arrives { event.to } else { event.from };
        self.events.iter().filter(here)
    }
}

fn play<P: Settings>(params: &P, dataset: &Arc<Dataset>, partition: &Arc<Partition>) -> Run {
    assert!(params.broken().is_empty(), "{:?}", params.broken());
    let prepared = params
        .prepare(&Source::new(dataset, partition, Streams::new(SEED)))
        .unwrap();
    let (ear, system) = (Ear::default(), prepared.system());
    let trusted = system.shards.trusted();
    let world = World {
        devices: Box::new(devices::Constant { ops_per_s: 1e9 }),
        ..World::ideal()
    };
    let options = Options {
        wire_check: true,
        ..Options::default()
    };
    let overheard = System { study: &ear, ..system };
    run(overheard, &world, SEED, options, &mut Unobserved).unwrap();
    Run {
        facts: ron::to_string(&prepared.facts).unwrap(),
        trusted,
        events: ear.0.into_inner().unwrap(),
    }
}

/// What two runs have in common at one party.
#[derive(Debug, PartialEq)]
struct Alike {
    /// The kinds of the messages it sent before anything differed, each once.
    sent: Vec<&'static str>,
    /// Whether something it received differed at last.
    parted: bool,
}

/// Follows one party until something differs.
fn follow(party: Party, [one, other]: [&Run; 2]) -> Result<Alike, String> {
    let mut sent = Vec::new();
    let (mut one, mut other) = (one.at(party), other.at(party));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return Ok(Alike { sent, parted: false }),
            (Some(a), Some(b)) if a == b => {
                if !a.arrives && !sent.contains(&a.kind) {
                    sent.push(a.kind);
                }
            }
            (a, b) => {
                // Whatever it does next in either run, it has the same reasons for, unless something has reached it before that in the other.
                let at = |event: Option<&Event>| event.map_or(SimTime::NEVER, |event| event.at);
                let first = at(a).min(at(b));
                let spoke = |event: Option<&Event>| event.is_some_and(|event| !event.arrives && event.at == first);
                return match spoke(a) || spoke(b) {
                    true => Err(format!("{party} tells of what it cannot know: {a:?} and {b:?}")),
                    false => Ok(Alike { sent, parted: true }),
                };
            }
        }
    }
}

/// Runs both and follows client 0 and the server, who may speak of all data where a declared set-up has told it of them.
fn check<P: Settings>(params: &P, two: &Two) -> Result<[Alike; 2], String> {
    let runs = [&two.one, &two.other].map(|dataset| play(params, dataset, &two.partition));
    let [one, other] = &runs;
    if one.facts != other.facts {
        return Err(format!("facts that all know differ: {} and {}", one.facts, other.facts));
    }
    let client = follow(ME, [one, other])?;
    let server = match (follow(Party::Server, [one, other]), one.trusted) {
        (Err(_), Some(_)) => Alike {
            sent: Vec::new(),
            parted: true,
        },
        (followed, _) => followed?,
    };
    Ok([client, server])
}

/// Checks settings on data that differ everywhere else, where the difference must be seen to arrive, and on what proptest draws.
fn holds<P: Settings>(make: fn(Change) -> Two, cases: &[(&str, &[&str])]) {
    let all: Vec<(P, &str, &[&str])> = cases
        .iter()
        .map(|(text, sent)| (Registry::shipped().settings(text).unwrap(), *text, *sent))
        .collect();
    for (params, text, sent) in &all {
        let [client, server] =
            check(params, &make(Change::everything(101))).unwrap_or_else(|leak| panic!("{text}: {leak}"));
        assert_eq!(
            client.sent, *sent,
            "{text}: what client 0 sends before it learns of others"
        );
        assert!(server.parted, "{text}: the others' data change nothing");
    }
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(6)
    };
    proptest!(config, |(change in data::changes())| {
        let two = make(change);
        for (params, text, _) in &all {
            let followed = check(params, &two);
            prop_assert!(followed.is_ok(), "{text}: {followed:?}");
        }
    });
}

#[test]
fn in_fed_avg() {
    // When the others are done depends on what they train, and with it when the survivors' list comes: unmasking comes after it.
    let (update, masked): (&[&str], &[&str]) = (&["update"], &["keys", "shares", "masked_update"]);
    holds::<fed_avg::Params>(
        data::graphs,
        &[
            ("(protocol: (rounds: 2))", update),
            (
                "(model: (encoder: GinBatchNorm, dropout: 0.3),
                  training: (epochs: 2, batch_size: 3, optimiser: Adam, proximal: 0.1),
                  split: Published, protocol: (rounds: 2, weighting: Uniform, server: Yogi()))",
                update,
            ),
            (
                "(inputs: Degree(most: 4), training: (batch_size: 2),
                  protocol: (rounds: 3, aggregation: Buffered(size: 2), server: Momentum()))",
                update,
            ),
            ("(inputs: Constant, protocol: (rounds: 2, secure: Pairwise()))", masked),
            ("(scale: Federated, protocol: (rounds: 2))", &["statistics"]),
            (
                "(protocol: (rounds: 3, up: TopK(share: 0.1), down: Half()))",
                &["packed_update"],
            ),
            (
                "(protocol: (rounds: 2, secure: Pairwise(), up: RandomK(share: 0.1, feedback: true)))",
                masked,
            ),
        ],
    );
    holds::<fed_avg::Params>(
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
            "(protocol: (rounds: 2, up: TopK(share: 0.1), down: Uniform(bits: 8)))",
            &["packed_control_change", "packed_update"],
        ),
        (
            "(renewal: FromGradient, model: (encoder: GinBatchNorm), training: (batch_size: 3), protocol: (rounds: 2))",
            both,
        ),
    ];
    holds::<scaffold::Params>(data::graphs, &cases);
    holds::<scaffold::Params>(data::parts, &cases);
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
    holds::<federated::Params>(data::graphs, &cases);
    // Where all have as many items, nothing of others' data is seen of those who train alone.
    holds::<federated::Params>(data::parts, &cases[1..9]);
    // A model of one's own is made of others' updates, from the second round on.
    let own: [(&str, &[&str]); 3] = [
        (
            "(method: Gcfl(mean_norm: 1000, longest_norm: 0, first_rounds: 1, by: Gradients(rounds: 2)), protocol: (rounds: 3))",
            update,
        ),
        ("(method: FedGta(), protocol: (rounds: 3))", update),
        ("(method: FedPub(), protocol: (rounds: 3))", update),
    ];
    holds::<federated::Params>(data::parts, &own);
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
    holds::<gossip::Params>(data::graphs, &graphs);
    let packed: &[&str] = &["packed_model"];
    let few = "(topology: Complete(), method: Dpsgd, codec: TopK(share: 0.5), mixing: 0.5, rounds: 3)";
    holds::<gossip::Params>(data::graphs, &[(few, packed)]);
    // As the first models of all are one, a round of D-PSGD goes by before anybody learns of others.
    holds::<gossip::Params>(
        data::parts,
        &[(ring, model), (d_psgd, both), (pairs, model), (changing, both)],
    );
}

#[test]
fn in_fed_gcn() {
    let up: &[&str] = &["rows"];
    // Nothing takes time before the sums come, so that a client is asked to unmask, and asks for its sums, at the same instant in both.
    let masked: &[&str] = &["keys", "shares", "masked_update", "unmasking", "rows"];
    holds::<fed_gcn::Params>(
        data::parts,
        &[
            ("(hops: 1, protocol: (rounds: 2))", up),
            ("(hops: 2, protocol: (rounds: 2))", up),
            ("(upload: Border, protocol: (rounds: 2))", up),
            ("(upload: Dense, weights: Plain, protocol: (rounds: 2))", up),
            ("(carries: Features, protocol: (rounds: 2))", up),
            ("(between: Peers, protocol: (rounds: 2))", up),
            ("(protocol: (rounds: 2, secure: Pairwise()))", masked),
        ],
    );
}

#[test]
fn in_ada_fgl() {
    holds::<ada_fgl::Params>(
        data::parts,
        &[("(personal: (epochs: 2), protocol: (rounds: 2))", &["update"][..])],
    );
}

#[test]
fn in_fed_sage() {
    let small = "(generator: Trained(encoder_hidden: 3, latent: 3, first_width: 4, second_width: 4, epochs: 2, steps: 2), protocol: (rounds: 2))";
    let alone = "(generator: Trained(encoder_hidden: 3, latent: 3, first_width: 4, second_width: 4, epochs: 2, steps: 0), protocol: (rounds: 2))";
    holds::<fed_sage::Params>(
        data::parts,
        &[
            ("(protocol: (rounds: 2))", &["update"][..]),
            (small, &["generator"]),
            (alone, &["ready", "update"]),
        ],
    );
}

#[test]
fn in_fgcl() {
    let (update, masked): (&[&str], &[&str]) = (&["update"], &["keys", "shares", "masked_update"]);
    holds::<fgcl::Params>(
        data::graphs,
        &[
            ("(setting: Federated, protocol: (rounds: 2))", update),
            (
                "(setting: FgclWithoutNoise, split: Published, protocol: (rounds: 2))",
                update,
            ),
            (
                "(setting: Noise(epsilon: 1), draws: PerEntry, protocol: (rounds: 2))",
                update,
            ),
            ("(variant: AsPrinted, protocol: (rounds: 2))", update),
            (
                "(variant: AsReleased, contrast: (queue: 4, order: Lifo), protocol: (rounds: 2))",
                update,
            ),
            (
                "(variant: Corrected, supervised: FirstView, protocol: (rounds: 2))",
                update,
            ),
            ("(protocol: (rounds: 2, secure: Pairwise()))", masked),
        ],
    );
}

/// The arm of FGCL's table without a federation: its first client holds every training graph, which is its shard by the setting's name.
#[test]
fn in_fgcls_centralised_setting_the_first_client_holds_all() {
    let params: fgcl::Params = Registry::shipped()
        .settings("(setting: Centralised, protocol: (rounds: 1))")
        .unwrap();
    let two = data::graphs(Change::everything(101));
    let told = check(&params, &two).unwrap_err();
    assert!(told.contains("client 0 tells") && told.contains("update"), "{told}");
    assert!(
        play(&params, &two.one, &two.partition).trusted.is_some(),
        "it is declared"
    );
}

#[test]
fn in_gw_ldp() {
    let both: &[&str] = &["embeddings", "update"];
    holds::<gw_ldp::Params>(
        data::graphs,
        &[
            ("(protocol: (rounds: 1))", both),
            ("(variant: AsReleased, protocol: (rounds: 1))", both),
            (
                "(variant: Corrected, representation: HiddenSoftmax, protocol: (rounds: 1))",
                both,
            ),
            ("(release: Plain, collect: Every(1), protocol: (rounds: 2))", both),
            (
                "(collect: Every(1), protocol: (rounds: 3, aggregation: Buffered(size: 2)))",
                both,
            ),
            (
                "(protocol: (rounds: 1, secure: Pairwise()))",
                &["keys", "shares", "embeddings", "masked_update"],
            ),
            ("(node_weights: Degree, protocol: (rounds: 1))", both),
            // The first model tells of what others hold.
            ("(scale: Federated, protocol: (rounds: 2))", &["statistics"]),
            (
                "(scale: Federated, protocol: (rounds: 2, secure: Pairwise()))",
                &["keys", "shares", "masked_update", "unmasking"],
            ),
        ],
    );
}

#[test]
fn in_fed_walk() {
    let few = "walk_length: 6, walks_per_node: 2, embedding: Off";
    let cases = [
        "",
        ", variant: Corrected",
        ", pool: Vector, rows: Off, encoder: Identity",
        ", pool: Global, encoder: Calibrated, epsilon_matrix: 1",
        ", rows: Neighbours, encoder: Normalised, m_upload: false",
        ", encoder: RandomisedResponse, predictor_prob: 0",
        ", rows: Neighbours, pool: Random",
    ];
    let cases = cases.map(|more| format!("({few}{more})"));
    let cases: Vec<(&str, &[&str])> = cases
        .iter()
        .map(|text| (text.as_str(), &["degree_vector"][..]))
        .collect();
    holds::<fedwalk::Params>(data::vertices, &cases);
}

#[test]
fn in_deep_walk() {
    holds::<deep_walk::Params>(
        data::vertices,
        &[
            ("(walk_length: 6, walks_per_node: 2)", &["neighbours"]),
            ("(walk_length: 6, walks_per_node: 2, epsilon: 2)", &["neighbours"]),
        ],
    );
}

/// Training is the trusted set-up that PPGM declares: the model that the server hands out knows all graphs. Untrained, what devices say
/// is still theirs.
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
    holds::<ppgm::Params>(data::devices, &cases);

    let trained: ppgm::Params = Registry::shipped()
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
    holds::<ppgm::federated::Params>(
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
