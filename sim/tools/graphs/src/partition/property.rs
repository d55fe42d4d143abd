//! Sharing out by what items are: by the value of a property, or in the order of a number.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

use super::{Partition, PartitionError, Partitioner, checked, deal, enough, sizes};
use crate::{DataDirs, Dataset, Properties};

/// Partition by property: a client has the items of one value, or consecutive items in the
/// order of a numeric property.
#[component(name = "ByProperty", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct ByProperty {
    /// Property to partition by.
    pub property: Property,
    /// Number of clients; by default one per value, in the order of values. With fewer clients
    /// than values, each value, largest first, goes to the client with the fewest items.
    #[component(at_least = 1)]
    pub n_clients: Option<u32>,
}

/// Property by which items are partitioned.
#[component]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Class. An item with several classes counts for one of them, drawn uniformly; unlabelled
    /// items form the last class.
    #[default]
    Class,
    /// All properties in addition to the class jointly, such as compiler and optimisation level of
    /// a binary.
    Facets,
    /// A single property, such as `"compiler"`.
    Facet(#[component(required)] String),
    /// Degree of a node, or mean degree of a graph, ascending; needs `n_clients`.
    Degree,
    /// Number of nodes of a graph, ascending; needs `n_clients`.
    Nodes,
    /// Mean of an item's features, ascending; needs `n_clients`.
    MeanFeature,
}

impl ByProperty {
    /// What is no range.
    fn rules(&self, rules: &mut Rules) {
        let property = &self.property;
        let is_number = matches!(property, Property::Degree | Property::Nodes | Property::MeanFeature);
        let rule = format!("must be given for property: {property:?}, which is a number");
        rules.require(!is_number || self.n_clients.is_some(), "n_clients", rule);
    }
}

impl Partitioner for ByProperty {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, rng: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        enough(dataset.n_items(), self.n_clients.unwrap_or(1), 1)?;
        let shards = shards(&self.property, self.n_clients, dataset, rng)?;
        let why = "there are fewer values; lower partition.n_clients or leave it out";
        Partition::without_empty(shards, "ByProperty", why)
    }
}

/// The clients stated in the data: a member `client` of an `Npz` archive, or a column `client`
/// of `Tables`. Clients are in ascending order, numbers before names.
#[component(name = "Given")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// Number of clients; by default one per client of the data. With fewer clients, each
    /// client of the data, largest first, goes to the client with the fewest items.
    #[component(at_least = 1)]
    pub n_clients: Option<u32>,
}

impl Partitioner for Given {
    fn partition(&self, dataset: &Dataset, _: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        enough(dataset.n_items(), self.n_clients.unwrap_or(1), 1)?;
        given(dataset, self.n_clients)
    }
}

/// Shards by the clients that the data state: those of `n_clients`, or without it one for each.
fn given(dataset: &Dataset, n_clients: Option<u32>) -> Result<Partition, PartitionError> {
    let clients = dataset.given_clients().ok_or(PartitionError::Needs {
        rule: "Given",
        what: "data that state the client of each item: a member `client` of an Npz archive, a column `client` of Tables; \
               or use File with a partition of your own",
    })?;
    let n_stated = clients.n_classes();
    let values = by_value(&clients);
    let n_empty = n_stated - values.len();
    let shards = merged(values, n_clients);
    let partition = Partition::without_empty(
        shards,
        "Given",
        "the data state fewer clients; lower partition.n_clients",
    )?;
    Ok(match n_empty {
        0 => partition,
        n => partition.with_note(format!("{n} of {n_stated} clients of the data have no item left")),
    })
}

/// The items of each value that has some.
fn by_value(properties: &Properties) -> Vec<Vec<u32>> {
    let mut values = vec![Vec::new(); properties.n_classes()];
    for (item, &value) in (0..).zip(properties.classes()) {
        values[value as usize].push(item);
    }
    values.retain(|items| !items.is_empty());
    values
}

fn merged(values: Vec<Vec<u32>>, n_clients: Option<u32>) -> Vec<Vec<u32>> {
    match n_clients {
        Some(n_clients) => sizes::whole(values, n_clients as usize),
        None => values,
    }
}

/// Shards by a property: of `n_clients`, or without it one for each value.
fn shards(
    property: &Property,
    n_clients: Option<u32>,
    dataset: &Dataset,
    rng: &mut SimRng,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let needs = |what: &'static str| PartitionError::Needs {
        rule: "ByProperty",
        what,
    };
    let values = match property {
        Property::Degree => return Ok(runs(&degrees(dataset), n_clients)),
        Property::Nodes => {
            let sizes = dataset.graphs.iter().map(|graph| graph.n_nodes() as f64);
            let what = "a set of graphs for `property: Nodes`; use Degree or Class instead";
            let is_many = dataset.is_graph_level().then(|| sizes.collect::<Vec<f64>>());
            return Ok(runs(&is_many.ok_or(needs(what))?, n_clients));
        }
        Property::MeanFeature => {
            let what = "features for `property: MeanFeature`; use Degree or Class instead";
            return Ok(runs(&mean_features(dataset).ok_or(needs(what))?, n_clients));
        }
        Property::Class => {
            deal::items_by_class(dataset, rng).ok_or(needs("labels for `property: Class`; use Degree instead"))?
        }
        Property::Facet(_) | Property::Facets => {
            let what = "items that have such a property, as FunctionGraphs and ControlFlow have `compiler` and `level`; \
                        use Class or Degree instead";
            let all = dataset.item_properties();
            let chosen = match property {
                Property::Facet(name) => all.and_then(|all| all.facet(name)),
                _ => all.cloned(),
            };
            let chosen = chosen.ok_or(needs(what))?;
            by_value(&chosen)
        }
    };
    let values: Vec<Vec<u32>> = values.into_iter().filter(|items| !items.is_empty()).collect();
    Ok(merged(values, n_clients))
}

/// Items in the order of their numbers, of equals by id, in runs whose sizes differ by at most 1.
fn runs(numbers: &[f64], n_clients: Option<u32>) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
    order.sort_by(|&a, &b| numbers[a as usize].total_cmp(&numbers[b as usize]));
    let mut rest = order.as_slice();
    let sizes = deal::even_sizes(numbers.len(), n_clients.unwrap_or(1) as usize);
    let take = |size: usize| {
        let (run, left) = rest.split_at(size);
        rest = left;
        run.to_vec()
    };
    sizes.into_iter().map(take).collect()
}

/// The degree of each node, or the mean degree of each graph; arcs that leave it, where they are
/// directed.
fn degrees(dataset: &Dataset) -> Vec<f64> {
    if dataset.is_graph_level() {
        let mean = |graph: &crate::Graph| graph.n_arcs() as f64 / graph.n_nodes().max(1) as f64;
        return dataset.graphs.iter().map(mean).collect();
    }
    let graph = dataset.graph();
    (0..graph.n_nodes() as u32)
        .map(|node| graph.degree(node) as f64)
        .collect()
}

/// The mean of all features of each item, over its nodes; `None` unless every node has features.
fn mean_features(dataset: &Dataset) -> Option<Vec<f64>> {
    let features = dataset.features.as_ref()?;
    if features.n_rows() != dataset.n_nodes() || features.n_columns() == 0 {
        return None;
    }
    let mut row = vec![0.0; features.n_columns()];
    let mut of_node = |node: u32| {
        features.write_row(node, &mut row);
        row.iter().copied().map(f64::from).sum::<f64>() / row.len() as f64
    };
    if !dataset.is_graph_level() {
        return Some((0..dataset.n_nodes() as u32).map(of_node).collect());
    }
    let mut start = 0;
    let of_graph = |graph: &crate::Graph| {
        let nodes = start..start + graph.n_nodes() as u32;
        start = nodes.end;
        nodes.map(&mut of_node).sum::<f64>() / graph.n_nodes().max(1) as f64
    };
    Some(dataset.graphs.iter().map(of_graph).collect())
}
