//! The MoleculeNet sets: their files and columns.

use folkmoot_parts::component;

use super::DatasetSpec;
use crate::readers::{self, MoleculeOptions, Tasks};
use crate::{DataDirs, DataError, Dataset};

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
    pub(super) fn name(self) -> &'static str {
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

    pub(super) fn cleaned_file(self) -> Option<&'static str> {
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

/// Reads `Molecules` or `MoleculeTable`.
pub(super) fn load(spec: &DatasetSpec, dirs: &DataDirs) -> Result<Dataset, DataError> {
    match spec {
        DatasetSpec::Molecules { name, invalid, cleaned } => {
            let file = name.cleaned_file().filter(|_| *cleaned).unwrap_or(name.file());
            let options = name.columns(*invalid == Invalid::Refuse);
            readers::read_molecules(name.name(), &dirs.locate(file)?, &options)
        }
        DatasetSpec::MoleculeTable {
            path,
            smiles,
            tasks,
            targets,
            invalid,
        } => {
            let named: Vec<&str> = tasks.iter().map(String::as_str).collect();
            let numbers: Vec<&str> = targets.iter().map(String::as_str).collect();
            let options = MoleculeOptions {
                smiles,
                tasks: match (named.is_empty(), numbers.is_empty()) {
                    (false, _) => Tasks::Named(&named),
                    (_, false) => Tasks::Numbers(&numbers),
                    _ => Tasks::AllBut(&[]),
                },
                split: None,
                refuse_invalid: *invalid == Invalid::Refuse,
            };
            readers::read_molecules(&spec.name(), &dirs.locate_own(path)?, &options)
        }
        _ => unreachable!("only molecules are loaded here"),
    }
}
