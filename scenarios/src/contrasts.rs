//! The comparisons that a card asks for: `sweep.baseline` and `sweep.contrasts`.

use crate::file::SweepFile;
use crate::swept::Swept;
use crate::text::{Problems, Source, suggest};
use folkmoot_metrics::{Axis, Contrast};

/// Reads them off a card; what is wrong is added to the problems.
///
/// Where settings replace arms or axes, comparisons of the card that name others no longer apply.
pub(crate) fn read(source: &Source, file: &SweepFile, swept: &[Swept], problems: &mut Problems) -> Vec<Contrast> {
    let is_replaced = ["sweep.arms", "sweep.axes", "sweep.names"]
        .iter()
        .any(|path| source.is_set(path));
    let is_stale = |path: &str| is_replaced && !source.is_set(path);
    let axes: Vec<Axis> = swept.iter().map(Swept::named).collect();
    let axes = axes.as_slice();
    let mut found = Vec::new();
    if !file.baseline.is_empty() {
        match against(&file.baseline, axes) {
            Ok(contrasts) => found.extend(contrasts),
            Err(_) if is_stale("sweep.baseline") => {}
            Err(why) => problems.push_at("sweep.baseline", why),
        }
    }
    for (i, pair) in file.contrasts.iter().enumerate() {
        let place = format!("sweep.contrasts.{i}");
        let [value, baseline] = pair.as_slice() else {
            problems.push_at(&place, "needs two names: a value and the one that it is compared with");
            continue;
        };
        match of_pair(value, baseline, axes) {
            Ok(contrast) if found.contains(&contrast) => problems.push_at(&place, "is stated already"),
            Ok(contrast) => found.push(contrast),
            Err(_) if is_stale("sweep.contrasts") => {}
            Err(why) => problems.push_at(&place, why),
        }
    }
    found
}

/// Every other value of the axis that has this one, compared with it.
///
/// # Errors
///
/// Why the name stands for no value, or for several.
pub fn against(baseline: &str, axes: &[Axis]) -> Result<Vec<Contrast>, String> {
    let (axis, baseline) = value_called(baseline, axes)?;
    let others = axis.values.iter().filter(|name| *name != baseline);
    let contrast = |value: &String| Contrast {
        axis: axis.path.clone(),
        value: value.clone(),
        baseline: baseline.to_owned(),
    };
    Ok(others.map(contrast).collect())
}

fn of_pair(value: &str, baseline: &str, axes: &[Axis]) -> Result<Contrast, String> {
    let (axis, value) = value_called(value, axes)?;
    let (other, baseline) = value_called(baseline, axes)?;
    match axis.path == other.path && value != baseline {
        true => Ok(Contrast {
            axis: axis.path.clone(),
            value: value.to_owned(),
            baseline: baseline.to_owned(),
        }),
        false if value == baseline => Err(format!("compares {value:?} with itself")),
        false => Err(format!(
            "compares values of two axes, {} and {}; a contrast is between two of one axis",
            axis.path, other.path
        )),
    }
}

/// The value of this name, or of this `AXIS=NAME`, where the axis goes by its path or the last part
/// of it.
fn value_called<'a>(name: &'a str, axes: &'a [Axis]) -> Result<(&'a Axis, &'a str), String> {
    let in_axis = |axis: &'a Axis, name: &str| axis.values.iter().find(|other| *other == name);
    let of = |axis: &'a Axis| in_axis(axis, name).map(|value| (axis, value.as_str()));
    let found: Vec<(&Axis, &str)> = axes.iter().filter_map(of).collect();
    if let Some((path, value)) = name.split_once('=').filter(|_| found.is_empty()) {
        let is_called = |axis: &&Axis| axis.path == path || axis.path.rsplit('.').next() == Some(path);
        let named = axes.iter().filter(is_called);
        if let [axis] = named.collect::<Vec<_>>().as_slice() {
            let known: Vec<&str> = axis.values.iter().map(String::as_str).collect();
            return match in_axis(axis, value) {
                Some(value) => Ok((axis, value)),
                None => Err(format!("{path} has no value {value:?}{}", suggest(value, &known))),
            };
        }
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] if axes.is_empty() => Err("there is nothing to compare: the sweep has no arms and no axes".to_owned()),
        [] => {
            let known: Vec<&str> = axes.iter().flat_map(|axis| &axis.values).map(String::as_str).collect();
            Err(format!(
                "no arm and no value is called {name:?}{}",
                suggest(name, &known)
            ))
        }
        [(axis, value), ..] => Err(format!(
            "{name:?} is a value of {} axes; write which is meant, as in \"{}={value}\"",
            found.len(),
            axis.path
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Vec<Axis> {
        [("arm", ["A", "B", "C"]), ("strategy.rate", ["0.1", "0.2", "A"])]
            .map(|(path, values)| Axis {
                path: path.to_owned(),
                values: values.map(str::to_owned).to_vec(),
                with: None,
            })
            .to_vec()
    }

    #[test]
    fn a_baseline_is_found_by_its_name_and_by_its_axis() {
        let of = |name: &str| {
            let found = against(name, &axes())?;
            Ok::<_, String>(
                found
                    .into_iter()
                    .map(|one| format!("{} {} {}", one.axis, one.value, one.baseline))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(of("B").unwrap(), ["arm A B", "arm C B"]);
        assert_eq!(of("rate=A").unwrap(), ["strategy.rate 0.1 A", "strategy.rate 0.2 A"]);
        assert_eq!(of("strategy.rate=0.2").unwrap().len(), 2);
        assert_eq!(
            of("A").unwrap_err(),
            "\"A\" is a value of 2 axes; write which is meant, as in \"arm=A\""
        );
        assert!(of("rate=0.3").unwrap_err().starts_with("rate has no value \"0.3\""));
        assert!(
            of("nobody")
                .unwrap_err()
                .starts_with("no arm and no value is called \"nobody\"")
        );
        assert!(against("A", &[]).unwrap_err().contains("no arms and no axes"));
    }

    #[test]
    fn pairs_are_two_values_of_one_axis() {
        let of = |value, baseline| of_pair(value, baseline, &axes());
        assert_eq!(of("arm=A", "B").unwrap().value, "A");
        assert_eq!(of("B", "B").unwrap_err(), "compares \"B\" with itself");
        assert!(
            of("B", "0.1")
                .unwrap_err()
                .starts_with("compares values of two axes, arm and strategy.rate")
        );
    }
}
