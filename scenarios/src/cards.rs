//! The shipped cards, built into the binary.

use crate::text::{Problems, Source, suggest};
use std::path::Path;

macro_rules! cards {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../cards/", $name, ".ron")))),*]
    };
}

/// Name and text of every shipped card, in the order of `folkmoot list`.
pub const CARDS: &[(&str, &str)] = cards![
    "ada-fgl/planetoid",
    "ada-fgl/small",
    "karate",
    "deep-walk/edge-response",
    "deep-walk/edge-response-blogcatalog",
    "deep-walk/output-layers",
    "deep-walk/output-layers-blogcatalog",
    "fed-avg/algorithms",
    "fed-avg/algorithms-cora",
    "fed-avg/attacks",
    "fed-avg/compression",
    "fed-avg/cuts",
    "fed-avg/cuts-cora",
    "fed-avg/defaults",
    "fed-avg/diurnal",
    "fed-avg/mutag",
    "fed-avg/private",
    "fed-avg/protocols",
    "fed-avg/robust",
    "fed-avg/sage-cora",
    "fed-avg/search",
    "fed-avg/small",
    "fed-avg/traces",
    "fed-gcn/bytes",
    "fed-gcn/fed-graph",
    "fed-gcn/planetoid",
    "fed-gcn/small",
    "fed-sage/bytes",
    "fed-sage/bytes-many",
    "fed-sage/many",
    "fed-sage/planetoid",
    "fed-sage/small",
    "fed-sage/ten",
    "federated/amazon-coauthor",
    "federated/bytes",
    "federated/clusters",
    "federated/communities",
    "federated/fed-graph",
    "federated/fed-pub",
    "federated/fed-star",
    "federated/mutag",
    "federated/planetoid",
    "federated/sets",
    "federated/small",
    "fedwalk/attacks",
    "fedwalk/attacks-cora",
    "fedwalk/bins",
    "fedwalk/bins-blogcatalog",
    "fedwalk/bins-flickr8000",
    "fedwalk/bits",
    "fedwalk/blogcatalog",
    "fedwalk/curious",
    "fedwalk/curious-blogcatalog",
    "fedwalk/encoders",
    "fedwalk/encoders-blogcatalog",
    "fedwalk/epsilon",
    "fedwalk/epsilon-blogcatalog",
    "fedwalk/epsilon-flickr8000",
    "fedwalk/flickr-size",
    "fedwalk/flickr-size-f1",
    "fedwalk/frontier",
    "fedwalk/frontier-blogcatalog",
    "fedwalk/links",
    "fedwalk/links-blogcatalog",
    "fedwalk/million",
    "fedwalk/pools",
    "fedwalk/pools-blogcatalog",
    "fedwalk/predictor",
    "fedwalk/predictor-blogcatalog",
    "fedwalk/predictor-f1",
    "fedwalk/predictor-f1-blogcatalog",
    "fedwalk/predictor-f1-flickr8000",
    "fedwalk/rows",
    "fedwalk/rows-blogcatalog",
    "fedwalk/small",
    "fedwalk/walks",
    "fgcl/attacks",
    "fgcl/budgets",
    "fgcl/constant",
    "fgcl/intrinsic",
    "fgcl/lambda",
    "fgcl/negatives",
    "fgcl/places",
    "fgcl/skew",
    "fgcl/small",
    "fgcl/table-3-bace",
    "fgcl/table-3-bbbp",
    "fgcl/table-3-clintox",
    "fgcl/table-3-sider",
    "fgcl/table-3-tox21",
    "fgcl/variants",
    "fgcl/views",
    "gossip/d-psgd",
    "gossip/server",
    "gossip/small",
    "gw-ldp/average",
    "gw-ldp/average-2-hop",
    "gw-ldp/average-cora",
    "gw-ldp/average-cora-2-hop",
    "gw-ldp/average-encoder",
    "gw-ldp/average-pubmed",
    "gw-ldp/average-pubmed-2-hop",
    "gw-ldp/average-small",
    "gw-ldp/changes",
    "gw-ldp/clusters",
    "gw-ldp/clusters-2-hop",
    "gw-ldp/clusters-cora",
    "gw-ldp/clusters-cora-2-hop",
    "gw-ldp/clusters-small",
    "gw-ldp/corrected",
    "gw-ldp/five",
    "gw-ldp/hidden",
    "gw-ldp/identity",
    "gw-ldp/metrics",
    "gw-ldp/mutag",
    "gw-ldp/neighbours",
    "gw-ldp/small",
    "gw-ldp/table-1",
    "gw-ldp/table-1-central",
    "gw-ldp/table-1-grid",
    "gw-ldp/table-1-nodes",
    "ppgm/ablations",
    "ppgm/attacker",
    "ppgm/bits",
    "ppgm/codes",
    "ppgm/decoders",
    "ppgm/egsc",
    "ppgm/federated",
    "ppgm/ffmpeg",
    "ppgm/forms",
    "ppgm/matching-day",
    "ppgm/noise",
    "ppgm/openssl",
    "ppgm/openssl-20",
    "ppgm/partners",
    "ppgm/private",
    "ppgm/small",
    "ppgm/thorough",
    "ppgm/variants",
    "scaffold/rates",
    "scaffold/small",
    "users/edges",
    "users/edges-citeseer",
    "users/edges-cora",
    "users/edges-facebook",
    "users/features-cora",
    "users/features-large",
    "users/small",
    "walk-sgd/cora",
    "walk-sgd/small",
];

/// A card by the path of a file or the name of one of `shipped`, and what to call it.
///
/// # Errors
///
/// When there is neither, or the file cannot be read or is no text. A folder never hides a shipped card of its name.
pub fn find(card: &str, shipped: &[(&str, &str)]) -> Result<(String, Source), Problems> {
    let path = Path::new(card);
    if path.exists() && !path.is_dir() {
        let name = path
            .file_stem()
            .map_or_else(|| card.to_owned(), |stem| stem.to_string_lossy().into_owned());
        return Ok((name, Source::read(path)?));
    }
    if path.is_dir() && !shipped.iter().any(|(name, _)| *name == card) {
        let why = "is a folder, not a card; to run a result again, give the scenario.ron in it";
        return Err(refused(card, why)?);
    }
    find_shipped(card, "neither a file nor a shipped card", shipped)
}

/// One of `shipped` by its name; else the error says that it `is` what it is not.
///
/// # Errors
///
/// When there is none of that name.
pub fn find_shipped(card: &str, is: &str, shipped: &[(&str, &str)]) -> Result<(String, Source), Problems> {
    match shipped.iter().find(|(name, _)| *name == card) {
        Some((name, text)) => Ok(((*name).to_owned(), Source::new(name, text)?)),
        None => {
            let names: Vec<&str> = shipped.iter().map(|(name, _)| *name).collect();
            Err(refused(card, &format!("is {is}{}", suggest(card, &names)))?)
        }
    }
}

fn refused(card: &str, message: &str) -> Result<Problems, Problems> {
    let mut problems = Problems::new(&Source::new(card, "")?);
    problems.push(message);
    Ok(problems)
}
