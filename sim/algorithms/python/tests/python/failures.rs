//! What goes wrong in an app, and what is said of it.

use super::{desk, hash};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// An app that trains by `BODY`.
const APP: &str = "
import os, signal, time
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    return {'w': np.zeros((2, 3)), 'n': np.zeros(2, np.int64)}

@fm.train(cost=COST)
def train(params, shard, ctx, state=None):
    BODY
    return fm.Update(params, state=STATE)

@fm.evaluate
def evaluate(params, data):
    SCORE
    return {'zero': 0.0}
";

fn app(cost: &str, body: &str, state: &str, score: &str) -> String {
    let (body, score) = (body.replace('\n', "\n    "), score.replace('\n', "\n    "));
    APP.replace("COST", cost)
        .replace("BODY", &body)
        .replace("STATE", state)
        .replace("SCORE", &score)
}

const COST: &str = "lambda shard, config: 1e5";

/// Why a run with this training fails.
fn told(body: &str) -> Option<String> {
    Some(desk(&app(COST, body, "None", "pass"))?.failure(&[]))
}

#[track_caller]
fn assert_told(body: &str, words: &str) {
    if let Some(failure) = told(body) {
        assert!(failure.contains(words), "{failure}");
        assert!(failure.contains("training of client"), "{failure}");
        assert!(failure.contains("--replay"), "{failure}");
    }
}

#[test]
fn an_exception_ends_the_run_with_its_traceback_and_a_command_that_repeats_the_job() {
    let body = "if ctx.round == 2 and ctx.client == 3:\n    raise ValueError('too steep')";
    let Some(desk) = desk(&app(COST, body, "None", "pass")) else {
        return;
    };
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("client 3: training of client 3 in round 2 failed: ValueError: too steep"),
        "{failure}"
    );
    assert!(failure.contains("client.py\", line 13, in train"), "{failure}");
    assert!(!failure.contains("worker.py"), "{failure}");
    let file = desk.path("failed/failed_jobs/train_client_3_round_2.job");
    let replayed = desk.replayed("folkmoot.worker", &file);
    let stderr = String::from_utf8(replayed.stderr).unwrap();
    assert!(stderr.ends_with("ValueError: too steep\n"), "{stderr}");
    // On any number of threads and workers the same.
    for (threads, workers) in [(1, 1), (4, 3)] {
        fs::remove_dir_all(desk.path("failed")).unwrap();
        let setting = format!("strategy.workers={workers}");
        let again = desk.go("failed", &[&setting], (threads, None)).unwrap_err().to_string();
        assert_eq!(again, failure);
    }
}

#[test]
fn a_run_that_failed_goes_on_from_its_checkpoint_after_a_fix() {
    let broken = app(COST, "if ctx.round == 3:\n    raise ValueError('late')", "None", "pass");
    let fixed = app(COST, "pass", "None", "pass");
    let Some(desk) = desk(&broken) else { return };
    desk.go("run", &[], (2, Some(2))).unwrap_err();
    let failure = desk.go("run", &[], (2, None)).unwrap_err().to_string();
    assert!(failure.contains("ValueError: late"), "{failure}");
    fs::write(desk.path("client.py"), fixed).unwrap();
    let resumed = desk.go("run", &[], (2, None)).unwrap();
    assert_eq!(hash(&resumed), hash(&desk.whole("whole", &[])));
}

#[test]
fn a_worker_that_dies_is_reported_with_its_signal() {
    assert_told(
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "its worker process died: signal 11 (SIGSEGV)",
    );
    assert_told(
        "print('last words', flush=True)\nos._exit(3)",
        "exit code 3; last lines of worker.log:\nlast words",
    );
}

#[test]
fn a_worker_that_hangs_is_ended() {
    let Some(mut desk) = desk(&app(COST, "time.sleep(100)", "None", "pass")) else {
        return;
    };
    desk.machine.job_timeout = Some(Duration::from_secs(1));
    let failure = desk.failure(&[]);
    assert!(failure.contains("it took longer than 1 s (--job-timeout)"), "{failure}");
}

#[test]
fn an_update_that_is_no_model_is_refused() {
    assert_told(
        "params['w'][1, 2] = np.nan",
        "fm.Update: array 'w' has nan at position 5 of 6; 1 numbers are not finite",
    );
    assert_told(
        "params['w'] = np.zeros((3, 2))",
        "fm.Update: array 'w' has shape (3, 2), and the model's has (2, 3)",
    );
    assert_told(
        "params['w'] = np.zeros((2, 3), np.int64)",
        "array 'w' is of int64, and the model's of float64",
    );
    assert_told(
        "params['w'] = np.zeros((2, 3), complex)",
        "array 'w' is of complex128, which cannot be sent",
    );
    assert_told(
        "params['n'] += 2**25",
        "array 'n' has a whole number above 16777216, which float32 does not hold",
    );
    assert_told(
        "params['v'] = np.zeros(1)",
        "array 'v' is not in the model (w, n); return what stays at the client as state=",
    );
    assert_told(
        "return params",
        "@fm.train returned a dict; return fm.Update(arrays, ...)",
    );
    assert_told(
        "return fm.Update(params, weight=1.5)",
        "weight: must be a whole number of samples",
    );
    assert_told(
        "return fm.Update(params, state=object())",
        "state: a object cannot be kept",
    );
    assert_told("shard.x[0] = 1.0", "ValueError: assignment destination is read-only");
}

#[test]
fn scores_and_costs_that_fail_end_the_run() {
    let Some(desk) = desk(&app(
        COST,
        "pass",
        "None",
        "if data.client == 2:\n    raise KeyError('gone')",
    )) else {
        return;
    };
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("evaluation on client 2 after round 0 failed: KeyError: 'gone'"),
        "{failure}"
    );
    let write = |text: String| {
        let _ = fs::remove_dir_all(desk.path("failed"));
        fs::write(desk.path("client.py"), text).unwrap();
        desk.failure(&[])
    };
    let failure = write(app(COST, "pass", "None", "return {'Bad Name': 1.0}"));
    assert!(
        failure.contains("the name of a metric has lower-case letters"),
        "{failure}"
    );
    let failure = write(app("lambda shard, config: -1.0", "pass", "None", "pass"));
    assert!(
        failure.contains("the cost of client 0 must be a finite number of at least 0, got -1.0"),
        "{failure}"
    );
    let failure = write(app("fm.measured('cost.csv')", "pass", "None", "pass"));
    assert!(
        failure.contains("cost.csv was not found beside the app; make it with: folkmoot calibrate CARD"),
        "{failure}"
    );
    // Which needs no such file.
    let seconds = desk.calibrated();
    assert!(
        seconds.len() == 5 && seconds.iter().all(|&seconds| seconds >= 0.0),
        "{seconds:?}"
    );
    let failure = write("import folkmoot as fm\n".to_owned());
    assert!(
        failure.contains("client.py has no function with @fm.initial"),
        "{failure}"
    );
    let failure = write("import missing_module\n".to_owned());
    assert!(
        failure.contains("app client.py: ModuleNotFoundError: No module named 'missing_module'"),
        "{failure}"
    );
}

#[test]
fn a_python_that_cannot_be_used_is_named_with_a_way_out() {
    let Some(mut desk) = desk(&app(COST, "pass", "None", "pass")) else {
        return;
    };
    desk.machine.python = "/nowhere/python".into();
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("Python cannot be started as /nowhere/python"),
        "{failure}"
    );
    assert!(failure.contains("--python or FOLKMOOT_PYTHON"), "{failure}");
    desk.machine.python = "/bin/true".into();
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("/bin/true -m folkmoot.worker ended at once"),
        "{failure}"
    );
}

#[test]
fn a_package_of_another_protocol_is_named_with_both_numbers() {
    let Some(mut desk) = desk(&app(COST, "pass", "None", "pass")) else {
        return;
    };
    let other = "import runpy, sys, folkmoot.wire as wire; wire.PROTOCOL = 99; sys.argv[:3] = [\"w\"]; \
                 runpy.run_module(\"folkmoot.worker\", run_name=\"__main__\")";
    let script = format!(
        "#!/bin/sh\nexec '{}' -c '{other}' \"$@\"\n",
        desk.machine.python.display()
    );
    let python = desk.path("other");
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    desk.machine.python = python;
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("the worker speaks protocol 99, and this program protocol 1; install the package folkmoot"),
        "{failure}"
    );
}

#[test]
fn a_worker_has_the_memory_that_the_card_gives_it() {
    let body = "params['w'] = params['w'] + np.ones(400_000_000).sum()";
    let Some(desk) = desk(&app(COST, body, "None", "pass")) else {
        return;
    };
    let failure = desk.failure(&["strategy.memory_gb=2"]);
    assert!(
        failure.contains("MemoryError: Unable to allocate 2.98 GiB"),
        "{failure}"
    );
}
