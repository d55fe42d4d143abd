//! What attackers reach.

use folkmoot_engine::prelude::*;

/// Of every strategy that cards may attack.
pub const TERMS: &[Term] = &[
    auc(
        "loss_membership_auc",
        "ROC AUC of membership by loss",
        "Attack: probability that the last model's loss is smaller for an item that trains than for one that does not.",
    ),
    found(
        "loss_membership_found",
        "Members found by loss",
        "Attack: share of the items that train told by their small loss with at most 1 of 100 others taken for one.",
    ),
    advantage(
        "loss_membership_advantage",
        "Advantage of membership by loss",
        "Attack: share of the items that train whose loss is below the mean loss of those, less that of the others.",
    ),
    others(
        "loss_membership_others",
        "Items that do not train, asked by loss",
        "Labelled items that validate or test, which the attacker by loss is to tell from those that train.",
    ),
    auc(
        "lira_online_auc",
        "ROC AUC of membership by LiRA, online",
        "Attack: probability that the likelihood ratio of shadow models ranks an item that trains above one that does not.",
    ),
    found(
        "lira_online_found",
        "Members found by LiRA, online",
        "Attack: share of the items that train told by the likelihood ratio with at most 1 of 100 others taken for one.",
    ),
    advantage(
        "lira_online_advantage",
        "Advantage of LiRA, online",
        "Attack: share of the items that train whose log-likelihood ratio is above 0, less that of the others.",
    ),
    auc(
        "lira_offline_auc",
        "ROC AUC of membership by LiRA, offline",
        "Attack: probability that the one-sided test by shadow models ranks an item that trains above one that does not.",
    ),
    found(
        "lira_offline_found",
        "Members found by LiRA, offline",
        "Attack: share of the items that train told by the one-sided test with at most 1 of 100 others taken for one.",
    ),
    advantage(
        "lira_offline_advantage",
        "Advantage of LiRA, offline",
        "Attack: share of the items that train which a one-sided test at 5 % says trained, less that of the others.",
    ),
    others(
        "lira_others",
        "Items that do not train, asked by LiRA",
        "Labelled items that validate or test, which LiRA is to tell from those that train.",
    ),
    auc(
        "link_*_auc",
        "ROC AUC of links by * distance",
        "Attack: probability that a client's joined nodes are nearer by * distance of the last model's answers than others of its nodes.",
    ),
    found(
        "link_*_found",
        "Links found by * distance",
        "Attack: share of a client's joined nodes told by * distance of answers with at most 1 of 100 other pairs taken for one.",
    ),
    others(
        "link_others",
        "Pairs that are not joined",
        "Pairs of nodes of one client that are not joined, which the attacker is to tell from those that are.",
    ),
];

const fn auc(name: &'static str, words: &'static str, about: &'static str) -> Term {
    share(name, words, about).attack_beside(0.5)
}

const fn found(name: &'static str, words: &'static str, about: &'static str) -> Term {
    share(name, words, about).attack_beside(0.01)
}

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .lower()
}

const fn advantage(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(-1.0)
        .up_to(1.0)
        .lower()
        .attack_beside(0.0)
}

const fn others(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "")
}
