//! Whether an aggregator that excludes updates as malicious is right.

use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};

/// Updates that an aggregator has seen, by what they are.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Detection {
    malicious: u64,
    honest: u64,
    malicious_excluded: u64,
    honest_excluded: u64,
}

impl Detection {
    /// Counts the updates of a round; `attackers` ascend.
    pub(super) fn count(&mut self, clients: impl Iterator<Item = ClientId>, excluded: &[ClientId], attackers: &[u32]) {
        for client in clients {
            let is_excluded = u64::from(excluded.contains(&client));
            let (all, out) = match attackers.binary_search(&client.0) {
                Ok(_) => (&mut self.malicious, &mut self.malicious_excluded),
                Err(_) => (&mut self.honest, &mut self.honest_excluded),
            };
            *all += 1;
            *out += is_excluded;
        }
    }

    /// Writes down precision, recall and the share of honest updates that are excluded.
    pub(crate) fn write(self, sheet: &mut Sheet) {
        let mut share = |name, part: u64, of: u64| {
            if of > 0 {
                sheet.number(name, part as f64 / of as f64);
            }
        };
        if self.malicious > 0 {
            let excluded = self.malicious_excluded + self.honest_excluded;
            share("detection_precision", self.malicious_excluded, excluded);
            share("detection_recall", self.malicious_excluded, self.malicious);
        }
        share("falsely_excluded", self.honest_excluded, self.honest);
    }
}
