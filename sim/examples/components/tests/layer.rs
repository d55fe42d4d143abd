//! Every command knows a graph layer that another crate has added.

use std::path::Path;
use std::process::Command;

fn graph_layer(args: &[&str]) -> (Option<i32>, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_components"))
        .args(args)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the program starts");
    let text = [out.stdout, out.stderr].concat();
    (
        out.status.code(),
        String::from_utf8(text).expect("the program writes text"),
    )
}

#[test]
fn a_layer_of_another_crate_is_listed_explained_checked_and_trained() {
    let (_, listed) = graph_layer(&["list"]);
    let layers = listed.split("graph layers\n").nth(1).unwrap();
    let layers = layers.split("\n\n").next().unwrap();
    assert!(layers.contains("GatV2") && layers.contains("LightGcn"), "{listed}");
    let (_, said) = graph_layer(&["explain", "strategy.model.encoder.heads"]);
    assert!(said.contains("GatV2.heads") && said.contains("1..=64"), "{said}");
    let (code, said) = graph_layer(&["check", "layer"]);
    assert!(code == Some(0) && said.contains("9 runs"), "{said}");
    let (code, said) = graph_layer(&["check", "layer", "--set", "strategy.model.encoder.heads=3"]);
    assert!(
        code == Some(2) && said.contains("model.encoder.heads: must divide hidden (8)"),
        "{said}"
    );
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("layer");
    let _ = std::fs::remove_dir_all(&out);
    let out = out.to_str().unwrap();
    let (code, said) = graph_layer(&["sweep", "layer", "--quiet", "--out", out]);
    assert_eq!(code, Some(0), "{said}");
    let (_, table) = graph_layer(&["show", out]);
    assert!(table.contains("GATv2") && table.contains("features alone"), "{table}");
    let (code, said) = graph_layer(&["verify", out]);
    assert!(code == Some(0) && said.contains("the same result hash"), "{said}");
}
