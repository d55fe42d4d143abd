//! A client's training allocates nothing from the second step on, whatever the size of its batches.

#![allow(
    unsafe_code,
    reason = "counting allocations takes an allocator, and its trait is unsafe"
)]
#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use folkmoot_classifiers::classifier::graph_layers::{Gat, Gcn, Gin, GraphLayers};
use folkmoot_classifiers::classifier::{Classifier, Facts, Inputs, LocalOptimiser, Model, Split, Training};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_graphs::{DataDirs, DataSource, Partition, datasets};
use folkmoot_parts::Chosen;
use folkmoot_scenarios::algorithm::Source;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks for.
struct Counting;

// SAFETY: every call is passed on as it is; the counter neither allocates nor runs a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.dealloc(at, block) }
    }

    unsafe fn realloc(&self, at: *mut u8, block: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.realloc(at, block, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often a training of `epochs` asks for memory, once the thread has trained before.
fn allocations(epochs: u32, batch_size: Option<u32>, encoder: Chosen<dyn GraphLayers>) -> usize {
    let spec = datasets::GraphClasses {
        n_graphs: 20,
        n_classes: 2,
        min_nodes: 12,
        max_nodes: 20,
    };
    let rng = || Streams::new(1).global(Purpose(*b"test    "));
    let dataset = Arc::new(spec.load(&DataDirs::new(), &mut rng()).unwrap());
    let partition = Arc::new(Partition::from_shards(vec![(0..20).collect()]).unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(1));
    let model = Model {
        encoder,
        dropout: 0.2,
        ..Model::default()
    };
    let training = Training {
        epochs,
        batch_size,
        optimiser: LocalOptimiser::Adam,
        fedprox_mu: 0.1,
        ..Training::default()
    };
    let facts = Facts::new(Inputs::Degree { most: 8 }, Split::All, &source).unwrap();
    let classifier = Classifier::new(&model, &training, &facts).unwrap();
    let held = classifier.share(Split::default(), &source).unwrap();
    let start = classifier.network().layout().initialise(&mut rng());
    let train = || classifier.train(&held.shards()[0], &start, &mut rng());
    // Twice: batches are drawn alike, so the second finds all the memory that it needs.
    train();
    train();
    let before = COUNT.get();
    let trained = train();
    let count = COUNT.get() - before;
    assert_ne!(trained, start);
    count
}

#[test]
fn a_training_asks_for_the_memory_of_its_result_and_no_more() {
    for batch_size in [None, Some(3)] {
        let encoders: [Chosen<dyn GraphLayers>; 3] =
            [Chosen::new(Gcn {}), Chosen::new(Gin {}), Chosen::new(Gat { heads: 4 })];
        for encoder in encoders {
            let counts = [1, 10].map(|epochs| allocations(epochs, batch_size, encoder.clone()));
            assert_eq!(counts, [1, 1], "{encoder:?} in batches of {batch_size:?}");
        }
    }
}
