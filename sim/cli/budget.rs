//! `folkmoot budget`: epsilon, noise or rounds of private training, without a run.

use crate::args::{BudgetArgs, Format, MechanismArg, SamplingArg};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_privacy::{Accountant, Composition, DELTA, Law, ParameterError, Sampling, Totals};
use folkmoot_scenarios::run::{Cache, load};
use folkmoot_scenarios::scenario;
use folkmoot_scenarios::text::Source;

/// Noise multipliers that are looked at.
const NOISES: (f64, f64) = (1e-2, 1e5);

/// The most rounds that are looked at.
const MOST_ROUNDS: u64 = 1_000_000_000;

/// The releases of one round, without their noise.
#[derive(Clone, Copy)]
struct Releases {
    mechanism: MechanismArg,
    sampling: SamplingArg,
    rate: f64,
    delta: f64,
}

impl Releases {
    fn law(&self, noise: f64) -> Result<Law, ParameterError> {
        match (self.mechanism, self.sampling) {
            (MechanismArg::Laplace, _) => Ok(Law::Laplace { epsilon: 1.0 / noise }),
            (_, SamplingArg::Fixed) => Law::sampled_normal(Sampling::FixedSize, self.rate, 2.0 / noise, self.delta),
            _ => Law::sampled_normal(Sampling::Poisson, self.rate, 1.0 / noise, self.delta),
        }
    }

    fn totals(&self, noise: f64, rounds: u64) -> Result<Totals, ParameterError> {
        let mut accountant = Accountant::new(self.delta)?;
        let place = accountant.law(self.law(noise)?);
        Ok(Totals {
            pld: accountant.pld(&[(place, rounds)]),
            ..accountant.totals(&[(place, rounds)])
        })
    }

    fn epsilon(&self, noise: f64, rounds: u64) -> Result<f64, ParameterError> {
        Ok(self.totals(noise, rounds)?.least().1)
    }

    /// The least noise, of four digits, at which the rounds cost no more than `epsilon`.
    fn noise(&self, epsilon: f64, rounds: u64) -> Result<Option<f64>, ParameterError> {
        let (mut low, mut high) = NOISES;
        if self.epsilon(high, rounds)? > epsilon {
            return Ok(None);
        }
        if self.epsilon(low, rounds)? <= epsilon {
            return Ok(Some(low));
        }
        while high > low * 1.0002 {
            let middle = (low * high).sqrt();
            match self.epsilon(middle, rounds)? <= epsilon {
                true => high = middle,
                false => low = middle,
            }
        }
        for up in [1.0, 1.001] {
            let rounded = format!("{:.3e}", high * up).parse().expect("a printed number");
            if self.epsilon(rounded, rounds)? <= epsilon {
                return Ok(Some(rounded));
            }
        }
        Ok(Some(high))
    }

    /// The most rounds that cost no more than `epsilon`.
    fn rounds(&self, epsilon: f64, noise: f64) -> Result<u64, ParameterError> {
        let (mut low, mut high) = (0, 1);
        while self.epsilon(noise, high)? <= epsilon {
            (low, high) = (high, high * 2);
            if low >= MOST_ROUNDS {
                return Ok(MOST_ROUNDS);
            }
        }
        while high > low + 1 {
            let middle = low + (high - low) / 2;
            match self.epsilon(noise, middle)? <= epsilon {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// What is added, in which rounds, and what neighbouring data are.
    fn words(&self, noise: f64, rounds: u64) -> [String; 3] {
        let (noise, rate) = (digits(noise), digits(self.rate));
        let noise = match self.mechanism {
            MechanismArg::Gaussian => format!("Gaussian, standard deviation {noise} × clipping norm"),
            MechanismArg::Laplace => format!("Laplace, scale {noise} × sensitivity"),
        };
        let (sample, neighbours) = match self.sampling {
            SamplingArg::None => (String::new(), NEIGHBOURS[0]),
            SamplingArg::Poisson => (
                format!(", each client with probability {rate} (Poisson sampling)"),
                NEIGHBOURS[0],
            ),
            SamplingArg::Fixed => (format!(", a fixed-size sample of {rate} of the clients"), NEIGHBOURS[1]),
        };
        [noise, format!("{rounds}{sample}"), neighbours.to_owned()]
    }
}

const NEIGHBOURS: [&str; 2] = [
    "one client: data sets differ by its presence (add or remove one)",
    "one client: data sets differ by its replacement (replace one)",
];

pub(crate) fn budget(program: &Program, args: &BudgetArgs) -> Result<(), Exit> {
    let wrong = |error: ParameterError| Exit::usage(format!("error: {error}"));
    let (releases, noise, rounds) = match &args.card {
        Some(card) => {
            let (releases, noise, rounds) = of_card(program, card, args)?;
            (releases, Some(noise), Some(rounds))
        }
        None => (of_options(args)?, args.noise, args.rounds),
    };
    let example = format!(
        "help: {} budget --noise 1 --rate 0.1 --rounds 60 gives epsilon; --epsilon 4 --rounds 60 gives the noise, --epsilon 4 --noise 1 the rounds",
        program.name
    );
    let mut answers = Vec::new();
    let answer = |noise: f64, rounds: u64, found: &'static str| -> Result<_, Exit> {
        let totals = releases.totals(noise, rounds).map_err(wrong)?;
        Ok((found, noise, rounds, totals))
    };
    match (args.epsilon, noise, rounds) {
        (None, Some(noise), Some(rounds)) => answers.push(answer(noise, rounds, "epsilon")?),
        (Some(epsilon), noise, rounds) if noise.is_some() != rounds.is_some() || args.card.is_some() => {
            if let (Some(noise), Some(rounds), true) = (noise, rounds, args.card.is_some()) {
                answers.push(answer(noise, rounds, "epsilon")?);
            }
            if let Some(rounds) = rounds {
                let found = releases.noise(epsilon, rounds).map_err(wrong)?;
                let noise = found.ok_or_else(|| {
                    Exit::usage(format!(
                        "error: no noise up to {} gives epsilon {epsilon} at delta {}; help: fewer rounds, or a larger epsilon or delta",
                        NOISES.1, releases.delta
                    ))
                })?;
                answers.push(answer(noise, rounds, "noise")?);
            }
            if let Some(noise) = noise {
                let rounds = releases.rounds(epsilon, noise).map_err(wrong)?;
                if rounds == 0 {
                    return Err(Exit::usage(format!(
                        "error: one round with noise {noise} costs more than epsilon {epsilon} at delta {}; help: more noise, or a larger epsilon or delta",
                        releases.delta
                    )));
                }
                answers.push(answer(noise, rounds, "rounds")?);
            }
        }
        _ => {
            return Err(Exit::usage(format!(
                "error: budget needs two of --epsilon, --noise and --rounds, and gives the third\n  {example}"
            )));
        }
    }
    match args.format {
        Format::Json => {
            let values = answers.iter().map(|(found, noise, rounds, totals)| {
                let (accountant, epsilon) = totals.least();
                let [.., neighbours] = releases.words(*noise, *rounds);
                serde_json::json!({
                    "found": found,
                    "epsilon": finite(epsilon),
                    "delta": releases.delta,
                    "accountant": accountant.to_string(),
                    "noise": noise,
                    "rounds": rounds,
                    "rate": releases.rate,
                    "neighbours": neighbours,
                    "epsilon_basic": totals.basic,
                    "epsilon_advanced": totals.advanced,
                    "epsilon_renyi": totals.renyi,
                    "epsilon_pld": totals.pld,
                })
            });
            let all = serde_json::Value::Array(values.collect());
            print(&serde_json::to_string_pretty(&all).expect("plain numbers"))
        }
        Format::Text => {
            let texts: Vec<String> = answers
                .iter()
                .map(|(found, noise, rounds, totals)| describe(&releases, (found, *noise, *rounds), totals))
                .collect();
            print(&texts.join("\n\n"))
        }
    }
}

fn finite(x: f64) -> Option<f64> {
    Some(x).filter(|x| x.is_finite())
}

/// Four digits.
fn digits(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}

/// Four digits, rounded up, as a bound is.
fn upwards(x: f64) -> f64 {
    let near = digits(x);
    if near >= x {
        return near;
    }
    let text = format!("{x:.3e}");
    let next = text.split_once('e').and_then(|(digits, exponent)| {
        let digits: u32 = digits.replace('.', "").parse().ok()?;
        let exponent: i32 = exponent.parse().ok()?;
        format!("{}e{}", digits + 1, exponent - 3).parse().ok()
    });
    next.unwrap_or(x)
}

fn describe(releases: &Releases, (found, noise, rounds): (&str, f64, u64), totals: &Totals) -> String {
    let (accountant, epsilon) = totals.least();
    let name = match accountant {
        Composition::None => "none proves an epsilon",
        Composition::Basic => "basic composition",
        Composition::Advanced => "advanced composition",
        Composition::Renyi => "Rényi divergences (renyi)",
        Composition::Pld => "privacy-loss distributions (pld)",
    };
    let all = [
        ("basic", totals.basic),
        ("advanced", totals.advanced),
        ("renyi", totals.renyi),
        ("pld", totals.pld),
    ];
    let others: Vec<String> = all
        .iter()
        .filter(|(other, _)| *other != accountant.to_string())
        .filter_map(|(other, epsilon)| Some(format!("epsilon {} by {other}", upwards((*epsilon)?))))
        .collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; others: {}", others.join(", ")),
    };
    let head = match found {
        "noise" => format!("noise {}", digits(noise)),
        "rounds" => format!("rounds {rounds}"),
        _ => format!("epsilon {}", upwards(epsilon)),
    };
    let [added, sampled, neighbours] = releases.words(noise, rounds);
    format!(
        "{head}\n  privacy     epsilon {} at delta {}\n  accountant  {name}{others}\n  noise       {added}\n  rounds      {sampled}\n  protects    {neighbours}",
        upwards(epsilon),
        releases.delta,
    )
}

fn of_options(args: &BudgetArgs) -> Result<Releases, Exit> {
    let rate = args.rate.or(args.clients);
    let sampling = args.sampling.unwrap_or(match (args.rate, args.clients) {
        (Some(_), _) => SamplingArg::Poisson,
        (None, Some(_)) => SamplingArg::Fixed,
        (None, None) => SamplingArg::None,
    });
    let refused = |what: &str, help: &str| Err(Exit::usage(format!("error: {what}; help: {help}")));
    if args.mechanism == MechanismArg::Laplace && sampling != SamplingArg::None {
        return refused(
            "--mechanism laplace has no accounting of samples",
            "leave out --rate, --clients and --sampling, which charges each round in full",
        );
    }
    let rate = match (sampling, rate) {
        (SamplingArg::None, None) => 1.0,
        (SamplingArg::None, Some(_)) => {
            return refused("--sampling none samples no clients", "leave out --rate and --clients");
        }
        (_, Some(rate)) => rate,
        (_, None) => return refused("--sampling needs a rate", "add --rate 0.1 or --clients 50/1000"),
    };
    Ok(Releases {
        mechanism: args.mechanism,
        sampling,
        rate,
        delta: args.delta.unwrap_or(DELTA),
    })
}

/// The releases of a card whose server adds noise to sums of clients' updates, its noise and its
/// rounds.
fn of_card(program: &Program, card: &str, args: &BudgetArgs) -> Result<(Releases, f64, u64), Exit> {
    let (name, source) = context::source(program, card, &args.set, None)?;
    let scenario = scenario::check(&name, &source, &program.registry)
        .map_err(|problems| context::with_paths(program, problems, card, &args.set))?;
    let whole = Source::new(&name, &scenario.resolved()).map_err(|problems| Exit::problems(&problems))?;
    let value = |path: &str| whole.value(&format!("strategy.protocol.{path}"));
    let private = value("private").unwrap_or("Off");
    let is_at_server = private.starts_with("Clients") && !private.contains("noise_at: Clients");
    let noise = value("private.noise_multiplier").and_then(|text| text.parse::<f64>().ok());
    let rounds = value("rounds").and_then(|text| text.parse::<u64>().ok());
    let (true, Some(noise), Some(rounds)) = (is_at_server, noise.filter(|noise| *noise > 0.0), rounds) else {
        return Err(Exit::usage(format!(
            "error: {card}: budget reads cards with strategy.protocol.private: Clients and noise at the server, got {}\n  \
             help: {} run {} --dry-run accounts every release of a card, without training",
            private.split_whitespace().collect::<Vec<_>>().join(" "),
            program.name,
            context::quoted(card)
        )));
    };
    let dirs = data_dirs::for_card(&args.data, card);
    let loaded = load(&scenario, &dirs, &Cache::default(), &mut ());
    let loaded = loaded
        .map_err(|failure| Exit::failure(&failure, &format!("{} budget {}", program.name, context::quoted(card))))?;
    let n_clients = loaded.n_clients();
    let cohort = &loaded.world.cohort;
    let Some(sampling) = cohort.sampling() else {
        return Err(Exit::usage(format!(
            "error: {card}: cohort: {} has no accounting of its samples; help: cohort: Poisson(rate: 0.1)",
            cohort.name()
        )));
    };
    let rate = (cohort.mean_asked(n_clients) / f64::from(n_clients)).min(1.0);
    let releases = Releases {
        mechanism: MechanismArg::Gaussian,
        sampling: match sampling {
            Sampling::FixedSize => SamplingArg::Fixed,
            Sampling::Poisson if rate < 1.0 => SamplingArg::Poisson,
            Sampling::Poisson => SamplingArg::None,
        },
        rate,
        delta: args.delta.unwrap_or(loaded.world.delta),
    };
    Ok((releases, noise, rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up() {
        assert_eq!(
            [5.572707, 5.5722, 0.1, 9.9991, 1234.4].map(upwards),
            [5.573, 5.573, 0.1, 10.0, 1235.0]
        );
        assert_eq!([5.5722, 0.000123456].map(digits), [5.572, 0.0001235]);
        assert!(upwards(f64::INFINITY).is_infinite());
    }

    /// Noise for an epsilon is the least of four digits, and rounds the most.
    #[test]
    fn what_is_found_is_just_enough() {
        let releases = Releases {
            mechanism: MechanismArg::Gaussian,
            sampling: SamplingArg::Poisson,
            rate: 0.1,
            delta: 1e-5,
        };
        let noise = releases.noise(4.0, 60).unwrap().unwrap();
        assert!(releases.epsilon(noise, 60).unwrap() <= 4.0 && releases.epsilon(noise - 0.002, 60).unwrap() > 4.0);
        let rounds = releases.rounds(4.0, 1.0).unwrap();
        assert!(releases.epsilon(1.0, rounds).unwrap() <= 4.0 && releases.epsilon(1.0, rounds + 1).unwrap() > 4.0);
        let laplace = Releases {
            mechanism: MechanismArg::Laplace,
            sampling: SamplingArg::None,
            rate: 1.0,
            ..releases
        };
        // Of one release the sum is exact, and none is cheaper.
        assert_eq!(laplace.noise(0.5, 1).unwrap().map(|noise| noise <= 2.0), Some(true));
        assert_eq!(laplace.rounds(1e-3, 1.0), Ok(0));
    }
}
