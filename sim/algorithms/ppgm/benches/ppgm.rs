//! PPGM's training step: 5 graphs of 90 nodes and 135 edges, each with a pair that matches and one
//! that does not, which are 10 pairs of 15 graphs, three layers of width 100, 8 codes, Adam.
//! `sim/algorithms/ppgm/benches/ppgm_pytorch.py` runs the same in PyTorch.
//!
//! Set `RAYON_NUM_THREADS` for the number of threads.

use folkmoot_draws::{Purpose, SimRng, Streams, index, unit};
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_graphs::Pair;
use folkmoot_learning::{Csr, DegreeRule};
use folkmoot_ppgm::matcher::{self, Input};
use folkmoot_ppgm::options::{Form, Model, Size, Training};
use folkmoot_ppgm::train::Trainer;

const N_NODES: usize = 90;
const N_EDGES: usize = 135;

fn graph(rng: &mut SimRng) -> Input {
    let mut arcs: Vec<(u32, u32)> = Vec::new();
    while arcs.len() < 2 * N_EDGES {
        let (u, v) = (index(rng, N_NODES) as u32, index(rng, N_NODES) as u32);
        if u != v && !arcs.contains(&(u, v)) {
            arcs.extend([(u, v), (v, u)]);
        }
    }
    let csr = Csr::from_arcs(N_NODES as u32, &arcs, None).expect("ids are below the number of nodes");
    let features = (0..N_NODES * 6).map(|_| 2.0 * unit(rng) as f32 - 1.0).collect();
    Input::from_csr(csr.with_self_loops().normalised(DegreeRule::Masked), features)
}

fn steps(c: &mut Criterion) {
    let mut rng = Streams::new(1).global(Purpose(*b"bench   "));
    let graphs: Vec<Input> = (0..15).map(|_| graph(&mut rng)).collect();
    let pairs: Vec<Pair> = (0..10)
        .map(|i| Pair {
            first: i / 2,
            second: 5 + i,
            matches: i % 2 == 0,
        })
        .collect();
    let mut group = c.benchmark_group("ppgm");
    group.throughput(Throughput::Elements(10));
    for (name, model) in [
        ("ppgm", Model::Ppgm),
        ("sgnn", Model::Sgnn),
        ("sim_gnn", Model::SimGnn),
        ("graph_sim", Model::GraphSim),
        ("gmn", Model::Gmn),
        ("mgmn", Model::Mgmn),
        ("h2mn", Model::H2mn),
    ] {
        let form = Form::default();
        let matcher = matcher::build(model, &Size::default(), &form, 6);
        let start = matcher.layout().initialise(&mut rng);
        let mut trainer = Trainer::new(matcher.as_ref(), form, &Training::default(), start, Streams::new(1));
        group.bench_function(name, |b| b.iter(|| black_box(trainer.step(&graphs, &pairs))));
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
