//! The smallest card that breaks the same promise: values are left out and numbers halved while it
//! does.

use super::child::now;
use super::drawn::Drawn;
use super::world::Fault;
use std::time::Duration;

/// So many smaller cards are run.
const MOST_RUNS: usize = 30;
/// No further one is begun after this time.
const MOST_TIME: Duration = Duration::from_secs(120);

pub(super) fn smallest(
    card: &Drawn,
    fault: &Fault,
    is_legal: &dyn Fn(&Drawn) -> bool,
    breaks: &dyn Fn(&Drawn) -> Option<Fault>,
) -> (Drawn, Fault) {
    let (mut card, mut fault) = (card.clone(), fault.clone());
    let (mut runs, started) = (0, now());
    let mut is_smaller = |candidate: Drawn, card: &mut Drawn, fault: &mut Fault| {
        if runs >= MOST_RUNS || started.elapsed() > MOST_TIME || !is_legal(&candidate) {
            return false;
        }
        runs += 1;
        breaks(&candidate).is_some_and(|found| {
            *fault = found;
            *card = candidate;
            true
        })
    };
    loop {
        let before = card.to_string();
        // The first values of a card hold the most.
        let mut n = 0;
        while n < card.len() {
            let candidate = card.without(n);
            if !is_smaller(candidate, &mut card, &mut fault) {
                n += 1;
            }
        }
        for n in 0..card.clone().wholes().len() {
            loop {
                let mut candidate = card.clone();
                let mut wholes = candidate.wholes();
                let half = wholes[n].parse::<u64>().map_or(0, |value| value / 2);
                if half == 0 {
                    break;
                }
                *wholes[n] = half.to_string();
                if !is_smaller(candidate, &mut card, &mut fault) {
                    break;
                }
            }
        }
        if card.to_string() == before {
            return (card, fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_shrinks_to_what_breaks_the_promise() {
        let plain = |name: &str, value: &str| (name.to_owned(), Drawn::Plain(value.to_owned()));
        let card = Drawn::Named(
            "Some".to_owned(),
            vec![plain("a", "64"), plain("b", "9"), plain("c", "true")],
        );
        let fault = Fault {
            check: "one".to_owned(),
            detail: String::new(),
        };
        let breaks = |card: &Drawn| {
            let a = card.field("a").map(ToString::to_string);
            let is_large = a.and_then(|a| a.parse::<u64>().ok()).is_some_and(|a| a >= 10);
            is_large.then(|| fault.clone())
        };
        let (smallest, _) = smallest(&card, &fault, &|_| true, &breaks);
        assert_eq!(smallest.to_string(), "Some(a: 16)");
    }
}
