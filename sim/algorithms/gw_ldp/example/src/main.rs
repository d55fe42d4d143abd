//! A mechanism of GW-LDP from another crate: `mechanism run laplace`, and every other command,
//! knows it.

use folkmoot::gw_ldp::{Release, Table};
use folkmoot::prelude::*;
use folkmoot::privacy::{NoisyCounts, ParameterError};

/// Laplace noise on every value. Of values in 0..=1 all may change by 1 with the graph.
#[component(name = "Laplace", about = "Laplace noise that keeps what a graph may spend")]
#[derive(Clone, Copy, Debug)]
struct Laplace {
    /// What a graph spends.
    #[component(default = 1.0, in = 1e-6..=1e6)]
    epsilon: f64,
}

impl Release for Laplace {
    fn mechanism(&self) -> &'static str {
        "Laplace noise"
    }

    fn claimed(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn needs_bounds(&self) -> bool {
        true
    }

    fn table(&self, n_nodes: usize, width: usize) -> Result<Table, ParameterError> {
        let noise = NoisyCounts::new(self.epsilon, (n_nodes * width) as f64, "one graph")?;
        Ok(Table::Reals(Box::new(noise)))
    }
}

fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::shipped();
    registry
        .add_component::<dyn Release, Laplace>()
        .expect("no shipped mechanism is called so");
    registry
        .add_card("laplace", include_str!("../laplace.ron"))
        .expect("no shipped card is called so");
    folkmoot::main(registry)
}
