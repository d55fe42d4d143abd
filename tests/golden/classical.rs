//! Classical heads: support vectors, logistic regression, nearest neighbours and k-means.

use folkmoot_checks::golden::{Case, Got, Mismatch, flags, row_major, text};
use folkmoot_scores::classical::{KMeans, Svm};
use folkmoot_scores::evaluation::{LogisticRegression, knn_precomputed};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    #[serde(rename = "X")]
    points: Vec<Vec<f64>>,
    centres: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weight {
    #[serde(rename = "C")]
    c: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernels {
    #[serde(rename = "K")]
    kernel: Vec<Vec<f64>>,
    y: Vec<i8>,
    #[serde(rename = "K_test")]
    test: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    #[serde(rename = "X")]
    rows: Vec<Vec<f32>>,
    #[serde(rename = "Y")]
    labels: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Neighbours {
    k: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Distances {
    y: Vec<u32>,
    #[serde(rename = "D_test")]
    test: Vec<Vec<f64>>,
}

type Fields = Vec<(&'static str, Got)>;

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "kmeans_lloyd" => k_means(case)?,
        "svm_precomputed" => svm(case)?,
        "logistic_ovr" => logistic(case)?,
        "knn_precomputed" => {
            let Neighbours { k } = case.params()?;
            let Distances { y, test } = case.inputs()?;
            let predictions = knn_precomputed(&row_major(&test)?.0, &y, k).map_err(text)?;
            vec![("predictions", predictions.into())]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}

fn k_means(case: &Case) -> Result<Fields, String> {
    let Start { points, centres } = case.only_inputs()?;
    let n_clusters = centres.len();
    let ((points, dim), (centres, _)) = (row_major(&points)?, row_major(&centres)?);
    let settings = KMeans {
        n_clusters,
        ..KMeans::default()
    };
    let found = settings.fit_from(&points, dim, &centres).map_err(text)?;
    Ok(vec![
        ("labels", found.labels.into()),
        ("centres", Got::rows(&found.centres, dim)),
        ("inertia", found.inertia.into()),
    ])
}

/// The file calls the classes -1 and 1 and gives class 1 the positive decisions; ours go to the
/// smaller class.
fn svm(case: &Case) -> Result<Fields, String> {
    let Weight { c } = case.params()?;
    let Kernels { kernel, y, test } = case.inputs()?;
    if y.iter().any(|label| label.abs() != 1) {
        return Err("a class must be -1 or 1".into());
    }
    let classes: Vec<u32> = y.iter().map(|&label| u32::from(label == 1)).collect();
    let svm = Svm {
        c,
        tolerance: 1e-6,
        ..Svm::default()
    };
    let model = svm.fit(&row_major(&kernel)?.0, &classes).map_err(text)?;
    let test = row_major(&test)?.0;
    let decisions = model.decisions(&test).map_err(text)?;
    let predictions = model.predict(&test).map_err(text)?;
    let signs: Vec<f64> = predictions.iter().map(|&class| 2.0 * f64::from(class) - 1.0).collect();
    let objective = model.pairs.first().map(|pair| pair.dual_objective);
    Ok(vec![
        ("dual_objective", objective.into()),
        (
            "decision",
            decisions.iter().map(|value| -value).collect::<Vec<_>>().into(),
        ),
        ("predictions", signs.into()),
    ])
}

fn logistic(case: &Case) -> Result<Fields, String> {
    let Weight { c } = case.params()?;
    let Labelled { rows, labels } = case.inputs()?;
    let ((rows, dim), (labels, n_labels)) = (row_major(&rows)?, row_major(&labels)?);
    let solver = LogisticRegression {
        c,
        ..LogisticRegression::default()
    };
    let models = solver
        .fit_one_vs_rest(&rows, dim, &flags(&labels)?, n_labels)
        .map_err(text)?;
    let coef: Vec<Vec<f64>> = models.iter().map(|model| model.coef.clone()).collect();
    let intercept: Vec<f64> = models.iter().map(|model| model.intercept).collect();
    Ok(vec![("coef", coef.into()), ("intercept", intercept.into())])
}
