//! Sweeps.

use super::{WHOLE, source};
use crate::text::{AxisError, MAX_POINTS, axes_of, check_axes, check_points, quoted_part};

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
fn a_key_is_the_text_that_it_stands_for() {
    let card = r##"(axes: {"a.\"b.c\"": [1], r#"a."d\e""#: [2], "f\u{e9}": [3]})"##;
    let source = source(card);
    let axes = axes_of(&source, "axes");
    assert_eq!(
        axes,
        [
            axis(r#"a."b.c""#, &["1"]),
            axis(r#"a."d\e""#, &["2"]),
            axis("fé", &["3"])
        ]
    );
    for (at, (path, _)) in axes.iter().enumerate() {
        let found = source.value(&format!("axes.{}", quoted_part(path)));
        assert_eq!(found, Some(format!("[{}]", at + 1).as_str()), "{path}");
    }
    assert_eq!(check_axes(&axes, &[1]), []);
}

#[test]
fn every_mistake_is_reported() {
    let axes = vec![
        axis("a", &[]),
        axis("b", &["0.1", "x", "0.10"]),
        axis("b", &["1"]),
        axis("c..d", &["1"]),
    ];
    let errors = check_axes(&axes, &[]);
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
    assert_eq!(check_axes(&[], &[3, 3]), [AxisError::DuplicateSeed { seed: 3 }]);
    assert_eq!(errors[0].path(), "axes.a");
}

/// A later axis of the whole would set a part's values anew; the other way round both count.
#[test]
fn an_axis_that_a_later_one_overwrites_is_refused() {
    let (part, whole) = (axis("strategy.rate", &["1"]), axis("strategy", &["A()", "B()"]));
    let other = axis("strategy_of_mine", &["1"]);
    assert!(check_axes(&[whole.clone(), part.clone(), other.clone()], &[1]).is_empty());
    let errors = check_axes(&[part, other, whole], &[1]);
    let (axis, by) = ("strategy.rate".to_owned(), "strategy".to_owned());
    assert_eq!(errors, [AxisError::Overwritten { axis, by }]);
    assert_eq!(errors[0].path(), "axes.\"strategy.rate\"");
}

#[test]
fn too_many_points_are_refused_before_they_are_built() {
    let values: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let axes: Vec<_> = (0..5).map(|i| (format!("a{i}"), values.clone())).collect();
    let check = |n_axes: usize| check_points(axes[..n_axes].iter().map(|(_, values)| values.len()));
    assert_eq!(check(5), Err(AxisError::TooManyPoints { n_points: usize::MAX }));
    assert_eq!((values.len(), check(1)), (MAX_POINTS, Ok(())));
    assert!(check_axes(&axes, &[1]).is_empty());
}
