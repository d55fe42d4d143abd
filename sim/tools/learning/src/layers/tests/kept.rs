//! What a batch keeps for layers that begin with sums or with products of scarce rows.

use super::*;

#[test]
fn sage_has_the_same_bits_from_means_and_scarce_rows_that_a_batch_keeps() {
    let mut layout = Layout::new();
    let sage = Sage::new(&mut layout, "sage", 70, 5);
    let mut rng = SimRng::seed_from_u64(5);
    let mut features = drawn(&mut rng, 30 * 70);
    features.iter_mut().enumerate().for_each(|(i, x)| {
        if i % 40 > 0 {
            *x = 0.0;
        }
    });
    let mut scarce = Batch::new(70);
    scarce.push(&ring(30).row_means(), &features);
    let mut ready = scarce.clone();
    ready.keep_nonzeros();
    ready.keep_neighbour_sums();
    let model = layout.initialise(&mut rng);
    let targets = drawn(&mut rng, 30 * 5);
    let learned = |batch: &Batch| {
        let mut tape = Tape::new();
        tape.load(&layout, &model);
        let x = batch.features(&mut tape);
        let y = match batch.neighbour_sums(&mut tape) {
            Some(means) => sage.forward_from_means(&mut tape, means, x),
            None => sage.forward(&mut tape, batch.adjacency(), x),
        };
        let loss = tape.mean_squared_error(y, &targets, None);
        tape.backward(loss);
        (tape.value(y).to_vec(), tape.parameters_mut().1.to_vec())
    };
    assert_eq!(learned(&ready), learned(&scarce));
}
