//! The networks of MIOpen's KernelTuningNet, run from the files that it ships: an encoder of two LSTMs, with a linear layer before them in
//! newer ones, and a decoder of an embedding, two LSTMs and a linear layer.
//!
//! A file is JSON: `architecture` is a functional model as Keras writes it, `trainable_params` has by layer lists of base64 whose bytes,
//! joined, are little-endian floats, `tests` has an input with its output. Gates of an LSTM stand in the order input, forget, cell, output.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use seqtune_kernel::error::{Error, Result, input};
use serde_json::Value;

/// A linear layer.
struct Linear {
    /// (inputs, outputs)
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// A recurrent layer (Hochreiter and Schmidhuber 1997).
struct Lstm {
    /// (inputs, 4 units)
    weight: Vec<f32>,
    /// (units, 4 units)
    recurrent: Vec<f32>,
    bias: Vec<f32>,
    units: usize,
}

/// What an LSTM holds between two steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    hidden: Vec<f32>,
    cell: Vec<f32>,
}

/// Adds x (inputs) times a matrix (inputs, outputs) to y (outputs).
fn add_product(x: &[f32], matrix: &[f32], y: &mut [f32]) {
    for (x, row) in x.iter().zip(matrix.chunks_exact(y.len())) {
        y.iter_mut().zip(row).for_each(|(y, w)| *y += x * w);
    }
}

impl Linear {
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.bias.clone();
        add_product(x, &self.weight, &mut y);
        y
    }
}

impl Lstm {
    fn step(&self, x: &[f32], state: &mut State) {
        let mut gates = self.bias.clone();
        add_product(x, &self.weight, &mut gates);
        add_product(&state.hidden, &self.recurrent, &mut gates);
        let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
        let n = self.units;
        for at in 0..n {
            let [enter, forget, new, leave] = [0, 1, 2, 3].map(|gate| gates[gate * n + at]);
            state.cell[at] = sigmoid(forget) * state.cell[at] + sigmoid(enter) * new.tanh();
            state.hidden[at] = sigmoid(leave) * state.cell[at].tanh();
        }
    }

    fn start(&self) -> State {
        State { hidden: vec![0.0; self.units], cell: vec![0.0; self.units] }
    }
}

/// Makes states of a problem.
pub struct Encoder {
    linear: Option<Linear>,
    lstms: Vec<Lstm>,
}

impl Encoder {
    /// Of the text of its file.
    ///
    /// # Errors
    /// [`Error::Input`] where it is no such network, or does not give what the file says that it gives.
    pub fn read(text: &str) -> Result<Encoder> {
        let file = parse(text)?;
        let layers = layers(&file)?;
        let (mut linear, mut lstms) = (None, Vec::new());
        for (kind, params) in layers {
            match kind.as_str() {
                "Dense" if lstms.is_empty() && linear.is_none() => linear = Some(linear_of(&params)?),
                "LSTM" => lstms.push(lstm_of(&params)?),
                _ => return input(format!("an encoder with a layer `{kind}` there is not described")),
            }
        }
        let encoder = Encoder { linear, lstms };
        for (given, wanted) in tests(&file)? {
            let [matrix] = &given[..] else { return input("its test has not one input") };
            check(encoder.states(matrix).iter().flat_map(|s| [&s.hidden, &s.cell]), &wanted)?;
        }
        Ok(encoder)
    }

    /// The last state of each LSTM, of a square matrix, a row after the other.
    pub fn states(&self, matrix: &[f32]) -> Vec<State> {
        let n = matrix.len().isqrt();
        let mut rows: Vec<Vec<f32>> = matrix.chunks_exact(n.max(1)).map(<[f32]>::to_vec).collect();
        if let Some(linear) = &self.linear {
            rows = rows.iter().map(|row| linear.forward(row)).collect();
        }
        let mut states = Vec::new();
        for lstm in &self.lstms {
            let mut state = lstm.start();
            for row in &mut rows {
                lstm.step(row, &mut state);
                row.clone_from(&state.hidden);
            }
            states.push(state);
        }
        states
    }
}

/// Says token by token how probable each next one is.
pub struct Decoder {
    embedding: Vec<Vec<f32>>,
    lstms: Vec<Lstm>,
    linear: Linear,
}

impl Decoder {
    /// As [`Encoder::read`].
    ///
    /// # Errors
    /// See [`Encoder::read`].
    pub fn read(text: &str) -> Result<Decoder> {
        let file = parse(text)?;
        let (mut embedding, mut lstms, mut linear) = (Vec::new(), Vec::new(), None);
        for (kind, params) in layers(&file)? {
            match kind.as_str() {
                "Embedding" if embedding.is_empty() => {
                    let count = params["config"]["input_dim"].as_u64().unwrap_or(0).max(1) as usize;
                    let weights = floats(&params["weights"])?;
                    embedding = weights.chunks((weights.len() / count).max(1)).map(<[f32]>::to_vec).collect();
                }
                "LSTM" => lstms.push(lstm_of(&params)?),
                "Dense" if linear.is_none() => linear = Some(linear_of(&params)?),
                _ => return input(format!("a decoder with a layer `{kind}` there is not described")),
            }
        }
        let Some(linear) = linear else { return input("a decoder without a last layer is not described") };
        let decoder = Decoder { embedding, lstms, linear };
        for (given, wanted) in tests(&file)? {
            let [token, states @ ..] = &given[..] else { return input("its test has no input") };
            let mut states: Vec<State> =
                states.chunks_exact(2).map(|s| State { hidden: s[0].clone(), cell: s[1].clone() }).collect();
            let scores = decoder.step(token[0] as usize, &mut states)?;
            check(std::iter::once(&scores).chain(states.iter().flat_map(|s| [&s.hidden, &s.cell])), &wanted)?;
        }
        Ok(decoder)
    }

    /// Scores of all tokens behind one, before the softmax; the states go on.
    ///
    /// # Errors
    /// [`Error::Input`] where there is no such token, or the states are not the decoder's.
    pub fn step(&self, token: usize, states: &mut [State]) -> Result<Vec<f32>> {
        let fits = |(lstm, state): (&Lstm, &State)| lstm.units == state.hidden.len() && lstm.units == state.cell.len();
        if states.len() != self.lstms.len() || !self.lstms.iter().zip(&*states).all(fits) {
            return input("encoder and decoder do not fit each other");
        }
        let Some(mut x) = self.embedding.get(token).cloned() else {
            return input(format!("there is no token {token}"));
        };
        for (lstm, state) in self.lstms.iter().zip(states) {
            lstm.step(&x, state);
            x.clone_from(&state.hidden);
        }
        Ok(self.linear.forward(&x))
    }
}

fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| Error::Input(format!("is no file of KernelTuningNet: {e}")))
}

/// Kind and parameters of each layer but the inputs, in order; its configuration under `config`.
fn layers(file: &Value) -> Result<Vec<(String, Value)>> {
    let Some(all) = file["architecture"]["config"]["layers"].as_array() else {
        return input("is no network of KernelTuningNet: it has no architecture");
    };
    let mut found = Vec::new();
    for layer in all {
        let kind = layer["class_name"].as_str().unwrap_or_default();
        if kind == "InputLayer" {
            continue;
        }
        let mut params = file["trainable_params"][layer["name"].as_str().unwrap_or_default()].clone();
        params["config"] = layer["config"].clone();
        let plain = |name: &str, usual: &str| params["config"].get(name).is_none_or(|value| value == usual);
        if !plain("recurrent_activation", "sigmoid")
            || !plain("activation", if kind == "LSTM" { "tanh" } else { "linear" })
        {
            return input(format!("a layer `{kind}` with another activation is not described"));
        }
        found.push((kind.to_string(), params));
    }
    Ok(found)
}

fn linear_of(params: &Value) -> Result<Linear> {
    let units = params["config"]["units"].as_u64().unwrap_or(0) as usize;
    let bias = if params["bias"].is_null() { vec![0.0; units] } else { floats(&params["bias"])? };
    let weight = floats(&params["weights"])?;
    match units > 0 && bias.len() == units && weight.len().is_multiple_of(units) {
        true => Ok(Linear { weight, bias }),
        false => input("a linear layer's weights are not of its size"),
    }
}

fn lstm_of(params: &Value) -> Result<Lstm> {
    let units = params["config"]["units"].as_u64().unwrap_or(0) as usize;
    let weight = floats(&params["weights"])?;
    let (recurrent, bias) = (floats(&params["recurrent_weights"])?, floats(&params["bias"])?);
    let fits = units > 0 && recurrent.len() == 4 * units * units && bias.len() == 4 * units;
    match fits && weight.len().is_multiple_of(4 * units) {
        true => Ok(Lstm { weight, recurrent, bias, units }),
        false => input("an LSTM's weights are not of its size"),
    }
}

/// Floats of a list of base64.
fn floats(list: &Value) -> Result<Vec<f32>> {
    let mut bytes = Vec::new();
    for part in list.as_array().into_iter().flatten() {
        let part = BASE64_STANDARD.decode(part.as_str().unwrap_or_default());
        bytes.extend(part.map_err(|e| Error::Input(format!("weights are no base64: {e}")))?);
    }
    match bytes.as_chunks::<4>() {
        (numbers, []) if !numbers.is_empty() => Ok(numbers.iter().map(|n| f32::from_le_bytes(*n)).collect()),
        _ => input("weights are missing or cut off"),
    }
}

/// Inputs and outputs, each of several vectors.
type Example = (Vec<Vec<f32>>, Vec<Vec<f32>>);

fn tests(file: &Value) -> Result<Vec<Example>> {
    let vectors = |list: &Value| -> Result<Vec<Vec<f32>>> {
        list.as_array().into_iter().flatten().map(|of| floats(&of["values"])).collect()
    };
    let all = file["tests"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().map(|test| Ok((vectors(&test["inputs"])?, vectors(&test["outputs"])?))).collect()
}

/// Largest difference from the outputs that a file states.
const TOLERANCE: f32 = 1e-5;

fn check<'a>(found: impl Iterator<Item = &'a Vec<f32>>, wanted: &[Vec<f32>]) -> Result<()> {
    let found: Vec<&Vec<f32>> = found.collect();
    let close = |(a, b): (&&Vec<f32>, &Vec<f32>)| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= TOLERANCE * b.abs().max(1.0))
    };
    match found.len() == wanted.len() && found.iter().zip(wanted).all(close) {
        true => Ok(()),
        false => input("the network does not give what its file says that it gives"),
    }
}
