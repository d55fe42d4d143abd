//! The whole of what precedes deployment: training, the choice of a model, and what it is worth to
//! users and to eavesdroppers.

use super::attack::reconstruct;
use super::distillation::Teacher;
use super::edits::Told;
use super::options::{Choice, Intercept};
use super::train::Trainer;
use super::view::View;
use folkmoot_draws::Rng;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};

const EPOCH: Purpose = Purpose(*b"pp-epoch");
const TEACHER: Purpose = Purpose(*b"pp-teach");

/// A trained model and its history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub parameters: Vec<f32>,
    /// The epoch after which it stood so; 0 is the model before training.
    pub chosen_epoch: u32,
    pub epochs: Vec<Epoch>,
    /// The epoch after which a parameter or a score of a validation pair was not a finite number:
    /// training ends there.
    pub diverged_in: Option<u32>,
    /// What the model was worth before training, on the way where the card asks for it, and as
    /// chosen, in this order.
    pub measured: Vec<Measured>,
    /// What its teacher was worth, if it had one.
    pub teacher: Option<Measured>,
}

impl Learned {
    /// A model without a history.
    pub(super) fn chosen(parameters: Vec<f32>) -> Learned {
        Learned {
            parameters,
            chosen_epoch: 0,
            epochs: Vec::new(),
            diverged_in: None,
            measured: Vec::new(),
            teacher: None,
        }
    }
}

/// One epoch of training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The mean squared error over the training pairs, while they were learned from.
    pub loss: f64,
    /// What chooses, the greater the better: the area under the ROC curve of the validation pairs
    /// after it, or less their mean squared error where similarities are learned; `None` if a score
    /// is no number.
    pub validation: Option<f64>,
}

/// What a model is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// After so many epochs.
    pub epoch: u32,
    /// The area under the ROC curve of the test pairs.
    pub similarity_auc: Option<f64>,
    /// How well the property is inferred, by interception.
    pub attacks: Vec<(Intercept, Option<f64>)>,
    /// How well arcs are told from other pairs of nodes.
    pub structure_auc: Option<f64>,
    /// How well similarities are told, where they are learned.
    pub told: Option<Told>,
}

impl View<'_> {
    /// Trains a model, chooses, and measures; or measures that of another training. Pure.
    pub fn learn(&self) -> Learned {
        let (params, data) = (&self.ppgm.params, self.data);
        if let Some(trained) = &data.trained {
            let initial = self.ppgm.initial(|purpose| self.streams.global(purpose));
            return Learned {
                measured: vec![self.measure(0, &initial), self.measure(0, trained)],
                ..Learned::chosen(trained.clone())
            };
        }
        let taught = self.ppgm.teacher.as_ref().map(|ppgm| {
            let streams = Streams::new(self.streams.global(TEACHER).next_u64());
            (ppgm, View { ppgm, streams, ..*self }.learn())
        });
        let distillation = params.model.distillation();
        let teacher = taught.as_ref().map(|(ppgm, learned)| {
            let matcher = ppgm.matcher.as_ref();
            Teacher::new(matcher, &learned.parameters, &data.inputs, distillation)
        });
        let mut trainer = Trainer::new(
            self.ppgm.matcher.as_ref(),
            params.form,
            &params.training,
            self.ppgm.initial(|purpose| self.streams.global(purpose)),
            self.streams,
        )
        .taught_by(teacher)
        .towards(data.edits.as_ref());
        let mut learned = Learned {
            parameters: trainer.parameters().to_vec(),
            chosen_epoch: 0,
            epochs: Vec::new(),
            diverged_in: None,
            measured: vec![self.measure(0, trainer.parameters())],
            teacher: taught
                .as_ref()
                .and_then(|(_, learned)| learned.measured.last().cloned()),
        };
        let mut best = None;
        for epoch in 1..=params.training.epochs {
            let mut rng = self.streams.party(EPOCH, Party::Server, Round(epoch));
            let pairs = match &data.edits {
                Some(edits) => edits.epoch(&mut rng),
                None => data.sampler.epoch(&mut rng),
            };
            let loss = trainer.epoch(&data.inputs, &pairs);
            let deployed = self.ppgm.deployed(trainer.parameters(), self.streams);
            let validation = match &data.edits {
                Some(edits) => edits.validate(&data.inputs, &deployed).map(|error| -error),
                None => deployed.auc(&data.inputs, &data.validation),
            };
            learned.epochs.push(Epoch { loss, validation });
            // Validation has pairs of both kinds, so nothing but a score that is no number leaves
            // it without an area.
            if validation.is_none() || !trainer.parameters().iter().all(|x| x.is_finite()) {
                learned.diverged_in = Some(epoch);
                return learned;
            }
            let better = match params.training.choice {
                Choice::BestValidation => validation > best,
                Choice::Last => true,
            };
            if better || epoch == 1 {
                best = validation;
                learned.parameters.copy_from_slice(trainer.parameters());
                learned.chosen_epoch = epoch;
            }
            if params.attack.every > 0 && epoch.is_multiple_of(params.attack.every) {
                learned.measured.push(self.measure(epoch, trainer.parameters()));
            }
        }
        if learned.chosen_epoch > 0 {
            let chosen = self.measure(learned.chosen_epoch, &learned.parameters);
            learned.measured.push(chosen);
        }
        learned
    }

    /// What a model is worth after an epoch.
    pub(super) fn measure(&self, epoch: u32, parameters: &[f32]) -> Measured {
        let (ppgm, data) = (self.ppgm, self.data);
        let deployed = ppgm.deployed(parameters, self.streams);
        Measured {
            epoch,
            similarity_auc: deployed.auc(&data.inputs, &data.test),
            attacks: ppgm.params.attack.infer(data, &deployed, ppgm.hidden(), self.streams),
            structure_auc: reconstruct(data, &deployed),
            told: data
                .edits
                .as_ref()
                .and_then(|edits| edits.told(&data.inputs, &deployed)),
        }
    }
}
