//! EGSC's teacher and student in PPGM's protocol: their sizes, what must hold for any weights, what
//! a teacher adds, and what leaks.

use super::*;
use folkmoot_learning::Csr;
use folkmoot_parts::Value;
use folkmoot_ppgm::federated;
use folkmoot_ppgm::learned::Measured;
use folkmoot_ppgm::options::{Egsc, Norm, Task};

const TEACHER: Model = Model::EgscTeacher { sends: Sends::Graph };
const NODES: Model = Model::EgscTeacher { sends: Sends::Nodes };
const STUDENT: Model = Model::EgscStudent {
    distillation: Distillation::Both,
};
const ALONE: Model = Model::EgscStudent {
    distillation: Distillation::None,
};

fn built(model: Model, egsc: Egsc, n_features: usize) -> Box<dyn Matcher> {
    let form = Form {
        egsc,
        ..Form::default()
    };
    matcher::build(model, &Size::default(), &form, n_features)
}

/// By the sums over the layers of both networks: GIN with its epsilon and batch norm, pools,
/// fusions, heads.
#[test]
fn networks_have_the_parameters_that_their_layers_count() {
    let wide = Egsc {
        first: 100,
        second: 100,
        third: 100,
        ..Egsc::default()
    };
    let cases = [
        (Egsc::default(), 29, 59_206, 68_012),
        (Egsc::default(), 6, 57_734, 66_540),
        (wide, 6, 322_398, 447_686),
    ];
    for (egsc, n_features, teacher, student) in cases {
        let count = |model| built(model, egsc, n_features).layout().n_trainable();
        assert_eq!([TEACHER, NODES, STUDENT].map(count), [teacher, teacher, student]);
        // A second head is the student's alone: 2 b to b to 1.
        let b = egsc.bottleneck as usize;
        let with_second = |model| {
            let egsc = Egsc { rec_head: true, ..egsc };
            built(model, egsc, n_features).layout().n_trainable()
        };
        assert_eq!(with_second(STUDENT), student + 2 * b * b + 2 * b + 1);
        assert_eq!(with_second(TEACHER), teacher);
        // A mean and a variance of each column besides.
        let widths = [egsc.first, egsc.second, egsc.third].iter().sum::<u32>() as usize;
        assert_eq!(built(TEACHER, egsc, n_features).layout().len(), teacher + 2 * widths);
    }
}

/// A graph of labels, and the same with its nodes turned round.
fn graphs() -> [Input; 3] {
    let of = |edges: &[(u32, u32)], labels: [usize; 5]| {
        let arcs: Vec<(u32, u32)> = edges.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
        let mut features = vec![0.0; 15];
        for (node, label) in labels.into_iter().enumerate() {
            features[3 * node + label] = 1.0;
        }
        Input::from_csr(Csr::from_arcs(5, &arcs, None).unwrap(), features)
    };
    [
        of(&[(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 2, 2, 0]),
        of(&[(4, 3), (3, 2), (2, 1), (1, 0)], [0, 2, 2, 1, 0]),
        of(&[(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)], [1, 1, 0, 2, 2]),
    ]
}

/// Scores of `pairs` of the three graphs, with weights that no symmetry holds for by chance.
fn scores(matcher: &dyn Matcher, pairs: &[[usize; 2]]) -> Vec<f32> {
    let parameters = matcher
        .layout()
        .initialise(&mut Streams::new(5).global(Purpose(*b"weights ")));
    let graphs = graphs();
    let sent = Stages::with(matcher, &parameters, |stages| {
        graphs.each_ref().map(|graph| stages.begin(graph).state)
    });
    Stages::with(matcher, &parameters, |stages| {
        pairs.iter().map(|&[a, b]| stages.score(&sent[a], &sent[b])).collect()
    })
}

#[test]
fn the_order_of_nodes_does_not_matter_and_that_of_graphs_only_where_a_card_says_no_symmetry() {
    for model in [TEACHER, NODES, STUDENT] {
        for norm in [Norm::Batch, Norm::Layer, Norm::None] {
            let of = |symmetric| {
                let egsc = Egsc {
                    norm,
                    symmetric,
                    ..Egsc::default()
                };
                scores(built(model, egsc, 3).as_ref(), &[[0, 2], [1, 2], [2, 0]])
            };
            let [same, turned_round, turned] = of(false)[..] else {
                unreachable!("there are three pairs")
            };
            assert!((same - turned_round).abs() < 1e-5, "{model:?} {norm:?}");
            assert!((same - turned).abs() > 1e-4, "{model:?} {norm:?}: {same} and {turned}");
            let both = of(true);
            assert!((both[0] - both[2]).abs() < 1e-6, "{model:?} {norm:?}: {both:?}");
            assert!((both[0] - (same + turned) / 2.0).abs() < 1e-6, "{model:?} {norm:?}");
        }
    }
}

/// What the service pools is what devices would have pooled, so both forms of the teacher score
/// alike.
#[test]
fn a_teacher_who_is_sent_nodes_scores_as_one_who_is_sent_vectors() {
    let pairs = [[0, 2], [2, 0], [1, 1]];
    let of = |model| scores(built(model, Egsc::default(), 3).as_ref(), &pairs);
    assert_eq!(of(TEACHER), of(NODES));
}

#[test]
fn a_cosine_is_the_students_alone() {
    let egsc = Egsc {
        cosine: true,
        ..Egsc::default()
    };
    let of = |model| scores(built(model, egsc, 3).as_ref(), &[[0, 1], [0, 2]]);
    let student = of(STUDENT);
    assert!((student[0] - 1.0).abs() < 1e-5 && student[1] < 0.999, "{student:?}");
    assert_eq!(
        of(TEACHER),
        scores(built(TEACHER, Egsc::default(), 3).as_ref(), &[[0, 1], [0, 2]])
    );
}

/// Statistics move where there is batch norm, and a batch is the same on one tape as it is with
/// whatever threads there are.
#[test]
fn running_statistics_are_part_of_the_model() {
    let dataset = functions(20, 1.0, 2);
    for (norm, has) in [(Norm::Batch, true), (Norm::Layer, false)] {
        let mut params = params(ALONE);
        params.form.egsc.norm = norm;
        let system = system(&dataset, &params);
        let (start, learned) = (system.initial(), system.train());
        let n = system.matcher().layout().n_trainable();
        assert_eq!(start.len() > n, has);
        let moved = start[n..]
            .iter()
            .zip(&learned.parameters[n..])
            .filter(|(a, b)| a != b)
            .count();
        assert_eq!(moved, start.len() - n, "{norm:?}");
    }
}

/// A student that is taught is another than one that is not, its teacher has learned, and the
/// measure of a teacher is kept.
#[test]
fn a_student_follows_its_teacher() {
    let dataset = functions(60, 0.3, 2);
    let trained = |model| {
        let mut params = params(model);
        params.training.epochs = 12;
        system(&dataset, &params).train()
    };
    let (taught, alone) = (trained(STUDENT), trained(ALONE));
    assert_ne!(taught.parameters, alone.parameters);
    assert!(alone.teacher.is_none());
    let teacher = taught.teacher.unwrap().similarity_auc.unwrap();
    assert!(teacher > 0.8, "{teacher}");
}

/// The second head's weights learn, and only where a teacher makes what it reads.
#[test]
fn a_second_head_learns_from_what_is_of_both_graphs() {
    let dataset = functions(60, 0.3, 2);
    let mut params = params(STUDENT);
    params.form.egsc.rec_head = true;
    params.training.epochs = 2;
    let system = system(&dataset, &params);
    let (start, learned) = (system.initial(), system.train());
    let layout = system.matcher().layout();
    for name in ["second.0.weight", "second.1.weight", "second.1.bias"] {
        let range = layout.range(layout.find(name).unwrap().parameter);
        assert_ne!(start[range.clone()], learned.parameters[range], "{name}");
    }
    params.model = ALONE;
    let broken: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(broken, ["form.egsc.rec_head"]);
}

/// The property of a graph is in the vector that leaves its device where variants bear marks, and
/// is guessed by chance where they bear none. Arcs are asked for where nodes leave; a cosine finds
/// few, a learned decoder more (`thorough`).
#[test]
fn vectors_of_levels_give_marks_away_and_nothing_else() {
    for (effect, found) in [(1.0, true), (0.0, false)] {
        let dataset = functions(120, effect, 2);
        for model in [TEACHER, ALONE, NODES] {
            let measured = thorough::attacked_after_an_epoch(model, &dataset);
            let (_, area) = measured
                .attacks
                .iter()
                .find(|(intercept, _)| *intercept == Intercept::O)
                .unwrap();
            let area = area.unwrap();
            assert!(
                if found { area > 0.7 } else { (area - 0.5).abs() < 0.12 },
                "{model:?} at {effect}: {area}"
            );
            assert_eq!(measured.structure_auc.is_some(), model == NODES);
        }
    }
}

/// Variants of small functions, by the edit distances of which models are trained.
fn by_edits(model: Model, epochs: u32) -> (Arc<Dataset>, Params) {
    let spec = datasets::ControlFlow {
        n_functions: 40,
        n_nodes: (4, 5),
        n_compilers: 2,
        n_levels: 2,
        variant_prob: 0.7,
        property_effect: 0.5,
        scaling: CountScaling::Raw,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    let mut params = params(model);
    params.task = Task::EditDistance { average_ranks: true };
    params.form.head = Head::Regression;
    params.training = Training {
        epochs,
        batch_pairs: 16,
        learning_rate: 0.003,
        ..params.training
    };
    (Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap()), params)
}

/// Distances are exact, similarities follow from them, and an epoch has each training graph on both
/// sides.
#[test]
fn similarities_are_those_of_exact_distances() {
    let (dataset, params) = by_edits(ALONE, 0);
    let system = system(&dataset, &params);
    let (data, edits) = (system.data(), system.data().edits.as_ref().unwrap());
    for (first, second) in [(data.train[0], data.test[0].first), (data.train[3], data.train[1])] {
        let graphs = [first, second].map(|graph| dataset.graphs[graph as usize].undirected());
        let nodes = (graphs[0].n_nodes() + graphs[1].n_nodes()) as f64;
        let distance = f64::from(folkmoot_similarity::graph_edit::distance(&graphs[0], &graphs[1]).unwrap());
        let matches = false;
        let pair = Pair { first, second, matches };
        let turned = Pair {
            first: second,
            second: first,
            matches,
        };
        assert!((edits.similarity(&pair) - libm::exp(-2.0 * distance / nodes)).abs() < 1e-12);
        assert_eq!(edits.similarity(&pair), edits.similarity(&turned));
    }
    let pairs = edits.epoch(&mut Streams::new(1).global(Purpose(*b"an epoch")));
    for side in [|pair: &Pair| pair.first, |pair: &Pair| pair.second] {
        let mut graphs: Vec<u32> = pairs.iter().map(side).collect();
        graphs.sort_unstable();
        assert_eq!(graphs, data.train);
    }
}

/// Trained networks tell similarities where untrained ones do not.
#[test]
fn similarities_are_learned() {
    for model in [TEACHER, STUDENT] {
        let (dataset, params) = by_edits(model, 40);
        let learned = system(&dataset, &params).train();
        let told = |at: Option<&Measured>| at.unwrap().told.unwrap();
        let (before, after) = (told(learned.measured.first()), told(learned.measured.last()));
        assert!(after.mse < 0.7 * before.mse, "{model:?}: {before:?} {after:?}");
        assert!(after.ranks[0] > 0.5, "{model:?}: {after:?}");
        assert_eq!(learned.teacher.is_some(), model == STUDENT);
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let refused = |dataset: &Arc<Dataset>, params: &Params| {
        let partition = one_each(dataset);
        params
            .prepare(&Source::new(dataset, &partition, Streams::new(1)))
            .err()
            .unwrap()
            .0
    };
    let (_, params) = by_edits(ALONE, 1);
    let text = refused(&functions(30, 1.0, 1), &params);
    assert!(
        text.contains("task: the exact edit distance is for graphs of at most 10 nodes"),
        "{text}"
    );
    assert!(text.ends_with("or task: Classes"), "{text}");
    let dataset = functions(30, 1.0, 1);
    let alone = federated::Params {
        model: STUDENT,
        ..federated::Params::default()
    };
    let partition = one_each(&dataset);
    let text = alone
        .prepare(&Source::new(&dataset, &partition, Streams::new(1)))
        .err()
        .unwrap()
        .0;
    assert!(text.contains("model.distillation: clients have no teacher"), "{text}");
}
