//! Division of items into training, validation and test.

use super::data::refuse;
use super::{Parts, Split};
use folkmoot_draws::{Purpose, SimRng, Streams, shuffle, unit};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};

const SPLIT: Purpose = Purpose(*b"cl-split");

/// The round under which an item's part is drawn that is common to all clients; that of a client's
/// own shuffle is 0.
const COMMON: Round = Round(1);

impl Split {
    /// Checks that a data set has the published split, if that is asked for.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn check_published(self, dataset: &Dataset) -> Result<(), StrategyError> {
        match self == Split::Published && dataset.splits.is_none() {
            true => refuse("the data set was published without a split; set split: Shares()"),
            false => Ok(()),
        }
    }

    /// Whether the items of all clients of a partition can be divided so.
    ///
    /// # Errors
    ///
    /// When shares of shards that overlap are asked for, or as
    /// [`check_published`](Self::check_published).
    pub(super) fn suits(self, dataset: &Dataset, partition: &Partition) -> Result<(), StrategyError> {
        if let (Split::Shares { .. }, false) = (self, partition.is_exact_cover(dataset.n_items())) {
            // What one client trains on would be what another is tested on.
            return refuse(
                "the shards overlap or leave something out; set split: Common(), All or Published, or choose another partition",
            );
        }
        self.check_published(dataset)
    }

    /// The labelled items of a client, ascending, as three lists of items, each ascending.
    ///
    /// # Panics
    ///
    /// If the published split is asked for and there is none.
    pub fn divide(self, dataset: &Dataset, client: u32, items: Vec<u32>, streams: Streams) -> Parts {
        let (train, validation) = match self {
            Split::All => return [items, Vec::new(), Vec::new()],
            Split::Published => {
                let splits = dataset.splits.as_ref().expect("asked for only where there is one");
                let pick = |mask: &[bool]| items.iter().copied().filter(|item| mask[*item as usize]).collect();
                return [pick(&splits.train), pick(&splits.val), pick(&splits.test)];
            }
            Split::Common { train, validation } => {
                let mut parts = [Vec::new(), Vec::new(), Vec::new()];
                for item in items {
                    let drawn = unit(&mut streams.party(SPLIT, Party::Client(ClientId(item)), COMMON));
                    parts[usize::from(drawn >= train) + usize::from(drawn >= train + validation)].push(item);
                }
                return parts;
            }
            Split::Shares { train, validation } => (train, validation),
        };
        let mut rng = streams.party(SPLIT, Party::Client(ClientId(client)), Round(0));
        split_shuffled(items, train, validation, &mut rng)
    }
}

/// Shuffles items and divides them into training, validation and test, each ascending.
///
/// `train` and `validation` are fractions of the items, rounded; the rest tests. If there are
/// items, at least one trains.
pub fn split_shuffled(mut items: Vec<u32>, train: f64, validation: f64, rng: &mut SimRng) -> [Vec<u32>; 3] {
    shuffle(rng, &mut items);
    let n = items.len();
    let n_train = ((train * n as f64).round() as usize).clamp(n.min(1), n);
    let n_validation = ((validation * n as f64).round() as usize).min(n - n_train);
    let test = items.split_off(n_train + n_validation);
    let validation = items.split_off(n_train);
    [items, validation, test].map(|mut part| {
        part.sort_unstable();
        part
    })
}
