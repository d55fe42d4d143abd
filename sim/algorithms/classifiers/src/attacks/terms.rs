//! What attackers reach.

use folkmoot_engine::prelude::*;

/// Of every strategy that cards may attack.
pub const TERMS: &[Term] = &[
    auc(
        "loss_membership_auc",
        "ROC AUC of membership inference by loss",
        "Attack: probability that the final model's loss is lower for a training item than for another item.",
    ),
    found(
        "loss_membership_found",
        "TPR at 1 % FPR, membership by loss",
        "Attack: fraction of training items identified by low loss at a false positive rate of at most 1 %.",
    ),
    advantage(
        "loss_membership_advantage",
        "Membership advantage by loss",
        "Attack: true minus false positive rate at the mean loss of the training items as threshold.",
    ),
    others(
        "loss_membership_others",
        "Non-members, membership by loss",
        "Labelled validation and test items: the non-members of the loss attack.",
    ),
    auc(
        "lira_online_auc",
        "ROC AUC of membership inference by LiRA, online",
        "Attack: probability that the likelihood ratio from shadow models ranks a training item above another item.",
    ),
    found(
        "lira_online_found",
        "TPR at 1 % FPR, LiRA online",
        "Attack: fraction of training items identified by the likelihood ratio at a false positive rate of at most 1 %.",
    ),
    advantage(
        "lira_online_advantage",
        "Membership advantage of LiRA, online",
        "Attack: true minus false positive rate at a log-likelihood ratio of 0 as threshold.",
    ),
    auc(
        "lira_offline_auc",
        "ROC AUC of membership inference by LiRA, offline",
        "Attack: probability that the one-sided test from shadow models ranks a training item above another item.",
    ),
    found(
        "lira_offline_found",
        "TPR at 1 % FPR, LiRA offline",
        "Attack: fraction of training items identified by the one-sided test at a false positive rate of at most 1 %.",
    ),
    advantage(
        "lira_offline_advantage",
        "Membership advantage of LiRA, offline",
        "Attack: true minus false positive rate of the one-sided test at the 5 % level.",
    ),
    others(
        "lira_others",
        "Non-members, LiRA",
        "Labelled validation and test items: the non-members of LiRA.",
    ),
    auc(
        "link_*_auc",
        "ROC AUC of links by * distance",
        "Attack: probability that * distance of the final model's outputs ranks a linked pair of a client above an unlinked pair.",
    ),
    found(
        "link_*_found",
        "TPR at 1 % FPR, links by * distance",
        "Attack: fraction of a client's linked pairs identified by * distance of outputs at a false positive rate of at most 1 %.",
    ),
    auc(
        "taught_links_auc",
        "ROC AUC of links by a trained attacker",
        "Attack: probability that an attacker trained on known pairs ranks a linked pair of a client above an unlinked pair.",
    ),
    found(
        "taught_links_found",
        "TPR at 1 % FPR, links by a trained attacker",
        "Attack: fraction of linked pairs identified by an attacker trained on known pairs, at a false positive rate of at most 1 %.",
    ),
    auc(
        "nearer_*_auc",
        "ROC AUC of links by reduction of * distance",
        "Attack: probability that the reduction of * distance, compared with a model without edges, ranks a linked pair above an unlinked pair.",
    ),
    found(
        "nearer_*_found",
        "TPR at 1 % FPR, links by reduction of * distance",
        "Attack: fraction of a client's linked pairs identified by the reduction of * distance at a false positive rate of at most 1 %.",
    ),
    auc(
        "featured_links_auc",
        "ROC AUC of links by a trained attacker with features",
        "Attack: probability that an attacker trained on known pairs and node features ranks a linked pair of a client above an unlinked pair.",
    ),
    found(
        "featured_links_found",
        "TPR at 1 % FPR, links by a trained attacker with features",
        "Attack: fraction of linked pairs identified by an attacker trained on known pairs and node features, at a false positive rate of at most 1 %.",
    ),
    others(
        "link_others",
        "Unlinked pairs",
        "Unlinked pairs of nodes of one client: the negatives of the attack.",
    ),
    Term::new(
        "inversion_error",
        "Reconstruction error of inverted updates",
        Unit::Number,
        "Attack: median relative error of the row reconstructed from an update of the last round, to the client's nearest training row.",
        "",
    )
    .from(0.0)
    .higher(),
    share(
        "inversion_recovered",
        "Rows recovered from updates",
        "Attack: fraction of the last round's updates from which a training row is reconstructed to within 1 %.",
    )
    .attack_beside(0.0),
    share(
        "inversion_matched",
        "Items identified by inverted updates",
        "Attack: fraction of the last round's updates whose reconstructed row is nearest to a training item of the same client.",
    )
    .attack(),
    share(
        "inversion_classes",
        "Classes inferred from updates",
        "Attack: fraction of the last round's updates whose bias gradient identifies the majority class of the client.",
    )
    .attack(),
    others(
        "inversion_updates",
        "Updates inverted",
        "Updates of the last round that the attacker inverts.",
    ),
    Term::new(
        "search_error",
        "Reconstruction error of gradient search",
        Unit::Number,
        "Attack: median over the last round's updates of the mean relative error of node features, to the nearest reconstructed row.",
        "",
    )
    .from(0.0)
    .higher(),
    share(
        "search_recovered",
        "Updates recovered by gradient search",
        "Attack: fraction of the last round's updates whose rows are reconstructed with a relative error of at most 0.1.",
    )
    .attack_beside(0.0),
    share(
        "search_classes",
        "Classes inferred by gradient search",
        "Attack: fraction of the training items whose class is inferred correctly.",
    )
    .attack(),
    Term::new(
        "search_distance",
        "Final gradient distance of the search",
        Unit::Number,
        "Attack: median over the last round's updates of the distance between reconstructed and true gradient; far from 0 if the search failed.",
        "",
    )
    .from(0.0),
    others(
        "search_updates",
        "Updates attacked by gradient search",
        "Updates of the last round that the attacker searches.",
    ),
    auc(
        "linking_*_auc",
        "ROC AUC of linked updates, *",
        "Attack: probability that cosine similarity (*) ranks two updates of one client in consecutive rounds above two of different clients.",
    ),
    found(
        "linking_*_found",
        "TPR at 1 % FPR, linked updates, *",
        "Attack: fraction of same-client pairs of updates identified by cosine similarity (*) at a false positive rate of at most 1 %.",
    ),
    share(
        "linking_*_first",
        "Updates linked at first guess, *",
        "Attack: fraction of updates whose most similar update of the previous round (cosine, *) is of the same client.",
    )
    .attack(),
    others(
        "linking_others",
        "Pairs of different clients",
        "Pairs of updates of different clients in consecutive rounds: the negatives of the attack.",
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
