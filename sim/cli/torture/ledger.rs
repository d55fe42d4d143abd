//! The invariants of a finished run: its tables agree with each other, metrics lie in their bounds,
//! time never goes back, and privacy totals are those that other code computes.

use folkmoot_metrics::key::base;
use folkmoot_metrics::{Direction, MessageRow, PrivacyRow, RunDir, ScoreRow};

type Check = fn(&RunDir) -> Result<(), String>;
type Count = fn(&MessageRow) -> u64;

/// Rounding may put a number a little beyond its end.
const SLACK: f64 = 1e-9;
/// The grid of privacy-loss distributions puts their epsilon so much too high, relative.
const PLD_SLACK: f64 = 0.02;
/// More releases of one client than these are not composed again.
const MOST_RELEASES: f64 = 20_000.0;
/// Nor those with a larger epsilon each, which overflows.
const MOST_EPSILON: f64 = 100.0;

/// The first invariant that does not hold: its name, and the numbers.
pub(super) fn broken(run: &RunDir) -> Option<(&'static str, String)> {
    let checks: [(&'static str, Check); 7] = [
        ("balance of messages", balance),
        ("totals of messages", totals),
        ("bytes of clients", clients),
        ("order of time", time),
        ("results of rounds", rounds),
        ("bounds of metrics", bounds),
        ("privacy", |run| run.tables.privacy.iter().try_for_each(privacy)),
    ];
    checks
        .into_iter()
        .find_map(|(name, check)| Some((name, check(run).err()?)))
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn equal(what: &str, a: f64, b: f64) -> Result<(), String> {
    require((a - b).abs() <= SLACK * b.abs().max(1.0), || {
        format!("{what}: {a} against {b}")
    })
}

fn balance(run: &RunDir) -> Result<(), String> {
    run.tables.messages.iter().try_for_each(|row| {
        let rest = row.delivered + row.dropped + row.in_flight;
        require(row.sent == rest, || format!("{row:?}"))
    })
}

fn totals(run: &RunDir) -> Result<(), String> {
    let known: [(&str, Count); 7] = [
        ("messages_sent", |row| row.sent),
        ("messages_delivered", |row| row.delivered),
        ("messages_dropped", |row| row.dropped),
        ("messages_in_flight", |row| row.in_flight),
        ("messages_retried", |row| row.retried),
        ("payload_bytes", |row| row.payload_bytes),
        ("header_bytes", |row| row.header_bytes),
    ];
    known.into_iter().try_for_each(|(name, of)| {
        let sum: u64 = run.tables.messages.iter().map(of).sum();
        equal(name, run.summary.get(name).copied().unwrap_or(f64::NAN), sum as f64)
    })
}

fn clients(run: &RunDir) -> Result<(), String> {
    let bytes = |direction| {
        let rows = run.tables.messages.iter().filter(|row| row.direction == direction);
        rows.map(|row| row.payload_bytes + row.header_bytes).sum::<u64>() as f64
    };
    let sum = |of: fn(&folkmoot_metrics::ClientRow) -> u64| run.tables.clients.iter().map(of).sum::<u64>() as f64;
    equal("uplink bytes", sum(|row| row.uplink_bytes), bytes(Direction::Uplink))?;
    equal("peer bytes", sum(|row| row.peer_bytes), bytes(Direction::Peer))?;
    let (received, sent) = (sum(|row| row.downlink_bytes), bytes(Direction::Downlink));
    require(received <= sent, || format!("received {received} bytes of {sent}"))?;
    let in_order = run
        .tables
        .clients
        .iter()
        .zip(0..)
        .all(|(row, client)| row.client == client);
    require(in_order, || "clients.csv has other clients than 0, 1, …".to_owned())
}

fn time(run: &RunDir) -> Result<(), String> {
    let end = run.summary.get("virtual_s").copied().unwrap_or(f64::NAN);
    let rounds: Vec<f64> = run.tables.rounds.iter().map(|row| row.virtual_s).collect();
    let of_metric = |a: &ScoreRow, b: &ScoreRow| (&a.split, &a.metric) == (&b.split, &b.metric);
    let scores = run
        .tables
        .scores
        .chunk_by(of_metric)
        .map(|rows| rows.iter().map(|row| row.virtual_s).collect());
    for (table, times) in [("rounds", rounds)]
        .into_iter()
        .chain(scores.map(|times| ("scores", times)))
    {
        require(times.is_sorted(), || format!("{table} go back: {times:?}"))?;
        let last = times.last().copied().unwrap_or(0.0);
        require(last <= end * (1.0 + SLACK), || {
            format!("{table} end at {last} s, the run at {end} s")
        })?;
    }
    run.tables.absences.iter().try_for_each(|row| {
        let is_in = 0.0 <= row.from_s && row.from_s <= row.until_s && row.until_s <= end * (1.0 + SLACK) + SLACK;
        require(is_in, || format!("{row:?}, and the run ends at {end} s"))
    })?;
    run.tables.clients.iter().try_for_each(|row| {
        let is_in = row.online_s >= 0.0 && row.online_s <= end * (1.0 + SLACK) + SLACK && row.compute_s >= 0.0;
        require(is_in, || format!("{row:?}, and the run ends at {end} s"))
    })
}

fn rounds(run: &RunDir) -> Result<(), String> {
    let numbers: Vec<u32> = run.tables.rounds.iter().map(|row| row.round).collect();
    require(numbers.windows(2).all(|pair| pair[0] < pair[1]), || {
        format!("rounds {numbers:?}")
    })?;
    equal(
        "rounds",
        run.summary.get("rounds").copied().unwrap_or(f64::NAN),
        numbers.len() as f64,
    )?;
    // Clients that train asynchronously were asked in other rounds, too.
    let is_asynchronous = run.scenario.contains("Buffered");
    let mut asked_before = 0;
    run.tables.rounds.iter().try_for_each(|row| {
        let asked = row.cohort + asked_before;
        if is_asynchronous {
            asked_before = asked - row.completed.min(asked);
        }
        let holds = match is_asynchronous {
            true => row.completed <= asked,
            false => row.completed + row.dropped <= asked,
        };
        require(holds, || format!("{row:?}"))
    })
}

fn bounds(run: &RunDir) -> Result<(), String> {
    let scores = run.tables.scores.iter().map(|row| (row.metric.as_str(), row.value));
    let summary = run.summary.iter().map(|(metric, value)| (metric.as_str(), *value));
    scores.chain(summary).try_for_each(|(metric, value)| {
        let term = run.manifest.terms.get(base(metric));
        // Numbers of a user's own program, and references for metrics that a run lacks, have none.
        let Some(term) = term else { return Ok(()) };
        let (least, most) = term.range;
        let fits = least.is_none_or(|least| value >= least - SLACK) && most.is_none_or(|most| value <= most + SLACK);
        require(fits || value.is_nan(), || {
            format!("{metric} is {value}, within {:?}", term.range)
        })
    })
}

fn privacy(row: &PrivacyRow) -> Result<(), String> {
    let proven = [
        row.epsilon_basic,
        row.epsilon_advanced,
        row.epsilon_renyi,
        row.epsilon_pld,
    ];
    let least = proven.into_iter().flatten().reduce(f64::min);
    let shown = || format!("{row:?}");
    // Of totals within one in a thousand the plainest is named.
    let names_least = |(total, least): (f64, f64)| least <= total && total <= least * (1.0 + 1.1e-3);
    let is_none = row.epsilon_total.is_none() && row.accountant == "none";
    require(is_none || row.epsilon_total.zip(least).is_some_and(names_least), shown)?;
    if row.composition == "basic" && row.epsilon_per_release > 0.0 {
        let most = row.epsilon_max_client;
        require(most >= row.epsilon_mean_client * (1.0 - SLACK), shown)?;
        // No client pays for more than what all released, which its neighbour may pay for, too.
        let released = 2.0 * row.releases as f64 * row.epsilon_per_release;
        require(most <= released * (1.0 + SLACK), shown)?;
        let is_sum = |basic: f64| (basic - most).abs() <= 1e-6 * most;
        require(row.epsilon_basic.is_none_or(is_sum), shown)?;
        composed(row, most / row.epsilon_per_release).map_err(|why| format!("{why}: {row:?}"))?;
    }
    Ok(())
}

/// Compares the total by privacy-loss distributions with the optimal composition, which needs
/// nothing but epsilon and delta of one release, of which the client that pays most has so many.
fn composed(row: &PrivacyRow, releases: f64) -> Result<(), String> {
    let (epsilon, delta) = (row.epsilon_per_release, row.delta_per_release);
    let (count, slack) = (releases.round(), row.delta_total - releases * delta);
    if !(1.0..MOST_RELEASES).contains(&count) || slack <= 0.0 || epsilon > MOST_EPSILON {
        return Ok(());
    }
    // Where releases cost unlike epsilons, that of one is their mean, and advanced composition
    // differs from that of as many equal ones.
    let root = (2.0 * count * libm::log(1.0 / slack)).sqrt();
    let of_equal = epsilon * root + count * epsilon * libm::expm1(epsilon);
    let is_equal = |found: f64| (found - of_equal).abs() <= SLACK * of_equal;
    let found = row.epsilon_pld.filter(|found| found.is_finite() && *found > 0.0);
    let (Some(found), true) = (found, row.epsilon_advanced.is_some_and(is_equal)) else {
        return Ok(());
    };
    // No composition of such releases is worse than that of randomised responses.
    let least = found * (1.0 - PLD_SLACK);
    let there = worst_delta(count as u32, epsilon, delta, least);
    require(there >= row.delta_total * (1.0 - PLD_SLACK), || {
        format!("the optimal composition has delta {there} at {least}")
    })
}

/// The delta at `total` of `k` releases with epsilon and delta each, in the worst case (Kairouz, Oh
/// and Viswanath 2015, theorem 3.3).
fn worst_delta(k: u32, epsilon: f64, delta: f64, total: f64) -> f64 {
    // ln of the binomial probability that `n` of `k` answers are the less likely one.
    let less = -libm::log1p(libm::exp(epsilon));
    let (mut chosen, mut sum) = (0.0, 0.0);
    for n in 0..=k {
        if n > 0 {
            chosen += libm::log(f64::from(k - n + 1)) - libm::log(f64::from(n));
        }
        let probability = chosen + f64::from(k - n) * (epsilon + less) + f64::from(n) * less;
        let loss = (f64::from(k) - 2.0 * f64::from(n)) * epsilon;
        if loss <= total {
            break;
        }
        sum += libm::exp(probability) * -libm::expm1(total - loss);
    }
    1.0 - libm::pow(1.0 - delta, f64::from(k)) * (1.0 - sum)
}

#[cfg(test)]
mod tests {
    use super::worst_delta;

    #[test]
    fn the_worst_composition_is_that_of_randomised_responses() {
        // One release keeps its own epsilon, and pays nothing there.
        assert!(worst_delta(1, 1.0, 0.0, 1.0).abs() < 1e-12);
        assert!((worst_delta(1, 1.0, 1e-3, 1.0) - 1e-3).abs() < 1e-12);
        // At 0 the total variation of one answer: (e − 1) / (e + 1).
        let variation = (libm::exp(1.0) - 1.0) / (libm::exp(1.0) + 1.0);
        assert!((worst_delta(1, 1.0, 0.0, 0.0) - variation).abs() < 1e-12);
        // Two answers at the epsilon of one: both must be the likelier ones.
        let likely = (libm::exp(1.0) / (1.0 + libm::exp(1.0))).powi(2);
        assert!((worst_delta(2, 1.0, 0.0, 1.0) - likely * (1.0 - libm::exp(-1.0))).abs() < 1e-12);
    }
}
