//! The graphs of a data set as the models read them, who trains, validates and tests, and what an
//! attacker wants to know.

use super::edits::{self, Edits};
use super::matcher::Input;
use super::options::{Split, Task};
use super::params::Params;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Pair, PairError, PairSampler, Properties, Splits};
use folkmoot_scenarios::algorithm::{Source, without_weights};

const SPLIT: Purpose = Purpose(*b"pp-split");
const VALIDATION: Purpose = Purpose(*b"pp-valid");
const EDITS: Purpose = Purpose(*b"pp-edits");
const TEST: Purpose = Purpose(*b"pp-test ");

/// With fewer classes one part of the split may have a single one.
const ENOUGH_CLASSES: u32 = 16;

/// Graphs, classes and properties, split by class.
pub struct Data {
    pub inputs: Vec<Input>,
    /// How far they are from each other, where models learn that.
    pub edits: Option<Edits>,
    pub classes: Vec<u32>,
    /// What an attacker wants to know of each graph.
    pub properties: Vec<u32>,
    /// How many values it has.
    pub n_properties: usize,
    /// All that is known of what graphs are made with, together.
    pub joint: Properties,
    /// The graphs that train, ascending.
    pub train: Vec<u32>,
    /// Draws the pairs of an epoch.
    pub sampler: PairSampler,
    /// The pairs that choose the model; they are drawn once.
    pub validation: Vec<Pair>,
    /// The pairs that test it; they are drawn once.
    pub test: Vec<Pair>,
    /// A model that another run has trained.
    pub trained: Option<Vec<f32>>,
}

impl Data {
    /// Reads a data set.
    ///
    /// # Errors
    ///
    /// Graphs without classes, features or properties, too few classes to split them, and a
    /// property that all graphs share.
    pub fn new(params: &Params, source: &Source<'_>) -> Result<Data, StrategyError> {
        let (dataset, streams) = (source.dataset, source.streams);
        let (name, split, property) = (&dataset.name, params.split, params.attack.property.as_deref());
        let refused = |why: String| StrategyError(why);
        let labels = labels(dataset)?;
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
        let form = params.model.reads(params.form);
        let inputs = match params.task {
            Task::Classes => {
                let features = features(dataset)?;
                let input = |g| Input::new(&dataset.graphs[g], features, dataset.node_range(g), &form);
                (0..dataset.graphs.len()).map(input).collect()
            }
            Task::EditDistance { .. } => edits::inputs(dataset, &form),
        };
        let parts = [&splits.train, &splits.val, &splits.test].map(|mask| Splits::items(mask));
        let edits = Edits::new(params.task, dataset, parts, &mut streams.global(EDITS))?;
        Ok(Data {
            inputs,
            edits,
            classes: labels.clone(),
            properties: properties.classes().to_vec(),
            n_properties: properties.n_classes(),
            joint: joint.clone(),
            train: Splits::items(&splits.train),
            sampler: sampler(&splits.train, "training")?,
            validation: drawn(&splits.val, "validation", VALIDATION)?,
            test: drawn(&splits.test, "test", TEST)?,
            trained: params
                .trained
                .as_ref()
                .and_then(|path| source.files.models.get(path).cloned()),
        })
    }
}

impl Data {
    /// Each part of the joint property by itself, with its name, where graphs differ in it.
    pub(super) fn facets(&self) -> Vec<(String, Properties)> {
        let facet = |name: &str| {
            (
                name.to_owned(),
                self.joint.facet(name).expect("the name is one of its own"),
            )
        };
        let differs =
            |(_, facet): &(String, Properties)| facet.classes().iter().any(|class| *class != facet.classes()[0]);
        self.joint.facets().map(facet).filter(differs).collect()
    }

    /// What can be counted of every graph, by its name, as the quarter of the training graphs that
    /// it falls among.
    pub(super) fn quarters(&self) -> Vec<(String, Vec<u32>)> {
        let count = |of: &dyn Fn(&Input) -> f64| self.quarter(self.inputs.iter().map(of).collect());
        // As if every graph were in one piece, as control flow is.
        let cycles = |input: &Input| input.n_edges() as f64 + 1.0 - input.n_nodes() as f64;
        let mut all = vec![
            ("nodes".to_owned(), count(&|input| input.n_nodes() as f64)),
            ("edges".to_owned(), count(&|input| input.n_edges() as f64)),
            ("cycles".to_owned(), count(&cycles)),
        ];
        let means: Vec<Vec<f64>> = self.inputs.iter().map(Input::mean_features).collect();
        for feature in 0..means.first().map_or(0, Vec::len) {
            let quarter = self.quarter(means.iter().map(|means| means[feature]).collect());
            all.push((format!("feature_{feature}"), quarter));
        }
        all
    }

    fn quarter(&self, values: Vec<f64>) -> Vec<u32> {
        let mut sorted: Vec<f64> = self.train.iter().map(|&graph| values[graph as usize]).collect();
        sorted.sort_by(f64::total_cmp);
        let ends = [1, 2, 3].map(|quarter| sorted[quarter * sorted.len() / 4]);
        values
            .iter()
            .map(|value| ends.iter().filter(|end| *value >= **end).count() as u32)
            .collect()
    }
}

fn features(dataset: &Dataset) -> Result<&Features, StrategyError> {
    dataset.features.as_ref().ok_or_else(|| {
        StrategyError(format!(
            "the encoder reads features of nodes, and {} has none; take FunctionGraphs or ControlFlow",
            dataset.name
        ))
    })
}

/// How many numbers a node brings.
///
/// # Errors
///
/// When there are none, or no classes of graphs.
pub(super) fn n_features(dataset: &Dataset, task: Task) -> Result<usize, StrategyError> {
    labels(dataset)?;
    without_weights(dataset)?;
    match task {
        Task::Classes => features(dataset).map(Features::n_columns),
        Task::EditDistance { .. } => Ok(edits::n_degrees(dataset)),
    }
}

fn labels(dataset: &Dataset) -> Result<&Vec<u32>, StrategyError> {
    dataset.graph_labels.as_ref().ok_or_else(|| {
        StrategyError(format!(
            "pairs need graphs with classes, and {} has none; take FunctionGraphs or ControlFlow",
            dataset.name
        ))
    })
}

/// All that one device holds: its graphs.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    inputs: &'a [Input],
    ids: &'a [u32],
}

impl<'a> Own<'a> {
    pub(super) fn new(data: &'a Data, ids: &'a [u32]) -> Self {
        let inputs = &data.inputs;
        Own { inputs, ids }
    }

    /// How many graphs there are.
    pub fn len(self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    /// Its graph number `at`.
    pub fn graph(self, at: u32) -> &'a Input {
        &self.inputs[self.id(at) as usize]
    }

    /// The place of its graph number `at` in the set.
    pub fn id(self, at: u32) -> u32 {
        self.ids[at as usize]
    }
}
