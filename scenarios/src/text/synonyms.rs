//! The field's other names for fields of cards.

/// A name elsewhere, and the field here.
const SYNONYMS: [(&str, &str); 42] = [
    ("aggregation_rule", "rule"),
    ("aggregator", "rule"),
    ("batch", "batch_size"),
    ("batchsize", "batch_size"),
    ("client_fraction", "cohort"),
    ("clients", "n_clients"),
    ("clients_per_round", "cohort"),
    ("comm_rounds", "rounds"),
    ("communication_rounds", "rounds"),
    ("compression", "up"),
    ("compressor", "up"),
    ("concentration", "alpha"),
    ("deadline", "deadline_ms"),
    ("dirichlet_alpha", "alpha"),
    ("downlink_codec", "down"),
    ("fedprox_mu", "proximal"),
    ("fraction_fit", "cohort"),
    ("hidden_channels", "hidden"),
    ("hidden_dim", "hidden"),
    ("hidden_size", "hidden"),
    ("learning_rate", "rate"),
    ("local_epochs", "epochs"),
    ("lr", "rate"),
    ("mu", "proximal"),
    ("n_epochs", "epochs"),
    ("n_layers", "layers"),
    ("n_rounds", "rounds"),
    ("num_clients", "n_clients"),
    ("num_epochs", "epochs"),
    ("num_layers", "layers"),
    ("num_rounds", "rounds"),
    ("optimizer", "optimiser"),
    ("participation", "cohort"),
    ("prox_mu", "proximal"),
    ("proximal_mu", "proximal"),
    ("server_optimiser", "server"),
    ("server_optimizer", "server"),
    ("step_size", "rate"),
    ("timeout", "deadline_ms"),
    ("uplink_codec", "up"),
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
