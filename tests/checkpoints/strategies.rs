//! Every strategy, stopped and gone on with.

use super::stopping_changes_nothing;
use crate::trials::{on_all_cores, trials};

#[test]
fn stopping_changes_nothing_of_any_strategy() {
    on_all_cores(&trials(|file| &file.stops), |trial| {
        let settings: Vec<&str> = trial.settings.iter().map(String::as_str).collect();
        stopping_changes_nothing(&trial.card, &settings, trial.dry_run);
    });
}
