//! Arguments of `folkmoot budget`.

use super::{DataArgs, Format};
use clap::{Args, ValueEnum};

/// How clients are sampled in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SamplingArg {
    /// Each client independently, with the probability --rate
    Poisson,
    /// The same number of clients in each round, without replacement
    Fixed,
    /// All clients
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MechanismArg {
    /// Gaussian noise; --noise is its standard deviation, divided by the clipping norm
    Gaussian,
    /// Laplace noise; --noise is its scale, divided by the L1 sensitivity
    Laplace,
}

#[derive(Args)]
pub(crate) struct BudgetArgs {
    /// A card with strategy.protocol.private: Clients; it gives the noise, the rounds, the sampling
    /// and delta
    #[arg(value_name = "CARD")]
    pub(crate) card: Option<String>,
    /// Set a field of the card; repeatable
    #[arg(short, long, value_name = "PATH=VALUE", requires = "card")]
    pub(crate) set: Vec<String>,
    /// Target epsilon; with --rounds gives the noise, with --noise the rounds, with a card both
    #[arg(short, long, value_name = "EPSILON", value_parser = positive)]
    pub(crate) epsilon: Option<f64>,
    /// Noise multiplier
    #[arg(short, long, value_name = "NOISE", value_parser = positive, conflicts_with = "card")]
    pub(crate) noise: Option<f64>,
    /// Number of rounds
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000), conflicts_with = "card")]
    pub(crate) rounds: Option<u64>,
    /// Delta [default: 1e-5, or that of the card]
    #[arg(long, value_name = "DELTA", value_parser = probability)]
    pub(crate) delta: Option<f64>,
    /// Probability of each client to be in a round (Poisson sampling)
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with_all = ["clients", "card"])]
    pub(crate) rate: Option<f64>,
    /// Clients per round and in total, such as 50/1000: a sample of fixed size
    #[arg(long, value_name = "K/N", value_parser = clients, conflicts_with = "card")]
    pub(crate) clients: Option<f64>,
    /// Sampling of clients [default: poisson with --rate, fixed with --clients, otherwise none]
    #[arg(long, value_enum, value_name = "SAMPLING", conflicts_with = "card")]
    pub(crate) sampling: Option<SamplingArg>,
    /// Noise distribution
    #[arg(long, value_enum, value_name = "MECHANISM", default_value_t = MechanismArg::Gaussian, conflicts_with = "card")]
    pub(crate) mechanism: MechanismArg,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

fn number(text: &str, holds: fn(f64) -> bool, rule: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| holds(*number));
    number.ok_or_else(|| format!("must be {rule}"))
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |x| (1e-6..=1e6).contains(&x), "from 0.000001 to 1000000")
}

fn probability(text: &str) -> Result<f64, String> {
    number(text, |x| (1e-100..1.0).contains(&x), "at least 1e-100 and less than 1")
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, |x| x > 0.0 && x <= 1.0, "greater than 0 and at most 1")
}

/// `K/N` as a fraction.
fn clients(text: &str) -> Result<f64, String> {
    let parse = || {
        let (asked, all) = text.split_once('/')?;
        let (asked, all): (u32, u32) = (asked.trim().parse().ok()?, all.trim().parse().ok()?);
        (0 < asked && asked <= all).then(|| f64::from(asked) / f64::from(all))
    };
    parse().ok_or_else(|| "must be two whole numbers K/N with K from 1 to N, such as 50/1000".to_owned())
}
