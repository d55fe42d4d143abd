//! Tables of molecules: CSV with a header, one molecule a row as a SMILES text, and a column for
//! each binary task, or for each number to predict.
//!
//! Fields may be quoted. An empty number is unknown. A task's labels are 0 and 1 or two other values, of which the greater is
//! 1, with a note; an empty field is a missing label. A name or an extension after a SMILES text is
//! not read, and neither is a column without a name, as an index of pandas is, unless it is named
//! as a task. Rows whose text is no molecule are left out, with a note that names their lines, or
//! refused, as the card says.

mod features;

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_molecules::Molecule;
use folkmoot_parts::{Rules, component};

use super::assemble::{self, Level};
use super::classes::Class;
use super::columns;
use super::rows::Table;
use super::text::shown;
use crate::data_source::{CatalogueEntry, DataSource, checked, is_path, stem};
use crate::{DataDirs, DataError, Dataset, Features, GraphBuilder, SparseRows, Splits};

use features::{N_FEATURES, STRUCTURAL};

/// A MoleculeNet set: molecules with one or more binary tasks, from `moleculenet/`.
#[component(name = "Molecules", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Molecules {
    /// Name of the data set.
    #[component(required)]
    pub name: MoleculeSet,
    /// Handling of rows with an invalid SMILES string.
    pub invalid: Invalid,
    /// Read the file in `moleculenet/chemprop-cleaned/` with the row counts of the papers:
    /// 2,039 for BBBP and 1,478 for ClinTox; not available for other sets.
    pub cleaned: bool,
}

/// MoleculeNet sets (Wu et al. 2018) used by FGCL.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoleculeSet {
    /// Inhibitors of β-secretase 1: 1,513 molecules, 1 task, published split.
    #[serde(rename = "BACE")]
    Bace,
    /// Blood-brain barrier penetration: 2,050 rows, 2,039 of them valid, 1 task.
    #[serde(rename = "BBBP")]
    Bbbp,
    /// Side effects of drugs: 1,427 molecules, 27 tasks.
    #[serde(rename = "SIDER")]
    Sider,
    /// Toxicity: 7,831 rows, 7,823 of them valid, 12 tasks with missing labels.
    Tox21,
    /// Approval and toxicity in trials: 1,484 rows, 1,480 of them valid, 2 tasks.
    ClinTox,
}

impl MoleculeSet {
    fn name(self) -> &'static str {
        match self {
            MoleculeSet::Bace => "BACE",
            MoleculeSet::Bbbp => "BBBP",
            MoleculeSet::Sider => "SIDER",
            MoleculeSet::Tox21 => "Tox21",
            MoleculeSet::ClinTox => "ClinTox",
        }
    }

    fn file(self) -> &'static str {
        match self {
            MoleculeSet::Bace => "moleculenet/bace.csv",
            MoleculeSet::Bbbp => "moleculenet/BBBP.csv",
            MoleculeSet::Sider => "moleculenet/sider.csv",
            MoleculeSet::Tox21 => "moleculenet/tox21.csv",
            MoleculeSet::ClinTox => "moleculenet/clintox.csv",
        }
    }

    fn cleaned_file(self) -> Option<&'static str> {
        match self {
            MoleculeSet::Bbbp => Some("moleculenet/chemprop-cleaned/bbbp.csv"),
            MoleculeSet::ClinTox => Some("moleculenet/chemprop-cleaned/clintox.csv"),
            _ => None,
        }
    }

    fn columns(self, refuse_invalid: bool) -> MoleculeOptions<'static> {
        let (smiles, tasks, split) = match self {
            MoleculeSet::Bace => ("mol", Tasks::Named(&["Class"]), Some("Model")),
            MoleculeSet::Bbbp => ("smiles", Tasks::Named(&["p_np"]), None),
            MoleculeSet::ClinTox => ("smiles", Tasks::Named(&["FDA_APPROVED", "CT_TOX"]), None),
            MoleculeSet::Sider => ("smiles", Tasks::AllBut(&[]), None),
            MoleculeSet::Tox21 => ("smiles", Tasks::AllBut(&["mol_id"]), None),
        };
        MoleculeOptions {
            smiles,
            tasks,
            split,
            refuse_invalid,
        }
    }
}

/// Handling of rows with an invalid SMILES string.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// Skip them; a note lists their lines.
    #[default]
    Skip,
    /// Stop with an error at the first one.
    Refuse,
}

const GET_MOLECULES: &str = "help: folkmoot data fetch NAME\n  or put MoleculeNet's CSV file (`bace.csv`, `BBBP.csv`, \
    `clintox.csv`, `sider.csv`, `tox21.csv`), unpacked, into `moleculenet/` below a data folder; chemprop's \
    cleaned files go into `moleculenet/chemprop-cleaned/`";

impl Molecules {
    fn rules(&self, rules: &mut Rules) {
        let rule = format!(
            "must be false (its default) for {}, which has no cleaned file",
            self.name.name()
        );
        rules.require(!self.cleaned || self.name.cleaned_file().is_some(), "cleaned", rule);
    }
}

impl DataSource for Molecules {
    fn name(&self) -> String {
        self.name.name().to_owned()
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let cleaned = self.name.cleaned_file().filter(|_| self.cleaned);
        let file = cleaned.unwrap_or(self.name.file());
        let options = self.name.columns(self.invalid == Invalid::Refuse);
        let path = dirs.locate_set(file, &GET_MOLECULES.replace("NAME", &stem(file)))?;
        read_molecules(&self.name(), &path, &options)
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![
            CatalogueEntry::at(
                MoleculeSet::Bace.file(),
                "Molecules(name: BACE)",
                "1,513 inhibitors of an enzyme, 1 task, published split, 43 atom features",
            ),
            CatalogueEntry::at(
                MoleculeSet::Bbbp.file(),
                "Molecules(name: BBBP)",
                "2,039 molecules that pass the blood-brain barrier or not, 1 task",
            ),
            CatalogueEntry::at(
                MoleculeSet::Sider.file(),
                "Molecules(name: SIDER)",
                "1,427 drugs and their side effects, 27 tasks",
            ),
            CatalogueEntry::at(
                MoleculeSet::Tox21.file(),
                "Molecules(name: Tox21)",
                "7,823 molecules and their toxicity, 12 tasks, labels missing",
            ),
            CatalogueEntry::at(
                MoleculeSet::ClinTox.file(),
                "Molecules(name: ClinTox)",
                "1,480 drugs (cleaned 1,478), approved and toxic, 2 tasks",
            ),
        ]
    }
}

/// A CSV file with a header, one molecule per row as SMILES, and label columns with 0 and 1 or
/// two other values, or empty; or columns with numbers to predict.
#[component(name = "MoleculeTable", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct MoleculeTable {
    /// File, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Name of the SMILES column.
    #[component(default = "smiles")]
    pub smiles: String,
    /// Names of the label columns; by default all named columns except the SMILES column.
    pub tasks: Vec<String>,
    /// Columns with numbers to predict, instead of `tasks`.
    pub targets: Vec<String>,
    /// Handling of rows with an invalid SMILES string.
    pub invalid: Invalid,
}

impl MoleculeTable {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
        let rule = "must name a column, got an empty text";
        rules.require(!self.smiles.is_empty(), "smiles", rule);
        for (field, columns) in [("tasks", &self.tasks), ("targets", &self.targets)] {
            let twice = |column: &String| columns.iter().filter(|other| *other == column).count() > 1;
            let rule = "must name columns other than `smiles`, each once";
            let holds = !columns.contains(&self.smiles) && !columns.iter().any(twice);
            rules.require(holds, field, rule);
        }
        let rule = "cannot be named beside `tasks`: a data set has one task";
        rules.require(self.tasks.is_empty() || self.targets.is_empty(), "targets", rule);
    }
}

impl DataSource for MoleculeTable {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let tasks: Vec<&str> = self.tasks.iter().map(String::as_str).collect();
        let targets: Vec<&str> = self.targets.iter().map(String::as_str).collect();
        let options = MoleculeOptions {
            smiles: &self.smiles,
            tasks: match (tasks.is_empty(), targets.is_empty()) {
                (false, _) => Tasks::Named(&tasks),
                (_, false) => Tasks::Numbers(&targets),
                _ => Tasks::AllBut(&[]),
            },
            split: None,
            refuse_invalid: self.invalid == Invalid::Refuse,
        };
        read_molecules(&self.name(), &dirs.locate_own(&self.path)?, &options)
    }

    fn entries() -> Vec<CatalogueEntry> {
        let about = "a CSV file of SMILES texts and binary labels";
        vec![CatalogueEntry::new("MoleculeTable(path: PATH)", about)]
    }
}

/// How a table is to be understood.
struct MoleculeOptions<'a> {
    /// The column with the SMILES texts.
    smiles: &'a str,
    /// The columns with labels, in this order; or all but the SMILES column and `ignored`.
    tasks: Tasks<'a>,
    /// The column that says `Train`, `Valid` or `Test`.
    split: Option<&'a str>,
    /// Whether a text that is no molecule ends the reading.
    refuse_invalid: bool,
}

/// Which columns are tasks.
enum Tasks<'a> {
    Named(&'a [&'a str]),
    AllBut(&'a [&'a str]),
    /// None; these columns are numbers to predict.
    Numbers(&'a [&'a str]),
}

/// How many lines a note lists before it stops.
const MAX_LISTED: usize = 20;

/// Reads a table of molecules.
fn read_molecules(name: &str, path: &Path, options: &MoleculeOptions<'_>) -> Result<Dataset, DataError> {
    let table = Table::open(path)?;
    let smiles = table.column(options.smiles, "smiles")?;
    let tasks = task_columns(&table, smiles, &options.tasks)?;
    let split = options.split.map(|column| table.column(column, "split")).transpose()?;
    let mut read = Read::default();
    let are_numbers = matches!(options.tasks, Tasks::Numbers(_));
    let values = match are_numbers {
        true => Vec::new(),
        false => binary(&table, &tasks, &mut read.dataset)?,
    };
    if matches!(options.tasks, Tasks::AllBut(_)) {
        let unnamed = (0..table.n_columns()).filter(|&column| column != smiles && table.header(column).is_empty());
        for column in unnamed {
            let note = format!(
                "column {} has no name, as an index of pandas, and is no task",
                column + 1
            );
            read.dataset.notes.push(note);
        }
    }
    for row in table.rows() {
        let row = row?;
        let mut words = row.field(smiles)?.split_whitespace();
        let text = words.next().unwrap_or_default();
        read.n_named += usize::from(words.next().is_some());
        let label = |(&task, [_, one]): (&usize, &[Class; 2])| Ok(row.class(task)?.map(|class| class == *one));
        let labels: Vec<Option<bool>> = tasks.iter().zip(&values).map(label).collect::<Result<_, DataError>>()?;
        let mut numbers = Vec::new();
        if are_numbers {
            numbers = tasks
                .iter()
                .map(|&task| row.number_or_missing(task))
                .collect::<Result<_, _>>()?;
        }
        let part = split.map(|column| row.part(column)).transpose()?;
        match Molecule::from_smiles(text) {
            Ok(molecule) => {
                read.push(path, &molecule)?;
                read.labels.extend(labels);
                read.numbers.extend(numbers);
                read.parts.extend(part);
            }
            Err(error) if options.refuse_invalid => {
                let rule = format!(
                    "the molecule is invalid: {error}; correct or remove the row, or state `invalid: Skip` to leave it out"
                );
                return Err(row.error(smiles, &rule));
            }
            Err(_) => read.skipped.push(row.line()),
        }
    }
    read.finish(
        name,
        path,
        tasks.iter().map(|&task| table.header(task).to_string()).collect(),
        are_numbers,
    )
}

fn task_columns(table: &Table, smiles: usize, tasks: &Tasks<'_>) -> Result<Vec<usize>, DataError> {
    let named = |names: &[&str], field: &str| -> Result<Vec<usize>, DataError> {
        names.iter().map(|name| table.column(name, field)).collect()
    };
    let found: Vec<usize> = match tasks {
        Tasks::Named(names) => named(names, "tasks")?,
        Tasks::Numbers(names) => named(names, "targets")?,
        Tasks::AllBut(others) => (0..table.n_columns())
            .filter(|&column| {
                let name = table.header(column);
                column != smiles && !columns::is_index(name) && !others.contains(&name)
            })
            .collect(),
    };
    let part = found
        .iter()
        .map(|&column| table.header(column))
        .find(|name| columns::is_part(name));
    if let (Tasks::AllBut(_), Some(part)) = (tasks, part) {
        let rule = format!(
            "the column `{}` is named as a split; name the tasks: `tasks: [\"…\"]`",
            part.escape_debug()
        );
        return Err(table.error(&rule));
    }
    if found.is_empty() {
        return Err(table.error("there is no column of labels in addition to the SMILES column"));
    }
    Ok(found)
}

/// What stands for 0 and for 1 in each column of labels; a note says so where it is something else.
fn binary(table: &Table, tasks: &[usize], dataset: &mut Dataset) -> Result<Vec<[Class; 2]>, DataError> {
    const WAY: &str = "if the column is no task, name those that are: `tasks: [\"…\"]`";
    let plain = [Class::Number(0), Class::Number(1)];
    let mut values: Vec<Vec<Class>> = vec![Vec::new(); tasks.len()];
    for row in table.rows() {
        let row = row?;
        for (&column, known) in tasks.iter().zip(&mut values) {
            let found = match row.class(column) {
                Ok(Some(class)) if !known.contains(&class) => {
                    known.push(class);
                    let listed: Vec<String> = known.iter().map(|value| format!("\"{value}\"")).collect();
                    (known.len() > 2).then(|| listed.join(", "))
                }
                Ok(_) => None,
                Err(_) => Some(shown(row.field(column)?.trim())),
            };
            if let Some(found) = found {
                let is_number = row.field(column)?.trim().parse::<f64>().is_ok();
                let way = match is_number {
                    true => format!(
                        "for numbers to predict, write `targets: [{:?}]`; {WAY}",
                        table.header(column)
                    ),
                    false => WAY.to_owned(),
                };
                let rule = format!("expected 0, 1 or nothing, or two other values, got {found}; {way}");
                return Err(row.error(column, &rule));
            }
        }
    }
    let mut both = Vec::new();
    for (&column, mut known) in tasks.iter().zip(values) {
        known.sort();
        let name = table.header(column).escape_debug();
        both.push(match &known[..] {
            _ if known.iter().all(|value| plain.contains(value)) => plain.clone(),
            [zero, one] => {
                dataset
                    .notes
                    .push(format!("labels {zero}, {one} of the task {name} became 0 and 1"));
                [zero.clone(), one.clone()]
            }
            _ => {
                let only = known.first().map_or(String::new(), Class::to_string);
                let rule = format!("column `{name}` has one value, \"{only}\", and a task needs two; {WAY}");
                return Err(table.error(&rule));
            }
        });
    }
    Ok(both)
}

/// What has been read so far.
#[derive(Default)]
struct Read {
    dataset: Dataset,
    /// The columns of each atom's features that are 1.
    atoms: Vec<Vec<u32>>,
    bond_kinds: Vec<u32>,
    labels: Vec<Option<bool>>,
    /// Numbers to predict, in the place of labels.
    numbers: Vec<f32>,
    /// 0 train, 1 validate, 2 test.
    parts: Vec<u8>,
    /// The lines of invalid rows.
    skipped: Vec<usize>,
    n_isolated: usize,
    /// Rows with something after the SMILES text.
    n_named: usize,
}

impl Read {
    fn push(&mut self, path: &Path, molecule: &Molecule) -> Result<(), DataError> {
        let n_atoms = molecule.atoms().len() as u32;
        let pairs: Vec<(u32, u32)> = molecule.bonds().iter().map(|bond| (bond.from, bond.to)).collect();
        let (graph, _) = GraphBuilder::new(n_atoms)
            .build(&pairs)
            .map_err(|error| DataError::graph(path, error))?;
        let first = self.bond_kinds.len();
        self.bond_kinds.resize(first + graph.n_arcs(), 0);
        for bond in molecule.bonds() {
            for (from, to) in [(bond.from, bond.to), (bond.to, bond.from)] {
                if let Ok(place) = graph.neighbours(from).binary_search(&to) {
                    self.bond_kinds[first + graph.arc_range(from).start + place] = bond.kind as u32;
                }
            }
        }
        self.atoms.extend(molecule.atoms().iter().map(features::columns));
        self.n_isolated += molecule.atoms().iter().filter(|atom| atom.degree == 0).count();
        self.dataset.graphs.push(graph);
        Ok(())
    }

    fn finish(self, name: &str, path: &Path, names: Vec<String>, are_numbers: bool) -> Result<Dataset, DataError> {
        let mut dataset = self.dataset;
        dataset.name = name.to_string();
        if dataset.graphs.is_empty() {
            let rule = match self.skipped.first() {
                Some(line) => format!("no row holds a valid molecule; the first invalid one is on line {line}"),
                None => "there is no row below the header".to_string(),
            };
            return Err(DataError::format(path, rule));
        }
        let ones: Vec<Vec<(u32, f32)>> = self
            .atoms
            .iter()
            .map(|columns| columns.iter().map(|&column| (column, 1.0)).collect())
            .collect();
        let rows = SparseRows::from_rows(N_FEATURES, &ones)
            .ok_or_else(|| DataError::format(path, "the molecules have too many atoms together"))?;
        dataset.features = Some(Features::Sparse(rows));
        dataset.structural_columns = STRUCTURAL.to_vec();
        dataset.edge_labels = Some(self.bond_kinds);
        if !self.skipped.is_empty() {
            dataset.notes.push(note_skipped(&self.skipped));
        }
        let wrong = |rule: String| DataError::format(path, rule);
        if are_numbers {
            assemble::add_targets(&mut dataset, Level::Graphs, names, self.numbers).map_err(wrong)?;
        } else {
            assemble::add_tasks(&mut dataset, Level::Graphs, names, self.labels).map_err(wrong)?;
        }
        if self.n_named > 0 {
            let note = format!(
                "{} SMILES have a name or an extension after them, which is not read",
                self.n_named
            );
            dataset.notes.push(note);
        }
        if self.n_isolated > 0 {
            dataset.notes.push(format!("{} atoms have no bond", self.n_isolated));
        }
        if !self.parts.is_empty() {
            let mask = |wanted: u8| self.parts.iter().map(|&part| part == wanted).collect();
            dataset.splits = Some(Splits {
                train: mask(0),
                val: mask(1),
                test: mask(2),
            });
        }
        Ok(dataset)
    }
}

fn note_skipped(lines: &[usize]) -> String {
    let listed: Vec<String> = lines.iter().take(MAX_LISTED).map(usize::to_string).collect();
    let more = if lines.len() > MAX_LISTED { ", …" } else { "" };
    let (count, list) = (lines.len(), listed.join(", "));
    format!("{count} rows without a valid molecule were left out (lines {list}{more})")
}

#[cfg(test)]
mod tests;
