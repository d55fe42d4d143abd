//! What a run measures, and where it is written.
//!
//! - [`ids`]: clients, parties, rounds, virtual time, bytes. Every crate speaks of these types.
//! - [`ledger`]: every message and byte by phase, round, kind and direction.
//! - [`Tables`]: the tables of a run; [`records`]: their rows; [`table`]: their CSV text;
//!   [`artifacts`]: the tables that strategies leave besides.
//! - [`key`]: the names of metrics, written and taken apart.
//! - [`term`]: what metrics mean: words, unit, bounds and which values are better.
//! - [`Numbers`]: what a run has come to, put into words; [`findings`]: what a sweep has;
//!   [`words`]: numbers as people read them.
//! - [`Spread`]: mean, deviation and interval of what several runs say.
//! - [`curves`]: a run's scores beside the time and the bytes spent until then; [`target`]: what it
//!   took to reach one.
//! - [`export`]: the same for all points of a sweep, in forms that other programs read.
//! - [`figure`]: the content of a figure; [`figures`]: the figures that runs and sweeps have.
//! - [`npy`]: arrays as artifacts hold them and data sets bring them.
//! - [`trace`]: what happened in a run, event by event.
//! - [`run_dir`]: the run directory, written and read back; [`sweep_dir`]: many of them;
//!   [`compare`]: the first difference.
//!
//! Promises: counts are integers and merging two ledgers is exact, so no total depends on the order
//! of events or the number of threads.
//!
//! ```
//! use folkmoot_metrics::{Direction, Kind, Ledger, Round};
//!
//! const KINDS: &[Kind] = &[Kind { phase: "train", name: "update", materialised: true }];
//! let mut ledger = Ledger::new(KINDS);
//! let row = ledger.cell(Round(1), 0, Direction::Uplink);
//! row.sent += 1;
//! row.delivered += 1;
//! row.payload_bytes += 40;
//! assert!(ledger.unbalanced().is_none());
//! ```

mod answer;
pub mod artifacts;
mod by_round;
pub mod compare;
mod curves;
pub mod estimate;
pub mod export;
pub mod figure;
pub mod figures;
pub mod findings;
pub mod ids;
pub mod key;
pub mod ledger;
pub mod metric;
pub mod npy;
pub mod records;
pub mod ro_crate;
pub mod run_dir;
pub mod sheet;
pub mod shell;
mod spread;
pub mod sweep_dir;
pub mod table;
mod tables;
pub mod target;
pub mod term;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod words;

pub use answer::{Answer, Numbers, answers, complete, lints};
pub use by_round::ByRound;
pub use curves::{Curve, CurvePoint, curves, curves_of, has_durations, read_curves};
pub use estimate::Estimate;
pub use ids::{Bytes, ClientId, Direction, Party, Round, SimSpan, SimTime};
pub use key::MetricKey;
pub use ledger::{Cell, DropReason, Kind, Ledger};
pub use metric::{Metric, Unit};
pub use records::{
    AbsenceRow, CLIENT_MAJORITY, CLIENT_MEAN, CLIENT_PRIOR, ClientRow, ClientScoreRow, ControlRow, LABEL_PRIOR,
    MAJORITY_CLASS, MessageRow, ObservationRow, PartitionRow, PrivacyRow, ReadingRow, RoundRow, ScoreRow,
    TRAINING_MEAN, UNTRAINED, totals,
};
pub use run_dir::{Division, ReadError, RunDir, RunResult, RunWriter, WriteError, read_partition, read_table};
pub use sheet::Sheet;
pub use spread::{Spread, t_95};
pub use sweep_dir::{Axis, Contrast, Point, SweepDir, SweepManifest, SweepShard, SweepWriter};
pub use table::TimingRow;
pub use tables::{RunTable, TableRole, Tables};
pub use target::Target;
pub use term::{Answering, Asked, Attack, Better, Meaning, Scored, Selection, Term, Weighed};
