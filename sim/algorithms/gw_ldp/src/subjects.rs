//! The graphs that are compared: those of a set, or for a set of one graph the part of it that each
//! client knows.

use folkmoot_classifiers::classifier::{Held, Part};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph, Partition};
use std::sync::Arc;

/// A graph that the server may hold an embedding of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subject {
    /// Its place in the set of graphs, or the client's number.
    pub(super) id: u32,
    pub(super) client: ClientId,
    /// Its class, or that of the centre of a client's part.
    pub(super) class: Option<u32>,
    /// What it is for, if it has a class of its own.
    pub(super) part: Option<Part>,
}

/// Those that are compared, by ascending id.
pub(super) struct Subjects {
    dataset: Arc<Dataset>,
    /// The clients' parts of a single graph.
    induced: Vec<Graph>,
    list: Vec<Subject>,
}

impl Subjects {
    /// Those among `only` if that names any.
    ///
    /// # Errors
    ///
    /// When nobody holds a graph that it names.
    pub(super) fn new(
        held: &Held,
        dataset: &Arc<Dataset>,
        partition: &Partition,
        only: &[u32],
    ) -> Result<Subjects, StrategyError> {
        let clients = (0..).map(ClientId).zip(held.shards());
        let mut list = Vec::new();
        let mut induced = Vec::new();
        if dataset.is_graph_level() {
            for (client, shard) in clients {
                for part in [Part::Train, Part::Validation, Part::Test] {
                    let subject = |(id, class)| Subject {
                        id,
                        client,
                        class: Some(class),
                        part: Some(part),
                    };
                    list.extend(shard.graph_items(part).map(subject));
                }
            }
            list.sort_by_key(|subject| subject.id);
        } else {
            for (client, _) in clients {
                let at = client.0 as usize;
                let labels = dataset.node_labels.as_ref();
                let centre = partition.centre(at);
                list.push(Subject {
                    id: client.0,
                    client,
                    class: centre.and_then(|centre| labels?.single(centre)),
                    part: None,
                });
                induced.push(dataset.graph().induced(partition.shard(at)));
            }
        }
        if let Some(id) = only.iter().find(|id| !list.iter().any(|subject| subject.id == **id)) {
            let n = list.len();
            return Err(StrategyError(format!(
                "evaluation.only: graph {id} is none of the {n} that clients hold; leave it out"
            )));
        }
        list.retain(|subject| only.is_empty() || only.contains(&subject.id));
        Ok(Subjects {
            dataset: Arc::clone(dataset),
            induced,
            list,
        })
    }

    pub(super) fn list(&self) -> &[Subject] {
        &self.list
    }

    pub(super) fn get(&self, id: u32) -> Option<&Subject> {
        let at = self.list.binary_search_by_key(&id, |subject| subject.id).ok()?;
        Some(&self.list[at])
    }

    /// The graph of an id.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(super) fn graph(&self, id: u32) -> &Graph {
        match self.induced.is_empty() {
            true => &self.dataset.graphs[id as usize],
            false => &self.induced[id as usize],
        }
    }

    pub(super) fn dataset(&self) -> &Dataset {
        &self.dataset
    }
}
