//! What is measured of FedWalk besides its vectors: walks, messages, the encoder's cost and what
//! the server can guess.

use folkmoot_engine::prelude::*;

const PAPER: &str = "FedWalk, KDD 2022";
const THEOREM_4_2: &str = "FedWalk, KDD 2022, theorem 4.2 and Algorithm 1";

pub(super) const TERMS: &[Term] = &[
    count("walks_started", "Walks started", "Walks that the server told clients to start."),
    count(
        "walks_completed",
        "Completed walks",
        "Walks that reached full length and returned to the server in time.",
    )
    .higher(),
    count("walks_given_up", "Walks given up", "Walks that no client could continue.").lower(),
    count(
        "rerouted_walks",
        "Rerouted hops",
        "Times a walk was forwarded to another neighbour because the first was offline.",
    )
    .lower(),
    count(
        "predicted_hops",
        "Predicted hops",
        "Times the predictor chose two hops at once, which saves one message each.",
    ),
    count(
        "self_hops",
        "Self-hops",
        "Predicted hops back to the client that made them.",
    ),
    count(
        "empty_pools",
        "Empty candidate sets",
        "Times the candidate set of the predictor was empty and the walk made an ordinary hop.",
    ),
    count(
        "predicted_neighbours",
        "Predicted true neighbours",
        "Predicted hops to a true neighbour of the intermediate vertex.",
    )
    .higher(),
    count("encoded_entries", "Encoded entries", "Walk entries that were encoded."),
    count(
        "changed_entries",
        "Changed entries",
        "Encoded entries that differ from the true vertex.",
    ),
    count("row_requests", "Row requests", "Rows of the dissimilarity matrix that clients requested."),
    Term::new(
        "predictor_hit_rate",
        "Hit rate of the predictor",
        Unit::Share,
        "Fraction of the predicted hops that lead to a true neighbour of the intermediate vertex.",
        PAPER,
    )
    .higher(),
    Term::new(
        "peer_messages_per_walk",
        "Peer messages per walk",
        Unit::Count,
        "Messages between clients per started walk.",
        THEOREM_4_2,
    )
    .lower(),
    Term::new(
        "peer_bytes_per_walk",
        "Peer bytes per walk",
        Unit::Bytes,
        "Payload bytes between clients per started walk.",
        "",
    )
    .lower(),
    Term::new(
        "predicted_hops_per_walk",
        "Predicted hops per walk",
        Unit::Count,
        "Predicted hops per started walk.",
        THEOREM_4_2,
    ),
    count("entries_per_walk", "Entries per walk", "Mean number of entries of a completed walk."),
    Term::new(
        "download_bytes",
        "Download bytes",
        Unit::Bytes,
        "Bytes that clients download for prediction and encoding: the tree, the matrix and its rows.",
        "",
    )
    .lower(),
    Term::new(
        "saved_bytes_per_walk",
        "Saved bytes per walk",
        Unit::Bytes,
        "Bytes between clients that the predictor saves per walk, compared with walks without it.",
        "",
    )
    .higher(),
    count(
        "break_even_walks",
        "Walks to break even",
        "Number of walks whose saved bytes equal the download; 0 without a download.",
    )
    .lower(),
    count(
        "break_even_walks_per_node",
        "Walks per node to break even",
        "Number of walks per vertex whose saved bytes equal the download.",
    )
    .lower(),
    Term::new(
        "dissimilarity_gap",
        "Change of dissimilarities due to noise",
        Unit::Number,
        "Mean dissimilarity with degree noise minus that without, over random pairs of vertices.",
        "FedWalk, KDD 2022, theorem 4.1",
    ),
    Term::new(
        "encoder_changed_share",
        "Changed entries",
        Unit::Share,
        "Fraction of the encoded entries that differ from the true vertex.",
        PAPER,
    ),
    budget(
        "encoder_epsilon_nominal",
        "Nominal epsilon of an entry",
        "Epsilon of one encoded entry as set in the card.",
    ),
    budget(
        "encoder_worst_log_ratio",
        "Measured epsilon of an entry",
        "True epsilon of one entry: largest log ratio of the probabilities of one output for two vertices.",
    ),
    Term::new(
        "encoder_score_sensitivity",
        "Sensitivity of the encoder's score",
        Unit::Number,
        "Sensitivity: largest difference of the score of one output between two vertices; the exponential mechanism divides by it.",
        "F. McSherry and K. Talwar, FOCS 2007",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "encoder_keep_probability",
        "Probability that an entry is kept",
        Unit::Number,
        "Mean probability that an encoded entry is the true vertex.",
        "",
    )
    .from(0.0)
    .up_to(1.0),
    budget(
        "degree_epsilon_per_edge",
        "Epsilon of the degree vectors per edge",
        "Privacy loss of an edge from the noisy degree vectors: twice epsilon, since both endpoints report it.",
    ),
    Term::new(
        "consecutive_edge_share",
        "Consecutive entries that are edges",
        Unit::Share,
        "Attack that takes consecutive entries of walks for edges: fraction of them that are edges of the graph.",
        "",
    )
    .lower().attack(),
    Term::new(
        "degree_product_auc",
        "ROC AUC of edges, product of degrees",
        Unit::Number,
        "Control: probability that the product of noisy degrees ranks an edge above a non-edge. An attack below it is uninformative.",
        "",
    )
    .from(0.0)
    .up_to(1.0),
    count("curious_devices", "Curious clients", "Clients that record the walks that they forward."),
    Term::new(
        "curious_own_edges",
        "Own edges of curious clients",
        Unit::Share,
        "Fraction of all edges that belong to curious clients and are known to them before the run.",
        "",
    ),
];

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "")
}

const fn budget(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, PAPER).from(0.0).lower()
}
