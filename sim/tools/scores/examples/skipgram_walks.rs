//! DeepWalk on BlogCatalog in steps, so that another program can train on the same walks in
//! between.
//!
//! - `skipgram_walks walks OUT [walks per vertex]` writes `OUT/walks.u32`: uniform walks of 40
//!   vertices, little-endian, the graph from the data folder that `FOLKMOOT_DATA` names.
//! - `skipgram_walks train OUT [negative|hierarchical|both] [separate]` trains on them and writes
//!   `OUT/folkmoot.f32`, row by row.
//! - `skipgram_walks score OUT NAME` scores the vectors in `OUT/NAME.f32` by the protocol of
//!   DeepWalk, and prints F1 in per cent.
//!
//! `RAYON_NUM_THREADS` sets the threads; `sim/tools/learning/benches/skipgram_gensim.py` runs and
//! times all of it beside gensim.

#![allow(
    clippy::print_stdout,
    reason = "an example is a program: scores go to standard output"
)]

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use folkmoot_draws::{Rng, SeedableRng, SimRng};
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Embeddings, Graph, datasets};
use folkmoot_learning::skip_gram::{Corpus, OutputLayer, SkipGram};
use folkmoot_scores::evaluation::{NodeClassification, RatioScores};

const LENGTH: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let (Some(step), Some(out)) = (args.get(1), args.get(2).map(Path::new)) else {
        return Err("name a step (walks, train or score) and a folder".into());
    };
    let mut rng = SimRng::seed_from_u64(1);
    match step.as_str() {
        "walks" => {
            let per_vertex = args.get(3).map_or(Ok(80), |text| text.parse())?;
            let corpus = walks(blog_catalog()?.graph(), per_vertex, &mut rng);
            fs::create_dir_all(out)?;
            let bytes: Vec<u8> = corpus.tokens().iter().flat_map(|id| id.to_le_bytes()).collect();
            fs::write(out.join("walks.u32"), bytes)?;
        }
        "train" => {
            let output = match args.get(3).map(String::as_str) {
                None | Some("negative") => OutputLayer::Negative,
                Some("hierarchical") => OutputLayer::Hierarchical,
                Some("both") => OutputLayer::Both,
                Some(other) => return Err(format!("output layer: negative, hierarchical or both, got {other}").into()),
            };
            let settings = SkipGram {
                output,
                shared_negatives: args.get(4).is_none_or(|option| option != "separate"),
                ..SkipGram::default()
            };
            let corpus = read_walks(out)?;
            let n_vertices = corpus.tokens().iter().max().map_or(0, |vertex| vertex + 1);
            let vectors = settings.train(&corpus, n_vertices, &mut rng)?;
            let bytes: Vec<u8> = vectors.values().iter().flat_map(|x| x.to_le_bytes()).collect();
            fs::write(out.join("folkmoot.f32"), bytes)?;
        }
        "score" => score(out, args.get(3).map_or("folkmoot", String::as_str))?,
        other => return Err(format!("step: walks, train or score, got {other}").into()),
    }
    Ok(())
}

fn blog_catalog() -> Result<Dataset, Box<dyn Error>> {
    let dirs = DataDirs::new().with("FOLKMOOT_DATA", env::var("FOLKMOOT_DATA")?);
    Ok(datasets::BlogCatalog {}.load(&dirs, &mut SimRng::seed_from_u64(0))?)
}

/// Prints micro- and macro-F1 at six training ratios, in per cent.
fn score(out: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(out.join(format!("{name}.f32")))?;
    let (words, _) = bytes.as_chunks::<4>();
    let values = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
    let data = blog_catalog()?;
    let labels = data.node_labels.ok_or("BlogCatalog has labels")?;
    let task = NodeClassification {
        train_ratios: vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        ..NodeClassification::default()
    };
    let vectors = Embeddings::new(SkipGram::default().dim, values);
    let scores = task.evaluate(&vectors, &labels, &mut SimRng::seed_from_u64(3))?;
    let line = |pick: fn(&RatioScores) -> f64| {
        let values: Vec<String> = scores
            .iter()
            .map(|score| format!("{:.2}", 100.0 * pick(score)))
            .collect();
        values.join(", ")
    };
    println!("{name}: micro {}", line(|score| score.micro.mean));
    println!("{name}: macro {}", line(|score| score.macro_mean.mean));
    println!("{name}: std of micro {}", line(|score| score.micro.sample_std()));
    Ok(())
}

fn read_walks(out: &Path) -> Result<Corpus, Box<dyn Error>> {
    let bytes = fs::read(out.join("walks.u32"))?;
    let (words, _) = bytes.as_chunks::<4>();
    let mut corpus = Corpus::with_capacity(words.len() / LENGTH, words.len());
    for walk in words.chunks(LENGTH) {
        corpus.push(walk.iter().map(|word| u32::from_le_bytes(*word)));
    }
    Ok(corpus)
}

/// `per_vertex` uniform walks from every vertex, starts in a new random order each time.
fn walks(graph: &Graph, per_vertex: usize, rng: &mut SimRng) -> Corpus {
    let n = graph.n_nodes();
    let mut below = |bound: usize| ((u64::from(rng.next_u32()) * bound as u64) >> 32) as usize;
    let mut corpus = Corpus::with_capacity(per_vertex * n, per_vertex * n * LENGTH);
    let mut order: Vec<u32> = (0..n as u32).collect();
    for _ in 0..per_vertex {
        for i in (1..n).rev() {
            order.swap(i, below(i + 1));
        }
        for &start in &order {
            let mut vertex = start;
            corpus.push((0..LENGTH).map(|i| {
                if i > 0 && graph.degree(vertex) > 0 {
                    vertex = graph.neighbours(vertex)[below(graph.degree(vertex))];
                }
                vertex
            }));
        }
    }
    corpus
}
