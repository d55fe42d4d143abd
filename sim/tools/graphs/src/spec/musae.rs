//! The sets of MUSAE's collection that have classes.

use folkmoot_parts::component;
use std::path::Path;

use crate::readers::{MusaeFiles, read_musae};
use crate::{DataDirs, DataError, Dataset};

/// Social networks (B. Rozemberczki, C. Allen, R. Sarkar. Multi-scale Attributed Node Embedding.
/// Journal of Complex Networks 2021).
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MusaeSet {
    /// Mutual likes of verified Facebook pages: 22,470 nodes, 170,823 edges, 4,714 words, 4 classes
    /// (company, government, politician, tvshow).
    FacebookPages,
    /// Friendships of English-language Twitch streamers: 7,126 nodes, 35,324 edges, 3,170 feature
    /// columns (2,545 used), 2 classes (mature or not).
    TwitchGb,
}

impl MusaeSet {
    /// The folder, the beginning of its files' names, and the columns with the node and its class.
    fn files(self) -> (&'static str, &'static str, [&'static str; 2]) {
        match self {
            MusaeSet::FacebookPages => ("musae/facebook", "facebook", ["id", "page_type"]),
            MusaeSet::TwitchGb => ("musae/ENGB", "ENGB", ["new_id", "mature"]),
        }
    }

    pub(super) fn load(self, dirs: &DataDirs) -> Result<Dataset, DataError> {
        let (folder, stem, [id, class]) = self.files();
        let locate = |file: String| dirs.locate(Path::new(folder).join(file));
        let files = MusaeFiles {
            edges: &locate(format!("{stem}_edges.csv"))?,
            features: &locate(format!("{stem}.json"))?,
            targets: &locate(format!("{stem}_target.csv"))?,
            id,
            class,
        };
        read_musae(&format!("{self:?}"), &files)
    }
}
