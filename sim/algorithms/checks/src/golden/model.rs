//! Parameters by the names that the files give them, into a model and back out as gradients.

use std::collections::BTreeMap;

use folkmoot_learning::{Csr, Layout, Parameter, Tape, Var};
use serde::Deserialize;
use serde_json::Value;

use super::compare::Got;
use super::schema::{row_major, text};

/// Arrays by name, of any depth.
pub type Weights = BTreeMap<String, Value>;

/// How a file writes a matrix that is stored as `(n_in, n_out)`.
#[derive(Clone, Copy)]
pub enum Form {
    /// One list of all elements.
    Flat,
    /// `[n_out][n_in]`
    Turned,
    /// `[1][rows][columns]`
    Nested,
}

/// A parameter and what the files call it.
pub type Named = (&'static str, Parameter, Form);

/// A graph by its arcs `[source, target]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arcs {
    /// The number of nodes.
    pub num_nodes: u32,
    /// Source and target of each.
    pub edges: Vec<(u32, u32)>,
    /// The weight of each; none: all 1.
    pub edge_weight: Option<Vec<f32>>,
}

impl Arcs {
    /// The arcs by target.
    ///
    /// # Errors
    ///
    /// When an arc leads nowhere.
    pub fn csr(&self) -> Result<Csr, String> {
        Csr::from_arcs(self.num_nodes, &self.edges, self.edge_weight.as_deref()).map_err(text)
    }

    /// For each listed arc the value of its entry in a matrix that has one for each.
    ///
    /// # Errors
    ///
    /// What does not fit.
    pub fn values(&self, csr: &Csr, of_entries: &[f32]) -> Result<Got, String> {
        let value = |&(source, target): &(u32, u32)| {
            let range = csr.range(target as usize);
            let at = csr.columns()[range.clone()].iter().position(|column| *column == source);
            at.map(|at| of_entries[range.start + at]).ok_or("an arc has no entry")
        };
        Ok(self.edges.iter().map(value).collect::<Result<Vec<f32>, _>>()?.into())
    }
}

/// All numbers of nested lists, in order.
///
/// # Errors
///
/// What does not fit.
pub fn numbers(value: &Value) -> Result<Vec<f32>, String> {
    match value {
        Value::Array(values) => Ok(values.iter().map(numbers).collect::<Result<Vec<_>, _>>()?.concat()),
        value => value
            .as_f64()
            .map(|x| vec![x as f32])
            .ok_or_else(|| format!("{value} is no number")),
    }
}

fn turned(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns)
        .map(|i| data[i % rows * columns + i / rows])
        .collect()
}

fn shape(layout: &Layout, parameter: Parameter) -> (usize, usize) {
    let slot = layout
        .slots()
        .iter()
        .find(|slot| slot.parameter == parameter)
        .expect("the layout made it");
    (slot.rows, slot.columns)
}

/// The flat vector of a model whose parameters are all named; what is left over on either side is
/// an error.
///
/// # Errors
///
/// What does not fit.
pub fn model(layout: &Layout, named: &[Named], weights: &Weights) -> Result<Vec<f32>, String> {
    let mut model = vec![0.0; layout.len()];
    if weights.len() != named.len() || named.len() != layout.slots().len() {
        return Err(format!(
            "weights: {} are given, {} named, {} needed",
            weights.len(),
            named.len(),
            layout.slots().len()
        ));
    }
    for (name, parameter, form) in named {
        let data = numbers(
            weights
                .get(*name)
                .ok_or_else(|| format!("weights: {name} is missing"))?,
        )?;
        let ((rows, columns), to) = (shape(layout, *parameter), &mut model[layout.range(*parameter)]);
        if data.len() != to.len() {
            return Err(format!(
                "weights: {name} must have shape ({rows}, {columns}), got {} values",
                data.len()
            ));
        }
        match form {
            Form::Turned => to.copy_from_slice(&turned(&data, columns, rows)),
            Form::Flat | Form::Nested => to.copy_from_slice(&data),
        }
    }
    Ok(model)
}

/// The gradients of all named parameters, as the files write them.
pub fn gradients(tape: &Tape<'_>, named: &[Named]) -> Got {
    let gradient = |(name, parameter, form): &Named| {
        let ((rows, columns), data) = (tape.shape(parameter.var()), tape.gradient(parameter.var()));
        let got = match form {
            Form::Flat => data.to_vec().into(),
            Form::Turned => Got::rows(&turned(data, rows, columns), rows),
            Form::Nested => Got::List(vec![Got::rows(data, columns)]),
        };
        (*name, got)
    };
    Got::Map(named.iter().map(gradient).collect())
}

/// A list of rows on a tape, with a gradient.
///
/// # Errors
///
/// What does not fit.
pub fn variable(tape: &mut Tape<'_>, rows: &[Vec<f32>]) -> Result<Var, String> {
    let (data, width) = row_major(rows)?;
    Ok(tape.variable(rows.len(), width, &data))
}

/// `Σ output · cotangent`.
///
/// # Errors
///
/// What does not fit.
pub fn weighed(tape: &mut Tape<'_>, output: Var, cotangent: &[Vec<f32>]) -> Result<Var, String> {
    let (data, width) = row_major(cotangent)?;
    if tape.shape(output) != (cotangent.len(), width) {
        return Err(format!(
            "cotangent: must have the shape of the output, {:?}",
            tape.shape(output)
        ));
    }
    let cotangent = tape.constant(cotangent.len(), width, &data);
    let product = tape.multiply(output, cotangent);
    Ok(tape.sum(product))
}

/// A value as a list of rows.
pub fn rows(tape: &Tape<'_>, var: Var) -> Got {
    Got::rows(tape.value(var), tape.shape(var).1)
}

/// A gradient as a list of rows.
pub fn gradient_rows(tape: &Tape<'_>, var: Var) -> Got {
    Got::rows(tape.gradient(var), tape.shape(var).1)
}
