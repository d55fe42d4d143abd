//! Models that a run has kept: attacked afterwards as they would have been then, and refused where they are of something else.

use crate::support::TempDir;
use folkmoot_metrics::RunDir;
use std::fs;

const ATTACKED: &str = "strategy.thorough=(shadows: [0.1, 1.0], linkage: true, distinct: true, partners: [One])";
const SHORT: &str = "strategy.training.epochs=2";
const ON_THE_WAY: &str = "strategy.attack.every=1";

fn run(temp: &TempDir, settings: &[&str], out: &str) -> RunDir {
    let mut args = vec![
        "run",
        "ppgm/small",
        "--quiet",
        "--out",
        out,
        "--set",
        SHORT,
        "--set",
        ON_THE_WAY,
    ];
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    temp.run(&args).done();
    RunDir::open(&temp.join(out)).unwrap()
}

#[test]
fn a_model_is_attacked_afterwards_as_it_would_have_been_then() {
    let temp = TempDir::new();
    fs::create_dir(temp.join("data")).unwrap();
    run(&temp, &["strategy.keep_model=true"], "trained");
    fs::copy(temp.join("trained/artifacts/model.npy"), temp.join("data/model.npy")).unwrap();
    let then = run(&temp, &[ATTACKED], "then");
    let afterwards = run(&temp, &[ATTACKED, "strategy.trained=\"model.npy\""], "afterwards");
    let attacks = ["then", "afterwards"].map(|out| fs::read(temp.join(out).join("artifacts/attacks.csv")).unwrap());
    assert_eq!(attacks[0], attacks[1]);
    assert!(afterwards.summary.contains_key("leak_auc_with_one"));
    // Nothing was trained, of which there would be epochs to tell; all else is the same, matches of clients, too.
    let of_training = |name: &str| ["chosen_epoch", "validation_auc"].contains(&name) || name.contains("[epoch=");
    assert!(then.summary.keys().filter(|name| of_training(name)).count() > 2);
    for (name, value) in &then.summary {
        match of_training(name) {
            true => assert!(!afterwards.summary.contains_key(name), "{name}"),
            false => assert_eq!(afterwards.summary.get(name), Some(value), "{name}"),
        }
    }
    assert!(afterwards.scores.is_empty());
    assert!(then.summary["matches_scored"] > 0.0);
    let files = |out: &str| ["messages.csv", "clients.csv"].map(|name| fs::read(temp.join(out).join(name)).unwrap());
    assert_eq!(files("then"), files("afterwards"));
    let warned = |run: &RunDir| run.manifest.warnings.iter().any(|text| text.contains("another run's"));
    assert!(warned(&afterwards) && !warned(&then));
    assert!(afterwards.manifest.data_fingerprints.contains_key("model.npy"));
    temp.run(&["verify", "afterwards"]).done();
}

#[test]
fn what_is_no_model_of_these_settings_is_refused() {
    let temp = TempDir::new();
    run(
        &temp,
        &["strategy.keep_model=true", "strategy.thorough.messages=true"],
        "trained",
    );
    let refused = |path: &str, set: &str, words: &[&str]| {
        let trained = format!("strategy.trained={path:?}");
        temp.run(&["run", "ppgm/small", "--set", &trained, "--set", set, "--out", "out"])
            .refused(words);
        assert!(!temp.join("out").exists());
    };
    let artifact = |name: &str| temp.join("trained/artifacts").join(name).to_string_lossy().into_owned();
    let model = artifact("model.npy");
    refused("nowhere.npy", SHORT, &["nowhere.npy"]);
    refused(&artifact("messages.csv"), SHORT, &["not an .npy array"]);
    refused(&artifact("messages.npy"), SHORT, &["one dimension of 32-bit floats"]);
    refused(
        &model,
        "strategy.size.hidden=8",
        &["numbers, and the model of these settings has"],
    );
    let mut bytes = fs::read(&model).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let broken = temp.write("broken.npy", bytes);
    refused(&broken.to_string_lossy(), SHORT, &["not finite"]);
}
