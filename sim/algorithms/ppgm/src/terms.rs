//! What is measured of PPGM: what its similarity is worth, what matches cost, and what messages
//! give away.

use folkmoot_engine::prelude::*;

/// Of PPGM, trained in one place or over clients.
pub(super) const TERMS: &[Term] = terms! {
    "similarity_auc", "ROC AUC of similarity", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "Probability that a matching pair of graphs scores above a non-matching pair; 0.5 is chance.";
    "similarity_auc_distinct", "ROC AUC of similarity, distinct pairs", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "ROC AUC of similarity without pairs of identical graphs.";
    "pairs_alike", "Identical pairs", Count []:
        "Test pairs of identical graphs.";
    "auc", "ROC AUC", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "Probability that a matching pair of graphs scores above a non-matching pair; 0.5 is chance.";
    "loss", "Loss", Number [from(0.0), lower]:
        "Mean squared error over the training pairs during an epoch.";
    "mse", "Mean squared error", Number [from(0.0), lower, scored_at_best(Server, Whole, Items)]:
        "Mean squared error of the predicted against the true similarity exp(-edit distance).";
    "spearman", "Spearman's rank correlation", Number [from(-1.0), up_to(1.0), higher, scored_at_best(Server, Whole, Items)]:
        "Spearman's correlation of predicted and true ranks, mean over queries.";
    "kendall", "Kendall's tau", Number [from(-1.0), up_to(1.0), higher, scored_at_best(Server, Whole, Items)]:
        "Kendall's tau of predicted and true ranks, mean over queries.";
    "precision_at_*", "Precision at *", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "Fraction of the * most similar graphs by prediction that are among the true * most similar.";
    "chosen_epoch", "Chosen epoch", Number [from(0.0)]:
        "Epoch of the model with the best validation score; 0 is the untrained model.";
    "parameters", "Parameters", Count []:
        "Trainable parameters of the model.";
    "clients_with_pairs", "Clients with pairs", Count []:
        "Clients that hold graphs of at least two classes and can train.";
    "attack_auc", "ROC AUC of property inference", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: mean area under the ROC curve of property inference from intercepted messages; 0.5 is chance.";
    "attack_auc_*", "ROC AUC of property inference from *", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: ROC AUC of property inference from `*`: g (to the other client), o (to the service), or both.";
    "structure_auc", "ROC AUC of arcs from messages", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that an arc of a graph ranks above a non-adjacent pair of nodes by the rows of its message.";
    "leak_auc", "ROC AUC of property inference, strongest attacker", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: area under the ROC curve of property inference by the attacker with the best score on its known graphs.";
    "leak_auc_*", "ROC AUC of property inference, strongest attacker, *", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: ROC AUC of the strongest attacker from `*`, `of` a component of the property, or `with` a fixed partner of all graphs.";
    "decoded_arcs_auc", "ROC AUC of decoded arcs", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: area under the ROC curve of arcs decoded from pairs of message rows, or from an embedding and two node indices.";
    "decoded_features_auc", "ROC AUC of decoded features", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: mean area under the ROC curve of feature quartiles decoded from a message row, or from an embedding and a node index.";
    "*_top_1", "Top-1 accuracy, *", Number [fraction, lower, attack]:
        "Attack: fraction of the queries whose nearest message is from the same graph (link) or class (find).";
    "*_mrr", "Mean reciprocal rank, *", Number [fraction, lower, attack]:
        "Attack: mean over queries of the reciprocal rank of the target message.";
    "*_queries", "Queries, *", Count []:
        "Queries with at least one target.";
    "matches_begun", "Matches started", Count []:
        "Matches to which a client invited another client.";
    "matches_scored", "Matches scored", Count [higher]:
        "Matches completed with a score.";
    "matches_lost", "Matches lost", Count [lower]:
        "Matches that never completed.";
    "share_lost", "Matches lost", Share [lower]:
        "Fraction of the matches that never completed.";
    "exchanges_repeated", "Exchanges repeated", Count [lower]:
        "Messages requested again.";
    "invitations_declined", "Invitations declined", Count [lower]:
        "Invitations that the other client could not accept.";
    "score_latency_median_s", "Latency of a score, median", Seconds [lower]:
        "Median virtual time from invitation to score.";
    "score_latency_p99_s", "Latency of a score, 99th percentile", Seconds [lower]:
        "99th percentile of the virtual time from invitation to score.";
    "scores_unlike_in_memory", "Scores that differ from a central run", Count [lower]:
        "Scores whose bits differ from a centralised run of the same model; must be 0 if messages are complete.";
};
