//! Figures of artifacts, recognised by name and format: maps of points, matrices of distances,
//! changes, links.
//!
//! | artifact | form | figure |
//! |---|---|---|
//! | `map*.csv` | columns x and y, and class or cluster | a marker for each point, by class and by cluster |
//! | `distances*.npy` | `f32`, square, at most 40 rows | a cell for each pair |
//! | `changes.csv` | columns lost, then a number each | the distribution of each column |
//! | `links.csv` | columns from, to and payload_bytes, clients below 64 | a cell for each sender and receiver |
//!
//! Files with such a name and another format are ignored.

use crate::names::{Unit, words};
use folkmoot_metrics::figure::{Axis, Figure, Heat, Lines, Panel, Path, Role, Series};
use folkmoot_metrics::npy::{Array, Values};
use folkmoot_metrics::{ReadError, RunDir};
use std::collections::BTreeMap;

/// Most rows of a matrix; cells of larger ones would be too small to distinguish.
const MAX_ROWS: usize = 40;
/// Most clients of a matrix of links, where most cells are empty.
const MAX_CLIENTS: usize = 64;

/// A table as text: columns by name.
struct Columns<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Columns<'a> {
    fn read(text: &'a str) -> Option<Columns<'a>> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next()?.split(',').collect();
        let mut columns: BTreeMap<&str, Vec<&str>> = names.iter().map(|name| (*name, Vec::new())).collect();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            if cells.len() != names.len() {
                return None;
            }
            for (name, cell) in names.iter().zip(cells) {
                columns.get_mut(name)?.push(cell);
            }
        }
        Some(Columns(columns))
    }

    fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        self.0.get(name)?.iter().map(|cell| cell.parse().ok()).collect()
    }
}

/// The metric in an artifact's name after its stem; empty without one.
fn suffix<'a>(name: &'a str, stem: &str, ending: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(stem)?.strip_suffix(ending)?;
    match rest.strip_prefix('_') {
        Some(metric) => Some(metric),
        None => rest.is_empty().then_some(""),
    }
}

/// A title of a panel: what it shows, and by which metric.
fn titled(what: &str, metric: &str, arm: &str) -> String {
    let metric = words(metric, Unit::Number).to_lowercase();
    let parts = [what, &metric, arm].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

/// The figures of one run.
pub(crate) fn of_run(run: &RunDir) -> Result<Vec<Figure>, ReadError> {
    let (maps, matrices) = (maps(run)?, matrices(run, "")?);
    let changes = changes(run)?;
    let links = links(run)?;
    let figure = |name: &str, title: &str, panels: Vec<Panel>| {
        (!panels.is_empty()).then(|| Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            notes: Vec::new(),
            panels,
        })
    };
    let figures = [
        figure("map", "map of the graphs by t-SNE", maps),
        figure("distances", "distances of the graphs", matrices),
        figure("changes", "how far graphs move with an edge or a node less", changes),
        figure("links", "bytes that each link carried, from row to column", links),
    ];
    Ok(figures.into_iter().flatten().collect())
}

/// The panels of several runs beside each other, each with what to call it: maps, then matrices, of
/// what stands first in each.
pub(crate) fn of_arms(arms: &[(String, RunDir)]) -> Result<[Vec<Panel>; 2], ReadError> {
    let (mut all_maps, mut all_matrices) = (Vec::new(), Vec::new());
    for (arm, run) in arms {
        // By cluster where there are any, else by class: the last of the first map's panels.
        if let Some(bytes) = optional_artifact(run, "map.csv")? {
            all_maps.extend(map(&bytes, "", arm).into_iter().next_back());
        }
        all_matrices.extend(matrices(run, arm)?.into_iter().next());
    }
    Ok([all_maps, all_matrices])
}

fn maps(run: &RunDir) -> Result<Vec<Panel>, ReadError> {
    let mut panels = Vec::new();
    for name in &run.artifacts {
        if let Some(metric) = suffix(name, "map", ".csv") {
            panels.extend(map(&run.artifact(name)?, metric, ""));
        }
    }
    Ok(panels)
}

/// An artifact by its name; `None` if the run has none.
fn optional_artifact(run: &RunDir, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
    match run.artifacts.iter().any(|artifact| artifact == name) {
        true => run.artifact(name).map(Some),
        false => Ok(None),
    }
}

/// A map by class and by cluster, as far as these are known.
fn map(bytes: &[u8], metric: &str, arm: &str) -> Vec<Panel> {
    let panels = || -> Option<Vec<Panel>> {
        let table = Columns::read(std::str::from_utf8(bytes).ok()?)?;
        let (xs, ys) = (table.numbers("x")?, table.numbers("y")?);
        let by = |column: &str| {
            let of = table.0.get(column)?;
            let mut groups: BTreeMap<(usize, &str), Vec<(f64, f64)>> = BTreeMap::new();
            for ((x, y), group) in xs.iter().zip(&ys).zip(of) {
                // Numbers by their size: shorter ones first.
                groups.entry((group.len(), group)).or_default().push((*x, *y));
            }
            let known = groups.into_iter().filter(|((len, _), _)| *len > 0);
            let series: Vec<Series> = known
                .enumerate()
                .map(|(index, ((_, group), points))| Series {
                    path: Path::Scattered,
                    ..Series::new(format!("{column} {group}"), Role::Data(index), points)
                })
                .collect();
            let axis = |label: &str| Axis {
                log_beyond: None,
                ..Axis::new(label, Unit::Number)
            };
            (!series.is_empty()).then(|| {
                Panel::Lines(Lines {
                    x: axis("t-SNE 1"),
                    y: Axis {
                        above: titled(&format!("by {column}"), metric, arm),
                        ..axis("t-SNE 2")
                    },
                    series,
                })
            })
        };
        Some(["class", "cluster"].into_iter().filter_map(by).collect())
    };
    panels().unwrap_or_default()
}

fn matrices(run: &RunDir, arm: &str) -> Result<Vec<Panel>, ReadError> {
    let mut panels = Vec::new();
    for name in &run.artifacts {
        let Some(metric) = suffix(name, "distances", ".npy") else {
            continue;
        };
        let Some((n, values)) = square(&run.artifact(name)?) else {
            continue;
        };
        if (2..=MAX_ROWS).contains(&n) {
            let labels: Vec<String> = (1..=n).map(|row| row.to_string()).collect();
            panels.push(Panel::Heat(Heat {
                title: titled(if metric.is_empty() { "received" } else { "" }, metric, arm),
                rows: labels.clone(),
                columns: labels,
                values,
                ..Heat::default()
            }));
        }
    }
    Ok(panels)
}

/// A square array of `f32`; nothing if it is anything else.
fn square(bytes: &[u8]) -> Option<(usize, Vec<f64>)> {
    let Array { shape, values } = Array::parse(bytes, usize::MAX).ok()?;
    match (&shape[..], values) {
        ([n, m], Values::Floats(values)) if n == m => Some((*n, values.into_iter().map(f64::from).collect())),
        _ => None,
    }
}

/// A cell for each link.
fn links(run: &RunDir) -> Result<Vec<Panel>, ReadError> {
    let Some(bytes) = optional_artifact(run, "links.csv")? else {
        return Ok(Vec::new());
    };
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    Ok(linked(text).map(Panel::Heat).into_iter().collect())
}

/// What each link carried from the client of the row to that of the column, in the unit that suits
/// the busiest; nothing of another form, or of more clients than cells can tell apart.
fn linked(text: &str) -> Option<Heat> {
    let table = Columns::read(text)?;
    let client = |x: f64| (x >= 0.0 && x < MAX_CLIENTS as f64 && x.fract() == 0.0).then_some(x as usize);
    let ends = |name: &str| -> Option<Vec<usize>> { table.numbers(name)?.into_iter().map(client).collect() };
    let (from, to, carried) = (ends("from")?, ends("to")?, table.numbers("payload_bytes")?);
    let n = from.iter().chain(&to).max()? + 1;
    let most = carried.iter().copied().fold(0.0, f64::max);
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let suits = units.into_iter().find(|(size, _)| most >= *size);
    let (size, unit) = suits.unwrap_or((1.0, "B"));
    let mut values = vec![0.0; n * n];
    for ((from, to), carried) in from.iter().zip(&to).zip(&carried) {
        values[from * n + to] += carried / size;
    }
    let labels: Vec<String> = (0..n).map(|client| client.to_string()).collect();
    Some(Heat {
        title: format!("{unit} of payload that arrived"),
        rows: labels.clone(),
        columns: labels,
        values,
        ..Heat::default()
    })
}

/// The empirical distribution of each column of distances, a curve for each kind of removal.
fn changes(run: &RunDir) -> Result<Vec<Panel>, ReadError> {
    let Some(bytes) = optional_artifact(run, "changes.csv")? else {
        return Ok(Vec::new());
    };
    let panels = || -> Option<Vec<Panel>> {
        let table = Columns::read(std::str::from_utf8(&bytes).ok()?)?;
        let lost = table.0.get("lost")?;
        let panel = |(column, by): (&str, &str)| {
            let values = table.numbers(column)?;
            let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            for (lost, value) in lost.iter().zip(&values) {
                groups.entry(lost).or_default().push(*value);
            }
            let series = groups.into_iter().enumerate().map(|(index, (lost, mut values))| {
                values.sort_by(f64::total_cmp);
                let n = values.len() as f64;
                let points = values
                    .iter()
                    .enumerate()
                    .map(|(at, value)| (*value, (at + 1) as f64 / n));
                Series {
                    path: Path::Stairs,
                    ..Series::new(format!("one {lost} less"), Role::Data(index), points.collect())
                }
            });
            Some(Panel::Lines(Lines {
                x: Axis {
                    log_beyond: None,
                    ..Axis::amount(format!("Gromov-Wasserstein of {by} before and after"), Unit::Number)
                },
                y: Axis {
                    log_beyond: None,
                    ..Axis::amount("Fraction of changes at or below this distance", Unit::Share)
                },
                series: series.collect(),
            }))
        };
        let columns = [("hops", "hop counts"), ("embedding", "embeddings")];
        Some(columns.into_iter().filter_map(panel).collect())
    };
    Ok(panels().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::npy::{npy_f32, npy_u32};

    #[test]
    fn names_are_known_by_stem_and_ending() {
        assert_eq!(suffix("map.csv", "map", ".csv"), Some(""));
        assert_eq!(suffix("map_clean.csv", "map", ".csv"), Some("clean"));
        assert_eq!(suffix("mapping.csv", "map", ".csv"), None);
        assert_eq!(
            titled("by class", "shortest_paths", "arm"),
            "by class, shortest paths, arm"
        );
    }

    #[test]
    fn links_stand_by_sender_and_receiver_in_the_unit_of_the_busiest() {
        let table = |rows: &str| linked(&format!("from,to,models,payload_bytes\n{rows}"));
        let heat = table("0,2,3,1500\n2,0,1,500\n").unwrap();
        assert_eq!(heat.values, [0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
        assert!(heat.title.starts_with("kB ") && heat.rows == ["0", "1", "2"]);
        for other in [
            "",
            "0,64,1,1\n",
            "0,-1,1,1\n",
            "0,0.5,1,1\n",
            "0,1e300,1,1\n",
            "0,NaN,1,1\n",
            "0,x,1,1\n",
        ] {
            assert!(table(other).is_none(), "{other}");
        }
        assert!(linked("from,to\n0,1\n").is_none());
    }

    #[test]
    fn only_square_matrices_are_read() {
        assert_eq!(
            square(&npy_f32(&[0.0, 1.0, 2.0, 3.0], &[2, 2])),
            Some((2, vec![0.0, 1.0, 2.0, 3.0]))
        );
        assert_eq!(square(&npy_f32(&[0.0; 6], &[2, 3])), None);
        assert_eq!(square(&npy_f32(&[0.0; 4], &[4])), None);
        assert_eq!(square(&npy_f32(&[0.0; 3], &[2, 2])), None, "a value is missing");
        assert_eq!(square(&npy_u32(&[0; 4], &[2, 2])), None);
    }

    #[test]
    fn tables_of_another_form_are_left_alone() {
        assert!(Columns::read("a,b\n1\n").is_none());
        let table = Columns::read("a,b\n1,x\n").unwrap();
        assert_eq!(
            (table.numbers("a"), table.numbers("b"), table.numbers("c")),
            (Some(vec![1.0]), None, None)
        );
    }
}
