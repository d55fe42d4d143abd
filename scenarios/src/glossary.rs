//! What numbers, messages and columns are called and mean, looked up by name.

use crate::registry::Registry;
use crate::summary::TERMS;
use crate::text::suggest;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::records::{ClientRow, MessageRow, ObservationRow, PrivacyRow, RoundRow};
use folkmoot_metrics::table::{Row, TimingRow};
use folkmoot_metrics::term::{PREFIXES, base, find};
use folkmoot_strategies::settings::Settings;

/// What a strategy says of its numbers and messages.
pub struct Glossary {
    /// The strategy's name.
    pub strategy: &'static str,
    /// What its numbers mean; empty if it says nothing.
    pub terms: Vec<Term>,
    /// Its messages and which way they go.
    pub kinds: Vec<(Direction, Kind)>,
}

impl Glossary {
    pub(crate) fn of<P: Settings>() -> Self {
        fn kinds<W: Wire>(way: Direction) -> impl Iterator<Item = (Direction, Kind)> {
            W::KINDS.iter().map(move |(_, kind)| (way, *kind))
        }
        Glossary {
            strategy: P::NAME,
            terms: P::terms(),
            kinds: kinds::<<P::Strategy as Strategy>::Down>(Direction::Downlink)
                .chain(kinds::<<P::Strategy as Strategy>::Up>(Direction::Uplink))
                .chain(kinds::<<P::Strategy as Strategy>::Peer>(Direction::Peer))
                .collect(),
        }
    }

    /// What a number of its runs means; `None` if they have none of that name.
    pub fn number(&self, metric: &str) -> Option<Term> {
        let name = base(metric);
        let of_messages = || {
            let kind = name.strip_suffix("_messages").or(name.strip_suffix("_payload_bytes"));
            kind.is_none_or(|kind| self.kinds.iter().any(|(_, known)| known.name == kind))
        };
        let is_exact = TERMS.iter().any(|term| term.name == name);
        let every = || find(TERMS, name).filter(|_| is_exact || of_messages());
        find(&self.terms, name).or_else(every)
    }

    /// Every name that is no pattern, with those of the parts of the data.
    fn names(&self) -> Vec<String> {
        let terms = self.terms.iter().chain(TERMS).map(|term| &*term.name);
        let plain: Vec<&str> = terms.filter(|name| !name.contains('*')).collect();
        let parts = PREFIXES
            .iter()
            .flat_map(|(prefix, ..)| plain.iter().map(move |name| format!("{prefix}{name}")));
        plain.iter().map(|name| (*name).to_owned()).chain(parts).collect()
    }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// A number of a run; of these strategies, or of every one where none is named.
    Number(Term, Vec<&'static str>),
    /// A kind of message of a strategy.
    Message(Direction, Kind, &'static str),
    /// A column of a table: the table's file, the column, and what its cells hold.
    Column(&'static str, &'static str, &'static str),
    /// A table: its file, and each column with what its cells hold.
    Table(&'static str, Vec<(&'static str, &'static str)>),
}

/// Everything but fields and parts of cards that is called so.
pub fn look_up(name: &str, registry: &Registry) -> Vec<Word> {
    let mut words = Vec::new();
    let mut numbers: Vec<(Term, Vec<&'static str>)> = Vec::new();
    if let Some(term) = TERMS.iter().find(|term| term.name == base(name)) {
        numbers.push((term.clone(), Vec::new()));
    } else {
        for glossary in registry.glossaries() {
            let Some(term) = glossary.number(name) else { continue };
            match numbers.iter_mut().find(|(known, _)| *known == term) {
                Some((_, of)) => of.push(glossary.strategy),
                None => numbers.push((term, vec![glossary.strategy])),
            }
        }
    }
    words.extend(numbers.into_iter().map(|(term, of)| Word::Number(term, of)));
    for glossary in registry.glossaries() {
        let kinds = glossary.kinds.iter().filter(|(_, kind)| kind.name == name);
        words.extend(kinds.map(|(way, kind)| Word::Message(*way, *kind, glossary.strategy)));
    }
    for (file, columns) in tables() {
        if file == name {
            words.push(Word::Table(file, columns));
        } else {
            let named = columns.into_iter().filter(|(column, _)| *column == name);
            words.extend(named.map(|(column, holds)| Word::Column(file, column, holds)));
        }
    }
    words
}

/// The tables of a run directory, each with its columns and what their cells hold.
fn tables() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    fn table<R: Row>() -> (&'static str, Vec<(&'static str, &'static str)>) {
        (R::FILE, R::COLUMNS.iter().copied().zip(R::holds()).collect())
    }
    vec![
        table::<RoundRow>(),
        table::<MessageRow>(),
        table::<ScoreRow>(),
        table::<PrivacyRow>(),
        table::<ClientRow>(),
        table::<ObservationRow>(),
        table::<TimingRow>(),
    ]
}

/// What is wrong with the name of a number that none of the strategies has; `None` if one has it, or says nothing of its numbers.
pub(crate) fn unknown(metric: &str, strategies: &[String], registry: &Registry) -> Option<String> {
    let mut known = Vec::new();
    for strategy in strategies {
        let glossary = registry
            .glossaries()
            .iter()
            .find(|glossary| glossary.strategy == strategy)?;
        if glossary.terms.is_empty() || glossary.number(metric).is_some() {
            return None;
        }
        known.extend(glossary.names());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = suggest(metric, &known);
    // A list of all of them would be longer than the card.
    let near = if near.contains("did you mean") {
        near
    } else {
        String::new()
    };
    Some(format!(
        "no run of {} has a number `{metric}`{near}",
        strategies.join(" or ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_numbers_messages_and_columns() {
        let registry = Registry::shipped();
        let look = |name: &str| look_up(name, &registry);
        let Word::Number(term, of) = &look("test_accuracy@majority_class")[0] else {
            panic!()
        };
        assert_eq!(
            (&*term.words, &of[..]),
            ("Test accuracy", &["FedAvg", "Scaffold", "GwLdp"][..])
        );
        assert!(matches!(
            &look("staleness_mean")[..],
            [Word::Column("rounds.csv", "staleness_mean", "a float")]
        ));
        assert!(matches!(
            &look("walk")[..],
            [Word::Message(Direction::Peer, _, "FedWalk")]
        ));
        assert!(matches!(&look("walk_messages")[..], [Word::Number(_, of)] if of == &["FedWalk"]));
        assert!(matches!(&look("payload_bytes")[..], [Word::Number(_, of), Word::Column(..)] if of.is_empty()));
        assert!(matches!(&look("rounds.csv")[..], [Word::Table(_, columns)] if columns.len() == 7));
        assert_eq!(look("nosuch"), []);
        assert_eq!(look("nosuch_messages"), []);
    }

    #[test]
    fn a_number_that_no_strategy_of_the_card_has_is_unknown() {
        let registry = Registry::shipped();
        let says = |metric: &str, of: &[&str]| {
            let of: Vec<String> = of.iter().map(|name| (*name).to_owned()).collect();
            unknown(metric, &of, &registry)
        };
        assert_eq!(says("test_roc_auc", &["Fgcl"]), None);
        assert_eq!(
            says("tset_roc_auc", &["Fgcl"]).unwrap(),
            "no run of Fgcl has a number `tset_roc_auc`, did you mean `test_roc_auc`?"
        );
        assert_eq!(
            says("nosuch", &["Fgcl"]).unwrap(),
            "no run of Fgcl has a number `nosuch`"
        );
        assert_eq!(says("walks_completed", &["DeepWalk", "FedWalk"]), None);
        assert!(says("walks_completed", &["DeepWalk"]).is_some());
        assert_eq!(says("nosuch", &["Fgcl", "Elsewhere"]), None);
    }
}
