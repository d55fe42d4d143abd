//! `folkmoot list`: everything that cards can name.

use crate::context::Program;
use crate::exit::Exit;
use crate::output::print;
use crate::text::table;
use folkmoot_graphs::{DatasetSpec, PartitionSpec};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;

pub(crate) fn list(program: &Program) -> Result<(), Exit> {
    let mut cards = Vec::new();
    for (name, text) in program.registry.cards() {
        let scenario = check(name, &Source::new(name, text)?, &program.registry)?;
        cards.push(vec![format!("  {name}"), scenario.question().to_owned()]);
    }
    let strategies: Vec<Vec<String>> = program
        .registry
        .list()
        .map(|(name, about)| vec![format!("  {name}"), about.to_owned()])
        .collect();
    let datasets: Vec<Vec<String>> = DatasetSpec::catalogue()
        .iter()
        .map(|entry| {
            vec![
                format!("  {}", entry.name),
                entry.about.to_owned(),
                entry.file.unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    let partitions: Vec<Vec<String>> = PartitionSpec::catalogue()
        .iter()
        .map(|(name, about)| vec![format!("  {name}"), (*about).to_owned()])
        .collect();
    let name = &program.name;
    print(&format!(
        "cards ({name} run NAME, {name} sweep NAME)\n{}\n\nstrategies\n{}\n\ndata sets and generators\n{}\n\npartitions\n{}",
        table(&["  name", "question"], &cards, 2),
        table(&["  name", "what it is"], &strategies, 2),
        table(&["  name", "what it is", "file below the data folder"], &datasets, 3),
        table(&["  name", "what it is"], &partitions, 2),
    ))
}
