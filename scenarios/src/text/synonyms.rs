//! The field's other names for fields of cards.

/// A name elsewhere, and the field here.
const SYNONYMS: [(&str, &str); 42] = [
    ("aggregation_rule", "aggregator"),
    ("batch", "batch_size"),
    ("batchsize", "batch_size"),
    ("client_fraction", "cohort"),
    ("clients", "n_clients"),
    ("clients_per_round", "cohort"),
    ("comm_rounds", "rounds"),
    ("communication_rounds", "rounds"),
    ("compression", "uplink_codec"),
    ("compressor", "uplink_codec"),
    ("concentration", "alpha"),
    ("deadline", "deadline_ms"),
    ("dirichlet_alpha", "alpha"),
    ("down", "downlink_codec"),
    ("fraction_fit", "cohort"),
    ("hidden_channels", "hidden"),
    ("hidden_dim", "hidden"),
    ("hidden_size", "hidden"),
    ("local_epochs", "epochs"),
    ("lr", "learning_rate"),
    ("mu", "fedprox_mu"),
    ("n_epochs", "epochs"),
    ("n_layers", "layers"),
    ("n_rounds", "rounds"),
    ("num_clients", "n_clients"),
    ("num_epochs", "epochs"),
    ("num_layers", "layers"),
    ("num_rounds", "rounds"),
    ("optimizer", "optimiser"),
    ("participation", "cohort"),
    ("prox_mu", "fedprox_mu"),
    ("proximal", "fedprox_mu"),
    ("proximal_mu", "fedprox_mu"),
    ("rate", "learning_rate"),
    ("rule", "aggregator"),
    ("server", "server_optimizer"),
    ("server_optimiser", "server_optimizer"),
    ("step_size", "learning_rate"),
    ("timeout", "deadline_ms"),
    ("up", "uplink_codec"),
    ("wd", "weight_decay"),
    ("width", "hidden"),
];

/// The field of cards that other programs and papers call `name`.
pub fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase().replace('-', "_");
    SYNONYMS
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, field)| *field)
}
