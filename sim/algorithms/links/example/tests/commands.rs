//! Every command knows a decoder that another crate has added.

use std::path::Path;
use std::process::Command;

/// What the program says on stdout, or on stderr if it refuses.
fn decoder(args: &[&str]) -> Result<String, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_decoder"))
        .args(args)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes text");
    match out.status.success() {
        true => Ok(text(out.stdout)),
        false => Err(text(out.stderr)),
    }
}

#[test]
fn a_decoder_of_another_crate_is_listed_explained_and_checked() {
    let listed = decoder(&["list"]).unwrap();
    let decoders = listed.split("edge scores\n").nth(1).unwrap();
    let decoders = decoders.split("\n\n").next().unwrap();
    assert!(
        ["Bilinear", "Distance", "Dot", "Mlp"]
            .iter()
            .all(|name| decoders.contains(name)),
        "{listed}"
    );
    let said = decoder(&["explain", "strategy.FedLinks.decoder.Distance.squared"]).unwrap();
    assert!(said.contains("Square the differences"), "{said}");
    assert!(
        decoder(&["check", "decoder"])
            .unwrap()
            .contains("OK; its sweep has 6 runs")
    );
    let said = decoder(&["check", "decoder", "--set", "strategy.decoder=Distnce"]).unwrap_err();
    assert!(
        said.contains("there is no edge score `Distnce`, did you mean `Distance`?"),
        "{said}"
    );
}

#[test]
fn its_weights_are_sent_it_learns_and_is_verified() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("decoder");
    let _ = std::fs::remove_dir_all(&dir);
    let out = dir.to_str().unwrap();
    decoder(&["run", "decoder", "--quiet", "--out", out]).unwrap();
    let said = decoder(&["verify", out, "--threads", "2"]).unwrap();
    assert!(said.contains("the same result hash"), "{said}");
    let summary = std::fs::read_to_string(dir.join("summary.json")).unwrap();
    let number = |name: &str| -> f64 {
        let (_, rest) = summary
            .split_once(&format!("\"{name}\": "))
            .unwrap_or_else(|| panic!("{summary}"));
        rest.split([',', '\n', '}']).next().unwrap().trim().parse().unwrap()
    };
    let (trained, untrained) = (number("test_auc"), number("test_auc@untrained"));
    assert!(trained > 0.6 && trained > untrained, "{trained} and {untrained}");
}
