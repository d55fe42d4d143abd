//! The books balance: messages, rounds, clients and summary say the same.

use crate::support::{ROUGH, TempDir, rough, run_args, tiny};
use folkmoot_metrics::{Direction, MessageRow, RunDir};

/// The rough world with more settings.
fn rougher(more: &[&str]) -> RunDir {
    let temp = TempDir::new();
    temp.run(&run_args(ROUGH, "out", more)).done();
    RunDir::open(&temp.join("out")).unwrap()
}

fn bytes(run: &RunDir, direction: Direction) -> u64 {
    let rows = run.tables.messages.iter().filter(|row| row.direction == direction);
    rows.map(|row| row.payload_bytes + row.header_bytes).sum()
}

#[track_caller]
fn assert_balanced(rows: &[MessageRow]) {
    for row in rows {
        assert_eq!(row.sent, row.delivered + row.dropped + row.in_flight, "{row:?}");
    }
}

#[test]
fn every_row_of_a_rough_run_balances_and_every_fate_occurs() {
    let run = &rough().run;
    assert_balanced(&run.tables.messages);
    let sum = |count: &dyn Fn(&MessageRow) -> u64| run.tables.messages.iter().map(count).sum::<u64>();
    assert!(sum(&|row| row.dropped) > 0);
    assert!(sum(&|row| row.retried) > 0);
    assert!(run.tables.rounds.iter().map(|row| row.late).sum::<u64>() > 0);
    assert_eq!(sum(&|row| row.in_flight), 0);
}

#[test]
fn messages_under_way_at_the_horizon_are_counted_as_in_flight() {
    let run = rougher(&["--set", "horizon_s=0.03"]);
    assert_balanced(&run.tables.messages);
    assert!(run.tables.messages.iter().map(|row| row.in_flight).sum::<u64>() > 0);
    assert_eq!(run.summary["virtual_s"], 0.03);
    assert!(run.manifest.finished);
}

#[test]
fn the_summary_repeats_the_totals_of_the_tables() {
    let run = &rough().run;
    let sum = |count: fn(&MessageRow) -> u64| run.tables.messages.iter().map(count).sum::<u64>() as f64;
    assert_eq!(run.summary["messages_sent"], sum(|row| row.sent));
    assert_eq!(run.summary["messages_delivered"], sum(|row| row.delivered));
    assert_eq!(run.summary["messages_dropped"], sum(|row| row.dropped));
    assert_eq!(run.summary["messages_in_flight"], sum(|row| row.in_flight));
    assert_eq!(run.summary["messages_retried"], sum(|row| row.retried));
    assert_eq!(run.summary["payload_bytes"], sum(|row| row.payload_bytes));
    assert_eq!(run.summary["header_bytes"], sum(|row| row.header_bytes));
    let reasons = ["dropped_absent", "dropped_dropout", "dropped_loss"].map(|name| run.summary[name]);
    assert_eq!(run.summary["messages_dropped"], reasons.iter().sum::<f64>());
    for direction in ["uplink", "downlink", "peer"] {
        let rows = run
            .tables
            .messages
            .iter()
            .filter(|row| row.direction.as_str() == direction);
        let (sent, payload) = rows.fold((0, 0), |(sent, payload), row| {
            (sent + row.sent, payload + row.payload_bytes)
        });
        assert_eq!(run.summary[&format!("{direction}_messages")], sent as f64);
        assert_eq!(run.summary[&format!("{direction}_payload_bytes")], payload as f64);
    }
}

#[test]
fn a_transmission_has_forty_bytes_of_headers_and_retries_count() {
    for row in &rough().run.tables.messages {
        assert!(row.header_bytes >= 40 * row.sent, "{row:?}");
        assert!(row.header_bytes <= 40 * (row.sent + row.retried), "{row:?}");
        assert_eq!(row.header_bytes % 40, 0, "{row:?}");
    }
    assert_eq!(rougher(&["--set", "header_bytes=0"]).summary["header_bytes"], 0.0);
}

#[test]
fn the_rounds_add_up_to_the_summary() {
    let run = &rough().run;
    assert_eq!(run.summary["rounds"], run.tables.rounds.len() as f64);
    let late: u64 = run.tables.rounds.iter().map(|row| row.late).sum();
    assert_eq!(run.summary["late_results"], late as f64);
    // An update that nobody waits for any more has arrived, and counts for nothing.
    assert_eq!(run.summary["late_updates"], late as f64);
    for (i, row) in run.tables.rounds.iter().enumerate() {
        assert_eq!(row.round as usize, i);
        assert_eq!(row.completed + row.dropped + row.late, row.cohort, "{row:?}");
    }
    let times: Vec<f64> = run.tables.rounds.iter().map(|row| row.virtual_s).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times[times.len() - 1] <= run.summary["virtual_s"]);
}

#[test]
fn what_clients_send_is_what_the_message_table_counts() {
    for run in [&rough().run, &among_peers()] {
        let uplink: u64 = run.tables.clients.iter().map(|row| row.uplink_bytes).sum();
        let peer: u64 = run.tables.clients.iter().map(|row| row.peer_bytes).sum();
        assert_eq!(uplink, bytes(run, Direction::Uplink));
        assert_eq!(peer, bytes(run, Direction::Peer));
        assert!(uplink + peer > 0);
        assert_eq!(run.tables.clients.iter().map(|row| row.shard_size).sum::<u64>(), 160);
        assert!(
            run.tables
                .clients
                .iter()
                .zip(0..)
                .all(|(row, client)| row.client == client)
        );
    }
}

/// Clients that send to each other over links that lose.
fn among_peers() -> RunDir {
    let temp = TempDir::new();
    let card = [
        "gossip/small",
        "--set",
        "strategy.rounds=4",
        "--set",
        "dataset.n_graphs=160",
        "--set",
        "network=Links(peer: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 1)",
    ];
    temp.run(&run_args(&card, "out", &[])).done();
    RunDir::open(&temp.join("out")).unwrap()
}

#[test]
fn what_clients_send_to_each_other_balances() {
    let run = among_peers();
    assert_balanced(&run.tables.messages);
    let peers: Vec<&MessageRow> = run
        .tables
        .messages
        .iter()
        .filter(|row| row.direction == Direction::Peer)
        .collect();
    assert!(peers.iter().map(|row| row.dropped).sum::<u64>() > 0);
    assert!(peers.iter().map(|row| row.retried).sum::<u64>() > 0);
}

#[test]
fn what_clients_receive_is_all_that_the_server_sent_where_nothing_is_lost() {
    let run = &tiny().run;
    let downlink: u64 = run.tables.clients.iter().map(|row| row.downlink_bytes).sum();
    assert_eq!(downlink, bytes(run, Direction::Downlink));
}
