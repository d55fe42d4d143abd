//! A strategy of another crate runs from its card.

use std::path::Path;
use std::process::Command;

fn rumour(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_rumour"))
        .args(args)
        .output()
        .expect("the program starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("the program writes text")
}

#[test]
fn a_strategy_of_another_crate_is_explained_runs_and_is_verified() {
    assert!(rumour(&["explain", "Rumour.fanout"]).contains("Clients told by each who hears it."));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rumour");
    let _ = std::fs::remove_dir_all(&dir);
    let run = dir.to_str().unwrap();
    rumour(&["run", "rumour", "--quiet", "--out", run]);
    assert!(rumour(&["verify", run]).contains("the same result hash"));
    let read = |file: &str| std::fs::read_to_string(dir.join(file)).unwrap();
    let reference = dir.join("reference");
    rumour(&["man", "--markdown", "--to", reference.to_str().unwrap()]);
    let row = "| spread | `rumour` | peer | `hops: u32` | The rumour, with the hops it has made. |";
    assert!(read("reference/Rumour.md").contains(row));
    // Who is told by two others at random each: the share x that hears solves x = 1 - exp(-2x),
    // 0.797.
    let scores = read("scores.csv");
    let share: f64 = scores
        .lines()
        .find(|line| line.contains("share_reached"))
        .and_then(|line| {
            line.split(',')
                .find_map(|cell| cell.parse().ok().filter(|value| (0.5..1.0).contains(value)))
        })
        .unwrap_or_else(|| panic!("{scores}"));
    assert!((share - 0.797).abs() < 0.05, "{share}");
    // What the card's headline asks for is a number of the run.
    assert!(read("summary.json").contains(&format!("\"share_reached\": {share}")));
    // Everybody who heard told two and reported once.
    let heard = (share * 1000.0).round() as u64;
    let messages = read("messages.csv");
    for (kind, n) in [("heard", heard), ("rumour", 2 * heard)] {
        assert!(
            messages
                .lines()
                .any(|line| line.contains(kind) && line.contains(&format!(",{n},"))),
            "{kind} {n}: {messages}"
        );
    }
}
