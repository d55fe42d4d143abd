//! Data sets as mapped files: written, read by a card, checked, and refused where they are damaged.

use crate::support::TempDir;
use folkmoot_metrics::RunDir;
use std::fs;

/// Runs FedAvg on a data set and reads what it leaves.
fn run_on(temp: &TempDir, dataset: &str, out: &str) -> RunDir {
    let card = format!(
        "(seed: 3, dataset: {dataset}, partition: Iid(n_clients: 3), strategy: FedAvg(inputs: Degree(), protocol: (rounds: 2)))"
    );
    temp.write(&format!("{out}.ron"), card);
    temp.run(&["run", &format!("{out}.ron"), "--quiet", "--out", out])
        .done();
    RunDir::open(&temp.join(out)).unwrap()
}

#[test]
fn a_card_on_a_mapped_set_has_the_results_of_the_set_itself() {
    let temp = TempDir::new();
    fs::create_dir(temp.join("data")).unwrap();
    let block_model = "DcSbm(n_nodes: 90, n_classes: 3)";
    for (dataset, verb) in [
        (block_model, ["generate", "--seed=3"].as_slice()),
        ("Karate", &["convert"]),
    ] {
        let args = [&["data"], verb, &[dataset, "--to", "data/set.graph"]].concat();
        let said = temp.run(&args).done();
        let itself = run_on(&temp, dataset, "itself");
        let mapped = run_on(&temp, "Mapped(path: \"set.graph\")", "mapped");
        assert_eq!(mapped.manifest.result_fingerprint, itself.manifest.result_fingerprint);
        assert_eq!(mapped.manifest.data_fingerprints, itself.manifest.data_fingerprints);
        for fingerprint in itself.manifest.data_fingerprints.values() {
            assert!(said.contains(fingerprint), "{said}");
        }
        let verified = temp.run(&["data", "verify", "data/set.graph"]).done();
        assert_eq!(verified, said);
        assert_eq!(TempDir::names_in(&temp.join("data")), ["set.graph"]);
        for name in ["data/set.graph", "itself.ron", "mapped.ron"] {
            fs::remove_file(temp.join(name)).unwrap();
        }
        for name in ["itself", "mapped"] {
            fs::remove_dir_all(temp.join(name)).unwrap();
        }
    }
}

#[test]
fn data_that_cannot_be_written_are_refused_and_leave_nothing() {
    let temp = TempDir::new();
    temp.write("there", "");
    let refused = |args: &[&str], words: &[&str]| {
        temp.run(&[&["data"], args].concat()).refused(words);
        assert_eq!(temp.names(), ["there"]);
    };
    refused(
        &["generate", "Karate", "--to", "k"],
        &["Karate is no generator: use data convert"],
    );
    refused(
        &["convert", "Rmat()", "--to", "k"],
        &["is a generator: use data generate"],
    );
    refused(
        &["convert", "Karate", "--to", "there"],
        &["cannot write there", "it exists already"],
    );
    refused(&["convert", "Karate", "--to", "no/k"], &["cannot write no/k"]);
    refused(&["convert", "Karat", "--to", "k"], &["Karate"]);
    let repeat = "repeat with: folkmoot data convert BlogCatalog --to k --data d";
    refused(
        &["convert", "BlogCatalog", "--to", "k", "--data", "d"],
        &["blogcatalog.mat was not found", repeat],
    );
    refused(&["verify", "there"], &["there: is no mapped data set"]);
    refused(&["verify", "nowhere"], &["nowhere cannot be read"]);
}
