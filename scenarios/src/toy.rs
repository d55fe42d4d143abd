//! An algorithm that does nothing, for tests of what cards say.

use crate::algorithm::{Algorithm, Shared, Source};
use crate::axis::DuplicateName;
use crate::registry::Registry;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use serde::Serialize;

/// Its settings, and the algorithm as well.
#[component(name = "Idle", about = "nothing")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Idle {
    #[component(default = 0.2, in = 0..=1)]
    pub(crate) prob: f64,
    #[component(default = 10, in = 1..=100)]
    pub(crate) steps: u32,
}

#[derive(Serialize)]
pub(crate) struct Facts {}

/// A registry that knows it, with a card that sweeps it under three seeds.
pub(crate) fn registry() -> Registry {
    let fill = |registry: &mut Registry| -> Result<(), DuplicateName> {
        registry.add::<Idle>()?;
        registry.add_card("toy/probs", CARD)?;
        registry.add_card("toy/arms", ARMS)
    };
    let mut registry = Registry::base();
    fill(&mut registry).expect("names differ");
    registry
}

const CARD: &str = r#"(
    question: "What does the probability change?",
    dataset: DcSbm(n_nodes: 20, mean_degree: 4),
    strategy: Idle(),
    sweep: (axes: {"strategy.prob": [0.0, 0.2, 0.4]}, seeds: [1, 2, 3]),
)"#;

const ARMS: &str = r#"(
    question: "Which is best?",
    dataset: DcSbm(n_nodes: 20, mean_degree: 4),
    strategy: Idle(),
    sweep: (arms: {"one": {}, "two": {"strategy.steps": 3}}, seeds: [1, 2, 3]),
)"#;

impl Algorithm for Idle {
    type Facts = Facts;
    type Strategy = Idle;

    fn facts(&self, _: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts {})
    }

    fn build(&self, _: &Facts) -> Result<Idle, StrategyError> {
        Ok(self.clone())
    }

    fn share(&self, _: &Facts, _: &Idle, source: &Source<'_>) -> Result<Shared<Idle>, StrategyError> {
        Ok(Shared {
            shards: Box::new(NoData(source.n_clients())),
            evaluator: Box::new(NoEvaluator),
        })
    }
}

impl Strategy for Idle {
    type Down = Never;
    type Up = Never;
    type Peer = Never;
    type Shard<'a> = ();
    type Work = ();
    type Done = ();
    type Server = ();
    type Client = ();
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn on_server(
        &self,
        (): &mut (),
        _: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        cx.finish();
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        (): &mut (),
        _: ClientEvent<Self>,
        _: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        Ok(())
    }

    fn perform(&self, _: Option<()>, (): &(), _: &JobContext) {}
}
