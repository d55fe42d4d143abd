//! From a generator's parameters to a data set with notes.

use folkmoot_draws::SimRng;
use ndarray::Array2;
use rand::RngExt;

use super::DatasetSpec;
use crate::generators::{self, ControlFlow, DcSbm, N_COUNTS, Rmat};
use crate::{CountScaling, DataError, Dataset, Features, Graph, GraphBuilder, Labels, Properties};

/// Draws the graph of a generated data set; for any other there is nothing to draw, and the graph
/// is empty.
pub(super) fn generate(spec: &DatasetSpec, rng: &mut SimRng) -> Result<Dataset, DataError> {
    match *spec {
        DatasetSpec::ErdosRenyi {
            n_nodes,
            mean_degree,
            min_degree,
        } => {
            let mut edges = generators::erdos_renyi(n_nodes, mean_degree, rng);
            let added = generators::lift(n_nodes, &mut edges, min_degree, rng, |_, rng| {
                rng.random_range(0..n_nodes)
            });
            assemble(spec, n_nodes, edges, None, Lifted { min_degree, added })
        }
        DatasetSpec::BarabasiAlbert {
            n_nodes,
            edges_per_node,
        } => {
            let edges = generators::barabasi_albert(n_nodes, edges_per_node, rng);
            assemble(spec, n_nodes, edges, None, Lifted::default())
        }
        DatasetSpec::WattsStrogatz {
            n_nodes,
            neighbours,
            rewire_prob,
        } => {
            let edges = generators::watts_strogatz(n_nodes, neighbours, rewire_prob, rng);
            assemble(spec, n_nodes, edges, None, Lifted::default())
        }
        DatasetSpec::Rmat {
            n_nodes,
            mean_degree,
            a,
            b,
            c,
            min_degree,
        } => generate_rmat(
            spec,
            &Rmat {
                n_nodes,
                mean_degree,
                a,
                b,
                c,
            },
            min_degree,
            rng,
        ),
        DatasetSpec::DcSbm {
            n_nodes,
            n_classes,
            mean_degree,
            assortativity,
            degree_exponent,
            max_degree_share,
            second_label_prob,
            min_degree,
        } => {
            let parameters = DcSbm {
                n_nodes,
                n_classes,
                mean_degree,
                assortativity,
                degree_exponent,
                max_degree_share,
                second_label_prob,
            };
            generate_dc_sbm(spec, &parameters, min_degree, rng)
        }
        DatasetSpec::ContextualSbm {
            n_nodes,
            n_classes,
            mean_degree,
            assortativity,
            n_features,
            mark_prob,
            other_prob,
        } => {
            let blocks = DcSbm {
                n_nodes,
                n_classes,
                mean_degree,
                assortativity,
                // Everybody is as likely to have an edge as the next.
                degree_exponent: 100.0,
                max_degree_share: 1.0,
                second_label_prob: 0.0,
            };
            let mut dataset = generate_dc_sbm(spec, &blocks, 0, rng)?;
            let class = |node: u32| dataset.node_labels.as_ref().and_then(|labels| labels.single(node));
            let classes: Vec<u32> = (0..n_nodes).filter_map(class).collect();
            dataset.features = Some(generators::marks(
                &classes,
                n_classes,
                n_features,
                (mark_prob, other_prob),
                rng,
            ));
            Ok(dataset)
        }
        DatasetSpec::GraphClasses {
            n_graphs,
            n_classes,
            min_nodes,
            max_nodes,
        } => {
            let labels: Vec<u32> = (0..n_graphs).map(|i| i % n_classes).collect();
            let draw = |class: &u32| {
                let n_nodes = generators::n_nodes_between(min_nodes, max_nodes, rng);
                let edges = generators::graph_of_class(*class, n_nodes, rng);
                let pairs: Vec<(u32, u32)> = edges.into_iter().map(generators::pair).collect();
                Graph::from_edges(n_nodes, &pairs, false)
            };
            Ok(Dataset {
                name: spec.name(),
                graphs: labels.iter().map(draw).collect::<Result<_, _>>()?,
                graph_labels: Some(labels),
                n_classes: n_classes as usize,
                ..Dataset::default()
            })
        }
        DatasetSpec::ControlFlow {
            n_functions,
            n_nodes,
            n_compilers,
            n_levels,
            variant_prob,
            property_effect,
            scaling,
        } => {
            let parameters = ControlFlow {
                n_functions,
                n_nodes,
                n_compilers,
                n_levels,
                variant_prob,
                property_effect,
            };
            generate_control_flow(spec, &parameters, scaling, rng)
        }
        _ => assemble(spec, 0, Vec::new(), None, Lifted::default()),
    }
}

fn generate_rmat(
    spec: &DatasetSpec,
    parameters: &Rmat,
    min_degree: u32,
    rng: &mut SimRng,
) -> Result<Dataset, DataError> {
    let n_nodes = parameters.n_nodes;
    let mut edges = generators::rmat(parameters, rng);
    let missing = wanted(n_nodes, parameters.mean_degree) - edges.len();
    // An end of an edge drawn uniformly: nodes in proportion to their degrees, as the model would.
    let ends = edges.clone();
    let added = generators::lift(n_nodes, &mut edges, min_degree, rng, |_, rng| {
        if ends.is_empty() {
            return rng.random_range(0..n_nodes);
        }
        let edge = ends[rng.random_range(0..ends.len() as u64) as usize];
        (edge >> (32 * rng.random_range(0..2_u32))) as u32
    });
    drop(ends);
    let mut dataset = assemble(spec, n_nodes, edges, None, Lifted { min_degree, added })?;
    note_missing(&mut dataset, missing);
    Ok(dataset)
}

fn generate_dc_sbm(
    spec: &DatasetSpec,
    parameters: &DcSbm,
    min_degree: u32,
    rng: &mut SimRng,
) -> Result<Dataset, DataError> {
    let n_nodes = parameters.n_nodes;
    let (mut edges, model) = generators::dc_sbm(parameters, rng);
    let missing = wanted(n_nodes, parameters.mean_degree) - edges.len();
    let added = generators::lift(n_nodes, &mut edges, min_degree, rng, |node, rng| {
        model.partner(node, rng)
    });
    let lifted = Lifted { min_degree, added };
    let mut dataset = assemble(spec, n_nodes, edges, Some(model.into_labels()), lifted)?;
    note_missing(&mut dataset, missing);
    Ok(dataset)
}

fn generate_control_flow(
    spec: &DatasetSpec,
    parameters: &ControlFlow,
    scaling: CountScaling,
    rng: &mut SimRng,
) -> Result<Dataset, DataError> {
    let variants = generators::control_flow(parameters, rng);
    let properties = variants.iter().map(|variant| variant.property).collect();
    let labels: Vec<u32> = variants.iter().map(|variant| variant.function).collect();
    let mut graphs = Vec::with_capacity(variants.len());
    let mut counts: Vec<f32> = Vec::new();
    for variant in variants {
        let program = variant.program;
        let arcs = (0_u32..).zip(&program.next);
        let pairs: Vec<(u32, u32)> = arcs
            .flat_map(|(from, next)| next.iter().map(move |&to| (from, to)))
            .collect();
        let builder = GraphBuilder::new(program.next.len() as u32);
        graphs.push(builder.directed(true).keep_self_loops(true).build(&pairs)?.0);
        counts.extend(program.counts.iter().flatten().map(|&count| count as f32));
    }
    let counts = Array2::from_shape_vec((counts.len() / N_COUNTS, N_COUNTS), counts);
    let counts = Features::Dense(counts.expect("every node has a row of six counts").into());
    let values = (0..parameters.n_compilers).flat_map(|compiler| {
        (0..parameters.n_levels).map(move |level| vec![format!("compiler {compiler}"), format!("O{level}")])
    });
    let n_single = labels
        .chunk_by(|a, b| a == b)
        .filter(|variants| variants.len() == 1)
        .count();
    let notes = match n_single {
        0 => Vec::new(),
        n => vec![format!(
            "{n} functions have one variant only: their matching pair is the graph with itself"
        )],
    };
    Ok(Dataset {
        name: spec.name(),
        graphs,
        features: Some(scaling.apply(counts)),
        graph_properties: Properties::new(&["compiler", "level"], values.collect(), properties),
        graph_labels: Some(labels),
        n_classes: parameters.n_functions as usize,
        notes,
        ..Dataset::default()
    })
}

/// What lifting small degrees added.
#[derive(Default)]
struct Lifted {
    min_degree: u32,
    added: usize,
}

fn wanted(n_nodes: u32, mean_degree: f64) -> usize {
    (f64::from(n_nodes) * mean_degree / 2.0) as usize
}

fn note_missing(dataset: &mut Dataset, missing: usize) {
    if missing > 0 {
        dataset.notes.push(format!(
            "{missing} edges short of the stated mean degree: the model kept drawing edges it had drawn"
        ));
    }
}

fn assemble(
    spec: &DatasetSpec,
    n_nodes: u32,
    edges: Vec<u64>,
    labels: Option<Labels>,
    lifted: Lifted,
) -> Result<Dataset, DataError> {
    let pairs: Vec<(u32, u32)> = edges.iter().map(|&edge| generators::pair(edge)).collect();
    drop(edges);
    let graph = Graph::from_edges(n_nodes, &pairs, false)?;
    let mut dataset = Dataset::of_graph(&spec.name(), graph);
    if lifted.added > 0 {
        let note = format!(
            "{} edges were added so that every degree is at least {}",
            lifted.added, lifted.min_degree
        );
        dataset.notes.push(note);
    }
    dataset.n_classes = labels.as_ref().map_or(0, Labels::n_classes);
    dataset.node_labels = labels;
    Ok(dataset)
}
