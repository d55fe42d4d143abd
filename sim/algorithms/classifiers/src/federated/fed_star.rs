//! FedStar: what graphs are like about their nodes is learned together, and what their nodes bring
//! by each client for itself.

use super::cut::Cut;
use super::{Common, Federated, Learned, Local, Method, Params};
use crate::classifier::Inputs;
use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Personalisation, Travels};

/// FedStar: the channel of structure is learned together; the other one and the head are each
/// client's own and never sent.
///
/// Y. Tan, Y. Liu, G. Long, J. Jiang, Q. Lu, C. Zhang. Federated Learning on Non-IID Graphs via
/// Structural Knowledge Sharing. AAAI 2023. <https://arxiv.org/abs/2211.13009>
///
/// | exchange | direction | payload                                                     | bytes               |
/// |----------|-----------|-------------------------------------------------------------|---------------------|
/// | `model`  | downlink  | weights of the channel of structure                         | 4 × n_structure     |
/// | `update` | uplink    | training samples as `u32`, weights of the channel of structure | 4 × n_structure + 4 |
///
/// Both channels train at once. What is a client's own begins alike, drawn from the public
/// `start_seed`. With a width of 64 a channel (`hidden: 128`), three layers and 32 numbers of
/// structure 14 592 numbers travel each way, whatever nodes bring and however many classes there
/// are.
///
/// Deviations from the authors' code: both channels are read out side by side and then meet in the
/// head, where there a linear layer joins them before; and what is dropped in training is dropped
/// in both.
#[component(
    name = "FedStar",
    about = "FedStar: a shared structural channel and a personalised feature channel (AAAI 2023)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FedStar {}

fn cut(common: &Common) -> Cut {
    Cut::sharing(common, |name| name.contains(".structure."))
}

impl Method for FedStar {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let cut = cut(local.common);
        let whole = cut.own(local);
        cut.learned(&local.train(&whole))
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        cut(local.common).own(local)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let structure = params.model.encoder.n_structural();
        let rule = "must be Structured() with FedStar, which shares the structural channel".to_owned();
        rules.require(structure.is_some(), "model.encoder", rule);
        let Some(structure) = structure else {
            return;
        };
        let n = match params.inputs {
            Inputs::Structured { walks, degrees } => walks + degrees,
            _ => 0,
        };
        let rule = format!(
            "must be Structured with walks + degrees = {structure} (model.encoder.structure) with FedStar, got {n}"
        );
        rules.require(n == structure, "inputs", rule);
    }
}

impl Personalisation<Federated> for FedStar {
    fn travels(&self, federated: &Federated) -> Travels {
        cut(&federated.common).travels(&federated.common)
    }

    fn initial(&self, federated: &Federated, rng: &mut SimRng) -> Vec<f32> {
        cut(&federated.common).initial(&federated.common, rng)
    }
}
