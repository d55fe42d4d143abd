//! What is measured of FedWalk besides its vectors: walks, messages, the encoder's cost and what
//! the server can guess.

use folkmoot_engine::prelude::*;

const PAPER: &str = "FedWalk, KDD 2022";
const THEOREM_4_2: &str = "FedWalk, KDD 2022, theorem 4.2 and Algorithm 1";

pub(super) const TERMS: &[Term] = &[
    count("walks_started", "Walks started", "Walks that the server asked a client to begin."),
    count(
        "walks_completed",
        "Walks that came home",
        "Walks that reached their full length and came back to the server in time.",
    )
    .higher(),
    count("walks_given_up", "Walks given up", "Walks that nobody could go on with.").lower(),
    count(
        "rerouted_walks",
        "Rerouted hops",
        "Times a walk was sent on to another neighbour, as the first was away.",
    )
    .lower(),
    count(
        "predicted_hops",
        "Predicted hops",
        "Times the predictor chose two hops at once, which saves a message each.",
    ),
    count(
        "self_hops",
        "Hops to oneself",
        "Predicted hops that led back to the client that made them.",
    ),
    count(
        "empty_pools",
        "Empty pools",
        "Times the predictor was to jump and found no vertex to jump to, so that the walk made a plain hop.",
    ),
    count(
        "predicted_neighbours",
        "Predicted true neighbours",
        "Predicted hops to a vertex that is a neighbour of the vertex between.",
    )
    .higher(),
    count("encoded_entries", "Encoded entries", "Entries of walks that went through the encoder."),
    count(
        "changed_entries",
        "Changed entries",
        "Encoded entries that are not the vertex they stand for.",
    ),
    count("row_requests", "Row requests", "Rows of the dissimilarity matrix that clients asked for."),
    Term::new(
        "predictor_hit_rate",
        "Hit rate of the predictor",
        Unit::Share,
        "Share of the predicted hops that a real walk could have made: to a neighbour of the vertex between.",
        PAPER,
    )
    .higher(),
    Term::new(
        "peer_messages_per_walk",
        "Peer messages per walk",
        Unit::Count,
        "Messages from client to client for each walk that was started.",
        THEOREM_4_2,
    )
    .lower(),
    Term::new(
        "peer_bytes_per_walk",
        "Peer bytes per walk",
        Unit::Bytes,
        "Bytes of payload from client to client for each walk that was started.",
        "",
    )
    .lower(),
    Term::new(
        "predicted_hops_per_walk",
        "Predicted hops per walk",
        Unit::Count,
        "Predicted hops for each walk that was started.",
        THEOREM_4_2,
    ),
    count("entries_per_walk", "Entries per walk", "Entries of a walk that came home, the mean."),
    Term::new(
        "download_bytes",
        "Download bytes",
        Unit::Bytes,
        "Bytes that clients download to predict and to encode: the tree, the matrix and its rows.",
        "",
    )
    .lower(),
    Term::new(
        "saved_bytes_per_walk",
        "Saved bytes per walk",
        Unit::Bytes,
        "Bytes from client to client that the predictor saves for each walk, against walks without it.",
        "",
    )
    .higher(),
    count(
        "break_even_walks",
        "Walks to break even",
        "Walks after which the bytes that the predictor saves have repaid the download; 0 where there is no download.",
    )
    .lower(),
    count(
        "break_even_walks_per_node",
        "Walks per node to break even",
        "Walks from every vertex after which the bytes that the predictor saves have repaid the download.",
    )
    .lower(),
    Term::new(
        "dissimilarity_gap",
        "Change of dissimilarities by noise",
        Unit::Number,
        "Mean dissimilarity of two vertices with noise on their degrees less that without, over random pairs.",
        "FedWalk, KDD 2022, theorem 4.1",
    ),
    Term::new(
        "encoder_changed_share",
        "Changed entries",
        Unit::Share,
        "Share of the encoded entries that are not the vertex they stand for.",
        PAPER,
    ),
    budget(
        "encoder_epsilon_nominal",
        "Nominal epsilon of an entry",
        "Epsilon that the card sets for one encoded entry.",
    ),
    budget(
        "encoder_worst_log_ratio",
        "Measured epsilon of an entry",
        "Largest logarithm of the ratio of the probabilities that two vertices are encoded alike: what epsilon truly is.",
    ),
    Term::new(
        "encoder_score_sensitivity",
        "Sensitivity of the encoder's score",
        Unit::Number,
        "Most that the score of one outcome differs between two vertices; the exponential mechanism divides by it.",
        "F. McSherry and K. Talwar, FOCS 2007",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "encoder_keep_probability",
        "Probability that an entry is kept",
        Unit::Number,
        "Mean probability that an encoded entry is the vertex it stands for.",
        "",
    )
    .from(0.0)
    .up_to(1.0),
    budget(
        "degree_epsilon_per_edge",
        "Epsilon of the degrees for an edge",
        "What the noisy degree vectors cost an edge: twice epsilon, as both its ends tell of it.",
    ),
    Term::new(
        "consecutive_edge_share",
        "Consecutive entries that are edges",
        Unit::Share,
        "Attack by reading walks as they are: share of their neighbouring entries that are edges of the graph.",
        "",
    )
    .lower().attack(),
    Term::new(
        "degree_product_auc",
        "ROC AUC of edges, product of degrees",
        Unit::Number,
        "Control: how well the product of the noisy degrees alone ranks edges above other pairs; an attack below it says nothing.",
        "",
    )
    .from(0.0)
    .up_to(1.0),
    count("curious_devices", "Curious clients", "Clients that remember the walks that pass through them."),
    Term::new(
        "curious_own_edges",
        "Own edges of curious clients",
        Unit::Share,
        "Share of all edges that curious clients know before the run, as they are their own.",
        "",
    ),
];

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "")
}

const fn budget(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, PAPER).from(0.0).lower()
}
