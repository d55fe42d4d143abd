//! What else the chosen model's messages give away: they are read once, and every attack runs on
//! what was read.

use super::linkage;
use super::messages::{Overheard, Seen, share, views};
use crate::options::{Attack, Inferred, Intercept, Thorough};
use crate::pairs::Deployed;
use crate::tables::{ATTACKS, OVERHEARD, OVERHEARD_COLUMNS};
use crate::view::View;
use folkmoot_draws::Purpose;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Pair, Properties};
use folkmoot_metrics::MetricKey;
use folkmoot_metrics::npy::npy_f32;
use folkmoot_scores::inference::{Known, first_best, macro_auc};

const GUESS: Purpose = Purpose(*b"pp-guess");

/// Matches that were overheard, and what was read of them.
struct Heard {
    overheard: Overheard,
    seen: [Vec<Seen>; 2],
    /// What numbers of it are called after their own name, where graphs met other partners than
    /// they would.
    with: String,
}

/// One property of every graph.
struct Property<'a> {
    /// None for the plain attacker's.
    facet: Option<&'a str>,
    classes: &'a [u32],
    n_classes: usize,
}

impl Thorough {
    /// Writes down what the attacks that were asked for find.
    pub(crate) fn measure(&self, attack: &Attack, view: &View<'_>, parameters: &[f32], sheet: &mut Sheet) {
        let deployed = view.ppgm.deployed(parameters, view.streams);
        if self.distinct {
            distinct_pairs(view, &deployed, sheet);
        }
        if self.linkage {
            linkage::measure(view, parameters, sheet);
        }
        if self.decode {
            let overheard = Overheard::draw(attack, attack.shadow, view.data, view.streams);
            self.decode(attack, view, &overheard, parameters, sheet);
        }
        if self.shadows.is_empty() && !self.messages {
            return;
        }
        let most = match self.messages {
            true => 1.0,
            false => self.shadows.iter().fold(0.0, |most: f64, shadow| most.max(*shadow)),
        };
        let read = |overheard: Overheard, with| Heard {
            seen: overheard.read(view.data, &deployed),
            overheard,
            with,
        };
        let heard = read(Overheard::draw(attack, most, view.data, view.streams), String::new());
        if self.messages {
            keep(&heard, view, sheet);
        }
        if self.shadows.is_empty() {
            return;
        }
        let mut table = ATTACKS.header(&[]);
        self.infer(attack, view, &heard, self.properties, (sheet, &mut table));
        for partner in &self.partners {
            let overheard = heard.overheard.with(*partner, view.data, view.streams);
            let heard = read(overheard, format!("_with_{}", partner.name()));
            self.infer(attack, view, &heard, Inferred::Attacked, (sheet, &mut table));
        }
        sheet.artifact(ATTACKS.file, table.into_bytes());
    }

    fn infer(
        &self,
        attack: &Attack,
        view: &View<'_>,
        heard: &Heard,
        inferred: Inferred,
        (sheet, table): (&mut Sheet, &mut String),
    ) {
        let (data, with) = (view.data, &heard.with);
        let facets: Vec<(String, Properties)> = match inferred {
            Inferred::Attacked => Vec::new(),
            Inferred::Each | Inferred::Structure => data.facets(),
        };
        let mut properties = vec![Property {
            facet: None,
            classes: &data.properties,
            n_classes: data.n_properties,
        }];
        properties.extend(facets.iter().map(|(name, property)| Property {
            facet: Some(name),
            classes: property.classes(),
            n_classes: property.n_classes(),
        }));
        let quarters = match inferred {
            Inferred::Structure => data.quarters(),
            Inferred::Attacked | Inferred::Each => Vec::new(),
        };
        properties.extend(quarters.iter().map(|(name, classes)| Property {
            facet: Some(name),
            classes,
            n_classes: 4,
        }));
        let mut last = None;
        for property in &properties {
            for &shadow in &self.shadows {
                let found = self.attack(attack, view, heard, (property, shadow), table);
                let at = ("shadow", shadow);
                let of = property.facet.map_or_else(String::new, |facet| format!("_of_{facet}"));
                let areas: Vec<Option<f64>> = found.iter().map(|(_, best)| best.known_auc.or(Some(0.0))).collect();
                let Some(best) = first_best(&areas) else {
                    let (name, shadow) = (format!("leak_auc{of}{with}"), shadow.to_string());
                    let name = MetricKey::of(&name).at("shadow", &shadow).to_string();
                    sheet.missing(&name, "no message has finite numbers");
                    continue;
                };
                for (intercept, best) in &found {
                    if let (Some(area), None) = (best.auc, property.facet) {
                        sheet.point(format!("leak_auc_{}{with}", intercept.name()), at, area);
                    }
                }
                if let Some(area) = found[best].1.auc {
                    sheet.point(format!("leak_auc{of}{with}"), at, area);
                    if property.facet.is_none() && last.is_none_or(|(most, _)| shadow >= most) {
                        last = Some((shadow, area));
                    }
                }
            }
        }
        // The number for sweeps: of the attacker who knows most.
        sheet.number_if(format!("leak_auc{with}"), last.map(|(_, area)| area));
    }

    /// The best attacker of each interception by what is known to a share, with a row of the table
    /// for each that was not.
    fn attack(
        &self,
        attack: &Attack,
        view: &View<'_>,
        Heard { overheard, seen, with }: &Heard,
        (property, shadow): (&Property<'_>, f64),
        table: &mut String,
    ) -> Vec<(Intercept, Chosen)> {
        let data = view.data;
        let n_known = share(shadow, data.train.len()).min(overheard.known.len());
        let of =
            |pairs: &[Pair], all: &[u32]| -> Vec<u32> { pairs.iter().map(|pair| all[pair.first as usize]).collect() };
        let known_pairs = &overheard.known[..n_known];
        let labels = of(known_pairs, property.classes);
        let groups = of(known_pairs, &data.classes);
        let targets = of(&overheard.targets, property.classes);
        let network = attack.network(view.ppgm.hidden());
        let exchanges = view.ppgm.matcher().n_exchanges() > 0;
        let allowed: Vec<Intercept> = Intercept::allowed(exchanges)
            .filter(|one| self.intercepts.contains(one))
            .collect();
        let mut found = Vec::new();
        for intercept in allowed {
            let known = Known {
                rows: views(&seen[0][..n_known], intercept, &overheard.random_choices[0]),
                labels: labels.clone(),
                groups: groups.clone(),
            };
            let asked = views(&seen[1], intercept, &overheard.random_choices[1]);
            // The same folds for all that one shadow set knows.
            let mut rng = view.streams.global(GUESS);
            let guesses = self
                .attackers
                .guess(&network, &known, &asked, property.n_classes, &mut rng);
            let areas: Vec<Option<f64>> = guesses.iter().map(|guess| guess.known_auc).collect();
            // Who knows too little to choose takes the first.
            let chosen = first_best(&areas).unwrap_or(0);
            for (at, guess) in guesses.iter().enumerate() {
                let auc = macro_auc(&targets, &guess.scores, property.n_classes);
                let number = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
                *table += &format!(
                    "{},{shadow},{n_known},{},{}{with},{},{},{},{},{}\n",
                    property.facet.or(attack.property.as_deref()).unwrap_or("joint"),
                    targets.len(),
                    intercept.name(),
                    guess.kind.name(),
                    guess.setting,
                    number(guess.known_auc),
                    number(auc),
                    u8::from(at == chosen),
                );
                if at == chosen {
                    let known_auc = guess.known_auc;
                    found.push((intercept, Chosen { known_auc, auc }));
                }
            }
        }
        found
    }
}

/// The attacker chosen for an interception.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    known_auc: Option<f64>,
    auc: Option<f64>,
}

/// The score of similarity of pairs of graphs that differ.
fn distinct_pairs(view: &View<'_>, deployed: &Deployed<'_>, sheet: &mut Sheet) {
    let data = view.data;
    let differ = |pair: &&Pair| data.inputs[pair.first as usize] != data.inputs[pair.second as usize];
    let pairs: Vec<Pair> = data.test.iter().filter(differ).copied().collect();
    sheet.number_if("similarity_auc_distinct", deployed.auc(&data.inputs, &pairs));
    sheet.number("pairs_alike", (data.test.len() - pairs.len()) as f64);
}

/// Writes down what was read.
fn keep(heard: &Heard, view: &View<'_>, sheet: &mut Sheet) {
    let Heard { overheard, seen, .. } = heard;
    let [known, targets] =
        [0, 1].map(|part| views(&seen[part], Intercept::Everything, &overheard.random_choices[part]));
    let values = [known.values(), targets.values()].concat();
    sheet.artifact(
        "intercepted.npy",
        npy_f32(&values, &[known.n_rows() + targets.n_rows(), known.width()]),
    );
    let data = view.data;
    let mut table = OVERHEARD.header(&[]);
    let parts = overheard.known.iter().map(|pair| ("train", pair));
    let targets = overheard.targets.iter().enumerate();
    let parts = parts.chain(targets.map(|(at, pair)| {
        (
            if at < overheard.n_validation {
                "validation"
            } else {
                "test"
            },
            pair,
        )
    }));
    for (part, pair) in parts {
        let graph = pair.first as usize;
        table += &format!(
            "{part},{graph},{},{},{},{}\n",
            pair.second,
            u8::from(pair.matches),
            data.classes[graph],
            data.joint.name(data.joint.classes()[graph])
        );
    }
    sheet.artifact(OVERHEARD.file, table.into_bytes());
    let mut columns = OVERHEARD_COLUMNS.header(&[]);
    let mut from = 0;
    for (name, n) in seen[0].first().map(Seen::parts).into_iter().flatten() {
        columns += &format!("{name},{from},{}\n", from + n);
        from += n;
    }
    sheet.artifact(OVERHEARD_COLUMNS.file, columns.into_bytes());
}
