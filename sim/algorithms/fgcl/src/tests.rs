//! The loss of a step against the same put together graph by graph.

use super::data::{Data, Item, Labels};
use super::step::Step;
use super::*;
use folkmoot_classifiers::classifier::graph_layers::{Gcn, GraphLayers, Tag};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_graphs::{DataDirs, DataSource, Partitioner, datasets, partition};
use folkmoot_learning::{Adjacency, Tape, Var};
use folkmoot_parts::Chosen;

fn fgcl(params: Params) -> (Fgcl, Data) {
    let spec = datasets::GraphClasses {
        n_graphs: 12,
        n_classes: 2,
        min_nodes: 6,
        max_nodes: 9,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    let dataset = Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap());
    let partition = partition::Iid { n_clients: 1 }.divide(&dataset, &mut rng);
    let mut params = params;
    (params.model.hidden, params.model.dropout) = (5, 0.0);
    params.inputs = folkmoot_classifiers::classifier::Inputs::Degree { most: 4 };
    let partition = Arc::new(partition.unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(2));
    let data = Data::new(&params, &source).unwrap();
    let facts = Facts::new(&params, &source).unwrap();
    (Fgcl::new(params, &facts), data)
}

/// The embedding of one graph: its matrix and its bounds beside it.
fn embed<'g>(fgcl: &Fgcl, tape: &mut Tape<'g>, (item, matrix, bounds): (&'g Item, &'g [f32], &'g [u32])) -> Var {
    let blocks = tape.input(1, matrix.len(), matrix);
    let x = tape.input(item.n_nodes, fgcl.network.n_features(), &item.features);
    fgcl.network
        .embed(tape, Adjacency::Blocks(blocks, bounds), x, bounds, None)
}

/// Two targets of a batch share a negative and one of them has it twice: encoded once, it counts as
/// often as it was drawn.
#[test]
fn a_step_is_the_sum_of_its_targets() {
    let encoders: [(Chosen<dyn GraphLayers>, Supervised); 2] = [
        (Chosen::new(Gcn {}), Supervised::BothViews),
        (Chosen::new(Tag { hops: 2 }), Supervised::FirstView),
    ];
    for (encoder, supervised) in encoders {
        let mut params = Params::default();
        params.model.encoder = encoder.clone();
        params.supervised = supervised;
        params.contrast.lambda = 0.5;
        let (fgcl, data) = fgcl(params);
        let (noise, items) = (fgcl.noise.as_ref().unwrap(), &data.items);
        let mut rng = Streams::new(3).global(Purpose(*b"testtest"));
        let graphs = [0u32, 1, 0, 1, 2, 3, 5];
        let mut matrices: Vec<Vec<f32>> = Vec::new();
        let mut step = Step::new(fgcl.network.n_features(), true);
        step.n_targets = 2;
        for item in graphs {
            let mut matrix = Vec::new();
            noise.look(0, &items[item as usize], &mut rng, &mut matrix, &mut Vec::new());
            step.assembly.push(&items[item as usize], &matrix);
            matrices.push(matrix);
        }
        (0..2).for_each(|_| step.ask(&data.labels, &graphs[..2]));
        let drawn = [[5, 6, 5], [4, 5, 4]];
        step.negatives = drawn.concat();
        step.ends = vec![3, 6];
        let start = fgcl.network.layout().initialise(&mut rng);
        let mut tape = Tape::new();
        tape.load(fgcl.network.layout(), &start);
        let loss = fgcl.loss(&mut tape, &step, &mut rng);
        tape.backward(loss);
        let got = (tape.scalar(loss), tape.parameters_mut().1.to_vec());

        let bounds: Vec<[u32; 2]> = graphs
            .iter()
            .map(|item| [0, items[*item as usize].n_nodes as u32])
            .collect();
        let graph = |at: usize| {
            let item = &*items[graphs[at] as usize];
            (item, matrices[at].as_slice(), bounds[at].as_slice())
        };
        let mut tape = Tape::new();
        tape.load(fgcl.network.layout(), &start);
        let Labels::Classes(classes, _) = &data.labels else {
            unreachable!("the graphs have classes")
        };
        let labels: Vec<u32> = [0, 1, 0, 1].iter().map(|item| classes[*item]).collect();
        let views: Vec<Var> = (0..4).map(|at| embed(&fgcl, &mut tape, graph(at))).collect();
        let mut contrast = None;
        for (target, drawn) in drawn.iter().enumerate() {
            let negatives: Vec<Var> = drawn
                .iter()
                .map(|at| embed(&fgcl, &mut tape, graph(*at as usize)))
                .collect();
            let negatives = tape.concat_rows(&negatives);
            let term = tape.info_nce(views[target], views[target + 2], negatives, 1.0, true);
            contrast = Some(contrast.map_or(term, |sum| tape.add(sum, term)));
        }
        let n = if supervised == Supervised::BothViews { 4 } else { 2 };
        let z = tape.concat_rows(&views[..n]);
        let logits = fgcl.network.classify(&mut tape, z, None);
        let entropy = tape.cross_entropy(logits, &labels[..n], None);
        let loss = tape.add_scaled(entropy, 0.25, contrast.unwrap());
        tape.backward(loss);
        assert!((tape.scalar(loss) - got.0).abs() < 1e-5, "{encoder:?}");
        let gradient = tape.parameters_mut().1;
        let largest = gradient.iter().fold(0.0f32, |most, g| most.max(g.abs()));
        assert!(largest > 1e-3);
        let far = gradient
            .iter()
            .zip(&got.1)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(far < 1e-5 * largest.max(1.0), "{encoder:?}: {far} of {largest}");
    }
}
