//! The files of claims: their shape, and how a claim is made of what is said in several places.

use super::{
    Against, Change, Claim, Claims, Figure, Kind, Measure, Overall, Pooled, Printed, Rule, RunKey, Shape, Table, Test,
};
use crate::text::{Problems, Source, parse, suggest};
use folkmoot_metrics::key::base;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    system: String,
    paper: String,
    #[serde(default)]
    found: String,
    #[serde(default)]
    finding: String,
    /// The margin of each metric within which a printed number counts as reproduced, in printed
    /// units.
    #[serde(default)]
    margins: BTreeMap<String, f64>,
    /// Over how many runs the printed numbers are.
    #[serde(default)]
    printed_runs: Option<u32>,
    #[serde(default)]
    claims: Vec<Said>,
    #[serde(default)]
    grids: Vec<Grid>,
    #[serde(default)]
    tables: Vec<Table>,
    #[serde(default)]
    overall: Vec<Overall>,
    #[serde(default)]
    figures: Vec<Figure>,
}

/// What is said of a claim in one place: by itself, by a row, a column or an exception of a grid,
/// by its quick twin, by what it is compared with, or by where the same difference is measured
/// elsewhere.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Said {
    id: Option<String>,
    name: Option<String>,
    claim: Option<String>,
    at: Option<String>,
    printed: Option<String>,
    card: Option<String>,
    set: Vec<String>,
    arm: BTreeMap<String, String>,
    metric: Option<String>,
    scale: Option<f64>,
    against: Option<Box<Said>>,
    elsewhere: Option<Box<Said>>,
    pool: Option<Pool>,
    change: Option<Change>,
    rule: Option<Rule>,
    margin: Option<f64>,
    may_fail: Option<String>,
    erratum: Option<String>,
    note: Option<String>,
    /// Whether it is a control of this project's own, that the paper does not have.
    control: bool,
    #[serde(skip)]
    is_cell: bool,
    quick: Option<Box<Said>>,
}

/// Which differences stand for one: those of each card, with each of the values of an axis.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pool {
    cards: Vec<String>,
    axis: String,
    values: Vec<String>,
}

/// A printed table: what is said of all its cells, then of a row, a column, and of single cells.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Grid {
    id: String,
    claim: Option<String>,
    at: Option<String>,
    card: Option<String>,
    set: Vec<String>,
    arm: BTreeMap<String, String>,
    metric: Option<String>,
    scale: Option<f64>,
    against: Option<Box<Said>>,
    elsewhere: Option<Box<Said>>,
    change: Option<Change>,
    rule: Option<Rule>,
    margin: Option<f64>,
    may_fail: Option<String>,
    erratum: Option<String>,
    note: Option<String>,
    control: bool,
    rows: Vec<Said>,
    columns: Vec<Said>,
    printed: Vec<Vec<String>>,
    exceptions: BTreeMap<String, Said>,
}

impl Said {
    /// Both: settings and arms add up, and of anything else `self` has the word.
    fn over(&self, base: &Said) -> Said {
        let (own, base) = (self.clone(), base.clone());
        let mut arm = base.arm;
        arm.extend(own.arm);
        Said {
            id: own.id.or(base.id),
            name: None,
            claim: own.claim.or(base.claim),
            at: own.at.or(base.at),
            printed: own.printed.or(base.printed),
            card: own.card.or(base.card),
            set: [base.set, own.set].concat(),
            arm,
            metric: own.metric.or(base.metric),
            scale: own.scale.or(base.scale),
            against: own.against.or(base.against),
            elsewhere: own.elsewhere.or(base.elsewhere),
            pool: own.pool.or(base.pool),
            change: own.change.or(base.change),
            rule: own.rule.or(base.rule),
            margin: own.margin.or(base.margin),
            may_fail: own.may_fail.or(base.may_fail),
            erratum: own.erratum.or(base.erratum),
            note: own.note.or(base.note),
            control: own.control || base.control,
            is_cell: own.is_cell || base.is_cell,
            quick: own.quick.or(base.quick),
        }
    }

    /// Another run than `base`: one that names a card says all of its arm and settings and is
    /// pooled no more, one that names settings all of these.
    fn beside(&self, base: &Said) -> Said {
        let mut base = base.clone();
        if self.card.is_some() {
            base.arm.clear();
            base.pool = None;
        }
        if self.card.is_some() || !self.set.is_empty() {
            base.set.clear();
        }
        self.over(&base)
    }

    fn measure(&self) -> Option<Measure> {
        let card = self.card.clone().filter(|card| !card.is_empty())?;
        let (arm, set) = (self.arm.clone(), self.set.clone());
        let metric = self.metric.clone().filter(|metric| !metric.is_empty())?;
        Some(Measure {
            run: RunKey { card, arm, set },
            metric,
        })
    }

    /// Refuses what is said of a claim and not of a run, which would be passed over in `place`.
    fn names_a_run(&self, place: &str) -> Result<(), String> {
        let beyond = [
            ("id", self.id.is_some()),
            ("name", self.name.is_some()),
            ("claim", self.claim.is_some()),
            ("at", self.at.is_some()),
            ("printed", self.printed.is_some()),
            ("scale", self.scale.is_some()),
            ("against", self.against.is_some() && place != "elsewhere"),
            ("elsewhere", self.elsewhere.is_some()),
            ("pool", self.pool.is_some()),
            ("change", self.change.is_some()),
            ("rule", self.rule.is_some()),
            ("margin", self.margin.is_some()),
            ("may_fail", self.may_fail.is_some()),
            ("erratum", self.erratum.is_some()),
            ("note", self.note.is_some()),
            ("control", self.control),
            ("quick", self.quick.is_some()),
        ];
        match (beyond.iter().find(|(_, is_said)| *is_said), &self.against) {
            (Some((field, _)), _) => Err(format!("`{place}` names a run and a number: put `{field}` beside it")),
            (None, Some(against)) => against.names_a_run("against"),
            (None, None) => Ok(()),
        }
    }

    /// What it is compared with, beside itself.
    fn other(&self) -> Option<Measure> {
        self.against.as_ref()?.beside(self).measure()
    }

    /// The two numbers of the difference elsewhere, which is from the same as here where nothing
    /// else is said.
    fn difference_elsewhere(&self) -> Option<[Measure; 2]> {
        let there = self.elsewhere.as_ref()?.beside(self);
        Some([there.measure()?, there.other()?])
    }

    /// The differences that stand for one.
    fn pooled(&self) -> Result<Vec<Pooled>, String> {
        let Some(pool) = &self.pool else {
            return Ok(Vec::new());
        };
        if self.elsewhere.is_some()
            || !matches!(&self.rule, Some(Rule::Shape(shape)) if !matches!(shape, Shape::Order(_)))
        {
            return Err("only a shape that compares two numbers is pooled, as rule: Shape(More)".to_owned());
        }
        let mut all = Vec::new();
        for card in &pool.cards {
            for value in &pool.values {
                let mut said = self.clone();
                said.card = Some(card.clone());
                said.arm.insert(pool.axis.clone(), value.clone());
                let (Some(measure), Some(other)) = (said.measure(), said.other()) else {
                    return Err("`pool` needs a metric, `against`, and a card".to_owned());
                };
                all.push(Pooled { measure, other });
            }
        }
        let distinct: BTreeSet<&Measure> = all.iter().map(|pooled: &Pooled| &pooled.measure).collect();
        match (all.is_empty(), distinct.len() < all.len()) {
            (true, _) => Err("`pool` needs cards and values".to_owned()),
            (_, true) => Err("`pool` names a card or a value twice".to_owned()),
            _ => Ok(all),
        }
    }

    fn test(&self) -> Result<Test, String> {
        for (place, said) in [("against", &self.against), ("elsewhere", &self.elsewhere)] {
            said.as_ref().map_or(Ok(()), |said| said.names_a_run(place))?;
        }
        let rule = self.rule.clone().ok_or("a claim needs a rule")?;
        can_decide(&rule)?;
        let scale = self.scale.unwrap_or(1.0);
        if !scale.is_finite() || scale == 0.0 {
            return Err(format!(
                "`scale` multiplies what is measured and must be finite and not 0, got {scale}"
            ));
        }
        let margin = self.margin;
        if let Some(margin) = margin.filter(|margin| !(margin.is_finite() && *margin >= 0.0)) {
            return Err(format!("`margin` must be finite and at least 0, got {margin}"));
        }
        if margin.is_some() && rule != Rule::Statistical {
            return Err(
                "only `rule: Statistical` takes a `margin`; Within(..) and Alike(..) have their own".to_owned(),
            );
        }
        let may_fail = self.may_fail.clone().unwrap_or_default();
        if matches!(rule, Rule::Reading { .. } | Rule::NotDecidable(_) | Rule::NoData(_)) {
            return Ok(Test {
                measure: None,
                against: None,
                pool: Vec::new(),
                scale: 1.0,
                rule,
                margin,
                printed_runs: None,
                may_fail,
            });
        }
        let pool = self.pooled()?;
        let (measure, other) = match pool.first() {
            Some(first) => (first.measure.clone(), Some(first.other.clone())),
            None => (
                self.measure().ok_or("this rule needs a card and a metric")?,
                self.other(),
            ),
        };
        let elsewhere = self.difference_elsewhere();
        [&measure]
            .into_iter()
            .chain(&other)
            .try_for_each(Measure::is_known_column)?;
        let printed = self.printed.clone().unwrap_or_default();
        match &rule {
            Rule::Shape(Shape::More | Shape::Less | Shape::Alike(_)) if other.is_none() => {
                return Err("this rule needs `against`".to_owned());
            }
            Rule::Shape(Shape::Order(arms)) if arms.len() < 2 => return Err("an order needs two arms".to_owned()),
            Rule::Shape(Shape::Order(arms)) if (1..arms.len()).any(|i| arms[..i].contains(&arms[i])) => {
                return Err("an order has the same arm twice".to_owned());
            }
            _ if other.as_ref() == Some(&measure) => {
                return Err("`against` is the very same number: say what else it is there".to_owned());
            }
            _ if other.is_none() && self.change.is_some() => {
                return Err("`change` needs `against`: what it is a change from".to_owned());
            }
            _ if self.scale.is_some() && self.change == Some(Change::Percent) => {
                return Err("a change in per cent has no `scale`: leave one of them out".to_owned());
            }
            Rule::Exact | Rule::Statistical | Rule::Within(_) if Printed::parse(&printed).is_none() => {
                return Err(format!("this rule needs a printed number, got {printed:?}"));
            }
            Rule::Interaction(shape) => interacts(shape, &measure, other.as_ref(), elsewhere.as_ref())?,
            _ if self.elsewhere.is_some() => {
                return Err("only an interaction has `elsewhere`, as in rule: Interaction(More)".to_owned());
            }
            _ => {}
        }
        Ok(Test {
            measure: Some(measure),
            against: other.map(|other| Against {
                other,
                change: self.change.unwrap_or_default(),
                elsewhere,
            }),
            pool,
            scale,
            rule,
            margin,
            printed_runs: None,
            may_fail,
        })
    }

    fn claim(self) -> Result<Claim, String> {
        let test = self.test()?;
        let quick = self.quick.as_ref().map(|quick| quick.beside(&self).test());
        let quick = quick.transpose().map_err(|why| format!("quick: {why}"))?;
        let text = |field: Option<String>, name: &str| match field {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(format!("a claim needs `{name}`")),
        };
        Ok(Claim {
            id: text(self.id, "id")?,
            claim: text(self.claim, "claim")?,
            at: text(self.at, "at")?,
            printed: self.printed.unwrap_or_default(),
            test,
            quick,
            erratum: self.erratum.unwrap_or_default(),
            note: self.note.unwrap_or_default(),
            kind: match (self.control, self.is_cell) {
                (true, _) => Kind::Control,
                (false, true) => Kind::Cell,
                (false, false) => Kind::Statement,
            },
        })
    }
}

/// Refuses bounds that nothing could keep or break, and words that are not there.
fn can_decide(rule: &Rule) -> Result<(), String> {
    let (name, bound, least) = match rule {
        Rule::Within(margin) => ("Within", margin, 0.0),
        Rule::AtMost(bound) => ("AtMost", bound, f64::MIN),
        Rule::AtLeast(bound) => ("AtLeast", bound, f64::MIN),
        Rule::Shape(Shape::Alike(margin)) | Rule::Interaction(Shape::Alike(margin)) => ("Alike", margin, 0.0),
        Rule::Shape(Shape::Above(bound)) | Rule::Interaction(Shape::Above(bound)) => ("Above", bound, f64::MIN),
        Rule::Shape(Shape::Below(bound)) | Rule::Interaction(Shape::Below(bound)) => ("Below", bound, f64::MIN),
        Rule::Reading { because: why, .. } | Rule::NotDecidable(why) | Rule::NoData(why) | Rule::Shown(why) => {
            return match why.trim().is_empty() {
                true => Err("the rule needs words that say why".to_owned()),
                false => Ok(()),
            };
        }
        Rule::Exact | Rule::Statistical | Rule::Shape(_) | Rule::Interaction(_) => return Ok(()),
    };
    match bound.is_finite() && *bound >= least {
        true => Ok(()),
        false if least == 0.0 => Err(format!("{name} takes a margin of 0 or more, got {bound}")),
        false => Err(format!("{name} takes a finite number, got {bound}")),
    }
}

/// Whether a difference of differences can be made of these numbers.
fn interacts(
    shape: &Shape,
    measure: &Measure,
    other: Option<&Measure>,
    elsewhere: Option<&[Measure; 2]>,
) -> Result<(), String> {
    if let Shape::Order(_) = shape {
        return Err(
            "an interaction is More, Less, Alike, Above or Below; of an order each step is a claim of its own"
                .to_owned(),
        );
    }
    let other = other.ok_or("an interaction needs `against`: what the number differs from, here and elsewhere")?;
    let [there, other_there] =
        elsewhere.ok_or("an interaction needs `elsewhere`: the arm, set, card or metric of the other difference")?;
    match (measure == there, other == other_there) {
        (false, false) => Ok(()),
        (is_first, _) => {
            let Measure { run, metric } = if is_first { measure } else { other };
            Err(format!(
                "an interaction is of two differences, and {metric} of {run} stands in both: say in `elsewhere` what else it is there, or take Shape"
            ))
        }
    }
}

impl Claim {
    /// With what its file says of printed numbers: the margin of the metric, which is for levels
    /// and not for differences, and over how many runs they are.
    fn printed_with(mut self, margins: &BTreeMap<String, f64>, printed_runs: Option<u32>) -> Claim {
        for test in [Some(&mut self.test), self.quick.as_mut()].into_iter().flatten() {
            test.printed_runs = printed_runs;
            let of_metric = test
                .measure
                .as_ref()
                .and_then(|measure| margins.get(base(&measure.metric)));
            if test.rule == Rule::Statistical && test.against.is_none() {
                test.margin = test.margin.or(of_metric.copied());
            }
        }
        self
    }
}

impl Grid {
    /// A claim for each cell that something is printed in.
    fn claims(self) -> Result<Vec<Said>, String> {
        let shape: Vec<usize> = self.printed.iter().map(Vec::len).collect();
        if self.rows.is_empty() || self.columns.is_empty() {
            return Err("has no cell; give rows, columns and printed, or list it below claims".to_owned());
        }
        if shape != vec![self.columns.len(); self.rows.len()] {
            let (rows, columns) = (self.rows.len(), self.columns.len());
            return Err(format!("needs {rows} rows of {columns} printed cells, got {shape:?}"));
        }
        let base = Said {
            claim: self.claim,
            at: self.at,
            card: self.card,
            set: self.set,
            arm: self.arm,
            metric: self.metric,
            scale: self.scale,
            against: self.against,
            elsewhere: self.elsewhere,
            change: self.change,
            rule: self.rule,
            margin: self.margin,
            may_fail: self.may_fail,
            erratum: self.erratum,
            note: self.note,
            control: self.control,
            is_cell: true,
            ..Said::default()
        };
        let mut unused: BTreeSet<&String> = self.exceptions.keys().collect();
        let mut claims = Vec::new();
        for (row, printed) in self.rows.iter().zip(&self.printed) {
            for (column, printed) in self
                .columns
                .iter()
                .zip(printed)
                .filter(|(_, printed)| !printed.is_empty())
            {
                let name = |part: &Said| part.name.clone().unwrap_or_default();
                let cell = format!("{}/{}", name(row), name(column));
                let mut said = row.over(&column.over(&base));
                if let Some(exception) = self.exceptions.get(&cell) {
                    unused.remove(&cell);
                    said = exception.over(&said);
                }
                said.id = Some(format!("{}/{cell}", self.id));
                said.printed = Some(printed.clone());
                let claim = said.claim.unwrap_or_default();
                said.claim = Some(claim.replace("{row}", &name(row)).replace("{column}", &name(column)));
                claims.push(said);
            }
        }
        match unused.first() {
            Some(cell) => Err(format!("there is no cell {cell:?} to be an exception")),
            None => Ok(claims),
        }
    }
}

pub(super) fn read(name: &str, source: &Source) -> Result<Claims, Problems> {
    let file: File = parse(source)?;
    let mut problems = Problems::new(source);
    let claims = file.claims.into_iter().enumerate();
    let mut said: Vec<(String, Said)> = claims.map(|(i, said)| (format!("claims.{i}"), said)).collect();
    for (i, grid) in file.grids.into_iter().enumerate() {
        let path = format!("grids.{i}");
        match grid.claims() {
            Ok(cells) => said.extend(cells.into_iter().map(|cell| (path.clone(), cell))),
            Err(why) => problems.push_at(&path, why),
        }
    }
    for (metric, margin) in &file.margins {
        if !(margin.is_finite() && *margin >= 0.0) {
            problems.push_at(
                "margins",
                format!("the margin of {metric} must be finite and at least 0, got {margin}"),
            );
        }
    }
    if file.printed_runs == Some(0) {
        problems.push_at("printed_runs", "must be at least 1");
    }
    for (field, text) in [("system", &file.system), ("paper", &file.paper)] {
        if text.trim().is_empty() {
            problems.push_at(field, "must not be empty");
        }
    }
    if said.is_empty() && file.tables.is_empty() && problems.is_empty() {
        problems.push("needs at least one claim or table: claims: [( id: …, claim: …, at: …, rule: … )]");
    }
    let (mut claims, mut places): (Vec<Claim>, Vec<String>) = Default::default();
    let mut ids = BTreeSet::new();
    for (path, said) in said {
        let id = said.id.clone().unwrap_or_default();
        match said
            .claim()
            .map(|claim| claim.printed_with(&file.margins, file.printed_runs))
        {
            Ok(claim) if ids.insert(claim.id.clone()) => {
                claims.push(claim);
                places.push(path);
            }
            Ok(_) => problems.push_at(&path, format!("the id {id:?} is given twice")),
            Err(why) => problems.push_at(&path, format!("{id}: {why}")),
        }
    }
    let tests = claims
        .iter()
        .flat_map(|claim| [Some(&claim.test), claim.quick.as_ref()]);
    let claimed: BTreeSet<&str> = tests
        .flatten()
        .filter_map(|test| Some(base(&test.measure.as_ref()?.metric)))
        .collect();
    let claimed: Vec<&str> = claimed.into_iter().collect();
    let idle = file.margins.keys().find(|metric| !claimed.contains(&metric.as_str()));
    if let Some(metric) = idle.filter(|_| problems.is_empty()) {
        problems.push_at(
            "margins",
            format!("no claim is about {metric}{}", suggest(metric, &claimed)),
        );
    }
    for (i, overall) in file.overall.iter().enumerate() {
        let is_grid = |grid: &&String| ids.iter().any(|id| id.starts_with(&format!("{grid}/")));
        if let Some(grid) = overall
            .grids
            .iter()
            .find(|grid| !is_grid(grid))
            .filter(|_| problems.is_empty())
        {
            problems.push_at(&format!("overall.{i}.grids"), format!("no grid has the id {grid:?}"));
        }
        if !ids.insert(overall.id.clone()) {
            problems.push_at(
                &format!("overall.{i}"),
                format!("the id {:?} is given twice", overall.id),
            );
        }
    }
    for (field, text) in [("found", &file.found), ("finding", &file.finding)] {
        for id in text.split('{').skip(1).filter_map(|text| text.split_once('}')) {
            if !ids.contains(id.0) && problems.is_empty() {
                problems.push_at(field, format!("nothing has the id {:?}", id.0));
            }
        }
    }
    for (i, figure) in file.figures.iter().enumerate() {
        let beside = figure.panels.iter().filter_map(|panel| Some(&panel.beside.as_ref()?.1));
        for title in figure.panels.iter().map(|panel| &panel.table).chain(beside) {
            if !file
                .tables
                .iter()
                .any(|table| table.title == *title && !table.columns.is_empty())
            {
                problems.push_at(
                    &format!("figures.{i}"),
                    format!("there is no table with columns whose title is {title:?}"),
                );
            }
        }
    }
    problems.into_result(Claims {
        name: name.to_owned(),
        system: file.system,
        paper: file.paper,
        found: file.found,
        finding: file.finding,
        claims,
        tables: file.tables,
        overall: file.overall,
        printed_runs: file.printed_runs,
        figures: file.figures,
        source: source.clone(),
        places,
    })
}
