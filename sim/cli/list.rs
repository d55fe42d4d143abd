//! `folkmoot list`: cards and everything that they can name, all or by topic.

use crate::context::Program;
use crate::exit::Exit;
use crate::explain::{files_of, n_runs};
use crate::output::print;
use crate::text::{lasting, table};
use folkmoot_graphs::CatalogueEntry;
use folkmoot_parts::plural;
use folkmoot_scenarios::axis::{Axis, Described};
use folkmoot_scenarios::registry::{Cost, Registry};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;

pub(crate) fn list(program: &Program, words: &[String]) -> Result<(), Exit> {
    let registry = &program.registry;
    let name = &program.name;
    let topic = Topic::of(words);
    let (mut starts, mut cards) = (Vec::new(), Vec::new());
    for (name, text) in registry.cards() {
        let scenario = check(name, &Source::new(name, text)?, registry)?;
        if topic.is_in(&format!("{name} {text}")) {
            let (n_runs, cost) = (n_runs(program, &scenario), registry.cost(name));
            let of_sweep = cost.map_or(String::new(), |cost| of_runs(cost, n_runs));
            let files = files_of(registry, &scenario).unwrap_or_default().split('(').next();
            let row = vec![
                format!("  {name}"),
                n_runs.to_string(),
                of_sweep,
                files.unwrap_or_default().to_owned(),
                scenario.question().to_owned(),
            ];
            if cost.is_some_and(|cost| cost.is_start) {
                starts.push(row.clone());
            }
            cards.push(row);
        }
    }
    let head = ["  name", "runs", "time", "files", "question"];
    let mut lists = Vec::new();
    if !starts.is_empty() {
        lists.push(format!("cards to start with\n{}", table(&head, &starts, 5)));
    }
    if !cards.is_empty() {
        lists.push(format!(
            "cards ({name} run NAME, {name} sweep NAME); time: estimate for all runs on one core, with > a lower bound; blank: not measured\n{}",
            table(&head, &cards, 5)
        ));
    }
    let all = [
        parts("strategies", registry.strategies(), &topic),
        datasets(registry, &topic),
        parts("partitions", registry.partitions(), &topic),
        parts("networks", registry.networks(), &topic),
        parts("devices", registry.devices(), &topic),
        parts("availability", registry.availabilities(), &topic),
        parts("client selection", registry.selections(), &topic),
        parts("evaluators", registry.evaluators(), &topic),
    ];
    let inside = registry
        .inside()
        .iter()
        .map(|axis| parts(&plural(axis.what()), axis, &topic));
    lists.extend(all.into_iter().chain(inside).flatten());
    if lists.is_empty() {
        return Err(Exit::usage(format!(
            "error: no card and no component is about {}\nhelp: {name} list",
            words.join(" ")
        )));
    }
    lists.push(format!("What each of them takes: {name} explain NAME."));
    print(&lists.join("\n\n"))
}

/// The time of so many runs on one core.
fn of_runs(cost: Cost, n_runs: usize) -> String {
    let bound = if cost.is_lower_bound { "> " } else { "" };
    format!("{bound}{}", lasting(cost.run_s * n_runs as f64))
}

/// The words that a listed text must have, each at the beginning of a word.
pub(crate) struct Topic(Vec<String>);

impl Topic {
    pub(crate) fn of<T: AsRef<str>>(words: &[T]) -> Topic {
        let words = words.iter().flat_map(|words| words.as_ref().split_whitespace());
        Topic(words.map(str::to_lowercase).collect())
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        // A name such as LabelSkew has two words.
        let mut plain = String::new();
        let mut before = ' ';
        for c in text.chars() {
            if c.is_uppercase() && before.is_lowercase() {
                plain.push(' ');
            }
            plain.extend(if c.is_alphanumeric() { c } else { ' ' }.to_lowercase());
            before = c;
        }
        let begins = |word: &String| plain.split_whitespace().any(|other| other.starts_with(word.as_str()));
        self.0.iter().all(begins)
    }
}

fn parts<T: ?Sized + 'static>(title: &str, axis: &Axis<T>, topic: &Topic) -> Option<String> {
    let rows: Vec<Vec<String>> = axis
        .parts()
        .filter(|part| topic.is_in(&format!("{title} {} {}", part.name, part.about)))
        .map(|part| vec![format!("  {}", part.name), brief(part)])
        .collect();
    (!rows.is_empty()).then(|| format!("{title}\n{}", table(&["  name", "what it is"], &rows, 2)))
}

/// The data sets as cards write them, with their files.
fn datasets(registry: &Registry, topic: &Topic) -> Option<String> {
    let rows = registry.datasets().parts().flat_map(|part| {
        let row = |entry: &CatalogueEntry| {
            let file = entry.file.unwrap_or_default();
            vec![format!("  {}", entry.name), entry.about.to_owned(), file.to_owned()]
        };
        match registry.entries(part.name) {
            [] => vec![vec![format!("  {}", part.name), brief(part), String::new()]],
            entries => entries.iter().map(row).collect(),
        }
    });
    let rows: Vec<Vec<String>> = rows.filter(|row| topic.is_in(&row.join(" "))).collect();
    let head = ["  name", "what it is", "file below the data folder"];
    (!rows.is_empty()).then(|| format!("data sets and generators\n{}", table(&head, &rows, 3)))
}

/// The first sentence about a part, as a line of a list.
fn brief(part: &Described) -> String {
    let about = &part.about;
    let ends = |at: usize| about[at + 2..].starts_with(char::is_uppercase);
    let end = about.match_indices(". ").map(|(at, _)| at).find(|&at| ends(at));
    about[..end.unwrap_or(about.len())].trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_at_the_beginning_of_words() {
        let is_in = |words: &str, text: &str| Topic::of(&[words]).is_in(text);
        assert!(is_in("label skew", "LabelSkew") && is_in("dp", "client-level DP") && is_in("", "x"));
        assert!(!is_in("dp", "GwLdp") && !is_in("skew label x", "LabelSkew"));
    }
}
