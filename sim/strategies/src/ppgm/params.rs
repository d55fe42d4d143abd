//! PPGM's settings, as a card states them.

use super::attack::{Attack, WrittenAttack};
use super::options::{Form, Model, Size, Variant, WrittenForm};
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// The parameters of [`super::Ppgm`]. Defaults are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Params {
    /// Sets what a card leaves open of `form` and `attack`. Default `Corrected`.
    pub variant: Variant,
    /// What is learned and sent. Default `Ppgm`.
    pub model: Model,
    /// Its sizes.
    pub size: Size,
    /// What the text and the released code do differently.
    pub form: Form,
    /// Who trains, validates and tests. Default `Published`.
    pub split: Split,
    /// Training, which is central and before all else.
    pub training: Training,
    /// The eavesdropper.
    pub attack: Attack,
    /// What devices do with the model.
    pub deployment: Deployment,
}

/// The same as a card writes it: what it leaves open goes by the variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Params")]
struct Written {
    variant: Variant,
    model: Model,
    size: Size,
    form: WrittenForm,
    split: Split,
    training: Training,
    attack: WrittenAttack,
    deployment: Deployment,
}

impl From<Written> for Params {
    fn from(written: Written) -> Self {
        Params {
            variant: written.variant,
            model: written.model,
            size: written.size,
            form: written.form.resolve(written.variant),
            split: written.split,
            training: written.training,
            attack: written.attack.resolve(written.variant),
            deployment: written.deployment,
        }
    }
}

impl From<Params> for Written {
    fn from(params: Params) -> Self {
        Written {
            variant: params.variant,
            model: params.model,
            size: params.size,
            form: params.form.into(),
            split: params.split,
            training: params.training,
            attack: params.attack.into(),
            deployment: params.deployment,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Written::default().into()
    }
}

/// Who trains, validates and tests: 80, 10 and 10 % of the classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Split {
    /// By the order of classes that came with the data, or a random one where none did.
    #[default]
    Published,
    /// By a random order of the classes, another one for each seed.
    Random,
}

/// Training on raw pairs, outside the threat model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Training {
    /// Passes over the training graphs, each with one pair that matches and one that does not; 0..=100000. Default 100.
    pub epochs: u32,
    /// Pairs a step, 1..=10000. Default 10.
    pub batch_pairs: u32,
    /// The rate of Adam, greater than 0, within 1e-8..=10. Default 0.0005.
    pub rate: f64,
    /// Which epoch's model is deployed. Default `BestValidation`.
    pub choice: Choice,
}

impl Default for Training {
    fn default() -> Self {
        Training {
            epochs: 100,
            batch_pairs: 10,
            rate: 0.0005,
            choice: Choice::BestValidation,
        }
    }
}

/// Which epoch's model is deployed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// The first with the greatest area under the ROC curve of the validation pairs.
    #[default]
    BestValidation,
    /// The last.
    Last,
}

/// What devices do with the model once they have it: each begins matches with others at random, at random times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Deployment {
    /// How many matches a device begins on average if it is never away, at least 0 and at most 100000. Default 1. One that is away
    /// begins none, and does not catch up.
    pub matches_per_client: f64,
    /// For how long devices begin matches, seconds, greater than 0, within 1e-3..=1e9. Default 86400.
    pub duration_s: f64,
    /// How long a device waits to learn that the other was not there, milliseconds, 0..=1e9. Default 1000.
    pub timeout_ms: f64,
    /// How often it sends a message again, 0..=1000. Default 2.
    pub retries: u32,
    /// For how long a device keeps an open match, seconds, greater than 0, within 1e-3..=1e9. Default 60.
    pub patience_s: f64,
}

impl Default for Deployment {
    fn default() -> Self {
        Deployment {
            matches_per_client: 1.0,
            duration_s: 86_400.0,
            timeout_ms: 1_000.0,
            retries: 2,
            patience_s: 60.0,
        }
    }
}

impl Params {
    /// Every rule they break.
    pub(super) fn breaches(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut need = |holds: bool, field: &str, rule: String| {
            if !holds {
                breaches.push((field.to_owned(), rule));
            }
        };
        let Size {
            hidden,
            layers,
            codes,
            heads,
        } = self.size;
        let whole = [
            ("size.hidden", hidden, 4, 1024),
            ("size.layers", layers, 1, 16),
            ("size.codes", codes, 1, 256),
            ("size.heads", heads, 1, 1024),
            ("form.feed_forward", self.form.feed_forward, 0, 8192),
            ("training.epochs", self.training.epochs, 0, 100_000),
            ("training.batch_pairs", self.training.batch_pairs, 1, 10_000),
            ("deployment.retries", self.deployment.retries, 0, 1000),
        ];
        for (field, value, least, most) in whole {
            let rule = format!("must lie in {least}..={most}, got {value}");
            need((least..=most).contains(&value), field, rule);
        }
        need(
            heads > 0 && hidden.is_multiple_of(heads.max(1)),
            "size.heads",
            format!("must divide hidden, {hidden}, got {heads}"),
        );
        let dropout = self.form.dropout;
        need(
            (0.0..1.0).contains(&dropout),
            "form.dropout",
            format!("must be at least 0 and below 1, got {dropout}"),
        );
        let per_client = self.deployment.matches_per_client;
        need(
            (0.0..=100_000.0).contains(&per_client),
            "deployment.matches_per_client",
            format!("must lie in 0..=100000, got {per_client}"),
        );
        let scale = match self.model {
            Model::SgnnLdp { scale } => scale,
            _ => 1.0,
        };
        let wide = [
            ("model.scale", scale, 1e-6, 1e6),
            ("training.rate", self.training.rate, 1e-8, 10.0),
            ("deployment.duration_s", self.deployment.duration_s, 1e-3, 1e9),
            ("deployment.patience_s", self.deployment.patience_s, 1e-3, 1e9),
        ];
        for (field, value, least, most) in wide {
            let rule = format!("must be greater than 0, within {least:e}..={most:e}, got {value}");
            need((least..=most).contains(&value), field, rule);
        }
        let timeout = self.deployment.timeout_ms;
        need(
            (0.0..=1e9).contains(&timeout),
            "deployment.timeout_ms",
            format!("must lie in 0..=1e9, got {timeout}"),
        );
        let attack = self.attack.check();
        breaches.extend(
            attack
                .into_iter()
                .map(|(field, rule)| (format!("attack.{field}"), rule)),
        );
        breaches
    }
}
