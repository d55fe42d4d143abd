//! Zachary's karate club, built in: 34 members, 78 friendships, and the club each joined after the
//! split.
//!
//! W. W. Zachary. An Information Flow Model for Conflict and Fission in Small Groups. Journal of
//! Anthropological Research 33 (1977). Class 0 is Mr. Hi's club, class 1 the Officers' club.

use folkmoot_draws::SimRng;
use folkmoot_parts::component;

use crate::data_source::{CatalogueEntry, DataSource};
use crate::{DataDirs, DataError, Dataset, Graph, Labels};

/// Zachary's karate club, built in: 34 nodes, 78 edges, 2 classes.
#[component(name = "Karate")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Karate {}

impl DataSource for Karate {
    fn name(&self) -> String {
        "Karate".to_owned()
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, _: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        Ok(karate())
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "Zachary's karate club, 34 nodes, 78 edges, 2 classes; built in";
        vec![CatalogueEntry::new("Karate", about)]
    }
}

/// The higher-numbered friends of each member; members are numbered from 1, as in the paper.
const FRIENDS: &[(u32, &[u32])] = &[
    (1, &[2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32]),
    (2, &[3, 4, 8, 14, 18, 20, 22, 31]),
    (3, &[4, 8, 9, 10, 14, 28, 29, 33]),
    (4, &[8, 13, 14]),
    (5, &[7, 11]),
    (6, &[7, 11, 17]),
    (7, &[17]),
    (9, &[31, 33, 34]),
    (10, &[34]),
    (14, &[34]),
    (15, &[33, 34]),
    (16, &[33, 34]),
    (19, &[33, 34]),
    (20, &[34]),
    (21, &[33, 34]),
    (23, &[33, 34]),
    (24, &[26, 28, 30, 33, 34]),
    (25, &[26, 28, 32]),
    (26, &[32]),
    (27, &[30, 34]),
    (28, &[34]),
    (29, &[32, 34]),
    (30, &[33, 34]),
    (31, &[33, 34]),
    (32, &[33, 34]),
    (33, &[34]),
];

/// The members who joined Mr. Hi's club.
const WITH_MR_HI: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22];

const N_MEMBERS: u32 = 34;

/// The data set; node `i` is member `i + 1`.
fn karate() -> Dataset {
    let edges: Vec<(u32, u32)> = FRIENDS
        .iter()
        .flat_map(|(member, friends)| friends.iter().map(move |friend| (member - 1, friend - 1)))
        .collect();
    let graph = Graph::from_edges(N_MEMBERS, &edges, false).expect("members are 1..=34");
    let clubs: Vec<Option<u32>> = (1..=N_MEMBERS)
        .map(|member| Some(u32::from(!WITH_MR_HI.contains(&member))))
        .collect();
    let labels = Labels::from_single(2, &clubs).expect("clubs are 0 and 1");
    Dataset {
        node_labels: Some(labels),
        n_classes: 2,
        node_ids: Some((1..=N_MEMBERS).collect()),
        ..Dataset::of_graph("Karate", graph)
    }
}

#[cfg(test)]
mod tests {
    use super::super::edge_list::{EdgeListOptions, read_edge_list};
    use super::super::test_files::real_data;
    use super::*;

    #[test]
    fn club_has_34_members_78_friendships_and_two_halves() {
        let dataset = karate();
        assert_eq!((dataset.graph().n_nodes(), dataset.graph().n_edges()), (34, 78));
        assert_eq!(dataset.node_labels.unwrap().class_sizes(), [17, 17]);
        assert!(dataset.notes.is_empty());
    }

    #[test]
    fn built_in_club_equals_the_published_files() {
        let Some(data) = real_data() else { return };
        let dir = data.join("small-graphs/karate");
        let labels = Some(dir.join("karate.labels"));
        let options = EdgeListOptions {
            labels,
            features: None,
            split: None,
            directed: false,
            weighted: false,
            first_id: 1,
            renumber: false,
        };
        let read = read_edge_list("Karate", &dir.join("karate.edgelist"), &options).unwrap();
        assert_eq!(read.fingerprint(), karate().fingerprint());
    }
}
