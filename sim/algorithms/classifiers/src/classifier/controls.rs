//! Controls of a classifier: scores of answers that take neither a graph nor training.

use super::data::Part;
use super::{Classifier, Held};
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::{CLIENT_MAJORITY, MAJORITY_CLASS, Sheet, UNTRAINED};

/// Test items of a client, and how many of them a control classifies correctly.
struct Hits {
    hits: u64,
    n: u64,
}

impl Held {
    /// Records two controls of `test_accuracy`, over all items, and of the metrics `by_client`,
    /// means over clients: the client majority and the majority class.
    ///
    /// The client majority answers a test item with the most frequent class among the *other* items
    /// of its client, whatever part of the data they are in: leave-one-out, so that an item does
    /// not vote for itself. Ties go to the smallest class. A client with a single item gets the
    /// majority class of all training items.
    pub fn controls(&self, n_classes: usize, by_client: &[&str], sheet: &mut Sheet) {
        let Some(majority) = self.majority_class(n_classes) else {
            return;
        };
        let mut counts = vec![vec![0_u64; n_classes]; self.shards.len()];
        for part in [Part::Train, Part::Validation, Part::Test] {
            for (client, class) in self.labels(part) {
                counts[client][class as usize] += 1;
            }
        }
        let of_client = |client: usize, class: u32| most_of_others(&counts[client], class).unwrap_or(majority);
        for (control, answer) in [
            (CLIENT_MAJORITY, &of_client as &dyn Fn(usize, u32) -> u32),
            (MAJORITY_CLASS, &|_, _| majority),
        ] {
            let mut clients: Vec<Hits> = (0..self.shards.len()).map(|_| Hits { hits: 0, n: 0 }).collect();
            for (client, class) in self.labels(Part::Test) {
                clients[client].n += 1;
                clients[client].hits += u64::from(answer(client, class) == class);
            }
            clients.retain(|client| client.n > 0);
            let n: u64 = clients.iter().map(|client| client.n).sum();
            if n == 0 {
                return;
            }
            let hits: u64 = clients.iter().map(|client| client.hits).sum();
            let shares = clients.iter().map(|client| client.hits as f64 / client.n as f64);
            let mean = shares.sum::<f64>() / clients.len() as f64;
            sheet.control(control, "test_accuracy", hits as f64 / n as f64, n);
            for metric in by_client {
                sheet.control(control, metric, mean, n);
            }
        }
    }
}

/// The most frequent class once an item of `class` is left out of `counts`, the items by class; of
/// equals the first, and `None` without another item.
fn most_of_others(counts: &[u64], class: u32) -> Option<u32> {
    let others = (0_u32..).zip(counts).map(|(other, n)| n - u64::from(other == class));
    let others: Vec<u64> = others.collect();
    let most = others.iter().max().filter(|most| **most > 0)?;
    others.iter().position(|n| n == most).map(|class| class as u32)
}

impl Classifier {
    /// Records the accuracy of the model before its first step, which a trained one must exceed.
    pub fn untrained_control(&self, held: &Held, first: &[f32], sheet: &mut Sheet) {
        let scores = self.evaluate(held, first);
        for name in ["accuracy", "client_accuracy"] {
            if let Some(score) = scores
                .iter()
                .find(|score| score.split == "test" && score.metric == name)
            {
                let n = held.n_items(Part::Test);
                sheet.control(UNTRAINED, &score_name("test", name), score.value, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_does_not_vote_for_itself() {
        assert_eq!(most_of_others(&[3, 2], 0), Some(0), "a tie goes to the smallest class");
        assert_eq!(most_of_others(&[2, 2], 0), Some(1));
        assert_eq!(most_of_others(&[2, 2], 1), Some(0));
        assert_eq!(most_of_others(&[0, 5, 1], 2), Some(1));
        assert_eq!(most_of_others(&[0, 1], 1), None);
    }
}
