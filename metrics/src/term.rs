//! What metrics mean: the words of a glossary, said where a number is made and found by its name.

use crate::key::{MetricKey, PREFIXES, SUFFIXES, base};
use crate::metric::Unit;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Which values of a metric one would rather have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The higher, the better.
    Higher,
    /// The lower, the better.
    Lower,
}

/// What a metric's value can be at least and at most; `None` where it has no such bound.
pub type Bounds = (Option<f64>, Option<f64>);

/// What a number says that an attacker has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attack {
    /// What whoever guesses without looking reaches at best, where that is known: an attack no
    /// better says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind: Option<f64>,
}

/// What "an accuracy" leaves open, and two papers rarely mean alike: whose model, on which items
/// with which edges, how these are weighed, and from which round. With the rule by which items
/// train, validate and test these are five questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scored {
    pub model: Answering,
    /// What it is asked.
    pub items: Asked,
    pub weighting: Weighed,
    /// Which model of a run's, in its summary; a row of `scores.csv` is of its own round.
    pub selection: Selection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answering {
    /// The server's, which no client has trained further.
    Server,
    /// Each client's at the end, after the last model of the server if there is one.
    Own,
    /// Each client's as it has just trained it, before it gets another.
    Trained,
    /// The average of all clients' models, which no client has.
    Mean,
    /// A classifier that whoever evaluates the run trains on what it has made.
    Probe,
}

/// What a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Each client's own items, with the edges that it knows.
    Own,
    /// All clients' items, each with the edges that its client knows.
    All,
    /// Items of the data set, with all its edges.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighed {
    /// Every item, or pair of items.
    Items,
    /// Every client, whatever it holds.
    Clients,
}

/// Which of a run's models is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    Last,
    /// The one that was best on the validation part.
    BestValidation,
}

impl Scored {
    /// Each of the questions with its answer, in words.
    pub fn words(&self) -> [(&'static str, &'static str); 4] {
        let model = match self.model {
            Answering::Server => "the server's, without further training",
            Answering::Own => "each client's at the end, after the last model of the server if there is one",
            Answering::Trained => "each client's after its own training",
            Answering::Mean => "the average of all clients' models (hypothetical)",
            Answering::Probe => "a classifier trained on the embeddings of the run",
        };
        let items = match self.items {
            Asked::Own => "each client's own, with the edges known to it",
            Asked::All => "those of all clients, with the edges known to each client",
            Asked::Whole => "of the data set, with all its edges",
        };
        let weighting = match self.weighting {
            Weighed::Items => "equal weight per item",
            Weighed::Clients => "equal weight per client",
        };
        let selection = match self.selection {
            Selection::Last => "the last round",
            Selection::BestValidation => "the best epoch on validation data",
        };
        [
            ("model", model),
            ("items", items),
            ("weighting", weighting),
            ("selection", selection),
        ]
    }
}

/// A metric of the glossary, or several whose names differ in a part that `*` stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The name in tables and summaries, such as `payload_bytes` or `*_messages`.
    pub name: Cow<'static, str>,
    /// The name in words, as figures write it; `*` stands for what it stands for in the name.
    pub words: Cow<'static, str>,
    /// What it is measured in.
    pub unit: Unit,
    /// What it can be.
    pub range: Bounds,
    /// Which values are better, if any are.
    pub better: Option<Better>,
    /// Whether it is what an attacker reaches.
    pub attack: Option<Attack>,
    /// What of whose model is scored, if it is a score of a model.
    pub scored: Option<Scored>,
    /// What it says, in one plain sentence.
    pub about: Cow<'static, str>,
    /// The paper and equation that define it; blank where `about` is the definition.
    pub source: Cow<'static, str>,
}

/// Metric definitions as a table, for a constant of type `&[Term]`. A row has name, words, unit,
/// properties, meaning and, where a paper defines the metric, its source.
///
/// Properties are the functions of [`Term`]: `fraction`, `from(0.0)`, `up_to(1.0)`, `higher`,
/// `lower`, `attack`, `attack_beside(0.5)`. `scored(Server, All, Items)` names values of
/// [`Answering`], [`Asked`] and [`Weighed`]. A row `= TERM;` is a term that stands elsewhere.
///
/// ```
/// use folkmoot_metrics::{Term, terms};
///
/// const TERMS: &[Term] = terms! {
///     "accuracy", "Accuracy", Number [fraction, higher, scored(Server, All, Items)]:
///         "Accuracy of the global model over the items of all clients.";
///     "kept_edges", "Edges kept", Count []:
///         "Edges that remain.",
///         "A paper, equation 3";
/// };
/// assert_eq!(TERMS[1].source, "A paper, equation 3");
/// ```
#[macro_export]
macro_rules! terms {
    (@rows [$($done:expr,)*]) => { &[$($done),*] };
    (@rows [$($done:expr,)*] = $term:expr; $($rest:tt)*) => {
        $crate::terms!(@rows [$($done,)* $term,] $($rest)*)
    };
    (@rows [$($done:expr,)*] $name:expr, $words:expr, $unit:ident [$($props:tt)*]: $about:expr; $($rest:tt)*) => {
        $crate::terms!(@rows [$($done,)*] $name, $words, $unit [$($props)*]: $about, ""; $($rest)*)
    };
    (@rows [$($done:expr,)*] $name:expr, $words:expr, $unit:ident [$($props:tt)*]: $about:expr, $source:expr; $($rest:tt)*) => {
        $crate::terms!(
            @rows [
                $($done,)*
                $crate::terms!(@with $crate::Term::new($name, $words, $crate::Unit::$unit, $about, $source); $($props)*),
            ]
            $($rest)*
        )
    };
    (@with $term:expr;) => { $term };
    (@with $term:expr; scored($model:ident, $items:ident, $weighting:ident) $(, $($props:tt)*)?) => {
        $crate::terms!(
            @with $term.scored(
                $crate::term::Answering::$model,
                $crate::term::Asked::$items,
                $crate::term::Weighed::$weighting,
            ); $($($props)*)?
        )
    };
    (@with $term:expr; scored_at_best($model:ident, $items:ident, $weighting:ident) $(, $($props:tt)*)?) => {
        $crate::terms!(
            @with $term.scored_at_best(
                $crate::term::Answering::$model,
                $crate::term::Asked::$items,
                $crate::term::Weighed::$weighting,
            ); $($($props)*)?
        )
    };
    (@with $term:expr; $property:ident $(($value:expr))? $(, $($props:tt)*)?) => {
        $crate::terms!(@with $term.$property($($value)?); $($($props)*)?)
    };
    ($($rows:tt)*) => { $crate::terms!(@rows [] $($rows)*) };
}

/// What a metric of a run means, as its manifest says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meaning {
    /// Its name in words, without its unit.
    pub words: String,
    /// What it can be.
    pub range: Bounds,
    /// Which values are better, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// Whether it is what an attacker reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<Attack>,
    /// What of whose model is scored, if it is a score of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scored: Option<Scored>,
    /// How items were split into those that train, validate and test, if it is a score of a model
    /// and the card says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// What it says, in one sentence.
    pub about: String,
}

impl Meaning {
    /// What it says, and if it is a score what of whose model is scored.
    pub fn sentences(&self) -> String {
        let Some(scored) = self.scored else {
            return self.about.clone();
        };
        let split = self.split.as_deref().map(|split| ("split", split));
        let answers = split.into_iter().chain(scored.words());
        let answers: Vec<String> = answers
            .map(|(question, answer)| format!("{question}: {answer}"))
            .collect();
        format!("{} ({}.)", self.about, answers.join("; "))
    }
}

impl Term {
    /// A term with the bounds of its unit: shares lie in 0..=1, counts, bytes and seconds begin at
    /// 0, a plain number has none.
    pub const fn new(
        name: &'static str,
        words: &'static str,
        unit: Unit,
        about: &'static str,
        source: &'static str,
    ) -> Term {
        let range = match unit {
            Unit::Number => (None, None),
            Unit::Share => (Some(0.0), Some(1.0)),
            Unit::Count | Unit::Bytes | Unit::BytesPerSecond | Unit::Seconds => (Some(0.0), None),
        };
        Term {
            name: Cow::Borrowed(name),
            words: Cow::Borrowed(words),
            unit,
            range,
            better: None,
            attack: None,
            scored: None,
            about: Cow::Borrowed(about),
            source: Cow::Borrowed(source),
        }
    }

    /// With a value of at least `least`.
    pub const fn from(mut self, least: f64) -> Term {
        self.range.0 = Some(least);
        self
    }

    /// With a value of at most `most`.
    pub const fn up_to(mut self, most: f64) -> Term {
        self.range.1 = Some(most);
        self
    }

    /// With values from 0 to 1.
    pub const fn fraction(self) -> Term {
        self.from(0.0).up_to(1.0)
    }

    /// With values of which the higher are better.
    pub const fn higher(mut self) -> Term {
        self.better = Some(Better::Higher);
        self
    }

    /// With values of which the lower are better.
    pub const fn lower(mut self) -> Term {
        self.better = Some(Better::Lower);
        self
    }

    /// An attacker's success, with no blind guess to hold it against.
    pub const fn attack(mut self) -> Term {
        self.attack = Some(Attack { blind: None });
        self
    }

    /// An attacker's success, beside which guessing blindly reaches `blind`.
    pub const fn attack_beside(mut self, blind: f64) -> Term {
        self.attack = Some(Attack { blind: Some(blind) });
        self
    }

    /// A score of the last model.
    pub const fn scored(self, model: Answering, items: Asked, weighting: Weighed) -> Term {
        self.scored_of(model, items, weighting, Selection::Last)
    }

    /// A score of the model that was best on the validation part.
    pub const fn scored_at_best(self, model: Answering, items: Asked, weighting: Weighed) -> Term {
        self.scored_of(model, items, weighting, Selection::BestValidation)
    }

    const fn scored_of(mut self, model: Answering, items: Asked, weighting: Weighed, selection: Selection) -> Term {
        self.scored = Some(Scored {
            model,
            items,
            weighting,
            selection,
        });
        self
    }

    /// What `*` stands for in `name`, if this term is of it; blank where there is no `*`.
    fn matched<'a>(&self, name: &'a str) -> Option<&'a str> {
        match self.name.split_once('*') {
            None => (self.name == name).then_some(""),
            Some((before, after)) => name
                .strip_prefix(before)?
                .strip_suffix(after)
                .filter(|rest| !rest.is_empty()),
        }
    }

    /// This term as that of `name`, whose `*` it fills.
    fn filled(&self, name: &str) -> Option<Term> {
        let rest = self.matched(name)?.replace('_', " ");
        let words = match self.words.split_once('*') {
            None => self.words.to_string(),
            Some((before, after)) => capital(&format!("{before}{rest}{after}")),
        };
        Some(Term {
            name: name.to_owned().into(),
            words: words.into(),
            about: self.about.replace('*', &rest).into(),
            ..self.clone()
        })
    }

    pub fn meaning(&self) -> Meaning {
        Meaning {
            words: self.words.to_string(),
            range: self.range,
            better: self.better,
            attack: self.attack,
            scored: self.scored,
            split: None,
            about: self.about.to_string(),
        }
    }
}

/// The term of a metric, by its name or that of its point, reference, part of the data, deviation
/// or error; made of the one that fits best.
///
/// A term of the very name goes before one that a prefix or suffix is added to, and that before one
/// with `*`, of which the one goes first that leaves least to it.
pub fn find(terms: &[Term], metric: &str) -> Option<Term> {
    let name = base(metric);
    let key = MetricKey::parse(name);
    let named = |name: &str| terms.iter().find(|term| term.name == name).cloned();
    let of_split = || {
        let is_of = |prefix: &str| prefix.strip_suffix('_') == key.split;
        let (_, words, about) = PREFIXES.iter().find(|(prefix, ..)| is_of(prefix))?;
        let term = named(&MetricKey { split: None, ..key }.to_string())?;
        Some(Term {
            name: name.to_owned().into(),
            words: format!("{words} {}", small(&term.words)).into(),
            about: format!("{} Here {about}.", term.about).into(),
            ..term
        })
    };
    let spread = || {
        let is_of = |suffix: &str| suffix.strip_prefix('_') == key.suffix;
        let (_, words, about) = SUFFIXES.iter().find(|(suffix, ..)| is_of(suffix))?;
        let of = MetricKey { suffix: None, ..key }.to_string();
        // Nobody takes the spread of a spread.
        let term = find(terms, &of).filter(|_| MetricKey::parse(&of).suffix.is_none())?;
        Some(Term {
            name: name.to_owned().into(),
            words: format!("{}, {words}", term.words).into(),
            about: format!("{} Here {about}.", term.about).into(),
            // A spread is no larger than what it is of may reach, and says nothing of which values
            // are better.
            range: (Some(0.0), None),
            better: None,
            attack: None,
            scored: None,
            ..term
        })
    };
    named(name).or_else(of_split).or_else(spread).or_else(|| {
        let best = terms
            .iter()
            .filter(|term| term.name.contains('*') && term.matched(name).is_some())
            .max_by_key(|term| term.name.len())?;
        best.filled(name)
    })
}

/// What the metrics of these names mean, by the name that points and references share; those
/// without a term have no entry. `split` is who trains, validates and tests in the run they are of.
pub fn meanings<'a>(
    terms: &[Term],
    split: Option<&str>,
    metrics: impl Iterator<Item = &'a str>,
) -> BTreeMap<String, Meaning> {
    let meaning = |term: Term| {
        let meaning = term.meaning();
        Meaning {
            split: meaning.scored.and(split).map(str::to_owned),
            ..meaning
        }
    };
    let mut names: Vec<&str> = metrics.map(base).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), meaning(find(terms, name)?))))
        .collect()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// With a small first letter, unless it begins with an abbreviation: `Test ROC AUC` as
/// `test ROC AUC`.
pub fn small(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TERMS: &[Term] = &[
        Term::new("accuracy", "Accuracy", Unit::Number, "Share of right answers.", "")
            .from(0.0)
            .up_to(1.0)
            .higher(),
        Term::new(
            "published_test_accuracy",
            "Published accuracy",
            Unit::Number,
            "As published.",
            "",
        ),
        Term::new("roc_auc", "ROC AUC", Unit::Number, "Area.", "").attack_beside(0.5),
        Term::new("*_messages", "* messages", Unit::Count, "Messages of kind `*`.", ""),
        Term::new("late_*_messages", "Late * messages", Unit::Count, "Late ones.", ""),
    ];

    fn words(metric: &str) -> Option<String> {
        find(TERMS, metric).map(|term| term.words.to_string())
    }

    #[test]
    fn points_references_parts_and_spreads_lead_to_their_term() {
        let cases = [
            ("accuracy", Some("Accuracy")),
            ("test_accuracy", Some("Test accuracy")),
            ("test_roc_auc", Some("Test ROC AUC")),
            ("accuracy@clean", Some("Accuracy")),
            ("accuracy@theory, [round] 2", Some("Accuracy")),
            ("validation_accuracy[train_ratio=0.5]", Some("Validation accuracy")),
            ("test_accuracy_std[round=3]", Some("Test accuracy, standard deviation")),
            ("accuracy_standard_error", Some("Accuracy, standard error")),
            ("published_test_accuracy", Some("Published accuracy")),
            ("degree_vector_messages", Some("Degree vector messages")),
            ("late_model_messages", Some("Late model messages")),
            ("_messages", None),
            ("held_out_accuracy", None),
            ("accuracy_std_std", None),
        ];
        for (metric, expected) in cases {
            assert_eq!(words(metric).as_deref(), expected, "{metric}");
        }
    }

    #[test]
    fn what_is_found_says_what_varies_and_keeps_unit_and_bounds() {
        let term = find(TERMS, "walk_messages").unwrap();
        assert_eq!(
            (&*term.name, &*term.about, term.unit),
            ("walk_messages", "Messages of kind `walk`.", Unit::Count)
        );
        assert_eq!(term.range, (Some(0.0), None));
        let part = find(TERMS, "test_accuracy[round=1]").unwrap();
        assert_eq!(
            (&*part.name, part.range, part.better),
            ("test_accuracy", (Some(0.0), Some(1.0)), Some(Better::Higher))
        );
        let attacked = find(TERMS, "test_roc_auc[round=1]").unwrap();
        assert_eq!(attacked.meaning().attack, Some(Attack { blind: Some(0.5) }));
        assert_eq!((part.attack, find(TERMS, "roc_auc_std").unwrap().attack), (None, None));
        let spread = find(TERMS, "accuracy_std").unwrap();
        assert_eq!((spread.range, spread.better), ((Some(0.0), None), None));
    }

    #[test]
    fn a_score_says_what_it_is_of_and_its_run_how_items_were_split() {
        let plain = Term::new("accuracy", "Accuracy", Unit::Number, "Right answers.", "");
        let terms = [plain.scored(Answering::Own, Asked::Own, Weighed::Clients)];
        let all = meanings(
            &terms,
            Some("Published"),
            ["test_accuracy", "test_accuracy_std"].into_iter(),
        );
        let accuracy = &all["test_accuracy"];
        assert_eq!(accuracy.split.as_deref(), Some("Published"));
        assert_eq!(
            serde_json::to_string(&accuracy.scored).unwrap(),
            r#"{"model":"own","items":"own","weighting":"clients","selection":"last"}"#
        );
        assert_eq!(
            accuracy.scored.unwrap().words()[2],
            ("weighting", "equal weight per client")
        );
        assert!(
            accuracy
                .sentences()
                .contains(" (split: Published; model: each client's at the end")
        );
        let deviation = &all["test_accuracy_std"];
        assert_eq!(
            (deviation.scored, &deviation.split),
            (None, &None),
            "a deviation is no score"
        );
    }

    #[test]
    fn meanings_are_told_once_for_all_points_and_references() {
        let metrics = ["accuracy[round=1]", "accuracy@clean", "walk_messages", "unknown"];
        let all = meanings(TERMS, None, metrics.into_iter());
        assert_eq!(all.keys().collect::<Vec<_>>(), ["accuracy", "walk_messages"]);
        let text = serde_json::to_string(&all["accuracy"]).unwrap();
        assert_eq!(
            text,
            r#"{"words":"Accuracy","range":[0.0,1.0],"better":"higher","about":"Share of right answers."}"#
        );
        assert_eq!(serde_json::from_str::<Meaning>(&text).unwrap(), all["accuracy"]);
    }
}
