//! What a page has open, and its answers.

use crate::choosing::Choosing;
use crate::question::{Question, Subject};
use crate::starts::start;
use seqtune_kernel::error::{Error, Result, input, printable, quote};
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::{Choice, ConfigSpace, Count, LIMIT_NAMES, Limits, Parameter};
use seqtune_predict::device_for;
use seqtune_predict::{Candidate, Device, Kernel, Model, Objective, Prediction, Predictor, Problem, Query, TimeBasis};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Name of the device whose limits are typed.
const OWN: &str = "own limits";

/// Configs of one answer at most.
const MOST: usize = 1_000;

/// Kernels, devices and a model, as they were needed.
#[derive(Default)]
pub struct Session {
    devices: Vec<Device>,
    kernels: BTreeMap<String, Kernel>,
    model: Option<Model>,
    /// Of the model, for the kernel that was asked for last.
    predictor: Option<(String, Predictor)>,
}

/// A sentence, and the input that it is about.
struct Refused {
    sentence: String,
    field: Option<String>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused { sentence: error.to_string(), field: None }
    }
}

type Answer = std::result::Result<Value, Refused>;

impl Session {
    /// The answer to a question, or an object with `error` and, where one is to blame, `field`.
    pub fn ask(&mut self, question: &[u8]) -> Value {
        let read = serde_json::from_slice(question).map_err(|e| Error::Input(format!("the question: {e}")).into());
        to_json(read.and_then(|question| self.answer(question)))
    }

    /// Takes the model of these bytes in the place of the one before, and says what it knows.
    pub fn take_model(&mut self, bytes: &[u8]) -> Value {
        let taken = Model::from_bytes(bytes).map_err(Refused::from).map(|model| {
            (self.model, self.predictor) = (Some(model), None);
            self.model()
        });
        to_json(taken)
    }

    fn answer(&mut self, question: Question) -> Answer {
        match question {
            Question::About => self.about_model(),
            Question::Kernel { kernel } => self.kernel_of(&kernel),
            Question::Open { files } => {
                let kernel = Kernel::from_files(files, "kernel.toml")?;
                let name = kernel.name.clone();
                self.kernels.insert(name.clone(), kernel);
                self.predictor = None;
                Ok(json!({ "kernel": name }))
            }
            Question::Predict { subject, top } => self.predict(&subject, top),
            Question::Space { subject } => self.space(&subject),
            Question::Config { subject, config } => self.config(&subject, &config),
        }
    }

    fn about_model(&mut self) -> Answer {
        let mut kernels = Vec::new();
        for name in Kernel::all_shipped() {
            let kernel = self.kernel(&name)?;
            let family = kernel.place.split('/').nth_back(2).filter(|folder| *folder != "kernels");
            kernels.push(json!({ "name": name, "meaning": kernel.meaning, "family": family }));
        }
        let devices: Vec<Value> = self.devices()?.iter().map(shown_device).collect();
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"), "kernels": kernels, "devices": devices, "own_device": OWN,
            "limits": LIMIT_NAMES, "model": self.model(),
        }))
    }

    /// What the model knows; null where there is none.
    fn model(&self) -> Value {
        let Some(model) = &self.model else { return Value::Null };
        let devices: Vec<Value> = model.meta.devices.iter().map(shown_device).collect();
        json!({
            "kernels": model.meta.kernels(), "devices": devices, "weights": model.size(), "digest": model.digest(),
            "date": model.meta.date,
        })
    }

    fn kernel_of(&mut self, name: &str) -> Answer {
        let first = self.devices()?.first().cloned();
        let device = self.model.as_ref().and_then(|model| model.meta.devices.first().cloned()).or(first);
        let device = device.ok_or(Error::Failed("no device is described".into()))?;
        let kernel = self.kernel(name)?;
        let begin = start(kernel, &device);
        let fields = kernel.fields.iter().zip(&begin.values).map(|(field, value)| {
            let kind = match field.kind {
                FieldKind::Size => "size",
                FieldKind::Real => "real",
                FieldKind::Choice => "choice",
            };
            json!({
                "name": field.name, "kind": kind, "meaning": field.meaning, "min": field.min, "max": field.max,
                "labels": field.labels, "default": field.default, "begin": field.show(*value),
            })
        });
        let parameters = kernel.parameters.iter().map(
            |p| json!({ "name": p.name, "values": p.all_json(), "default": p.json(p.default), "meaning": p.meaning }),
        );
        Ok(json!({
            "name": kernel.name, "meaning": kernel.meaning, "place": kernel.place,
            "fields": fields.collect::<Vec<_>>(), "parameters": parameters.collect::<Vec<_>>(),
            "constraints": kernel.constraints.len(), "architectures": kernel.architectures,
        }))
    }

    /// What the model cannot answer is said under `unknown`: the space can be shown all the same.
    fn predict(&mut self, subject: &Subject, top: usize) -> Answer {
        let (kernel, problem, device) = self.subject(subject)?;
        match self.predictions(&kernel, &problem, &device, top) {
            Err(Error::Mismatch(why) | Error::NoLegalConfig(why)) => Ok(json!({ "unknown": printable(&why) })),
            answer => Ok(answer?),
        }
    }

    fn predictions(&mut self, kernel: &Kernel, problem: &Problem, device: &Device, top: usize) -> Result<Value> {
        let model = self.model.as_ref().ok_or(Error::Mismatch("no model is loaded".into()))?;
        let known = model.meta.kernels();
        if !known.contains(&kernel.name.as_str()) {
            return Err(Error::Mismatch(format!("the model knows {}, not {}", known.join(", "), kernel.name)));
        }
        model.check_objective(Objective::Time)?;
        if self.predictor.as_ref().is_none_or(|(name, _)| *name != kernel.name) {
            self.predictor = Some((kernel.name.clone(), Predictor::new(kernel, model)?));
        }
        let Some((_, predictor)) = &self.predictor else { return Err(Error::Failed("no predictor".into())) };
        let query = Query { top: top.clamp(1, MOST), ..Query::new(device) };
        let Prediction { candidates, unsure, .. } = predictor.predict_one(problem, &query)?;
        let (grounds, bases) = (predictor.grounds(device), predictor.time_bases(problem, device, &candidates));
        let shown: Vec<Value> =
            candidates.iter().zip(bases).map(|(c, basis)| candidate_json(kernel, c, basis)).collect();
        Ok(json!({
            "problem": kernel.show_problem(problem), "device": device.name, "predictions": shown,
            "unsure": unsure, "device_learned": grounds.is_learned,
            "learned_on": grounds.learned_on, "note": grounds.note(), "shown": predictor.held_out_result(device, Objective::Time),
        }))
    }

    fn space(&mut self, subject: &Subject) -> Answer {
        let (kernel, problem, device) = self.subject(subject)?;
        let legal = ConfigSpace::new(&kernel, &problem, &device).counter().total();
        let all: f64 = kernel.parameters.iter().map(|p| p.values.len() as f64).product();
        let exact = |count: Count| matches!(count, Count::Exactly(_));
        Ok(
            json!({ "legal": bound(legal), "exact": exact(legal), "counted": legal.known_number().is_some(), "combinations": all }),
        )
    }

    fn config(&mut self, subject: &Subject, values: &BTreeMap<String, crate::question::Value>) -> Answer {
        let (kernel, problem, device) = self.subject(subject)?;
        let text: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let config = kernel.config(&text.join(","))?;
        let choosing = Choosing::new(&kernel, &problem, &device, &config);
        let broken = choosing.broken();
        // what is too entangled to look ahead is legal or not all the same
        let (states, entangled) = match choosing.states() {
            Ok(states) => (Some(states), None),
            Err(error) => (None, Some(printable(&error.to_string()))),
        };
        Ok(json!({
            "legal": broken.is_empty(), "broken": broken, "states": states, "entangled": entangled,
            "config": kernel.show_config(&config),
        }))
    }

    /// The kernel, the problem and the device of a question.
    fn subject(&mut self, subject: &Subject) -> std::result::Result<(Kernel, Problem, Device), Refused> {
        let kernel = self.kernel(&subject.kernel)?.clone();
        let problem = problem(&kernel, &subject.problem)?;
        let device = match &subject.device {
            Some(name) => self.device(name)?,
            None => own_device(&subject.limits)?,
        };
        Ok((kernel, problem, device))
    }

    fn kernel(&mut self, name: &str) -> Result<&Kernel> {
        if !self.kernels.contains_key(name) {
            self.kernels.insert(name.to_string(), Kernel::open(name)?);
        }
        Ok(&self.kernels[name])
    }

    fn devices(&mut self) -> Result<&[Device]> {
        if self.devices.is_empty() {
            self.devices = Device::all_shipped()?;
        }
        Ok(&self.devices)
    }

    /// Of the model's devices, or of those that are described. No machine is here, so that none is live.
    fn device(&mut self, name: &str) -> Result<Device> {
        device_for(self.model.as_ref().map_or(&[], |model| &model.meta.devices), Some(name), |_| None)
    }
}

/// An answer as the page reads it.
fn to_json(answer: Answer) -> Value {
    answer.unwrap_or_else(|Refused { sentence, field }| json!({ "error": printable(&sentence), "field": field }))
}

fn shown_device(device: &Device) -> Value {
    let limits: serde_json::Map<String, Value> =
        LIMIT_NAMES.iter().zip(device.limits.values()).map(|(name, value)| (name.to_string(), value.into())).collect();
    json!({
        "name": device.name, "vendor": device.vendor, "architecture": device.architecture, "limits": limits,
    })
}

fn candidate_json(kernel: &Kernel, candidate: &Candidate, basis: TimeBasis) -> Value {
    let value = |(parameter, choice): (&Parameter, &Choice)| (parameter.name.clone(), parameter.json(*choice as usize));
    let values: serde_json::Map<String, Value> = kernel.parameters.iter().zip(&candidate.config.0).map(value).collect();
    json!({
        "config": kernel.show_config(&candidate.config), "values": values, "probability": candidate.probability,
        "predicted_us": candidate.time_us, "time_basis": basis.word(),
    })
}

/// The number, or the most that it can be.
fn bound(count: Count) -> f64 {
    match count {
        Count::Exactly(n) => n as f64,
        Count::About(n) | Count::AtMost(n) => n,
    }
}

/// The problem of typed fields; what is wrong names its field.
fn problem(kernel: &Kernel, typed: &BTreeMap<String, String>) -> std::result::Result<Problem, Refused> {
    if let Some(name) = typed.keys().find(|name| kernel.fields.iter().all(|field| field.name != **name)) {
        return Err(Error::Problem(format!("kernel {} has no field `{}`", kernel.name, quote(name))).into());
    }
    let value = |field: &Field| {
        let text = typed.get(&field.name).map_or("", |text| text.trim());
        let text = if text.is_empty() { field.default.as_deref().unwrap_or_default() } else { text };
        field.value(text).map_err(|e| Refused { sentence: e.to_string(), field: Some(field.name.clone()) })
    };
    let problem = Problem { values: kernel.fields.iter().map(value).collect::<std::result::Result<_, _>>()? };
    let env = kernel.env(&problem, None);
    match kernel.rules.iter().find(|rule| rule.expr.eval(&env) != 1.0) {
        Some(rule) => Err(Error::Problem(format!("{} takes no such problem: {rule}", kernel.name)).into()),
        None => Ok(problem),
    }
}

/// A device of typed limits.
fn own_device(typed: &BTreeMap<String, String>) -> std::result::Result<Device, Refused> {
    let mut limits = serde_json::Map::new();
    for (name, text) in typed.iter().filter(|(_, text)| !text.trim().is_empty()) {
        let number = text.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        let field = Some(name.clone());
        let Some(number) = number.filter(|_| LIMIT_NAMES.contains(&name.as_str())) else {
            let sentence = match LIMIT_NAMES.contains(&name.as_str()) {
                true => format!("limit `{name}`: `{}` is not a number of 0 or more", quote(text)),
                false => format!("no device has a limit `{}`", quote(name)),
            };
            return Err(Refused { sentence, field });
        };
        limits.insert(name.clone(), number.into());
    }
    let limits: Limits = match serde_json::from_value(limits.into()) {
        Ok(limits) => limits,
        Err(e) => return input(e.to_string()).map_err(Refused::from),
    };
    Ok(Device {
        name: OWN.into(),
        aliases: Vec::new(),
        vendor: String::new(),
        architecture: String::new(),
        driver: String::new(),
        source: String::new(),
        limits,
    })
}
