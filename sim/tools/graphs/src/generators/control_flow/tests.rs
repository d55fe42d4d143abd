use proptest::prelude::*;
use rand::SeedableRng;

use super::*;

fn rng(seed: u64) -> SimRng {
    SimRng::seed_from_u64(seed)
}

fn parameters(property_effect: f64) -> ControlFlow {
    ControlFlow {
        n_functions: 200,
        n_nodes: (20, 60),
        n_compilers: 2,
        n_levels: 4,
        variant_prob: 0.9,
        property_effect,
        scaling: CountScaling::Raw,
    }
}

fn reached(next: &[Vec<u32>], start: usize) -> usize {
    let mut seen = vec![false; next.len()];
    let mut open = vec![start];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            open.extend(next[block].iter().map(|&to| to as usize));
        }
    }
    seen.iter().filter(|seen| **seen).count()
}

fn reversed(next: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut before = vec![Vec::new(); next.len()];
    for (from, successors) in (0..).zip(next) {
        for &to in successors {
            before[to as usize].push(from);
        }
    }
    before
}

#[test]
fn value_stability() {
    let small = ControlFlow {
        n_functions: 1,
        n_nodes: (6, 6),
        n_compilers: 1,
        n_levels: 2,
        variant_prob: 1.0,
        property_effect: 1.0,
        scaling: CountScaling::Raw,
    };
    let drawn = control_flow(&small, &mut rng(3));
    let shapes: Vec<_> = drawn.iter().map(|variant| variant.program.next.clone()).collect();
    assert_eq!(
        format!("{shapes:?}"),
        "[[[2], [], [6], [7], [5], [1], [3, 4], [1]], [[2], [], [3, 4], [1], [5], [1]]]",
        "level 0 splits blocks 2 and 3"
    );
    let counts: Vec<_> = drawn.iter().map(|variant| variant.program.counts[2]).collect();
    assert_eq!(counts, [[0, 4, 0, 1, 13, 4], [0, 5, 1, 1, 16, 8]]);
}

#[test]
fn graphs_look_like_the_published_ones() {
    let variants = control_flow(&parameters(0.5), &mut rng(1));
    let n_nodes: usize = variants.iter().map(|variant| variant.program.next.len()).sum();
    let arcs = |wanted: fn(usize, u32) -> bool| {
        let programs = variants.iter().map(|variant| &variant.program);
        let each = programs.flat_map(|program| program.next.iter().enumerate());
        each.flat_map(|(from, next)| next.iter().map(move |to| (from, *to)))
            .filter(|(from, to)| wanted(*from, *to))
            .count()
    };
    // The published means are 1.50 to 1.55 arcs a node, and 0.4 to 2.9 % of the nodes follow
    // themselves.
    let per_node = arcs(|_, _| true) as f64 / n_nodes as f64;
    assert!((1.35..1.6).contains(&per_node), "{per_node}");
    let loops = arcs(|from, to| from == to as usize) as f64 / n_nodes as f64;
    assert!((0.004..0.03).contains(&loops), "{loops}");
    // Nine of ten binaries have a function, within five standard errors.
    let share = variants.len() as f64 / 1_600.0;
    assert!((share - 0.9).abs() < 5.0 * (0.09_f64 / 1_600.0).sqrt(), "{share}");
}

/// Mean instructions a node, and its standard error from graph means, of the variants that `wanted`
/// takes.
fn instructions(variants: &[Variant], wanted: impl Fn(u32) -> bool) -> (f64, f64) {
    let means: Vec<f64> = variants
        .iter()
        .filter(|variant| wanted(variant.property))
        .map(|variant| {
            let counts = &variant.program.counts;
            counts.iter().map(|counts| f64::from(counts[4])).sum::<f64>() / counts.len() as f64
        })
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn property_shows_as_far_as_its_effect() {
    let gap = |effect: f64| {
        let variants = control_flow(&parameters(effect), &mut rng(2));
        let (low, low_error) = instructions(&variants, |property| property % 4 == 0);
        let (high, high_error) = instructions(&variants, |property| property % 4 == 3);
        (low - high) / (low_error * low_error + high_error * high_error).sqrt()
    };
    assert!(gap(0.0).abs() < 4.0, "{}", gap(0.0));
    assert!(gap(1.0) > 10.0, "{}", gap(1.0));
    assert!(gap(0.2) > 2.0 && gap(0.2) < gap(1.0), "{}", gap(0.2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_block_lies_between_entry_and_exit(
        least in 2_u32..40, more in 0_u32..40, n_compilers in 1_u32..3, n_levels in 1_u32..5,
        variant_prob in 0.0_f64..=1.0, property_effect in 0.0_f64..=1.0, seed in any::<u64>(),
    ) {
        let parameters = ControlFlow {
            n_functions: 5, n_nodes: (least, least + more), n_compilers, n_levels, variant_prob, property_effect,
            scaling: CountScaling::Raw,
        };
        let variants = control_flow(&parameters, &mut rng(seed));
        for function in 0..5 {
            prop_assert!(variants.iter().any(|variant| variant.function == function));
        }
        for Variant { property, program, .. } in &variants {
            prop_assert!(*property < n_compilers * n_levels);
            let n_blocks = program.next.len();
            prop_assert!((least as usize..=2 * (least + more) as usize).contains(&n_blocks));
            prop_assert_eq!(program.counts.len(), n_blocks);
            prop_assert_eq!(reached(&program.next, 0), n_blocks);
            let exits: Vec<usize> = (0..n_blocks).filter(|block| program.next[*block].is_empty()).collect();
            prop_assert_eq!(exits.len(), 1);
            prop_assert_eq!(reached(&reversed(&program.next), exits[0]), n_blocks);
            for successors in &program.next {
                let mut distinct = successors.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), successors.len());
            }
        }
    }
}
