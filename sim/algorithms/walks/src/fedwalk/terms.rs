//! What is measured of FedWalk besides its vectors: walks, messages, the encoder's cost and what
//! the server can guess.

use folkmoot_engine::prelude::*;

const PAPER: &str = "FedWalk, KDD 2022";
const THEOREM_4_2: &str = "FedWalk, KDD 2022, theorem 4.2 and Algorithm 1";

pub(super) const TERMS: &[Term] = terms! {
    "walks_started", "Walks started", Count []:
        "Walks that the server told clients to start.";
    "walks_completed", "Completed walks", Count [higher]:
        "Walks that reached full length and returned to the server in time.";
    "walks_given_up", "Walks given up", Count [lower]:
        "Walks that no client could continue.";
    "rerouted_walks", "Rerouted hops", Count [lower]:
        "Times a walk was forwarded to another neighbour because the first was offline.";
    "predicted_hops", "Predicted hops", Count []:
        "Times the predictor chose two hops at once, which saves one message each.";
    "self_hops", "Self-hops", Count []:
        "Predicted hops back to the client that made them.";
    "empty_pools", "Empty candidate sets", Count []:
        "Times the candidate set of the predictor was empty and the walk made an ordinary hop.";
    "predicted_neighbours", "Predicted true neighbours", Count [higher]:
        "Predicted hops to a true neighbour of the intermediate vertex.";
    "encoded_entries", "Encoded entries", Count []:
        "Walk entries that were encoded.";
    "changed_entries", "Changed entries", Count []:
        "Encoded entries that differ from the true vertex.";
    "row_requests", "Row requests", Count []:
        "Rows of the dissimilarity matrix that clients requested.";
    "predictor_hit_rate", "Hit rate of the predictor", Share [higher]:
        "Fraction of the predicted hops that lead to a true neighbour of the intermediate vertex.",
        PAPER;
    "peer_messages_per_walk", "Peer messages per walk", Count [lower]:
        "Messages between clients per started walk.",
        THEOREM_4_2;
    "peer_bytes_per_walk", "Peer bytes per walk", Bytes [lower]:
        "Payload bytes between clients per started walk.";
    "predicted_hops_per_walk", "Predicted hops per walk", Count []:
        "Predicted hops per started walk.",
        THEOREM_4_2;
    "entries_per_walk", "Entries per walk", Count []:
        "Mean number of entries of a completed walk.";
    "download_bytes", "Download bytes", Bytes [lower]:
        "Bytes that clients download for prediction and encoding: the tree, the matrix and its rows.";
    "saved_bytes_per_walk", "Saved bytes per walk", Bytes [higher]:
        "Bytes between clients that the predictor saves per walk, compared with walks without it.";
    "break_even_walks", "Walks to break even", Count [lower]:
        "Number of walks whose saved bytes equal the download; 0 without a download.";
    "break_even_walks_per_node", "Walks per node to break even", Count [lower]:
        "Number of walks per vertex whose saved bytes equal the download.";
    "dissimilarity_gap", "Change of dissimilarities due to noise", Number []:
        "Mean dissimilarity with degree noise minus that without, over random pairs of vertices.",
        "FedWalk, KDD 2022, theorem 4.1";
    "encoder_changed_share", "Changed entries", Share []:
        "Fraction of the encoded entries that differ from the true vertex.",
        PAPER;
    "encoder_epsilon_nominal", "Nominal epsilon of an entry", Number [from(0.0), lower]:
        "Epsilon of one encoded entry as set in the card.",
        PAPER;
    "encoder_worst_log_ratio", "Measured epsilon of an entry", Number [from(0.0), lower]:
        "True epsilon of one entry: largest log ratio of the probabilities of one output for two vertices.",
        PAPER;
    "encoder_score_sensitivity", "Sensitivity of the encoder's score", Number [from(0.0), lower]:
        "Sensitivity: largest difference of the score of one output between two vertices; the exponential mechanism divides by it.",
        "F. McSherry and K. Talwar, FOCS 2007";
    "encoder_keep_probability", "Probability that an entry is kept", Number [fraction]:
        "Mean probability that an encoded entry is the true vertex.";
    "degree_epsilon_per_edge", "Epsilon of the degree vectors per edge", Number [from(0.0), lower]:
        "Privacy loss of an edge from the noisy degree vectors: twice epsilon, since both endpoints report it.",
        PAPER;
    "consecutive_edge_share", "Consecutive entries that are edges", Share [lower, attack]:
        "Attack that takes consecutive entries of walks for edges: fraction of them that are edges of the graph.";
    "degree_product_auc", "ROC AUC of edges, product of degrees", Number [fraction]:
        "Control: probability that the product of noisy degrees ranks an edge above a non-edge. An attack below it is uninformative.";
    "curious_devices", "Curious clients", Count []:
        "Clients that record the walks that they forward.";
    "curious_own_edges", "Own edges of curious clients", Share []:
        "Fraction of all edges that belong to curious clients and are known to them before the run.";
};
