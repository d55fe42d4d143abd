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
    auc(
        "taught_links_auc",
        "ROC AUC of links by a taught attacker",
        "Attack: probability that an attacker who knows some pairs ranks joined nodes of a client above others.",
    ),
    found(
        "taught_links_found",
        "Links found by a taught attacker",
        "Attack: share of joined nodes told by an attacker who knows some pairs with at most 1 of 100 other pairs taken for one.",
    ),
    auc(
        "nearer_*_auc",
        "ROC AUC of links by what a graph brings nearer, * distance",
        "Attack: probability that answers bring a client's joined nodes nearer by * distance than a model without edges has them, more than others of its nodes.",
    ),
    found(
        "nearer_*_found",
        "Links found by what a graph brings nearer, * distance",
        "Attack: share of a client's joined nodes told by how much nearer answers bring them by * distance with at most 1 of 100 other pairs taken for one.",
    ),
    auc(
        "featured_links_auc",
        "ROC AUC of links by a taught attacker with features",
        "Attack: probability that an attacker who knows some pairs, and what nodes bring, ranks joined nodes of a client above others.",
    ),
    found(
        "featured_links_found",
        "Links found by a taught attacker with features",
        "Attack: share of joined nodes told by an attacker who knows some pairs, and what nodes bring, with at most 1 of 100 other pairs taken for one.",
    ),
    others(
        "link_others",
        "Pairs that are not joined",
        "Pairs of nodes of one client that are not joined, which the attacker is to tell from those that are.",
    ),
    Term::new(
        "inversion_error",
        "Error of inverted updates",
        Unit::Number,
        "Attack: median relative error of the row worked out from a last update, against the nearest that its client trains on.",
        "",
    )
    .from(0.0)
    .higher(),
    share(
        "inversion_recovered",
        "Rows recovered from updates",
        "Attack: share of last updates from which a row that their client trains on is worked out to within 1 %.",
    )
    .attack_beside(0.0),
    share(
        "inversion_matched",
        "Items told by inverted updates",
        "Attack: share of last updates whose worked-out row is nearest to an item that their own client trains on.",
    )
    .attack(),
    share(
        "inversion_classes",
        "Classes told by updates",
        "Attack: share of last updates whose steepest bias names the class that most items of their client have.",
    )
    .attack(),
    others(
        "inversion_updates",
        "Updates inverted",
        "Last updates from which the attacker works out what was trained on.",
    ),
    Term::new(
        "search_error",
        "Error of searched rows",
        Unit::Number,
        "Attack: median over last updates of the mean relative error of what nodes bring, against the nearest row that a search through the network has found.",
        "",
    )
    .from(0.0)
    .higher(),
    share(
        "search_recovered",
        "Updates searched out",
        "Attack: share of last updates whose rows a search through the network finds to within a tenth.",
    )
    .attack_beside(0.0),
    share(
        "search_classes",
        "Classes told by a search",
        "Attack: share of the items that train whose class a search through the network tells.",
    )
    .attack(),
    Term::new(
        "search_distance",
        "Distance left by a search",
        Unit::Number,
        "Attack: median over last updates of how far the gradient of what was found is from the one of the update; far from 0 where the search has failed.",
        "",
    )
    .from(0.0),
    others(
        "search_updates",
        "Updates searched",
        "Last updates in which the attacker searches for what was trained on.",
    ),
    auc(
        "linking_*_auc",
        "ROC AUC of linked updates, *",
        "Attack: probability that two updates of one client in two rounds point more alike, *, than two of different clients.",
    ),
    found(
        "linking_*_found",
        "Updates linked, *",
        "Attack: share of pairs of one client's updates told by their direction, *, with at most 1 of 100 other pairs taken for one.",
    ),
    share(
        "linking_*_first",
        "Updates linked at first guess, *",
        "Attack: share of updates whose likeliest of the round before, by direction, *, is of the same client.",
    )
    .attack(),
    others(
        "linking_others",
        "Pairs of different clients",
        "Pairs of updates of different clients in two rounds, which the attacker is to tell from those of one client.",
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
