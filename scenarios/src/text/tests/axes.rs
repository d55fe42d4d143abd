//! Sweeps.

use super::{WHOLE, source};
use crate::text::{AxisError, MAX_POINTS, axes_of, expand_axes};

fn axis(path: &str, values: &[&str]) -> (String, Vec<String>) {
    (path.to_owned(), values.iter().map(|&value| value.to_owned()).collect())
}

#[test]
fn axes_keep_the_order_of_the_card() {
    let axes = axes_of(&source(WHOLE), "sweep.axes");
    assert_eq!(
        axes,
        [
            axis("strategy.predictor_prob", &["0.0", "0.1"]),
            axis("cohort.size", &["5"])
        ]
    );
    assert!(axes_of(&source(WHOLE), "nothing").is_empty());
}

#[test]
fn the_first_axis_is_the_slowest_and_seeds_the_fastest() {
    let axes = vec![
        axis("strategy.p", &["0.1", "0.2"]),
        axis("network", &["Ideal", "Links(loss_prob: 0.5)"]),
    ];
    let points = expand_axes(axes, &[1, 2]).unwrap();
    let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
    let expected = [
        "0000-p=0.1-network=Ideal-seed=1",
        "0001-p=0.1-network=Ideal-seed=2",
        "0002-p=0.1-network=Links_loss_prob__0.5_-seed=1",
        "0003-p=0.1-network=Links_loss_prob__0.5_-seed=2",
        "0004-p=0.2-network=Ideal-seed=1",
        "0005-p=0.2-network=Ideal-seed=2",
        "0006-p=0.2-network=Links_loss_prob__0.5_-seed=1",
        "0007-p=0.2-network=Links_loss_prob__0.5_-seed=2",
    ];
    assert_eq!(labels, expected);
    assert_eq!(
        points[6].settings,
        [
            ("strategy.p".into(), "0.2".into()),
            ("network".into(), "Links(loss_prob: 0.5)".into())
        ]
    );
    assert_eq!((points[6].idx, points[6].seed), (6, 1));
}

#[test]
fn no_axes_is_one_point_for_each_seed() {
    let points = expand_axes(Vec::new(), &[4, 5]).unwrap();
    assert_eq!(
        points.iter().map(|point| point.label.as_str()).collect::<Vec<_>>(),
        ["0000-seed=4", "0001-seed=5"]
    );
}

#[test]
fn labels_are_distinct_safe_and_bounded() {
    let long = "\"../x y/".to_owned() + &"é".repeat(1_000) + "\"";
    let axes = (0..20).map(|i| axis(&format!("a{i}.p"), &[&long])).collect();
    let points = expand_axes(axes, &[u64::MAX]).unwrap();
    let label = &points[0].label;
    assert!(
        label.len() <= 120 && label.ends_with("-seed=18446744073709551615"),
        "{label}"
    );
    assert!(
        label.contains("-a0.p=.._x_y_")
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_=.+".contains(&b))
    );
    let seeds: Vec<u64> = (0..20_000).collect();
    assert_eq!(expand_axes(Vec::new(), &seeds).unwrap()[3].label, "00003-seed=3");
}

#[test]
fn every_mistake_is_reported() {
    let axes = vec![
        axis("a", &[]),
        axis("b", &["0.1", "x", "0.10"]),
        axis("b", &["1"]),
        axis("c..d", &["1"]),
    ];
    let errors = expand_axes(axes, &[]).unwrap_err();
    let expected = [
        AxisError::NoValues { axis: "a".into() },
        AxisError::DuplicateValue {
            axis: "b".into(),
            value: "0.10".into(),
        },
        AxisError::DuplicateAxis { axis: "b".into() },
        AxisError::BadPath {
            axis: "c..d".into(),
            why: "a path is field names joined by single dots, as in network.loss_prob".into(),
        },
        AxisError::NoSeeds,
    ];
    assert_eq!(errors, expected);
    assert_eq!(
        expand_axes(Vec::new(), &[3, 3]).unwrap_err(),
        [AxisError::DuplicateSeed { seed: 3 }]
    );
    assert_eq!(errors[0].path(), "axes.a");
}

#[test]
fn too_many_points_are_refused_before_they_are_built() {
    let values: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let axes = (0..5).map(|i| (format!("a{i}"), values.clone())).collect();
    let errors = expand_axes(axes, &[1]).unwrap_err();
    assert_eq!(errors, [AxisError::TooManyPoints { n_points: usize::MAX }]);
    assert_eq!(expand_axes(vec![("a".into(), values)], &[1]).unwrap().len(), MAX_POINTS);
}
