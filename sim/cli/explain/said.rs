//! Words that no component, metric or table declares.

/// Words and marks in the output of runs and sweeps, each with what it means.
pub(super) const SAID: [(&[&str], &str); 24] = [
    (
        &["card"],
        "A text file that describes an experiment: question, data set, partition among clients, algorithm, \
         environment, and what a sweep varies. `folkmoot show NAME` prints one.",
    ),
    (
        &["arm", "arms", "configuration"],
        "A configuration that a sweep compares with others, under the same seeds. `sweep.arms` or `sweep.axes` name them.",
    ),
    (
        &["run"],
        "One configuration with one seed, and the directory of its results.",
    ),
    (
        &["n/a"],
        "No value: the metric was not computed in this run, is not defined for its data, or has nothing to score, such as a test \
         set without items.",
    ),
    (
        &["result_hash", "result hash", "hash"],
        "BLAKE3 hash of all results of a run. Two runs with the same hash have identical results.",
    ),
    (
        &["client_majority"],
        "A control that learns nothing: for each item of a client it predicts the most frequent class of the client's other \
         items. Where clients have few items it can score below the majority class.",
    ),
    (
        &["majority_class", "majority"],
        "A control: the score of predicting the most frequent class of all training items.",
    ),
    (&["untrained"], "A control: the score of the initial model."),
    (
        &["label_prior"],
        "A control for several labels per item: the score of giving each label its frequency among all training items.",
    ),
    (
        &["client_prior"],
        "A control for several labels per item: the score of giving each label its frequency among the training items of the \
         client.",
    ),
    (
        &["training_mean"],
        "A control for numbers: the score of predicting the mean of all training items.",
    ),
    (
        &["client_mean"],
        "A control for numbers: the score of predicting the mean of the client's training items.",
    ),
    (
        &["common_neighbours"],
        "A control for links: the number of neighbours that two nodes share by training edges.",
    ),
    (
        &["feature_cosine"],
        "A control for links: the cosine of two nodes' features, without edges.",
    ),
    (
        &["class_rates"],
        "A control for links: the fraction of training edges between two nodes' true classes.",
    ),
    (
        &["local"],
        "A control: clients' own models, each trained on that client's data alone.",
    ),
    (
        &["centralised"],
        "A control: one model trained on the data of all clients.",
    ),
    (
        &["retrained"],
        "A control: a model that was trained from the start without the data to be forgotten.",
    ),
    (
        &["identical"],
        "The same number as the baseline's under every seed, not only within an interval.",
    ),
    (
        &["holm"],
        "Holm's correction (1979): p values are raised for the number of arms compared in a metric, so that by chance \
         one is significant in at most 5 % of such comparisons.",
    ),
    (
        &["±", "+-", "interval"],
        "The half-width of the 95 % confidence interval of a mean over seeds (Student's t). A difference from a \
         baseline is paired by seed. With fewer than five seeds, an interval may leave the range of the metric, such as an \
         accuracy above 1; the table then shows the value of each seed instead of mean ± half-width.",
    ),
    (
        &["•", "best"],
        "Marks the best mean, and every arm that is not significantly worse (paired t test over seeds, p < 0.05 after Holm's \
         correction). Not shown where no arm is significantly worse.",
    ),
    (
        &["!"],
        "Marks an arm of which a run warns, for instance of a model that predicts one class only; the warnings are below \
         the table of the sweep, and in manifest.json of the run.",
    ),
    (
        &["*", "significant"],
        "Marks a significant difference: p < 0.05 in a paired t test over seeds, after Holm's correction for the compared \
         arms. If the difference is exactly the same under every seed, a t test is impossible; three seeds or more then count \
         as significant.",
    ),
];
