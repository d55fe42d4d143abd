//! Promises of components of one kind, tried without a run: sizes, errors, degrees, fixed points.

use super::draw::Grammar;
use super::drawn::Drawn;
use super::world::Fault;
use folkmoot_classifiers::gossip::Topology;
use folkmoot_codecs::{Codec, Shape, n_values};
use folkmoot_draws::{Purpose, SimRng, Streams, index, normal, unit};
use folkmoot_engine::prelude::ClientId;
use folkmoot_parts::{Chosen, ComponentType, component};
use folkmoot_rounds::{Rule, RuleContext, RuleMemory, ServerMoments, ServerOptimiser, Update, Updates};
use folkmoot_scenarios::registry::Registry;

/// So many components of each kind are tried in a world.
const TRIALS: usize = 2;
/// Draws that an encoding's mean squared error is taken over.
const ENCODINGS: usize = 40;
/// The sampling error of that mean.
const ERROR_SLACK: f64 = 1.6;
/// Rounding of sums in double precision, relative.
const ROUNDING: f64 = 1e-6;

/// Declares a holder of one component, by which settings are read.
macro_rules! holder {
    ($name:ident, $called:literal, $kind:ident) => {
        #[component(name = $called, about = "one component")]
        #[derive(Clone, Debug, PartialEq)]
        struct $name {
            /// The component.
            #[component(required)]
            of: Chosen<dyn $kind>,
        }
    };
}
holder!(OneCodec, "OneCodec", Codec);
holder!(OneTopology, "OneTopology", Topology);
holder!(OneRule, "OneRule", Rule);
holder!(OneOptimiser, "OneOptimiser", ServerOptimiser);

/// Draws components of each kind, and gives the first that breaks a promise.
pub(super) fn broken(grammar: &Grammar<'_>, rng: &mut SimRng) -> Option<(Drawn, Fault)> {
    let kinds = [
        <dyn Codec>::WHAT,
        <dyn Topology>::WHAT,
        <dyn Rule>::WHAT,
        <dyn ServerOptimiser>::WHAT,
    ];
    for kind in kinds.into_iter().flat_map(|kind| [kind; TRIALS]) {
        let drawn = grammar.any(rng, kind)?;
        let text = format!("(of: {drawn})");
        if let Some(Err(detail)) = tried(grammar.registry, kind, &text, rng) {
            let check = format!("the promises of a {kind}");
            return Some((drawn, Fault { check, detail }));
        }
    }
    None
}

/// What the component comes to; `None` for settings that are refused.
fn tried(registry: &Registry, kind: &str, text: &str, rng: &mut SimRng) -> Option<Result<(), String>> {
    if kind == <dyn Codec>::WHAT {
        let held = registry.settings::<OneCodec>(text).ok()?;
        Some(codec(&*held.of, rng))
    } else if kind == <dyn Topology>::WHAT {
        let held = registry.settings::<OneTopology>(text).ok()?;
        Some(topology(&*held.of, rng))
    } else if kind == <dyn Rule>::WHAT {
        let held = registry.settings::<OneRule>(text).ok()?;
        Some(rule(&*held.of, rng))
    } else {
        let held = registry.settings::<OneOptimiser>(text).ok()?;
        Some(optimiser(&*held.of, rng))
    }
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn stream(seed: usize) -> SimRng {
    Streams::new(seed as u64).global(Purpose(*b"contract"))
}

/// Numbers of very different size, some of them 0.
fn numbers(rng: &mut SimRng, n: usize) -> Vec<f32> {
    let scale = [1e-20, 1e-3, 1.0, 1e6, 1e30][index(rng, 5)];
    let zeros = [0.0, 0.5, 1.0][index(rng, 3)];
    let mut number = || {
        let x = normal(rng) * scale;
        if unit(rng) < zeros { 0.0 } else { x as f32 }
    };
    (0..n).map(|_| number()).collect()
}

fn codec(codec: &dyn Codec, rng: &mut SimRng) -> Result<(), String> {
    let shapes: Vec<Shape> = (0..=index(rng, 3))
        .map(|_| [1 + index(rng, 9), 1 + index(rng, 9)])
        .collect();
    let n = n_values(&shapes);
    let values = numbers(rng, n);
    let encoded = |seed: usize| {
        let mut bytes = Vec::new();
        codec.encode(&values, &shapes, &mut stream(seed), &mut bytes);
        bytes
    };
    let bytes = encoded(1);
    require(encoded(1) == bytes, || "one stream gives two encodings".to_owned())?;
    require(codec.is_random() || encoded(2) == bytes, || {
        "it is not random, and two streams give two encodings".to_owned()
    })?;
    let declared = codec.encoded_len(&shapes);
    require(declared.is_none_or(|len| len == bytes.len() as u64), || {
        format!(
            "{declared:?} bytes are declared for {shapes:?}, and {} are sent",
            bytes.len()
        )
    })?;
    let decoded = codec.decode(&bytes, &shapes).map_err(|error| error.to_string())?;
    require(decoded.len() == n && decoded.iter().all(|x| x.is_finite()), || {
        format!("{values:?} of {shapes:?} are read as {decoded:?}")
    })?;
    require(!codec.is_plain() || decoded == values, || {
        "it is plain and changes numbers".to_owned()
    })?;
    // Fewer bytes are refused, or those of other numbers.
    let short = codec.decode(&bytes[..bytes.len().saturating_sub(1)], &shapes);
    let is_whole = |read: &Vec<f32>| read.len() == n && read.iter().all(|x| x.is_finite());
    require(short.as_ref().map_or(true, is_whole), || {
        format!("a byte too few is read as {short:?}")
    })?;
    // The declared error is that of one matrix; beyond single precision nothing is promised.
    let squares = |values: &[f32]| values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let (Some(most), [shape], true) = (codec.most_error(n), &shapes[..], squares(&values) > 1e-30) else {
        return Ok(());
    };
    let error = |seed: usize| {
        let decoded = codec.decode(&encoded(seed), &[*shape]).unwrap_or_default();
        let error = |(x, y): (&f32, &f32)| (f64::from(*x) - f64::from(*y)).powi(2);
        values.iter().zip(&decoded).map(error).sum::<f64>() / squares(&values)
    };
    let mean = (0..ENCODINGS).map(error).sum::<f64>() / ENCODINGS as f64;
    require(mean <= most * ERROR_SLACK + ROUNDING, || {
        format!("the mean squared error of {n} numbers is {mean} of their squares, and at most {most} is declared")
    })
}

fn topology(topology: &dyn Topology, rng: &mut SimRng) -> Result<(), String> {
    let n_clients = 1 + index(rng, 40) as u32;
    let graph = |seed: usize| topology.graph(n_clients, &mut stream(seed));
    if topology.edge_list().is_some() {
        return Ok(());
    }
    // Not every number of clients can be linked so.
    let Ok(first) = graph(1) else { return Ok(()) };
    require(graph(1).as_ref() == Ok(&first), || {
        "one stream gives two graphs".to_owned()
    })?;
    let is_simple = !first.is_directed() && (0..n_clients).all(|client| !first.has_edge(client, client));
    require(first.n_nodes() == n_clients as usize && is_simple, || {
        format!(
            "{} nodes for {n_clients} clients, or a loop or a direction",
            first.n_nodes()
        )
    })?;
    let declared = topology.degree(n_clients);
    let degrees = || (0..n_clients).map(|client| first.degree(client));
    require(
        declared.is_none_or(|degree| degrees().all(|found| found == degree as usize)),
        || {
            format!(
                "{declared:?} neighbours are declared: {:?}",
                degrees().collect::<Vec<usize>>()
            )
        },
    )
}

fn rule(rule: &dyn Rule, rng: &mut SimRng) -> Result<(), String> {
    let n = 1 + index(rng, 20);
    let n_updates = rule.fewest() as usize + index(rng, 6);
    let (model, change) = (numbers(rng, n), numbers(rng, n));
    let moved = model.iter().zip(&change);
    let update: Vec<f32> = moved.map(|(model, change)| model + change).collect();
    let combined = |values: &[f32]| {
        let update = |client: usize| Update {
            client: ClientId(client as u32),
            weight: 1.0 + (client % 3) as f64,
            discount: 1.0,
            values,
        };
        let updates = Updates {
            all: (0..n_updates).map(update).collect(),
            model: &model,
            n_trainable: n,
        };
        let mut memory = RuleMemory::default();
        let mut context = RuleContext::new(&mut memory, stream(3));
        let moved = values.iter().zip(&model);
        context.trusted = rule.trusted_items().map(|_| {
            moved
                .map(|(value, model)| f64::from(*value) - f64::from(*model))
                .collect()
        });
        rule.combine(&updates, &mut context)
    };
    for values in [&model, &update] {
        let found = combined(values);
        let numbers = values.iter().chain(&model);
        let most = numbers.fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
        let near = |(found, wanted): (&f64, &f32)| (found - f64::from(*wanted)).abs() <= ROUNDING * most;
        let is_fixed = !rule.keeps_agreement() || found.iter().zip(values).all(near);
        require(
            is_fixed && found.len() == n && found.iter().all(|x| x.is_finite()),
            || format!("{n_updates} equal updates {values:?} of the model {model:?} become {found:?}"),
        )?;
    }
    Ok(())
}

fn optimiser(optimiser: &dyn ServerOptimiser, rng: &mut SimRng) -> Result<(), String> {
    let n = 1 + index(rng, 20);
    let weights = numbers(rng, n);
    let mut moved = weights.clone();
    optimiser.step(&mut ServerMoments::default(), &mut moved, &vec![0.0; n]);
    require(moved == weights, || {
        format!("without a change the weights {weights:?} become {moved:?}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_classifiers::gossip::Ring;
    use folkmoot_codecs::{Damaged, Plain};
    use folkmoot_engine::prelude::StrategyError;
    use folkmoot_graphs::Graph;
    use folkmoot_rounds::{Average, Median};

    /// Plain numbers, with a length that is not theirs.
    struct Longer;

    impl Codec for Longer {
        fn encode(&self, values: &[f32], shapes: &[Shape], rng: &mut SimRng, out: &mut Vec<u8>) {
            Plain {}.encode(values, shapes, rng, out);
        }

        fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
            Plain {}.decode(bytes, shapes)
        }

        fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
            Some(1 + 4 * n_values(shapes) as u64)
        }
    }

    /// A ring whose clients say they have three neighbours.
    struct Odd;

    impl Topology for Odd {
        fn graph(&self, n_clients: u32, rng: &mut SimRng) -> Result<Graph, StrategyError> {
            Ring { neighbours: 2 }.graph(n_clients, rng)
        }

        fn degree(&self, _: u32) -> Option<u32> {
            Some(3)
        }
    }

    /// The double of the first update.
    struct Double;

    impl Rule for Double {
        fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
            (0..updates.n_values()).map(|i| 2.0 * updates.all[0].value(i)).collect()
        }

        fn keeps_agreement(&self) -> bool {
            true
        }
    }

    /// Moves weights without a change.
    struct Restless;

    impl ServerOptimiser for Restless {
        fn step(&self, _: &mut ServerMoments, weights: &mut [f32], _: &[f64]) {
            weights.iter_mut().for_each(|weight| *weight += 1.0 + weight.abs());
        }
    }

    /// Whether a promise is broken in one of some trials.
    fn breaks(trial: impl Fn(&mut SimRng) -> Result<(), String>) -> bool {
        let mut rng = stream(9);
        (0..20).any(|_| trial(&mut rng).is_err())
    }

    #[test]
    fn a_component_that_breaks_its_promise_is_found() {
        assert!(breaks(|rng| codec(&Longer, rng)) && !breaks(|rng| codec(&Plain {}, rng)));
        assert!(breaks(|rng| topology(&Odd, rng)) && !breaks(|rng| topology(&Ring { neighbours: 2 }, rng)));
        assert!(breaks(|rng| rule(&Double, rng)) && !breaks(|rng| rule(&Median {}, rng)));
        let average = Average { learning_rate: 1.0 };
        assert!(breaks(|rng| optimiser(&Restless, rng)) && !breaks(|rng| optimiser(&average, rng)));
    }
}
