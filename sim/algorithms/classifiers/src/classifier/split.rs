//! Which items of a client train, validate and test.

use super::Split;
use folkmoot_draws::{Purpose, Streams, shuffle, unit};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Dataset;

const SPLIT: Purpose = Purpose(*b"cl-split");

/// The round under which an item's part is drawn that is common to all clients; that of a client's
/// own shuffle is 0.
const COMMON: Round = Round(1);

impl Split {
    /// The items of a client that train, validate and test, each ascending; `items` are those that
    /// have a label.
    ///
    /// # Panics
    ///
    /// If the published split is asked of a data set without one.
    pub fn divide(self, dataset: &Dataset, client: u32, mut items: Vec<u32>, streams: Streams) -> [Vec<u32>; 3] {
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
        shuffle(&mut rng, &mut items);
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
}
