use super::*;
use crate::run_dir::{RunResult, RunWriter, SCENARIO, to_json, write_whole};
use crate::sweep_dir::{Axis, SweepManifest};
use crate::tables::Tables;
use crate::testing::{TempDir, manifest, result};

/// A sweep over two values and two seeds, whose last point is missing.
fn sweep(dir: &Path) {
    let manifest_of_sweep = SweepManifest {
        name: "smoke/sweep".into(),
        axes: vec![Axis {
            with: None,
            path: "strategy".into(),
            values: vec!["A".into(), "B, or \"b\"".into()],
        }],
        seeds: vec![1, u64::MAX],
        ..SweepManifest::default()
    };
    write_whole(&dir.join(SWEEP), &to_json(&manifest_of_sweep)).unwrap();
    write_whole(&dir.join(SCENARIO), b"()").unwrap();
    for point in &manifest_of_sweep.points()[..3] {
        let run = crate::run_dir::Manifest {
            seed: point.seed,
            ..manifest()
        };
        let n_rounds = if point.point == 0 { 3 } else { 2 };
        let writer = RunWriter::create(&manifest_of_sweep.point_path(dir, point), "()", run).unwrap();
        writer.finish(&result(n_rounds)).unwrap();
    }
}

#[test]
fn the_long_table_has_every_score_of_every_finished_point() {
    let temp = TempDir::new();
    sweep(temp.path());
    let export = Export::open(temp.path()).unwrap();
    assert_eq!(export.unfinished.as_deref(), Some("3 of 4 points"));
    let text = String::from_utf8(export.long_csv()).unwrap();
    let expected = "strategy,seed,round,virtual_s,bytes,split,metric,value,n\n\
        A,1,1,0.5,960,test,accuracy,0.3333333333333333,100\n\
        A,1,2,0.5,1440,test,accuracy,0.3333333333333333,100\n\
        A,18446744073709551615,1,0.5,960,test,accuracy,0.3333333333333333,100\n\
        \"B, or \"\"b\"\"\",1,1,0.5,960,test,accuracy,0.3333333333333333,100\n";
    assert_eq!(text, expected);
}

#[test]
fn a_run_has_no_axes() {
    let temp = TempDir::new();
    let path = temp.path().join("run");
    let nothing = RunResult {
        tables: Tables {
            scores: Vec::new(),
            ..result(2).tables
        },
        ..result(2)
    };
    let writer = RunWriter::create(&path, "()", manifest()).unwrap();
    writer.finish(&nothing).unwrap();
    let export = Export::open(&path).unwrap();
    assert_eq!(export.long_csv(), b"seed,round,virtual_s,bytes,split,metric,value,n\n");
    assert_eq!(export.unfinished, None);
}
