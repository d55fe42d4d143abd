//! The figures that runs and sweeps have, by their names below `figures/`: what a card may ask for,
//! and what each shows.

use crate::figure::Figure;
use crate::{ReadError, RunDir, SweepDir};

/// A figure that a crate adds to the [`FIGURES`] of every program; it has the name and the text of
/// [`known`](Self::known) in `explain` and the reference.
///
/// A program draws it with the usual figures where a card names none, and where a card or `plot`
/// names it. Its bytes are those of equal data, so it must not read the clock or the order of a hash
/// map.
///
/// ```
/// use folkmoot_metrics::figure::{Axis, Figure, Lines, Panel, Role, Series};
/// use folkmoot_metrics::figures::{FigureSource, KnownFigure};
/// use folkmoot_metrics::{ReadError, RunDir, Unit};
///
/// /// The clients of each round.
/// struct Cohorts;
///
/// impl FigureSource for Cohorts {
///     fn known(&self) -> KnownFigure {
///         KnownFigure { name: "cohorts", of: "run", about: "Clients selected in each round." }
///     }
///
///     fn of_run(&self, run: &RunDir) -> Result<Vec<Figure>, ReadError> {
///         let points = run.tables.rounds.iter().map(|row| (f64::from(row.round), row.cohort as f64));
///         let series = vec![Series::new("selected", Role::Data(0), points.collect())];
///         let (x, y) = (Axis::rounds(), Axis::amount("Clients", Unit::Count));
///         let panels = vec![Panel::Lines(Lines { x, y, series })];
///         let title = "Cohorts".to_owned();
///         Ok(vec![Figure { name: "cohorts".to_owned(), title, panels, ..Figure::default() }])
///     }
/// }
/// ```
pub trait FigureSource: Send + Sync {
    fn known(&self) -> KnownFigure;

    /// Its figures of a run; none where the run lacks the data.
    ///
    /// # Errors
    ///
    /// When a file of the run cannot be read.
    fn of_run(&self, run: &RunDir) -> Result<Vec<Figure>, ReadError> {
        let _ = run;
        Ok(Vec::new())
    }

    /// Its figures of a sweep; none where the sweep lacks the data.
    ///
    /// # Errors
    ///
    /// When a file of the sweep cannot be read.
    fn of_sweep(&self, sweep: &SweepDir) -> Result<Vec<Figure>, ReadError> {
        let _ = sweep;
        Ok(Vec::new())
    }
}

/// The figures of one program: [`FIGURES`], and those that were added.
#[derive(Default)]
pub struct Figures {
    added: Vec<Box<dyn FigureSource>>,
}

impl Figures {
    /// Adds a figure; false where its name is taken.
    pub fn add(&mut self, source: impl FigureSource + 'static) -> bool {
        let is_free = self.known().all(|known| known.name != source.known().name);
        if is_free {
            self.added.push(Box::new(source));
        }
        is_free
    }

    pub fn added(&self) -> impl Iterator<Item = &dyn FigureSource> {
        self.added.iter().map(|source| &**source)
    }

    /// All figures, in the order of the reference.
    pub fn known(&self) -> impl Iterator<Item = KnownFigure> {
        FIGURES.into_iter().chain(self.added().map(FigureSource::known))
    }

    /// The figures that a name stands for; `*` in the name or in a known name matches any text.
    pub fn called(&self, name: &str) -> impl Iterator<Item = KnownFigure> {
        let name = match present(name) {
            "messages-and-bytes" => "headline",
            name => name,
        };
        self.known().filter(move |known| known.fits(name))
    }
}

/// What a figure is called and shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFigure {
    /// Its name, `*` standing for a metric, a target or a parameter.
    pub name: &'static str,
    /// Whether a run's directory, a sweep's or both have it.
    pub of: &'static str,
    /// What it shows, and of which data.
    pub about: &'static str,
}

impl KnownFigure {
    /// Whether it has figures of this name or pattern.
    pub fn fits(&self, name: &str) -> bool {
        is_called(&self.name.replace('*', "?*"), name)
    }
}

const fn of_run(name: &'static str, about: &'static str) -> KnownFigure {
    let of = "run";
    KnownFigure { name, of, about }
}

const fn of_sweep(name: &'static str, about: &'static str) -> KnownFigure {
    let of = "sweep";
    KnownFigure { name, of, about }
}

const fn of_both(name: &'static str, about: &'static str) -> KnownFigure {
    let of = "run and sweep";
    KnownFigure { name, of, about }
}

pub const FIGURES: [KnownFigure; 32] = [
    of_run(
        "messages-by-round",
        "Messages sent per round, by kind, with the theoretical number where there is one.",
    ),
    of_run(
        "bytes-by-round",
        "Bytes transmitted per round, by kind: payload, headers and retransmissions.",
    ),
    of_run(
        "bytes-by-kind",
        "Total bytes on the wire of each kind of message, and its share of all.",
    ),
    of_run("cumulative-bytes", "Cumulative bytes transmitted over rounds, by kind."),
    of_run(
        "score-*-by-round",
        "A metric of `scores.csv` over rounds, one curve per split of the data.",
    ),
    of_run(
        "score-*-by-time",
        "A metric of `scores.csv` over virtual time; not on an ideal network, which takes none.",
    ),
    of_run("score-*-by-bytes", "The same over bytes on the wire so far."),
    of_both(
        "by-*",
        "Numbers over a parameter within a run, `metric[parameter=value]`, a curve for each arm.",
    ),
    of_run(
        "participation",
        "Results that were asked for, came in time, came late or were given up, by round.",
    ),
    of_run("availability", "Clients that were online at each round's end."),
    of_run(
        "online",
        "Who was online when, from `absences.csv`: how many, and single clients as lines.",
    ),
    of_run("carried", "Bytes a second of virtual time, by direction."),
    of_run(
        "message-fate",
        "What became of the messages of each kind: delivered, dropped and why, or in flight.",
    ),
    of_run(
        "client-bytes",
        "Bytes that clients sent and received: a bar per client up to 99 clients; with more, the share of clients with at most so many bytes.",
    ),
    of_run(
        "client-compute-time",
        "Time for which clients worked: the share of them that has at most so much.",
    ),
    of_run(
        "client-online-time",
        "Time for which clients were online: the share of them that has at most so much.",
    ),
    of_both(
        "fairness",
        "How clients fare, from the worst to the best, from `client_scores.csv`; of a sweep a curve for each arm.",
    ),
    of_run("epsilon", "Privacy that clients have spent, by what was released."),
    of_run("epsilon-by-round", "The mean of that over rounds."),
    of_run(
        "timeline",
        "Who worked, waited and was away when, of a run that was traced.",
    ),
    of_run(
        "changes",
        "How far graphs move with an edge or a node less, from the artifact `changes.csv`.",
    ),
    of_run(
        "links",
        "Bytes that each link between clients carried, from the artifact `links.csv`.",
    ),
    of_run(
        "map",
        "Items in the plane, by class and by cluster, from artifacts `map*.csv`.",
    ),
    of_both(
        "distances",
        "Distances between items, from artifacts `distances*.npy`; of a sweep an arm beside the other.",
    ),
    of_sweep("maps", "The maps of the runs of one seed, an arm beside the other."),
    of_both(
        "partition",
        "Labels, sizes and edges, inside and cut, of every client's data; of a sweep a panel for each way of sharing out.",
    ),
    of_sweep(
        "curves-*",
        "A score over rounds, virtual time and bytes, a curve for each arm.",
    ),
    of_sweep(
        "target-*",
        "What each arm took to reach a target of the card: rounds, virtual time and bytes.",
    ),
    of_sweep(
        "headline",
        "The numbers of the card's headline over the axes, with 95 % intervals over seeds, and residuals where there is a theory; `messages-and-bytes` where it has none.",
    ),
    of_sweep(
        "privacy-utility",
        "What an attacker reaches against the first score of the headline, a path along the numeric axis for each arm.",
    ),
    of_sweep(
        "scatter",
        "The second number of the headline over the first, a point for each value of the only axis.",
    ),
    of_sweep(
        "sweep-*",
        "A number of the summary over the axes; every one that varies has such a figure.",
    ),
];

/// Today's name of a figure that a card may call by an earlier one.
pub fn present(name: &str) -> &str {
    if name == "split" { "partition" } else { name }
}

/// Whether a name is a wanted one, or some text is called as both say: `*` stands for anything, `?`
/// for one character.
pub fn is_called(name: &str, wanted: &str) -> bool {
    let (name, wanted): (Vec<char>, Vec<char>) = (name.chars().collect(), wanted.chars().collect());
    // Whether what stands behind a place of the name fits each place of the wanted one, from
    // behind.
    let mut behind: Vec<bool> = Vec::new();
    for at in (0..=name.len()).rev() {
        let mut here = vec![false; wanted.len() + 1];
        for to in (0..=wanted.len()).rev() {
            let skips = |text: &[char], at: usize| text.get(at) == Some(&'*');
            let both = || match (name.get(at), wanted.get(to)) {
                (None, None) => true,
                (Some(x), Some(y)) => (x == y || *x == '?' || *y == '?') && behind[to + 1],
                _ => false,
            };
            // A star on either side stands for nothing, or for one more of the other.
            here[to] = if skips(&name, at) {
                behind[to] || to < wanted.len() && here[to + 1]
            } else if skips(&wanted, to) {
                here[to + 1] || at < name.len() && behind[to]
            } else {
                both()
            };
        }
        behind = here;
    }
    behind[0]
}

#[cfg(test)]
mod tests {
    use super::Figures;

    #[test]
    fn names_and_patterns_find_the_figures_that_they_stand_for() {
        let figures = Figures::default();
        let of = |name| figures.called(name).map(|known| known.name).collect::<Vec<_>>();
        assert_eq!(of("partition"), ["partition"]);
        assert_eq!(of("split"), ["partition"]);
        assert_eq!(
            of("score-accuracy-by-*"),
            ["score-*-by-round", "score-*-by-time", "score-*-by-bytes"]
        );
        assert_eq!(of("score-accuracy-by-time"), ["score-*-by-time"]);
        assert_eq!(of("curves-*"), ["curves-*"]);
        assert_eq!(of("curves-test_accuracy"), ["curves-*"]);
        assert_eq!(of("cumulative-bytes*"), ["cumulative-bytes"]);
        assert_eq!(of("messages-and-bytes"), ["headline"]);
        for none in [
            "splits",
            "score",
            "curves",
            "curves-",
            "by-",
            "score-by-round",
            "a*score-by-round",
        ] {
            assert_eq!(of(none), [""; 0], "{none}");
        }
        assert!(super::is_called("score-accuracy-by-time", "*accuracy*e") && super::is_called("", "*"));
        assert!(!super::is_called("score-accuracy-by-time", "*accuracy*y"));
        assert_eq!(of("*").len(), super::FIGURES.len());
    }
}
