//! The defaults of [`DatasetSpec`](super::DatasetSpec) that are not their type's own.

pub(super) fn yes() -> bool {
    true
}

pub(super) fn network() -> String {
    "network".to_string()
}

pub(super) fn group() -> String {
    "group".to_string()
}

pub(super) fn smiles() -> String {
    "smiles".to_string()
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn five() -> u32 {
    5
}

pub(super) fn ten() -> u32 {
    10
}

pub(super) fn twelve() -> u32 {
    12
}

pub(super) fn twenty_eight() -> u32 {
    28
}

pub(super) fn two_hundred() -> u32 {
    200
}

pub(super) fn thousand() -> u32 {
    1_000
}

pub(super) fn million() -> u32 {
    1 << 20
}

pub(super) fn fifty_to_200() -> (u32, u32) {
    (50, 200)
}

pub(super) fn twenty_to_60() -> (u32, u32) {
    (20, 60)
}

pub(super) fn two() -> u32 {
    2
}

pub(super) fn four() -> u32 {
    4
}

pub(super) fn hundred() -> u32 {
    100
}

pub(super) fn variant_prob() -> f64 {
    0.9
}

pub(super) fn half() -> f64 {
    0.5
}

pub(super) fn mean_degree() -> f64 {
    10.0
}

pub(super) fn sixteen() -> f64 {
    16.0
}

pub(super) fn assortativity() -> f64 {
    0.7
}

pub(super) fn degree_exponent() -> f64 {
    2.5
}

pub(super) fn max_degree_share() -> f64 {
    0.2
}

pub(super) fn rewire_prob() -> f64 {
    0.1
}

pub(super) fn rmat_a() -> f64 {
    0.57
}

pub(super) fn rmat_b() -> f64 {
    0.19
}
