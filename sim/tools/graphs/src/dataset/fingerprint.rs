//! The fingerprint of a data set: a hash over every parsed value, each array preceded by its
//! length.

use super::Dataset;
use crate::{Features, Properties, TaskLabels};

/// Bumped whenever the order or the form of what is hashed changes.
const VERSION: &[u8] = b"folkmoot data set 1";

struct Hasher(blake3::Hasher);

impl Hasher {
    fn len(&mut self, len: usize) {
        self.0.update(&(len as u64).to_le_bytes());
    }

    /// Marks whether an optional part follows, so that an absent part differs from an empty one.
    fn part<T>(&mut self, part: Option<T>, write: impl FnOnce(&mut Hasher, T)) {
        self.0.update(&[u8::from(part.is_some())]);
        if let Some(part) = part {
            write(self, part);
        }
    }

    fn words(&mut self, words: impl ExactSizeIterator<Item = u32>) {
        self.len(words.len());
        // One call of the hash per word would cost more than the hash itself.
        let mut buffer = Vec::with_capacity(4096);
        for word in words {
            buffer.extend_from_slice(&word.to_le_bytes());
            if buffer.len() == 4096 {
                self.0.update(&buffer);
                buffer.clear();
            }
        }
        self.0.update(&buffer);
    }

    fn ids(&mut self, ids: &[u32]) {
        self.words(ids.iter().copied());
    }

    fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.len(texts.len());
        for text in texts {
            self.len(text.len());
            self.0.update(text.as_bytes());
        }
    }

    fn floats(&mut self, values: &[f32]) {
        self.words(values.iter().map(|value| value.to_bits()));
    }

    fn properties(&mut self, properties: &Properties) {
        self.texts(properties.facets());
        self.len(properties.n_classes());
        for values in properties.names() {
            self.texts(values.iter().map(String::as_str));
        }
        self.ids(properties.classes());
    }

    fn tasks(&mut self, tasks: &TaskLabels) {
        self.texts(tasks.names().iter().map(String::as_str));
        self.words(tasks.codes());
    }

    fn mask(&mut self, mask: &[bool]) {
        self.words(mask.iter().map(|&set| u32::from(set)));
    }
}

/// The hash in hexadecimal, 64 characters.
pub(super) fn of(dataset: &Dataset) -> String {
    let mut hasher = Hasher(blake3::Hasher::new());
    hasher.0.update(VERSION);
    hasher.len(dataset.graphs.len());
    for graph in &dataset.graphs {
        hasher.0.update(&[u8::from(graph.is_directed())]);
        hasher.ids(graph.offsets());
        hasher.ids(graph.targets());
        hasher.part(graph.arc_weights(), Hasher::floats);
    }
    hasher.part(dataset.features.as_ref(), |hasher, features| {
        hasher.len(features.n_columns());
        match features {
            Features::Dense(matrix) => {
                hasher.0.update(&[0]);
                hasher.floats(matrix.values());
            }
            Features::Sparse(matrix) => {
                let (offsets, columns, values) = matrix.parts();
                hasher.0.update(&[1]);
                hasher.ids(offsets);
                hasher.ids(columns);
                hasher.floats(values);
            }
        }
    });
    hasher.part(dataset.node_labels.as_ref(), |hasher, labels| {
        let (offsets, classes) = labels.parts();
        hasher.len(labels.n_classes());
        hasher.ids(offsets);
        hasher.ids(classes);
    });
    hasher.part(dataset.edge_labels.as_deref(), Hasher::ids);
    hasher.part(dataset.graph_labels.as_deref(), Hasher::ids);
    hasher.len(dataset.n_classes);
    hasher.part(dataset.splits.as_ref(), |hasher, splits| {
        hasher.mask(&splits.train);
        hasher.mask(&splits.val);
        hasher.mask(&splits.test);
    });
    hasher.part(dataset.node_ids.as_deref(), Hasher::ids);
    // Only where there are any, so that sets without them keep the fingerprints that earlier runs
    // recorded.
    if let Some(properties) = &dataset.graph_properties {
        hasher.properties(properties);
    }
    // Nothing is hashed for a set without tasks, so that the fingerprints of such sets stay what
    // they were.
    if let Some(tasks) = &dataset.graph_tasks {
        hasher.tasks(tasks);
    }
    // Later parts say which they are.
    if let Some(features) = &dataset.edge_features {
        hasher.0.update(b"edge features");
        hasher.len(features.n_columns());
        hasher.floats(features.values());
    }
    if let Some(tasks) = &dataset.node_tasks {
        hasher.0.update(b"node tasks");
        hasher.tasks(tasks);
    }
    if let Some(properties) = &dataset.node_properties {
        hasher.0.update(b"node properties");
        hasher.properties(properties);
    }
    if let Some(targets) = &dataset.targets {
        hasher.0.update(b"targets");
        hasher.0.update(&[u8::from(targets.are_of_graphs())]);
        hasher.texts(targets.names().iter().map(String::as_str));
        hasher.floats(targets.values());
    }
    if let Some(names) = &dataset.node_names {
        hasher.0.update(b"node names");
        hasher.texts(names.iter().map(String::as_str));
    }
    hasher.0.finalize().to_hex().to_string()
}
