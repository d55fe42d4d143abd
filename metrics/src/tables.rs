//! The tables of a run, in one list: their files, their columns, and their role in the result hash.

use crate::records::{
    AbsenceRow, ClientRow, ClientScoreRow, ControlRow, MessageRow, ObservationRow, PartitionRow, PrivacyRow,
    ReadingRow, RoundRow, ScoreRow,
};
use crate::run_dir::{ReadError, read_table};
use crate::table::{Column, Row, TimingRow, encode};
use std::path::Path;

/// Role of a table: whether it is part of a run's result, and which run directories have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRole {
    /// Part of the result hash; every finished run has it.
    Result,
    /// Not part of the result; every finished run has it.
    Record,
    /// Not part of the result; written only if it has rows.
    Optional,
}

/// A table of run directories.
#[derive(Clone, Copy, Debug)]
pub struct RunTable {
    pub file: &'static str,
    /// Its content, in one line.
    pub about: &'static str,
    pub role: TableRole,
    pub columns: fn() -> Vec<Column>,
}

macro_rules! run_tables {
    ($($role:ident $name:ident: $row:ident, $about:literal;)+) => {
        /// The rows of a run's tables.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Tables {
            $(#[doc = $about] pub $name: Vec<$row>,)+
        }

        impl Tables {
            /// All tables; those of the result in the order in which the hash is taken over them.
            pub const ALL: &'static [RunTable] = &[$(RunTable {
                file: $row::FILE,
                about: $about,
                role: TableRole::$role,
                columns: $row::columns,
            }),+];

            /// Those of the run directory `dir`. Where that is not finished, tables that were never
            /// saved are empty.
            pub(crate) fn read(dir: &Path, is_finished: bool) -> Result<Tables, ReadError> {
                let may_lack = |role: TableRole| role == TableRole::Optional || !is_finished;
                Ok(Tables { $($name: read_table(dir, may_lack(TableRole::$role))?),+ })
            }

            /// The files of these tables, in the order of [`Tables::ALL`].
            pub(crate) fn files(&self) -> Vec<(RunTable, Vec<u8>)> {
                let rows = [$(self.$name.len()),+];
                let files = [$(encode(&self.$name)),+];
                let all = Tables::ALL.iter().copied().zip(files).zip(rows);
                let written = all.filter(|((table, _), n_rows)| table.role != TableRole::Optional || *n_rows > 0);
                written.map(|(file, _)| file).collect()
            }
        }
    };
}

run_tables! {
    Result rounds: RoundRow, "A row per round.";
    Result messages: MessageRow, "Messages and bytes by round and kind.";
    Result scores: ScoreRow, "Scores by round and virtual time.";
    Optional readings: ReadingRow, "Engine metrics after each round.";
    Result privacy: PrivacyRow, "Privacy claimed and spent, by mechanism.";
    Result clients: ClientRow, "A row per client.";
    Optional absences: AbsenceRow, "When clients were away.";
    Optional partition: PartitionRow, "The data of each client.";
    Optional client_scores: ClientScoreRow, "Scores of each client.";
    Optional controls: ControlRow, "Controls, with which scores are compared.";
    Optional observations: ObservationRow, "Counters recorded because the card asks (`observe`).";
    Record timing: TimingRow, "Wall-clock time; no part of the result.";
}
