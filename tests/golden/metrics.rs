//! Scores of predictions, clusterings and embeddings.

use folkmoot_checks::golden::{Case, Got, Mismatch, flags, row_major, text};
use folkmoot_scores as scores;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Binary {
    y: Vec<u8>,
    score: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Masked {
    y: Vec<Vec<u8>>,
    labelled: Vec<Vec<bool>>,
    score: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Probabilities {
    y: Vec<u32>,
    prob: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelSets {
    y: Vec<Vec<u8>>,
    pred: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    y: Vec<u32>,
    pred: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clusterings {
    a: Vec<u32>,
    b: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clustered {
    distance: Vec<Vec<f64>>,
    labels: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Embedding {
    #[serde(rename = "X")]
    data: Vec<Vec<f64>>,
    #[serde(rename = "Y")]
    embedded: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Neighbours {
    k: usize,
}

type Fields = Vec<(&'static str, Got)>;

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "auc_binary" => {
            let Binary { y, score } = case.only_inputs()?;
            vec![("auc", scores::auc(&flags(&y)?, &score).map_err(text)?.into())]
        }
        "auc_multilabel_masked" => masked_auc(case)?,
        "auc_ovr" => {
            let Probabilities { y, prob } = case.only_inputs()?;
            let (prob, n_classes) = row_major(&prob)?;
            let auc = scores::auc_one_vs_rest(&y, &prob, n_classes).map_err(text)?;
            vec![("auc", auc.into())]
        }
        "f1_multilabel" => {
            let LabelSets { y, pred } = case.only_inputs()?;
            let ((y, n_labels), (pred, _)) = (row_major(&y)?, row_major(&pred)?);
            let f1 = scores::f1_multi_label(&flags(&y)?, &flags(&pred)?, n_labels).map_err(text)?;
            vec![
                ("micro", f1.micro.into()),
                ("macro", f1.macro_mean.into()),
                ("per_label", f1.per_label.into()),
            ]
        }
        "f1_multiclass" => {
            let Classes { y, pred } = case.only_inputs()?;
            let f1 = scores::f1_multi_class(&y, &pred).map_err(text)?;
            let accuracy = scores::accuracy(&y, &pred).map_err(text)?;
            vec![
                ("accuracy", accuracy.into()),
                ("micro", f1.micro.into()),
                ("macro", f1.macro_mean.into()),
            ]
        }
        "clustering_agreement" => {
            let Clusterings { a, b } = case.only_inputs()?;
            let ari = scores::adjusted_rand(&a, &b).map_err(text)?;
            let nmi = scores::normalised_mutual_info(&a, &b).map_err(text)?;
            vec![("ari", ari.into()), ("nmi", nmi.into())]
        }
        "silhouette" => {
            let Clustered { distance, labels } = case.only_inputs()?;
            let value = scores::silhouette(&row_major(&distance)?.0, &labels).map_err(text)?;
            vec![("value", value.into())]
        }
        "trustworthiness" => {
            let Neighbours { k } = case.params()?;
            let Embedding { data, embedded } = case.inputs()?;
            let ((data, n_features), (embedded, n_components)) = (row_major(&data)?, row_major(&embedded)?);
            let value = scores::trustworthiness(&data, n_features, &embedded, n_components, k).map_err(text)?;
            vec![("value", value.into())]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}

fn masked_auc(case: &Case) -> Result<Fields, String> {
    let Masked { y, labelled, score } = case.only_inputs()?;
    let (y, n_tasks) = row_major(&y)?;
    let (labelled, score) = (row_major(&labelled)?.0, row_major(&score)?.0);
    let found = scores::masked_auc(&flags(&y)?, &labelled, &score, n_tasks).map_err(text)?;
    Ok(vec![
        ("tasks_used", found.n_used().into()),
        ("mean", found.mean.into()),
        ("per_task", found.per_task.into()),
    ])
}
