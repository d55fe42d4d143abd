//! An encoder of FedWalk from another crate: `encoder run thrifty`, and every other command, knows
//! it.

use folkmoot::prelude::*;
use folkmoot::privacy::RandomisedResponse;
use folkmoot::walks::fedwalk::{Encoder, Entries};

/// Randomised response that spends a share of the card's budget.
#[component(name = "Thrifty", about = "randomised response at a share of the card's budget")]
#[derive(Clone, Copy, Debug)]
struct Thrifty {
    /// The share of `epsilon_encoder` that an entry costs.
    #[component(default = 0.5, above = 0, at_most = 1)]
    share: f64,
}

impl Encoder for Thrifty {
    fn mechanism(&self) -> &'static str {
        "thrifty response"
    }

    fn entries(&self, n_nodes: u32, epsilon: f64) -> Result<Entries, StrategyError> {
        let response = RandomisedResponse::new(self.share * epsilon, n_nodes, "one vertex");
        let response = response.map_err(|error| StrategyError(error.to_string()))?;
        Ok(Entries::Alone {
            keep_probability: response.keep_probability(),
            mechanism: Box::new(response),
        })
    }
}

fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::shipped();
    registry
        .add_component::<dyn Encoder, Thrifty>()
        .expect("no shipped encoder is called so");
    registry
        .add_card("thrifty", include_str!("../thrifty.ron"))
        .expect("no shipped card is called so");
    folkmoot::main(registry)
}
