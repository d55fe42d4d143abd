//! Worlds from the card to the run directory: measured ones, days, regions that fail, and work that
//! is done in part.

use crate::support::{TempDir, assert_same, real_data, result_of, run_args};
use folkmoot_metrics::RunDir;
use folkmoot_metrics::records::ClientRow;

/// Four phones, of which one was never ready, and their links and speeds.
fn traces(temp: &TempDir) {
    let phone = |start: u32, ready: &str| {
        let end = start + 86_400;
        format!(r#"{{"isSuccess": true, "trace_start": {start}, "trace_end": {end}, "ready_time": [{ready}]}}"#)
    };
    let failed = r#"{"isSuccess": false, "trace_start": null, "trace_end": null, "ready_time": []}"#;
    let timers = format!(
        r#"{{"1": {}, "2": {}, "3": {failed}, "4": {}}}"#,
        phone(0, "[0, 40000], [50000, 50000]"),
        phone(3600, "[4000, 20000], [30000, 70000]"),
        phone(7200, "[7200, 93600]"),
    );
    let log = r#"[{"duration_ms": 500, "bandwidth_kbps": 0, "latency_ms": 20},
                  {"duration_ms": 1500, "bandwidth_kbps": 80, "latency_ms": 20}]"#;
    temp.write("d/fl-traces/flash/cached_timers.json", timers);
    temp.write("d/fl-traces/bandwidth-4g/a.json", log);
    temp.write("d/fl-traces/bandwidth-4g/b.json", log.replace("80,", "800,"));
    temp.write("d/fl-traces/venn/client_spec_speed.csv", "id,speed\n0,10\n1,20\n2,40\n");
}

const MEASURED: &[&str] = &[
    "fed-avg/small",
    "--set",
    "strategy.protocol.rounds=5",
    "--set",
    "strategy.protocol.absent=Wait",
    "--set",
    "availability=Flash(begins_h: 6)",
    "--set",
    "devices=Venn(median_ops_per_s: 1e5)",
    "--set",
    "network=BandwidthLogs(up_share: 0.5)",
    "--set",
    "cohort=Size(n: 5, over_select: 2)",
    "--data",
    "d",
];

#[test]
fn a_measured_world_gives_the_same_bytes_for_any_threads_and_has_the_sums_of_its_files() {
    let temp = TempDir::new();
    traces(&temp);
    let run = |out: &str, more: &[&str]| {
        temp.run(&run_args(MEASURED, out, more)).done();
        RunDir::open(&temp.join(out)).unwrap()
    };
    let one = run("one", &["--threads", "1"]);
    for (out, more) in [
        ("three", &["--threads", "3"][..]),
        ("whole", &["--threads", "2", "--no-windows", "--wire-check"]),
    ] {
        let other = run(out, more);
        assert_same(&result_of(&temp.join("one")), &result_of(&temp.join(out)), out);
        assert_eq!(other.tables.absences, one.tables.absences);
    }
    let sums = &one.manifest.data_fingerprints;
    let paths = [
        "fl-traces/bandwidth-4g",
        "fl-traces/flash/cached_timers.json",
        "fl-traces/venn/client_spec_speed.csv",
    ];
    assert!(paths.iter().all(|path| sums[*path].len() == 64), "{sums:?}");
    assert!(one.manifest.notes.iter().any(|note| note.contains("3 of 4 phones")));
    let away: f64 = one.tables.absences.iter().map(|row| row.until_s - row.from_s).sum();
    let end = one.summary["virtual_s"];
    let online: f64 = one.tables.clients.iter().map(|row| row.online_s).sum();
    assert!(
        (away + online - 10.0 * end).abs() < 1e-3,
        "{away} and {online} in {end}"
    );
    temp.run(&["plot", "one", "--all"]).done();
    assert!(temp.join("one/figures/online.svg").exists());
    temp.write("d/fl-traces/venn/client_spec_speed.csv", "id,speed\n0,10\n1,20\n2,41\n");
    let other = run("other", &[]);
    assert_ne!(other.manifest.result_fingerprint, one.manifest.result_fingerprint);
    assert_ne!(&other.manifest.data_fingerprints, sums);
}

#[test]
fn what_a_measured_world_lacks_is_named_before_the_run() {
    let temp = TempDir::new();
    temp.run(&[
        "run",
        "fed-avg/small",
        "--set",
        "availability=Flash()",
        "--data",
        "d",
        "--out",
        "out",
    ])
    .refused(&[
        "fl-traces/flash/cached_timers.json was not found",
        "folkmoot data fetch Flash",
    ]);
    traces(&temp);
    for (setting, words) in [
        ("availability=Flash(replacement: false)", ["3 phones", "10 clients"]),
        (
            "devices=Venn(median_ops_per_s: 1e6, replacement: false)",
            ["3 phones", "10 clients"],
        ),
        ("network=BandwidthLogs(replacement: false)", ["2 logs", "10 clients"]),
    ] {
        let field = setting.split('=').next().unwrap();
        let said = temp
            .run(&["run", "fed-avg/small", "--set", setting, "--data", "d", "--out", "out"])
            .refused(&words);
        assert!(said.contains(field) && said.contains("replacement: true"), "{said}");
    }
    temp.write("d/fl-traces/bandwidth-4g/a.json", "[");
    temp.run(&[
        "run",
        "fed-avg/small",
        "--set",
        "network=BandwidthLogs()",
        "--data",
        "d",
        "--out",
        "out",
    ])
    .refused(&["a.json:1"]);
    assert_eq!(temp.names(), ["d"]);
}

#[test]
fn regions_take_their_clients_with_them_and_days_come_back() {
    let temp = TempDir::new();
    let card = [
        "fed-avg/small",
        "--set",
        "strategy.protocol.rounds=40",
        "--set",
        "devices=Constant(ops_per_s: 1e5)",
        "--set",
        "availability=Diurnal(day_s: 400, online_share: Constant(0.9), spread: 1)",
        "--set",
        "outages=(regions: 2, by: Blocks, mean_between_s: 150, mean_length_s: 100)",
    ];
    temp.run(&run_args(&card, "out", &["--threads", "2"])).done();
    let run = RunDir::open(&temp.join("out")).unwrap();
    // Whatever else a client misses, it misses what its whole region does: from some instant on
    // they are all away.
    for region in [0..5, 5..10] {
        let of = |client: u32| run.tables.absences.iter().filter(move |row| row.client == client);
        let shared = of(region.start).filter(|row| {
            let middle = (row.from_s + row.until_s) / 2.0;
            let is_away = |client: u32| of(client).any(|row| row.from_s <= middle && middle < row.until_s);
            region.clone().all(is_away)
        });
        assert!(shared.count() > 0, "{region:?}: {:?}", run.tables.absences);
    }
    let is_short = |row: &ClientRow| row.online_s < 0.9 * run.summary["virtual_s"];
    assert!(run.tables.clients.iter().all(is_short), "{:?}", run.tables.clients);
    assert!(run.tables.messages.iter().any(|row| row.delivered < row.sent));
}

#[test]
fn who_does_part_of_its_work_takes_less_time_and_whole_work_is_what_it_was() {
    let temp = TempDir::new();
    let run = |out: &str, epochs: u32, prob: &str| {
        let epochs = format!("strategy.training.epochs={epochs}");
        let prob = format!("strategy.protocol.completeness.partial_prob={prob}");
        let card = [
            "fed-avg/small",
            "--set",
            "strategy.protocol.rounds=10",
            "--set",
            "devices=Constant(ops_per_s: 1e5)",
            "--set",
            &epochs,
            "--set",
            &prob,
        ];
        temp.run(&run_args(&card, out, &["--threads", "2"]))
    };
    run("whole", 4, "0").done();
    run("parts", 4, "1").done();
    let compute = |out: &str| {
        let run = RunDir::open(&temp.join(out)).unwrap();
        run.tables.clients.iter().map(|row| row.compute_s).sum::<f64>()
    };
    // Of 1 to 4 passes, each number as likely: 62.5 % on average.
    let share = compute("parts") / compute("whole");
    assert!((0.55..0.70).contains(&share), "{share}");
    let updates = |out: &str| RunDir::open(&temp.join(out)).unwrap().summary["update_messages"];
    assert_eq!(updates("parts"), updates("whole"));
    run("one", 1, "0.5").refused(&["protocol.completeness", "raise training.epochs"]);
}

/// What the data's own README says of the files.
#[test]
fn the_published_traces_are_as_their_records_say() {
    let Some(data) = real_data() else { return };
    let temp = TempDir::new();
    let data = data.to_string_lossy().into_owned();
    let notes = |out: &str, more: &[&str]| {
        let card = [
            &["fed-avg/traces", "--dry-run", "--set", "strategy.protocol.rounds=3"],
            &["--data", data.as_str()][..],
            more,
        ]
        .concat();
        temp.run(&run_args(&card, out, &[])).done();
        RunDir::open(&temp.join(out)).unwrap().manifest.notes
    };
    let (shipped, others) = (
        notes("out", &[]),
        notes(
            "others",
            &[
                "--set",
                "devices=FlHetBench(median_ops_per_s: 1e5)",
                "--set",
                "network=BandwidthLogs(of: ThreeG)",
            ],
        ),
    );
    let waits = "samples, and transfers wait meanwhile";
    for (notes, told) in [
        (
            &shipped,
            "FLASH's timers: 704 of 1000 phones were ever ready; 844 intervals of no length are left out",
        ),
        (&shipped, "Venn's speeds: 952 phones were measured"),
        (
            &shipped,
            &format!("Bandwidth of 4G: 40 logs; nothing passes in 236 of 18036 {waits}"),
        ),
        (
            &others,
            "FLHetBench's latencies: 978 phones were measured; 19 rows without a latency are left out",
        ),
        (
            &others,
            &format!("Bandwidth of 3G: 86 logs; nothing passes in 482 of 93104 {waits}"),
        ),
    ] {
        assert!(notes.iter().any(|note| note == told), "{told}: {notes:?}");
    }
}
