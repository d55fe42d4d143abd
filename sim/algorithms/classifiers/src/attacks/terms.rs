//! What attackers reach.

use folkmoot_engine::prelude::*;

/// Of every strategy that cards may attack.
pub const TERMS: &[Term] = terms! {
    "loss_membership_auc", "ROC AUC of membership inference by loss", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that the final model's loss is lower for a training item than for another item.";
    "loss_membership_found", "TPR at 1 % FPR, membership by loss", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of training items identified by low loss at a false positive rate of at most 1 %.";
    "loss_membership_advantage", "Membership advantage by loss", Number [from(-1.0), up_to(1.0), lower, attack_beside(0.0)]:
        "Attack: true minus false positive rate at the mean loss of the training items as threshold.";
    "loss_membership_others", "Non-members, membership by loss", Count []:
        "Labelled validation and test items: the non-members of the loss attack.";
    "lira_online_auc", "ROC AUC of membership inference by LiRA, online", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that the likelihood ratio from shadow models ranks a training item above another item.";
    "lira_online_found", "TPR at 1 % FPR, LiRA online", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of training items identified by the likelihood ratio at a false positive rate of at most 1 %.";
    "lira_online_advantage", "Membership advantage of LiRA, online", Number [from(-1.0), up_to(1.0), lower, attack_beside(0.0)]:
        "Attack: true minus false positive rate at a log-likelihood ratio of 0 as threshold.";
    "lira_offline_auc", "ROC AUC of membership inference by LiRA, offline", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that the one-sided test from shadow models ranks a training item above another item.";
    "lira_offline_found", "TPR at 1 % FPR, LiRA offline", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of training items identified by the one-sided test at a false positive rate of at most 1 %.";
    "lira_offline_advantage", "Membership advantage of LiRA, offline", Number [from(-1.0), up_to(1.0), lower, attack_beside(0.0)]:
        "Attack: true minus false positive rate of the one-sided test at the 5 % level.";
    "lira_others", "Non-members, LiRA", Count []:
        "Labelled validation and test items: the non-members of LiRA.";
    "link_*_auc", "ROC AUC of links by * distance", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that * distance of the final model's outputs ranks a linked pair of a client above an unlinked pair.";
    "link_*_found", "TPR at 1 % FPR, links by * distance", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of a client's linked pairs identified by * distance of outputs at a false positive rate of at most 1 %.";
    "taught_links_auc", "ROC AUC of links by a trained attacker", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that an attacker trained on known pairs ranks a linked pair of a client above an unlinked pair.";
    "taught_links_found", "TPR at 1 % FPR, links by a trained attacker", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of linked pairs identified by an attacker trained on known pairs, at a false positive rate of at most 1 %.";
    "nearer_*_auc", "ROC AUC of links by reduction of * distance", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that the reduction of * distance, compared with a model without edges, ranks a linked pair above an unlinked pair.";
    "nearer_*_found", "TPR at 1 % FPR, links by reduction of * distance", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of a client's linked pairs identified by the reduction of * distance at a false positive rate of at most 1 %.";
    "featured_links_auc", "ROC AUC of links by a trained attacker with features", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that an attacker trained on known pairs and node features ranks a linked pair of a client above an unlinked pair.";
    "featured_links_found", "TPR at 1 % FPR, links by a trained attacker with features", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of linked pairs identified by an attacker trained on known pairs and node features, at a false positive rate of at most 1 %.";
    "link_others", "Unlinked pairs", Count []:
        "Unlinked pairs of nodes of one client: the negatives of the attack.";
    "inversion_error", "Reconstruction error of inverted updates", Number [from(0.0), higher]:
        "Attack: median relative error of the row reconstructed from an update of the last round, to the client's nearest training row.";
    "inversion_recovered", "Rows recovered from updates", Number [fraction, lower, attack_beside(0.0)]:
        "Attack: fraction of the last round's updates from which a training row is reconstructed to within 1 %.";
    "inversion_matched", "Items identified by inverted updates", Number [fraction, lower, attack]:
        "Attack: fraction of the last round's updates whose reconstructed row is nearest to a training item of the same client.";
    "inversion_classes", "Classes inferred from updates", Number [fraction, lower, attack]:
        "Attack: fraction of the last round's updates whose bias gradient identifies the majority class of the client.";
    "inversion_updates", "Updates inverted", Count []:
        "Updates of the last round that the attacker inverts.";
    "search_error", "Reconstruction error of gradient search", Number [from(0.0), higher]:
        "Attack: median over the last round's updates of the mean relative error of node features, to the nearest reconstructed row.";
    "search_recovered", "Updates recovered by gradient search", Number [fraction, lower, attack_beside(0.0)]:
        "Attack: fraction of the last round's updates whose rows are reconstructed with a relative error of at most 0.1.";
    "search_classes", "Classes inferred by gradient search", Number [fraction, lower, attack]:
        "Attack: fraction of the training items whose class is inferred correctly.";
    "search_distance", "Final gradient distance of the search", Number [from(0.0)]:
        "Attack: median over the last round's updates of the distance between reconstructed and true gradient; far from 0 if the search failed.";
    "search_updates", "Updates attacked by gradient search", Count []:
        "Updates of the last round that the attacker searches.";
    "linking_*_auc", "ROC AUC of linked updates, *", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that cosine similarity (*) ranks two updates of one client in consecutive rounds above two of different clients.";
    "linking_*_found", "TPR at 1 % FPR, linked updates, *", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: fraction of same-client pairs of updates identified by cosine similarity (*) at a false positive rate of at most 1 %.";
    "linking_*_first", "Updates linked at first guess, *", Number [fraction, lower, attack]:
        "Attack: fraction of updates whose most similar update of the previous round (cosine, *) is of the same client.";
    "linking_others", "Pairs of different clients", Count []:
        "Pairs of updates of different clients in consecutive rounds: the negatives of the attack.";
};
