//! How fast phones are, by published tables.
//!
//! A table says how phones compare; how many operations of the model here a phone does in a second
//! it cannot say. So a card gives the speed of the median phone, and the table the ratios.

use crate::shelf::{Read, below};
use crate::{Model, Shelf, TraceError};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::world::Devices;
use folkmoot_graphs::DataError;
use folkmoot_metrics::{ClientId, SimSpan};
use folkmoot_parts::component;
use serde::Deserialize;

const ROW: Purpose = Purpose(*b"speedrow");

/// Relative speeds of 952 phones from the table of Venn (Liu et al., MLSys 2025). The slowest takes
/// 157 times as long as the fastest (9.5 to 1,495, lower is faster). Read from
/// `fl-traces/venn/client_spec_speed.csv` in a data folder.
#[component(name = "Venn", about = "relative speeds of 952 phones (Venn)")]
#[derive(Clone, Debug, PartialEq)]
pub struct Venn {
    /// Speed of the median phone.
    #[component(required, at_least = 1, unit = "operations/s")]
    pub median_ops_per_s: f64,
    /// Sample phones with replacement. Otherwise every client has its own phone.
    #[component(default = true)]
    pub replacement: bool,
}

/// Training latencies measured on some 997 phones, collected by FLHetBench (Zhang et al., CVPR
/// 2024). Rows with latency 0 (not measured) are excluded; standard deviations, measured for few,
/// are not used. Read from `fl-traces/flhetbench/training_latency.json` in a data folder.
#[component(
    name = "FlHetBench",
    about = "relative speeds of phones from FLHetBench's training latencies"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct FlHetBench {
    /// Speed of the median phone.
    #[component(required, at_least = 1, unit = "operations/s")]
    pub median_ops_per_s: f64,
    /// Network whose training latencies define the relative speeds.
    pub network: Measured,
    /// Sample phones with replacement. Otherwise every client has its own phone.
    #[component(default = true)]
    pub replacement: bool,
}

/// Network of the latency measurement.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// ResNet, on 978 phones.
    #[default]
    ResNet,
    /// Vision transformer (ViT), on 21 phones.
    Vit,
}

/// A row of FLHetBench's table, in milliseconds.
#[derive(Deserialize)]
struct Latencies {
    #[serde(rename = "ResNet Latency")]
    resnet: Option<f64>,
    #[serde(rename = "Vit Latency")]
    vit: Option<f64>,
}

/// The column `speed` of Venn's table.
fn venn(read: &Read) -> Result<Vec<f64>, DataError> {
    let mut table = csv::Reader::from_reader(read.bytes.as_slice());
    let failed = |error: csv::Error| read.broken(error.to_string());
    let column = table.headers().map_err(failed)?.iter().position(|name| name == "speed");
    let column = column.ok_or_else(|| read.broken("the first line names no column speed"))?;
    let mut times = Vec::new();
    for record in table.records() {
        let record = record.map_err(failed)?;
        let cell = record.get(column).unwrap_or_default();
        let line = record.position().map_or(0, csv::Position::line) as usize;
        match cell.trim().parse::<f64>() {
            Ok(time) if time > 0.0 && time.is_finite() => times.push(time),
            _ => {
                return Err(DataError::Line {
                    path: read.path.clone(),
                    line,
                    message: format!("speed must be a number above 0, got {cell:?}"),
                });
            }
        }
    }
    Ok(times)
}

/// The latencies of one network, and how many rows have none.
fn latencies(read: &Read, network: Measured) -> Result<(Vec<f64>, usize), DataError> {
    let rows: Vec<Latencies> = read.json()?;
    let (n_rows, mut times) = (rows.len(), Vec::with_capacity(rows.len()));
    for (i, row) in rows.into_iter().enumerate() {
        let time = match network {
            Measured::ResNet => row.resnet,
            Measured::Vit => row.vit,
        };
        match time {
            None | Some(0.0) => {}
            Some(time) if time > 0.0 && time.is_finite() => times.push(time),
            Some(time) => {
                let rule = format!("row {}: a latency must be at least 0 ms, got {time}", i + 1);
                return Err(read.broken(rule));
            }
        }
    }
    let n_none = n_rows - times.len();
    Ok((times, n_none))
}

/// The speeds of clients whose phones take these times for the same work.
fn speeds(
    (times, read): (Vec<f64>, &Read),
    median_ops_per_s: f64,
    replacement: bool,
    shelf: &Shelf<'_>,
) -> Result<Box<dyn Devices>, TraceError> {
    let mut order = times.clone();
    order.sort_by(f64::total_cmp);
    let Some(median) = order.get(order.len() / 2) else {
        return Err(read.broken("no phone was measured").into());
    };
    let rows = shelf.deal(ROW, times.len(), "phones with a speed", replacement)?;
    let speed = |row: &u32| median_ops_per_s * median / times[*row as usize];
    Ok(Box::new(Speeds(rows.iter().map(speed).collect())))
}

impl Model<dyn Devices> for Venn {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Devices>, TraceError> {
        let read = shelf.read(&below("venn/client_spec_speed.csv"))?;
        let times = venn(&read)?;
        shelf.note(format!("Venn's speeds: {} phones were measured", times.len()));
        speeds((times, &read), self.median_ops_per_s, self.replacement, shelf)
    }
}

impl Model<dyn Devices> for FlHetBench {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Devices>, TraceError> {
        let read = shelf.read(&below("flhetbench/training_latency.json"))?;
        let (times, n_none) = latencies(&read, self.network)?;
        shelf.note(format!(
            "FLHetBench's latencies: {} phones were measured; {n_none} rows without a latency are left out",
            times.len()
        ));
        speeds((times, &read), self.median_ops_per_s, self.replacement, shelf)
    }
}

/// Operations per second of each client.
struct Speeds(Vec<f64>);

impl Devices for Speeds {
    fn span(&self, client: ClientId, work: f64, _: Streams) -> SimSpan {
        SimSpan::from_secs(work / self.0[client.0 as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::DataDirs;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn read(text: &str) -> Read {
        Read {
            path: PathBuf::from("table"),
            bytes: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn lower_is_faster_and_the_median_phone_has_the_cards_speed() {
        let file = read("id,device,speed\n0,\"A, B\",20\n1,C,5.0\n2,D,80\n");
        let times = venn(&file).unwrap();
        assert_eq!(times, [20.0, 5.0, 80.0]);
        let dirs = DataDirs::new();
        let shelf = Shelf::new(&dirs, 3, Streams::new(1));
        let model = speeds((times, &file), 1e6, false, &shelf).unwrap();
        let mut spans: Vec<SimSpan> = (0..3).map(|c| model.span(ClientId(c), 1e6, Streams::new(1))).collect();
        spans.sort();
        assert_eq!(spans, [0.25, 1.0, 4.0].map(SimSpan::from_secs));
        assert!(speeds((Vec::new(), &file), 1e6, true, &shelf).is_err());
    }

    #[test]
    fn latencies_of_0_were_not_measured() {
        let rows = r#"[{"ResNet Latency": 54.5, "ResNet STD": 0, "Vit Latency": 300.0}, {"ResNet Latency": 0}, {"ResNet Latency": 90}]"#;
        assert_eq!(latencies(&read(rows), Measured::ResNet).unwrap(), (vec![54.5, 90.0], 1));
        assert_eq!(latencies(&read(rows), Measured::Vit).unwrap(), (vec![300.0], 2));
        let error = latencies(&read(r#"[{"ResNet Latency": -1}]"#), Measured::ResNet).unwrap_err();
        assert!(error.to_string().contains("row 1"), "{error}");
    }

    #[test]
    fn what_breaks_the_table_is_named() {
        for (text, told) in [
            ("a,b\n1,2\n", "no column speed"),
            ("a,speed\n1,2\n1,0\n", "table:3"),
            ("a,speed\n1,NaN\n", "above 0"),
            ("a,speed\n1,2,3\n", "fields"),
        ] {
            let error = venn(&read(text)).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text in "[\\[\\]{}\",:a-z0-9.e\n-]{0,120}") {
            let _ = venn(&read(&text));
            let _ = venn(&read(&format!("speed\n{text}")));
            let _ = latencies(&read(&text), Measured::Vit);
        }
    }
}
