//! `folkmoot explain` and the help of errors: names from the literature lead to settings.

use crate::support::TempDir;

/// Names from the literature that are settings: each is a card, and its field is explained.
#[test]
fn settings_that_have_a_name_in_the_literature_are_legal_and_explained() {
    let temp = TempDir::new();
    let registry = folkmoot::shipped();
    assert!(registry.known_as().len() > 5);
    for known in registry.known_as() {
        let card = format!(
            "(dataset: GraphClasses(), partition: Iid(n_clients: 12), strategy: {})",
            known
                .strategy
                .replacen("FedAvg(", "FedAvg(inputs: Degree(), model: (readout: Sum), ", 1)
        );
        temp.write("card.ron", &card);
        temp.run(&["check", "card.ron"]).done();
        let said = temp.run(&["explain", &known.name.to_lowercase()]).done();
        let head = format!("{}, a setting: strategy: {}", known.name, known.strategy);
        assert!(said.starts_with(&head) && said.lines().count() > 3, "{said}");
    }
}

/// Other programs' names of fields lead to the fields, in errors and in `explain`.
#[test]
fn names_of_fields_elsewhere_lead_to_the_fields() {
    let temp = TempDir::new();
    let refused = |setting: &str, words: &[&str]| {
        temp.run(&["run", "fed-avg/tiny", "--set", setting]).refused(words);
    };
    refused(
        "lr=0.1",
        &["unknown field `lr`", "help: --set strategy.training.learning_rate=0.1"],
    );
    refused(
        "strategy.training.lr=0.1",
        &[
            "did you mean `learning_rate`?",
            "help: --set strategy.training.learning_rate=0.1",
        ],
    );
    refused("num_clients=4", &["help: --set partition.n_clients=4"]);
    let option = temp.run(&["run", "fed-avg/tiny", "--lr", "0.1"]);
    option.refused(&[
        "unexpected argument '--lr'",
        "help: fields of a card are set by --set, as in --set strategy.training.learning_rate=VALUE",
    ]);
    let said = temp.run(&["explain", "lr"]).done();
    assert!(
        said.starts_with("lr is called learning_rate here") && said.contains("strategy.training.learning_rate"),
        "{said}"
    );
    let said = temp.run(&["explain", "fed-avg/tiny"]).done();
    assert!(
        said.contains("needs    no files") && said.contains("(9 runs, about "),
        "{said}"
    );
    let said = temp.run(&["explain", "secure"]).done();
    assert!(said.contains("protocol.secure"), "{said}");
    let found = temp.run(&["explain", "label skew"]).done();
    assert!(
        found.starts_with("nothing is called label skew") && found.contains("LabelSkew"),
        "{found}"
    );
}
