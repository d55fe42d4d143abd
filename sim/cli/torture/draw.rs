//! Random cards by the grammar that components declare: every field by its type, near its default
//! and at the ends of its range, and sizes small.

use super::corpus::Corpus;
use super::drawn::{Drawn, Fields};
use folkmoot_draws::{Purpose, SimRng, Streams, index, unit};
use folkmoot_metrics::term::find;
use folkmoot_parts::{Body, Field, Shape, Value, Variant};
use folkmoot_scenarios::axis::Described;
use folkmoot_scenarios::explain::with_group_default;
use folkmoot_scenarios::file::ScenarioFile;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::text::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Whole numbers above this are sizes: never left to their default, and drawn below it.
const MOST: u64 = 60;
/// So many draws of a component show whether it can be had.
const TRIES: usize = 12;
/// No card has components in components in more levels.
const MOST_LEVELS: usize = 6;
/// Fields of a card that change nothing of a run, or name its results.
const LEFT_OUT: [&str; 6] = ["question", "paper", "figures", "sweep", "targets", "observe"];

/// What cards are drawn from.
pub(super) struct Grammar<'a> {
    pub(super) registry: &'a Registry,
    card: Vec<Field>,
    corpus: Corpus,
    /// Components that cannot be had on this machine, as those with files that it lacks.
    pub(super) lacking: BTreeSet<&'static str>,
    /// A component of each other name of the card's fields, with small sizes.
    samples: BTreeMap<Wanted<'static>, Drawn>,
}

/// Data sets and partitions that an algorithm takes.
pub(super) type Fits = Vec<(&'static str, &'static str)>;

/// A component that a card is to have: the field or the kind, and the name.
pub(super) type Wanted<'a> = (&'a str, &'a str);

impl<'a> Grammar<'a> {
    /// The values of `cards` are drawn, too.
    pub(super) fn of(registry: &'a Registry, cards: &[String]) -> Self {
        let card: Vec<Field> = ScenarioFile::shape().fields().into_iter().cloned().collect();
        let fields: Vec<&Field> = card.iter().collect();
        let corpus = Corpus::of(registry, &fields, cards);
        Grammar {
            registry,
            card,
            corpus,
            lacking: BTreeSet::new(),
            samples: BTreeMap::new(),
        }
    }

    /// An algorithm whose settings lead to what is wanted, or that is wanted itself.
    pub(super) fn algorithm(&self, rng: &mut SimRng, wanted: &[Wanted<'_>]) -> &'static str {
        let is_there = |part: &&Described| !self.lacking.contains(part.name);
        let leads = |part: &&Described| {
            wanted.iter().all(|(kind, name)| match *kind {
                "strategy" => *name == part.name,
                kind => !self.is_inner(kind) || self.leads(&part.shape, kind, 0),
            })
        };
        let there = || self.registry.strategies().parts().filter(is_there);
        let fit: Vec<&Described> = there().filter(leads).collect();
        let all = if fit.is_empty() { there().collect() } else { fit };
        all[index(rng, all.len())].name
    }

    /// Every data set with every partition that `is_legal` takes with the algorithm, each by a card
    /// with few settings.
    pub(super) fn fits(&self, strategy: &'static str, is_legal: impl Fn(&Drawn) -> bool) -> Fits {
        let of = |kind: &'static str| self.samples.iter().filter(move |((of, _), _)| *of == kind);
        let Some(algorithm) = self.samples.get(&("strategy", strategy)) else {
            return Vec::new();
        };
        let mut fits = Vec::new();
        for ((_, dataset), data) in of("dataset") {
            for ((_, partition), shares) in of("partition") {
                let fields = [("dataset", data), ("partition", shares), ("strategy", algorithm)];
                let fields = fields.map(|(name, value)| (name.to_owned(), value.clone()));
                if is_legal(&Drawn::Named(String::new(), fields.into())) {
                    fits.push((*dataset, *partition));
                }
            }
        }
        fits
    }

    /// Never draws those again for which `size` gives no number of nodes, however often they are
    /// drawn.
    pub(super) fn leave_out(&mut self, size: impl Fn(&str, &Drawn) -> Option<u64>) {
        let mut rng = Streams::new(0).global(Purpose(*b"lacking "));
        let own: Vec<&Described> = self
            .registry
            .parts()
            .filter(|part| !self.is_inner(part.field))
            .collect();
        let mut lacking = BTreeSet::new();
        for part in own {
            // Without settings, and with some where it needs them.
            let shares = (0..TRIES).map(|n| if n < TRIES / 2 { 0.0 } else { 0.2 });
            let tries = shares.filter_map(|share| self.one(&mut rng, (part.field, part.name), share));
            let tries: Vec<Drawn> = tries.collect();
            let sized = tries
                .into_iter()
                .filter_map(|drawn| Some((size(part.field, &drawn)?, drawn)));
            match sized.max_by_key(|(size, _)| *size) {
                Some((_, sample)) => {
                    self.samples.insert((part.field, part.name), sample);
                }
                None if part.field == "evaluators" => {}
                None => {
                    lacking.insert(part.name);
                }
            }
        }
        self.lacking = lacking;
    }

    /// One component with its settings.
    fn one(&self, rng: &mut SimRng, (kind, name): Wanted<'_>, share: f64) -> Option<Drawn> {
        let mut drawing = Drawing {
            grammar: self,
            rng,
            wanted: vec![(kind, name)],
            share,
            inner_share: share,
            levels: 0,
        };
        drawing.component(kind)
    }

    /// Any component of a kind, with its settings.
    pub(super) fn any(&self, rng: &mut SimRng, kind: &str) -> Option<Drawn> {
        let parts: Vec<&Described> = self.registry.parts().filter(|part| part.field == kind).collect();
        let part = parts.get(index(rng, parts.len().max(1)))?;
        self.one(rng, (part.field, part.name), 0.5)
    }

    fn is_inner(&self, kind: &str) -> bool {
        self.card.iter().all(|field| field.name != kind)
    }

    /// Every pair of components that one card can have, each with its field or kind.
    pub(super) fn pairs(&self) -> Vec<[Wanted<'static>; 2]> {
        let all: Vec<&Described> = self
            .registry
            .parts()
            .filter(|part| !self.lacking.contains(part.name))
            .collect();
        let strategies: Vec<&Described> = all.iter().copied().filter(|part| part.field == "strategy").collect();
        // For each kind the algorithms that lead to it: any lead to what the card itself names.
        let mut leading: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for part in &all {
            leading.entry(part.field).or_insert_with(|| {
                let leads = |of: &&&Described| !self.is_inner(part.field) || self.leads(&of.shape, part.field, 0);
                strategies.iter().filter(leads).map(|of| of.name).collect()
            });
        }
        let go_together = |a: &Described, b: &Described| match (a.field == b.field, a.field, b.field) {
            (true, ..) => false,
            (_, "strategy", other) => leading[other].contains(a.name),
            (_, other, "strategy") => leading[other].contains(b.name),
            (_, a, b) => !leading[a].is_disjoint(&leading[b]),
        };
        let mut pairs = Vec::new();
        for (i, a) in all.iter().enumerate() {
            let later = all[i + 1..].iter().filter(|b| go_together(a, b));
            pairs.extend(later.map(|b| [(a.field, a.name), (b.field, b.name)]));
        }
        pairs
    }

    /// A card of an algorithm that has the wanted components where the grammar leads to them.
    pub(super) fn draw(&self, rng: &mut SimRng, wanted: &[Wanted<'_>], (strategy, fits): (&str, &Fits)) -> Drawn {
        let share = [0.02, 0.08, 0.3][index(rng, 3)];
        let mut drawing = Drawing {
            grammar: self,
            rng,
            wanted: wanted.to_vec(),
            share,
            inner_share: share,
            levels: 0,
        };
        drawing.wanted.retain(|(kind, _)| *kind != "strategy");
        drawing.wanted.push(("strategy", strategy));
        drawing.want_data(fits);
        let card: Vec<&Field> = self
            .card
            .iter()
            .filter(|field| !LEFT_OUT.contains(&field.name))
            .collect();
        // The environment of the clients is most of what can go wrong.
        drawing.share = share.max(0.4);
        let mut fields = drawing.fields("", &card).unwrap_or_default();
        drawing.results(&mut fields);
        Drawn::Named(String::new(), fields)
    }

    /// Every field of cards and components by its owner, and the variants of choices.
    pub(super) fn fields(&self) -> Vec<(&'static str, &'static str)> {
        let mut all = Vec::new();
        for field in self.card.iter().filter(|field| !LEFT_OUT.contains(&field.name)) {
            collect("", field, &mut all);
        }
        for part in self.registry.parts() {
            let fields = part.shape.fields();
            fields.into_iter().for_each(|field| collect(part.name, field, &mut all));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a value of this shape can hold a component of a kind.
    fn leads(&self, shape: &Shape, kind: &str, levels: usize) -> bool {
        let field = |field: &Field| match field.shape.inner() {
            Shape::Named => field.name == kind,
            shape => self.leads(shape, kind, levels),
        };
        match shape.inner() {
            Shape::List(item) => self.leads(item, kind, levels),
            Shape::Tuple(items) => items.iter().any(|item| self.leads(item, kind, levels)),
            Shape::Fields(fields) => fields.iter().any(field),
            Shape::Choice(variants) => variants.iter().any(|variant| match &variant.body {
                Body::Nothing => false,
                Body::One(of) => field(of),
                Body::Fields(fields) => fields.iter().any(field),
            }),
            Shape::Component(what) if *what == kind => true,
            Shape::Component(what) if levels < MOST_LEVELS => {
                let mut parts = self.registry.parts().filter(|part| part.field == *what);
                parts.any(|part| self.leads(&part.shape, kind, levels + 1))
            }
            _ => false,
        }
    }
}

/// The field below its owner, and those in it.
fn collect(owner: &'static str, field: &Field, all: &mut Vec<(&'static str, &'static str)>) {
    all.push((owner, field.name));
    below(owner, &field.shape, all);
}

fn below(owner: &'static str, shape: &Shape, all: &mut Vec<(&'static str, &'static str)>) {
    match shape.inner() {
        Shape::List(item) => below(owner, item, all),
        Shape::Tuple(items) => items.iter().for_each(|item| below(owner, item, all)),
        Shape::Fields(fields) => fields.iter().for_each(|field| collect(owner, field, all)),
        Shape::Choice(variants) => {
            for variant in variants {
                all.push((variant.name, ""));
                match &variant.body {
                    Body::Nothing => {}
                    Body::One(field) => below(variant.name, &field.shape, all),
                    Body::Fields(fields) => fields.iter().for_each(|field| collect(variant.name, field, all)),
                }
            }
        }
        _ => {}
    }
}

/// The ends of a range as a field's description has them: `1..=10`, `above 0, at most 1`.
fn ends(range: &str) -> (Option<f64>, Option<f64>) {
    let range = range.rsplit("within ").next().unwrap_or(range);
    if let Some((least, most)) = range.split_once("..") {
        return (least.parse().ok(), most.trim_start_matches('=').parse().ok());
    }
    let mut ends = (None, None);
    for end in range.split(", ") {
        let number = end.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok());
        let Some(number) = number else { continue };
        if end.starts_with("at least") {
            ends.0 = Some(number);
        } else if end.starts_with("above") {
            ends.0 = Some(number + f64::max(1e-6, number.abs() * 1e-6));
        } else if end.starts_with("at most") {
            ends.1 = Some(number);
        } else if end.starts_with("below") {
            ends.1 = Some(number - f64::max(1e-6, number.abs() * 1e-6));
        }
    }
    ends
}

struct Drawing<'a, 'g> {
    grammar: &'a Grammar<'g>,
    rng: &'a mut SimRng,
    wanted: Vec<Wanted<'a>>,
    /// The share of the fields that are written where they may be left out.
    share: f64,
    /// The same in components.
    inner_share: f64,
    /// Components around the one that is drawn.
    levels: usize,
}

impl<'a> Drawing<'a, '_> {
    fn chance(&mut self, share: f64) -> bool {
        unit(self.rng) < share
    }

    fn one<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        (!all.is_empty()).then(|| &all[index(self.rng, all.len())])
    }

    fn wants(&self, kind: &str) -> Option<&'a str> {
        self.wanted.iter().find(|(of, _)| *of == kind).map(|(_, name)| *name)
    }

    fn is_inner(&self, kind: &str) -> bool {
        self.grammar.is_inner(kind)
    }

    /// Draws data that the algorithm takes, and any data for one card in twenty.
    fn want_data(&mut self, fits: &Fits) {
        if self.chance(0.05) {
            return;
        }
        let has = |kind: &str, name: &str| self.wants(kind).is_none_or(|wanted| wanted == name);
        let wanted = |fit: &&(&'static str, &'static str)| has("dataset", fit.0) && has("partition", fit.1);
        let close: Vec<&(&'static str, &'static str)> = fits.iter().filter(wanted).collect();
        let all = if close.is_empty() { fits.iter().collect() } else { close };
        let Some((dataset, partition)) = self.one(&all).copied().copied() else {
            return;
        };
        self.wanted.retain(|(kind, _)| !["dataset", "partition"].contains(kind));
        self.wanted.extend([("dataset", dataset), ("partition", partition)]);
    }

    /// Targets and counters, by what the algorithm says of its numbers.
    fn results(&mut self, fields: &mut Fields) {
        let Some(strategy) = self.wants("strategy") else { return };
        let mut glossaries = self.grammar.registry.glossaries().iter();
        let Some(glossary) = glossaries.find(|glossary| glossary.strategy == strategy) else {
            return;
        };
        let plain = |name: &&str| !name.contains('*');
        let names: Vec<&str> = glossary.terms.iter().map(|term| &*term.name).filter(plain).collect();
        if self.chance(self.share / 2.0)
            && let Some(name) = self.one(&names).copied()
        {
            let name = format!("{}{name}", ["", "test_"][index(self.rng, 2)]);
            let range = find(&glossary.terms, &name).map(|term| term.range).unwrap_or_default();
            let value = self.number(None, (range.0, range.1));
            let target = vec![(name, Drawn::Plain(value))];
            fields.push(("targets".to_owned(), Drawn::Map(target)));
            let stop = vec![("target_reached".to_owned(), Drawn::Plain("true".to_owned()))];
            if !fields.iter().any(|(name, _)| name == "stop") && self.chance(0.5) {
                fields.push(("stop".to_owned(), Drawn::Named(String::new(), stop)));
            }
        }
    }

    /// The fields of a group; `None` if one that must be there cannot be drawn.
    fn fields(&mut self, owner: &str, fields: &[&Field]) -> Option<Fields> {
        let mut drawn = Vec::new();
        for field in fields {
            let is_wanted = self.is_wanted(field);
            let must = field.default.is_none() && !matches!(field.shape, Shape::Optional(_));
            let size = field.default.as_deref().and_then(|default| default.parse::<u64>().ok());
            let is_size = matches!(field.shape.inner(), Shape::Whole) && size.is_some_and(|size| size > MOST);
            let holds_size = !must && holds_size(&field.shape, field.default.as_deref());
            if !(must || is_wanted || is_size || holds_size || self.chance(self.share)) {
                continue;
            }
            match self.value(owner, field, &field.shape, None) {
                Some(value) => drawn.push((field.name.to_owned(), value)),
                None if must => return None,
                None => {}
            }
        }
        Some(drawn)
    }

    fn is_wanted(&self, field: &Field) -> bool {
        self.wanted.iter().any(|(kind, name)| match field.shape.inner() {
            Shape::Named => field.name == *kind && !name.is_empty(),
            Shape::List(item) if **item == Shape::Named => field.name == *kind,
            shape => self.is_inner(kind) && self.grammar.leads(shape, kind, self.levels),
        })
    }

    /// A value of a shape; `range` is that of a field around it.
    fn value(&mut self, owner: &str, field: &Field, shape: &Shape, range: Option<&'static str>) -> Option<Drawn> {
        let range = field.range.or(range);
        let bounds = range.map(ends).unwrap_or_default();
        let plain = |text: String| Some(Drawn::Plain(text));
        match shape {
            Shape::Whole => plain(self.whole(field.default.as_deref(), bounds)),
            Shape::Number => plain(self.number(field.default.as_deref(), bounds)),
            Shape::Flag => plain(self.chance(0.5).to_string()),
            Shape::Optional(_) if !self.is_wanted(field) && self.chance(0.2) => plain("None".to_owned()),
            Shape::Optional(inner) => self.value(owner, field, inner, range),
            Shape::Tuple(items) => {
                let items = items.iter().map(|item| self.value(owner, field, item, range));
                let mut items = items.collect::<Option<Vec<Drawn>>>()?;
                // Two numbers are most often the ends of a range.
                let number = |item: &Drawn| item.to_string().parse::<f64>().unwrap_or(0.0);
                items.sort_by(|a, b| number(a).total_cmp(&number(b)));
                Some(Drawn::Tuple(items))
            }
            Shape::Fields(fields) => {
                let fields: Vec<Field> = fields
                    .iter()
                    .map(|of| with_group_default(field.default.as_deref(), of))
                    .collect();
                let fields: Vec<&Field> = fields.iter().collect();
                Some(Drawn::Named(String::new(), self.fields(owner, &fields)?))
            }
            Shape::Choice(variants) => {
                let kinds: Vec<&str> = self.wanted.iter().map(|(kind, _)| *kind).collect();
                let leads = |variant: &&Variant| {
                    let shape = Shape::Choice(vec![(*variant).clone()]);
                    kinds
                        .iter()
                        .any(|kind| self.is_inner(kind) && self.grammar.leads(&shape, kind, self.levels))
                };
                let leading: Vec<&Variant> = variants.iter().filter(leads).collect();
                let all: Vec<&Variant> = variants.iter().collect();
                let chosen = *self.one(if leading.is_empty() { &all } else { &leading })?;
                self.variant(chosen, field, range)
            }
            Shape::List(item) => self.list(owner, field, item, range),
            Shape::Named => self.component(field.name),
            Shape::Component(what) => self.component(what),
            Shape::Text | Shape::Free | Shape::Map(_) => {
                let known = self.grammar.corpus.values(owner, field.name);
                self.one(&known).map(|text| Drawn::Plain((*text).to_owned()))
            }
        }
    }

    fn variant(&mut self, variant: &Variant, field: &Field, range: Option<&'static str>) -> Option<Drawn> {
        let name = variant.name.to_owned();
        match &variant.body {
            Body::Nothing => Some(Drawn::Plain(name)),
            Body::One(one) => {
                let of = Field {
                    range: one.range.or(field.range),
                    ..(**one).clone()
                };
                let value = self.value(variant.name, &of, &one.shape, range)?;
                Some(Drawn::Holds(name, Box::new(value)))
            }
            Body::Fields(fields) => {
                let bounded = |of: &Field| Field {
                    range: of.range.or(range),
                    ..of.clone()
                };
                let fields: Vec<Field> = fields.iter().map(bounded).collect();
                let fields: Vec<&Field> = fields.iter().collect();
                Some(Drawn::Named(name, self.fields(variant.name, &fields)?))
            }
        }
    }

    fn list(&mut self, owner: &str, field: &Field, item: &Shape, range: Option<&'static str>) -> Option<Drawn> {
        if matches!(item, Shape::Text | Shape::List(_) | Shape::Map(_)) {
            let known = self.grammar.corpus.values(owner, field.name);
            return self.one(&known).map(|text| Drawn::Plain((*text).to_owned()));
        }
        let least = usize::from(self.is_wanted(field));
        let n = least + index(self.rng, 3);
        let mut items: Vec<Drawn> = Vec::new();
        for _ in 0..n {
            let drawn = self.value(owner, field, item, range)?;
            if !items.contains(&drawn) {
                items.push(drawn);
            }
        }
        Some(Drawn::List(items))
    }

    /// A component of the kind or the card's field.
    fn component(&mut self, kind: &str) -> Option<Drawn> {
        let grammar = self.grammar;
        let is_there = |part: &&Described| part.field == kind && !grammar.lacking.contains(part.name);
        let all: Vec<&Described> = grammar.registry.parts().filter(is_there).collect();
        let wanted = self.wants(kind);
        let part = match all.iter().find(|part| Some(part.name) == wanted) {
            Some(part) => part,
            None => *self.one(&all.iter().collect::<Vec<_>>())?,
        };
        // One card has each of those that are wanted once, and then any.
        self.wanted
            .retain(|wanted| *wanted != (part.field, part.name) || part.field == "strategy");
        if self.levels >= MOST_LEVELS {
            return None;
        }
        let share = self.share;
        self.levels += 1;
        self.share = self.inner_share;
        let fields = self.fields(part.name, &part.shape.fields());
        self.levels -= 1;
        self.share = share;
        Some(Drawn::Named(part.name.to_owned(), fields?))
    }

    /// Near the default, small, or at an end of the range.
    fn whole(&mut self, default: Option<&str>, (least, most): (Option<f64>, Option<f64>)) -> String {
        let least = least.map_or(0, |least| least as u64);
        let most = most.map_or(u64::from(u32::MAX), |most| most as u64).max(least);
        let top = most.min(least.saturating_add(MOST));
        let default = default.and_then(|text| text.parse::<u64>().ok()).unwrap_or(least);
        let value = match index(self.rng, 10) {
            0 => least,
            1 => top,
            2..=4 => least + index(self.rng, 8) as u64,
            5..=7 if default <= MOST => default / 2 + index(self.rng, 1 + 2 * default as usize) as u64,
            // More small ones than large ones.
            _ => least + (squared(unit(self.rng)) * (top - least) as f64) as u64,
        };
        value.clamp(least, top.max(default.min(MOST))).min(most).to_string()
    }

    /// Near the default, anywhere in the range, or at an end of it.
    fn number(&mut self, default: Option<&str>, (least, most): (Option<f64>, Option<f64>)) -> String {
        let (low, high) = (least.unwrap_or(0.0), most.unwrap_or(1e9).max(least.unwrap_or(0.0)));
        let near = default.and_then(|text| text.parse::<f64>().ok());
        let value = match (index(self.rng, 10), near) {
            (0, _) => low,
            (1, _) => high,
            (2..=6, Some(near)) => near * [0.25, 0.5, 0.8, 1.5, 2.0, 4.0][index(self.rng, 6)],
            _ if high - low <= 10.0 => low + unit(self.rng) * (high - low),
            _ => {
                let scale = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0][index(self.rng, 7)];
                low + unit(self.rng) * scale
            }
        };
        // Few digits are easier to read, and as random.
        let rounded = (value * 1e4).round() / 1e4;
        let value = if rounded < low { value } else { rounded };
        format!("{:?}", value.clamp(low, high))
    }
}

fn squared(x: f64) -> f64 {
    x * x
}

/// Whether a group has a size by default that is to be drawn smaller.
fn holds_size(shape: &Shape, default: Option<&str>) -> bool {
    let Shape::Fields(fields) = shape else { return false };
    let source = default.and_then(|default| Source::new("default", default).ok());
    fields.iter().any(|field| {
        let here = source.as_ref().and_then(|source| source.value(field.name));
        let default = here.or(field.default.as_deref());
        let size = default.and_then(|default| default.parse::<u64>().ok());
        let is_size = matches!(field.shape, Shape::Whole) && size.is_some_and(|size| size > MOST);
        is_size || holds_size(&field.shape, default)
    })
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn ranges_are_read_as_fields_declare_them() {
        assert_eq!(ends("1..=10"), (Some(1.0), Some(10.0)));
        assert_eq!(ends("at least 1"), (Some(1.0), None));
        let (least, most) = ends("above 0, at most 1e12");
        assert!(least.is_some_and(|least| least > 0.0) && most == Some(1e12));
    }
}
