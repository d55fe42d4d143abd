//! The graphs of a data set as the models read them, who trains, validates and tests, and what an attacker wants to know.

use super::matcher::Input;
use super::options::Form;
use super::params::Split;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Pair, PairError, PairSampler, Splits};

const SPLIT: Purpose = Purpose(*b"pp-split");
const VALIDATION: Purpose = Purpose(*b"pp-valid");
const TEST: Purpose = Purpose(*b"pp-test ");

/// With fewer classes one part of the split may have a single one.
const ENOUGH_CLASSES: u32 = 16;

/// Graphs, classes and properties, split by class.
pub struct Data {
    /// Every graph.
    pub inputs: Vec<Input>,
    /// Features a node.
    pub n_features: usize,
    /// Each graph's class.
    pub classes: Vec<u32>,
    /// What an attacker wants to know of each graph.
    pub properties: Vec<u32>,
    /// How many values it has.
    pub n_properties: usize,
    /// The graphs that train, ascending.
    pub train: Vec<u32>,
    /// Draws the pairs of an epoch.
    pub sampler: PairSampler,
    /// The pairs that choose the model; they are drawn once.
    pub validation: Vec<Pair>,
    /// The pairs that test it; they are drawn once.
    pub test: Vec<Pair>,
}

impl Data {
    /// Reads a data set.
    ///
    /// # Errors
    ///
    /// Graphs without classes, features or properties, too few classes to split them, and a property that all graphs share.
    pub fn new(
        dataset: &Dataset,
        form: &Form,
        (split, property): (Split, Option<&str>),
        streams: Streams,
    ) -> Result<Data, StrategyError> {
        let name = &dataset.name;
        let refused = |why: String| StrategyError(why);
        let Some(labels) = &dataset.graph_labels else {
            return Err(refused(format!(
                "pairs need graphs with classes, and {name} has none; take FunctionGraphs or ControlFlow"
            )));
        };
        let Some(features) = &dataset.features else {
            return Err(refused(format!(
                "the encoder reads features of nodes, and {name} has none; take FunctionGraphs or ControlFlow"
            )));
        };
        let Some(joint) = &dataset.graph_properties else {
            return Err(refused(format!(
                "the attack infers a property of graphs, and {name} has none; take FunctionGraphs or ControlFlow"
            )));
        };
        let properties = match property {
            None => joint.clone(),
            Some(facet) => joint.facet(facet).ok_or_else(|| {
                let known: Vec<&str> = joint.facets().collect();
                refused(format!(
                    "attack.property: {name} has no property `{facet}`, only {}; leave it out for all of them together",
                    known.join(", ")
                ))
            })?,
        };
        // A binary may have no function of the sizes asked for, so that a value has no graph.
        let mut values = properties.classes().to_vec();
        values.sort_unstable();
        values.dedup();
        if values.len() < 2 {
            let value = values
                .first()
                .map_or_else(|| "none".to_owned(), |&value| properties.name(value));
            return Err(refused(match property {
                Some(property) => format!(
                    "attack.property: there is nothing to infer where all graphs of {name} have one value of `{property}`, {value}; \
                     choose another property, or leave it out for all of them together"
                ),
                None => format!(
                    "there is nothing to infer where all graphs of {name} have one property, {value}; take graphs of more sizes \
                     or of more binaries"
                ),
            }));
        }
        let by_class = || {
            dataset
                .split_by_class(&mut streams.global(SPLIT))
                .map_err(|error| refused(error.to_string()))
        };
        let splits = match (split, &dataset.splits) {
            (Split::Published, Some(splits)) => splits.clone(),
            _ => by_class()?,
        };
        let sampler = |mask: &[bool], part: &str| {
            PairSampler::new(labels, &Splits::items(mask)).map_err(|error| {
                refused(match error {
                    PairError::FewClasses { n_classes, n_items } => format!(
                        "{part}: pairs that do not match need graphs of 2 classes or more, got {n_items} graphs of {n_classes}; take \
                         a set of at least {ENOUGH_CLASSES} classes, which split 80/10/10 leave two to each part"
                    ),
                    PairError::Item { .. } => format!("{part}: {error}"),
                })
            })
        };
        let drawn = |mask: &[bool], part: &str, purpose: Purpose| {
            Ok::<_, StrategyError>(sampler(mask, part)?.epoch(&mut streams.global(purpose)))
        };
        let inputs = (0..dataset.graphs.len())
            .map(|g| Input::new(&dataset.graphs[g], features, dataset.node_range(g), form))
            .collect();
        Ok(Data {
            inputs,
            n_features: features.n_columns(),
            classes: labels.clone(),
            properties: properties.classes().to_vec(),
            n_properties: properties.n_classes(),
            train: Splits::items(&splits.train),
            sampler: sampler(&splits.train, "training")?,
            validation: drawn(&splits.val, "validation", VALIDATION)?,
            test: drawn(&splits.test, "test", TEST)?,
        })
    }
}
