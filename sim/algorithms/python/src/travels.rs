//! Which arrays of an app's model travel.
//!
//! The server sends the whole model. An update brings its first numbers: the arrays that the app
//! names, or all of them. The others stay as they are.

use crate::trainer::App;
use folkmoot_draws::SimRng;
use folkmoot_rounds::{Aggregation, Personalisation, Protocol, Travels};

/// Why clients are not hidden whose updates bring a part of the model.
pub(crate) const PART: &str = "updates bring only some arrays of the model (fm.Model), and a clip is of a whole model; return all arrays from \
                               @fm.initial without fm.Model";

/// Why such an app does not aggregate.
pub(crate) const PART_AGGREGATED: &str = "updates bring only some arrays of the model (fm.Model), and @fm.aggregate makes whole models; leave one of \
                                          them out";

/// The app's own model, and what updates bring of it.
pub(crate) struct FromApp {
    /// Whether updates are changes of the model.
    sends_changes: bool,
}

impl FromApp {
    pub(crate) fn new(protocol: &Protocol) -> FromApp {
        FromApp {
            sends_changes: matches!(protocol.aggregation, Aggregation::Buffered { .. }),
        }
    }
}

impl Personalisation<App> for FromApp {
    fn travels(&self, app: &App) -> Travels {
        Travels {
            n_up: app.started().n_updated,
            ..Travels::whole(app)
        }
    }

    fn initial(&self, app: &App, _: &mut SimRng) -> Vec<f32> {
        app.started().initial.clone()
    }

    fn settle(&self, _: &App, _: &mut Vec<f64>, model: &[f32], mean: Vec<f64>, _: f64) -> Vec<f64> {
        let n = mean.len();
        let others = model[n..]
            .iter()
            .map(|x| if self.sends_changes { 0.0 } else { f64::from(*x) });
        mean.into_iter().chain(others).collect()
    }
}
