//! Runs that need more memory than there is.

use crate::support::{Ended, FOLKMOOT, TempDir};
use std::process::Command;

/// The program in a shell whose processes have so many kB of address space, with one thread, since
/// each reserves some.
fn within(temp: &TempDir, kb: u32, args: &[&str]) -> Ended {
    let script = format!("ulimit -v {kb}; exec \"$0\" \"$@\" --threads 1");
    let output = Command::new("sh")
        .args(["-c", &script, FOLKMOOT])
        .args(args)
        .current_dir(temp.path())
        .output();
    Ended::of(args, output.unwrap())
}

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "fed-avg/small", "--out", "out"][..], more].concat()
}

const GRAPH: &str = "dataset=BarabasiAlbert(n_nodes: 60000000)";
const MODEL: &str = "strategy.model.hidden=4096";

#[test]
fn what_a_run_needs_is_compared_with_what_there_is_before_it_begins() {
    let temp = TempDir::new();
    for large in [GRAPH, MODEL] {
        let args = run(&["--set", large, "--max-memory", "900MB"]);
        let said = temp
            .run(&args)
            .refused(&["needs about", "more than --max-memory allows (900 MB)"]);
        assert!(said.contains("help: raise --max-memory"), "{said}");
        within(&temp, 1_500_000, &run(&["--set", large])).refused(&["needs about", "are free", "--max-memory"]);
    }
    temp.run(&run(&["--max-memory", "900"]))
        .refused(&["--max-memory", "a number above 0 with its unit"]);
    assert_eq!(temp.names(), [""; 0], "nothing is left behind");
    temp.run(&run(&["--max-memory", "4GB"])).done();
}

/// A file tells less: what it holds may be small.
#[test]
fn a_file_that_is_too_large_ends_in_a_message() {
    let temp = TempDir::new();
    let line = |i: u32| format!("{} {}\n", i, (i * 7 + 1) % 1_500_000);
    temp.write("big.txt", (0..1_500_000).map(line).collect::<String>());
    let args = run(&["--data", ".", "--set", "dataset=EdgeList(edges: \"big.txt\")"]);
    let said = temp.run(&[&args[..], &["--max-memory", "30MB"]].concat());
    said.refused(&["of memory, more than --max-memory allows (30 MB)"]);
    // The program takes some 50 MB of address space, this file at least 110 MB more.
    within(&temp, 110_000, &args).refused(&["error: out of memory: ", "bytes more cannot be had", "help: "]);
    assert_eq!(temp.names(), ["big.txt"]);
}
