//! `folkmoot list`: everything that cards can name.

use crate::context::Program;
use crate::exit::Exit;
use crate::output::print;
use crate::text::table;
use folkmoot_graphs::DatasetSpec;
use folkmoot_parts::plural;
use folkmoot_scenarios::axis::{Axis, Described};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;

pub(crate) fn list(program: &Program) -> Result<(), Exit> {
    let registry = &program.registry;
    let name = &program.name;
    let mut cards = Vec::new();
    for (name, text) in registry.cards() {
        let scenario = check(name, &Source::new(name, text)?, registry)?;
        cards.push(vec![format!("  {name}"), scenario.question().to_owned()]);
    }
    let cards = table(&["  name", "question"], &cards, 2);
    let mut lists = vec![
        format!("cards ({name} run NAME, {name} sweep NAME)\n{cards}"),
        parts("strategies", registry.strategies()),
        format!("data sets and generators\n{}", datasets(registry.datasets())),
        parts("partitions", registry.partitions()),
        parts("networks", registry.networks()),
        parts("devices", registry.devices()),
        parts("availability", registry.availabilities()),
    ];
    lists.extend(registry.inside().iter().map(|axis| parts(&plural(axis.what()), axis)));
    lists.push(format!("What each of them takes: {name} explain NAME."));
    print(&lists.join("\n\n"))
}

fn parts<T: ?Sized + 'static>(title: &str, axis: &Axis<T>) -> String {
    let rows: Vec<Vec<String>> = axis
        .parts()
        .map(|part| vec![format!("  {}", part.name), brief(part)])
        .collect();
    format!("{title}\n{}", table(&["  name", "what it is"], &rows, 2))
}

/// The data sets as the catalogue writes them, with their files, and those that it does not know.
fn datasets<T: ?Sized + 'static>(axis: &Axis<T>) -> String {
    let known = DatasetSpec::catalogue();
    let is_new = |part: &&Described| {
        !known
            .iter()
            .any(|entry| entry.name.split('(').next() == Some(part.name))
    };
    let shipped = known.iter().map(|entry| {
        let file = entry.file.unwrap_or_default();
        vec![format!("  {}", entry.name), entry.about.to_owned(), file.to_owned()]
    });
    let others = axis.parts().filter(is_new);
    let others = others.map(|part| vec![format!("  {}", part.name), brief(part), String::new()]);
    let rows: Vec<Vec<String>> = shipped.chain(others).collect();
    table(&["  name", "what it is", "file below the data folder"], &rows, 3)
}

/// The first sentence about a part, as a line of a list.
fn brief(part: &Described) -> String {
    let about = &part.about;
    let ends = |at: usize| about[at + 2..].starts_with(char::is_uppercase);
    let end = about.match_indices(". ").map(|(at, _)| at).find(|&at| ends(at));
    about[..end.unwrap_or(about.len())].trim_end_matches('.').to_owned()
}
