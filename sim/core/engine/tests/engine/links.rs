//! Access links of limited rate.

use super::*;

/// Ten messages of 40 bytes leave the server one after the other, 40 ms each; each client answers
/// 25 ms after its own has left, and answers of 44 bytes, which come faster than the server's link
/// takes them, are through it one after the other as well.
#[test]
fn all_that_a_server_sends_and_hears_goes_through_its_link() {
    let strategy = Relay {
        rounds: 1,
        hops: 0,
        ..RELAY
    };
    let class = LinkClass {
        latency_ms: Dist::Constant(10.0),
        loss_prob: 0.0,
    };
    let ends_at = |up: Option<f64>, down: Option<f64>| {
        let links = Links {
            uplink: class,
            downlink: class,
            server_up_bytes_per_s: up,
            server_down_bytes_per_s: down,
            ..Links::default()
        };
        let world = World {
            network: Box::new(links),
            devices: Box::new(devices::Constant { ops_per_s: 1e4 }),
            header_bytes: 40,
            ..World::ideal()
        };
        play_with(&strategy, 10, &world, Options::default()).tables.rounds[0].virtual_s
    };
    assert_eq!(ends_at(None, None), 0.025);
    assert_eq!(ends_at(Some(1e3), None), 0.425);
    assert_eq!(ends_at(None, Some(1e3)), 0.465);
    assert_eq!(ends_at(Some(1e3), Some(1e3)), 0.505);
}
