//! Cards of PPGM from their text to their run directories: models that a run has kept are attacked
//! afterwards as they would have been then, and refused where they are of something else.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::cards::{Cards, played};
use folkmoot_metrics::RunDir;
use std::fs;
use std::path::{Path, PathBuf};

const ATTACKED: &str = "strategy.thorough=(shadows: [0.1, 1.0], linkage: true, distinct: true, partners: [One])";
const SHORT: &str = "strategy.training.epochs=2";
const ON_THE_WAY: &str = "strategy.attack.every=1";

fn cards() -> Cards {
    Cards::new(folkmoot_ppgm::only(), env!("CARGO_MANIFEST_DIR"), "ppgm")
}

/// A new folder of the test's own below the target directory.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// A short run of `ppgm/small` into `OUT` of a folder, which may have data.
fn run(dir: &Path, settings: &[&str], out: &str) -> Result<RunDir, String> {
    let settings = [&[SHORT, ON_THE_WAY], settings].concat();
    let scenario = cards().scenario("ppgm/small", &settings);
    let scenario = scenario.map_err(|problems| problems.to_string())?;
    let ran = played(&scenario, &[dir.join("data")], &dir.join(out), &mut ());
    ran.map_err(|failure| failure.to_string())
}

#[test]
fn a_model_is_attacked_afterwards_as_it_would_have_been_then() {
    let dir = folder("afterwards");
    fs::create_dir(dir.join("data")).unwrap();
    run(&dir, &["strategy.keep_model=true"], "trained").unwrap();
    fs::copy(dir.join("trained/artifacts/model.npy"), dir.join("data/model.npy")).unwrap();
    let then = run(&dir, &[ATTACKED], "then").unwrap();
    let on_kept = [ATTACKED, "strategy.trained=\"model.npy\""];
    let afterwards = run(&dir, &on_kept, "afterwards").unwrap();
    let attacks = ["then", "afterwards"].map(|out| fs::read(dir.join(out).join("artifacts/attacks.csv")).unwrap());
    assert_eq!(attacks[0], attacks[1]);
    assert!(afterwards.summary.contains_key("leak_auc_with_one"));
    // Nothing was trained, of which there would be epochs to tell; all else is the same, matches of
    // clients, too.
    let of_training = |name: &str| ["chosen_epoch", "validation_auc"].contains(&name) || name.contains("[epoch=");
    assert!(then.summary.keys().filter(|name| of_training(name)).count() > 2);
    for (name, value) in &then.summary {
        match of_training(name) {
            true => assert!(!afterwards.summary.contains_key(name), "{name}"),
            false => assert_eq!(afterwards.summary.get(name), Some(value), "{name}"),
        }
    }
    assert!(afterwards.tables.scores.is_empty());
    assert!(then.summary["matches_scored"] > 0.0);
    let files = |out: &str| ["messages.csv", "clients.csv"].map(|name| fs::read(dir.join(out).join(name)).unwrap());
    assert_eq!(files("then"), files("afterwards"));
    let warned = |run: &RunDir| run.manifest.warnings.iter().any(|text| text.contains("another run's"));
    assert!(warned(&afterwards) && !warned(&then));
    assert!(afterwards.manifest.data_fingerprints.contains_key("model.npy"));
    let again = run(&dir, &on_kept, "again").unwrap();
    assert_eq!(
        again.manifest.result_fingerprint,
        afterwards.manifest.result_fingerprint
    );
}

#[test]
fn what_is_no_model_of_these_settings_is_refused() {
    let dir = folder("no-model");
    run(
        &dir,
        &["strategy.keep_model=true", "strategy.thorough.messages=true"],
        "trained",
    )
    .unwrap();
    let refused = |path: &str, set: &str, words: &[&str]| {
        let trained = format!("strategy.trained={path:?}");
        let said = run(&dir, &[&trained, set], "out").err().unwrap();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!dir.join("out").exists());
    };
    let artifact = |name: &str| dir.join("trained/artifacts").join(name).to_string_lossy().into_owned();
    let model = artifact("model.npy");
    refused("nowhere.npy", SHORT, &["nowhere.npy"]);
    refused(&artifact("intercepted.csv"), SHORT, &["not an .npy array"]);
    refused(&artifact("intercepted.npy"), SHORT, &["one dimension of 32-bit floats"]);
    refused(
        &model,
        "strategy.size.hidden=8",
        &["numbers, and the model of these settings has"],
    );
    let mut bytes = fs::read(&model).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let broken = dir.join("broken.npy");
    fs::write(&broken, bytes).unwrap();
    refused(&broken.to_string_lossy(), SHORT, &["not finite"]);
}

/// `text` in a gzip file of one stored block (RFC 1951, 3.2.4; RFC 1952).
fn gzip(text: &str) -> Vec<u8> {
    let crc = text.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    });
    let len = u16::try_from(text.len()).unwrap();
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    file.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
    file.extend(text.as_bytes());
    file.extend([(!crc).to_le_bytes(), u32::from(len).to_le_bytes()].concat());
    file
}

/// A function of 50 blocks in a row, each with six counts.
fn function_of_50_blocks() -> String {
    let succs: Vec<String> = (1..50).map(|next| format!("[{next}]")).collect();
    let features = vec!["[0,0,0,0,1,0]"; 50].join(",");
    let succs = succs.join(",");
    format!("{{\"n_num\":50,\"succs\":[{succs},[]],\"features\":[{features}],\"fname\":\"f\"}}\n")
}

/// A small PPGM in a new folder on two binaries of FFmpeg, each of these functions, with a property
/// to infer.
fn compare_functions(name: &str, binaries: [(&str, &[String]); 2], property: &str) -> Result<RunDir, String> {
    let dir = folder(name);
    let set = dir.join("acfg/ffmpeg_6ACFG_min50_max200");
    fs::create_dir_all(&set).unwrap();
    for (binary, functions) in binaries {
        let file = set.join(format!("ACFG_ffmpeg_g_{binary}.json.gz"));
        fs::write(file, gzip(&functions.concat())).unwrap();
    }
    let settings = format!(
        "size: (hidden: 4, layers: 1, codes: 1, heads: 1), training: (epochs: 1), attack: (epochs: 1, property: {property})"
    );
    let text = format!("(dataset: FunctionGraphs(name: FFmpeg), strategy: Ppgm({settings}))");
    let scenario = cards().scenario_of(&text).unwrap();
    let ran = played(&scenario, std::slice::from_ref(&dir), &dir.join("out"), &mut ());
    assert_eq!(dir.join("out").exists(), ran.is_ok());
    ran.map_err(|failure| failure.to_string())
}

fn functions_named(prefix: &str, n: u32) -> Vec<String> {
    let function = function_of_50_blocks();
    let named = |i| {
        let named = function.replace("\"f\"", &format!("\"{prefix}{i}\""));
        named.replacen("[0,0,0,0,1,0]", &format!("[0,{i},0,9,1,0]"), 10 + i as usize)
    };
    (0..n).map(named).collect()
}

/// Their matching pair is the graph with itself, which has the greatest cosine there is.
#[test]
fn functions_of_one_variant_are_compared_with_themselves() {
    let [here, there] = ["open", "close"].map(|prefix| functions_named(prefix, 10));
    let run = compare_functions("one-variant", [("clang_O1", &here), ("gcc_O2", &there)], "None");
    let summary = run.unwrap().summary;
    assert_eq!(summary["similarity_auc"], 1.0);
    assert!(summary["matches_scored"] > 0.0);
}

#[test]
fn function_graphs_without_a_property_to_infer_or_too_few_functions_are_refused() {
    let functions = functions_named("f", 20);
    let refused = |binaries, property, words: &str| {
        let said = compare_functions("no-property", binaries, property).err().unwrap();
        assert!(said.contains(words), "{said}");
    };
    refused(
        [("gcc_O1", &functions), ("gcc_O2", &functions)],
        "\"compiler\"",
        "all graphs of FFmpeg-50-200 have one value of `compiler`, gcc; choose another property",
    );
    refused(
        [("gcc_O1", &functions), ("gcc_O2", &functions)],
        "\"linker\"",
        "no property `linker`, only compiler, level",
    );
    // The second binary has one function of one block, which the reader leaves out.
    let smaller = [r#"{"n_num":1,"succs":[[]],"features":[[0,0,0,0,0,0]],"fname":"f"}"#.to_owned()];
    refused(
        [("clang_O1", &functions), ("gcc_O2", &smaller)],
        "None",
        "all graphs of FFmpeg-50-200 have one property, clang O1; take graphs of more sizes or of more binaries",
    );
    for (n, words) in [
        (1, "needs at least 10 classes, got 1"),
        (
            10,
            "validation: pairs that do not match need graphs of 2 classes or more, got 2 graphs of 1; take a set of at least 16",
        ),
    ] {
        refused(
            [("clang_O1", &functions[..n]), ("gcc_O2", &functions[..n])],
            "None",
            words,
        );
    }
}
