//! KernelTuningNet ("KTN"), MIOpen's own predictor of the parameters of a few solvers, run from the files that it ships: greedy, a token at
//! a time, each the most probable that some instance which is legal for the problem has.

pub mod network;

use crate::ktn::network::{Decoder, Encoder};
use seqtune_data::formats::opened::contents;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::{Choice, Config, ConfigSpace, Device, Kernel, Problem};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// What the networks of one solver are, and how its configs are spelt for them.
struct Spelling {
    solver: &'static str,
    /// Behind the architecture in the names of files.
    file: &'static str,
    /// First number of the input, where the networks serve two directions.
    direction: Option<f32>,
    /// Name of the number of tokens, where it is not a family's.
    count: Option<&'static str>,
    /// Fields of an instance's name that are no tokens.
    without: &'static [usize],
}

const SPELLINGS: [Spelling; 3] = [
    Spelling {
        solver: "ConvHipImplicitGemmGroupFwdXdlops",
        file: "ConvHipIgemmGroupFwdXdlops",
        direction: None,
        count: None,
        without: &[],
    },
    Spelling {
        solver: "ConvHipImplicitGemmGroupBwdXdlops",
        file: "ConvHipIgemmGroupXdlops",
        direction: Some(0.0),
        count: Some("bwd"),
        without: &[],
    },
    Spelling {
        solver: "ConvHipImplicitGemmGroupWrwXdlops",
        file: "ConvHipIgemmGroupWrwXdlops",
        direction: None,
        count: None,
        without: &[12, 13],
    },
];

/// The networks of one solver.
pub struct Ktn {
    encoder: Encoder,
    decoder: Decoder,
    /// By number.
    tokens: Vec<String>,
    /// Tokens of a config, by family or direction.
    counts: HashMap<String, usize>,
    spelling: &'static Spelling,
    /// Parameter whose value is the last token.
    suffix: Option<usize>,
}

/// An instance as tokens, with what it is.
struct Spelt<'a> {
    tokens: Vec<String>,
    name: &'a str,
    last: Option<Choice>,
}

impl Ktn {
    /// The networks of a kernel for an architecture such as `gfx942`, from a folder of `*.ktn.model` files, which may be compressed (`.bz2`);
    /// `None` where there are none.
    ///
    /// # Errors
    /// `Error::Input` where a file is damaged, or its network does not give what its test wants.
    pub fn open(folder: &Path, kernel: &Kernel, architecture: &str) -> Result<Option<Ktn>> {
        let Some(spelling) = SPELLINGS.iter().find(|s| s.solver == kernel.name) else { return Ok(None) };
        let read = |part: &str| -> Result<Option<String>> {
            let plain = folder.join(format!("{architecture}_{}_{part}.ktn.model", spelling.file));
            let packed = plain.with_extension("model.bz2");
            let Some(path) = [plain, packed].into_iter().find(|path| path.is_file()) else { return Ok(None) };
            let text = String::from_utf8(contents(&path)?);
            text.map(Some).map_err(|_| Error::Input(format!("{}: is no text", path.display())))
        };
        let (Some(encoder), Some(decoder), Some(metadata)) = (read("encoder")?, read("decoder")?, read("metadata")?)
        else {
            return Ok(None);
        };
        let at = |e: Error| e.at_place(format!("{architecture}_{}", spelling.file));
        let metadata: Value =
            serde_json::from_str(&metadata).map_err(|e| Error::Input(format!("its metadata: {e}"))).map_err(at)?;
        let tokens = (0..).map_while(|n: usize| metadata["decodings"]["tunings"][n.to_string()].as_str());
        let counts = metadata["num_tuning_params"].as_object().into_iter().flatten();
        let suffix = kernel.database.suffix.as_ref();
        Ok(Some(Ktn {
            encoder: Encoder::read(&encoder).map_err(at)?,
            decoder: Decoder::read(&decoder).map_err(at)?,
            tokens: tokens.map(String::from).collect(),
            counts: counts.map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0) as usize)).collect(),
            spelling,
            suffix: suffix.and_then(|name| kernel.parameters.iter().position(|p| p.name == *name)),
        }))
    }

    /// Whether it serves a problem's data type.
    pub fn serves(&self, kernel: &Kernel, problem: &Problem) -> bool {
        self.numbers(kernel, problem).is_some()
    }

    /// Its config for a problem; `None` where it serves the data type not, or no instance.
    ///
    /// # Errors
    /// `Error::Input` where encoder and decoder do not fit each other.
    pub fn choose(&self, kernel: &Kernel, problem: &Problem, device: &Device) -> Result<Option<Config>> {
        let Some(numbers) = self.numbers(kernel, problem) else { return Ok(None) };
        let space = ConfigSpace::new(kernel, problem, device);
        let mut left = self.spelt(kernel, &space);
        let mut matrix = vec![0.0; numbers.len() * numbers.len()];
        numbers.iter().enumerate().for_each(|(i, x)| matrix[i * (numbers.len() + 1)] = *x);
        let mut states = self.encoder.states(&matrix);
        let (mut token, mut at) = (0, 0);
        while left.iter().any(|spelt| spelt.tokens.len() > at) {
            let scores = self.decoder.step(token, &mut states)?;
            let is_left =
                |n: &usize| self.tokens.get(*n).is_some_and(|t| left.iter().any(|s| s.tokens.get(at) == Some(t)));
            let best = (0..scores.len()).filter(is_left).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
            let Some(best) = best else { break };
            left.retain(|spelt| spelt.tokens.get(at) == Some(&self.tokens[best]));
            (token, at) = (best, at + 1);
        }
        Ok(left.first().and_then(|spelt| self.config(kernel, spelt)))
    }

    /// What the encoder sees of a problem: sizes of the convolution itself, whatever the direction.
    fn numbers(&self, kernel: &Kernel, problem: &Problem) -> Option<Vec<f32>> {
        let value = |name: &str| Some(problem.values[kernel.fields.iter().position(|f| f.name == name)?]);
        let label = |name: &str| {
            let at = kernel.fields.iter().position(|f| f.name == name)?;
            kernel.fields[at].labels.get(problem.values[at] as usize).cloned()
        };
        let element = match label("dtype")?.as_str() {
            "FP32" => 2.0,
            "FP16" => 1.0,
            _ => return None,
        };
        let [n, c, h, w, k, r, s] = ["N", "C", "H", "W", "K", "R", "S"].map(value);
        let [pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w] =
            ["pad_h", "pad_w", "stride_h", "stride_w", "dilation_h", "dilation_w"].map(value);
        let forward = label("direction")? == "F";
        let other = |x: f64, taps: f64, pad: f64, stride: f64, dilation: f64| match forward {
            true => ((x + 2.0 * pad - dilation * (taps - 1.0) - 1.0) / stride).floor() + 1.0,
            false => (x - 1.0) * stride - 2.0 * pad + dilation * (taps - 1.0) + 1.0,
        };
        let other_h = other(h?, r?, pad_h?, stride_h?, dilation_h?);
        let other_w = other(w?, s?, pad_w?, stride_w?, dilation_w?);
        let [inside, outside] = [[c?, h?, w?], [k?, other_h, other_w]];
        let [image, result] = if forward { [inside, outside] } else { [outside, inside] };
        let filter = [r?, s?, pad_h?, pad_w?, stride_h?, stride_w?, dilation_h?, dilation_w?];
        let last = [n?, element, value("groups")?];
        let direction = self.spelling.direction.map(f64::from);
        let all = direction.into_iter().chain(image).chain(result).chain(filter).chain(last);
        Some(all.map(|x| x as f32).collect())
    }

    /// The instances that are legal in a space, as tokens.
    fn spelt<'k>(&self, kernel: &'k Kernel, space: &'k ConfigSpace) -> Vec<Spelt<'k>> {
        let mut all = Vec::new();
        for name in space.instances() {
            let Some((family, rest)) = name.split_once('<') else { continue };
            let fields = rest.trim_end_matches('>').split(", ").enumerate();
            let fields =
                fields.filter(|(at, _)| !self.spelling.without.contains(at)).map(|(_, f)| f.replace(": ", ":"));
            let family_token = self.spelling.count.is_none().then(|| family.to_string());
            let Some(count) = self.counts.get(self.spelling.count.unwrap_or(family)) else { continue };
            let count = count.saturating_sub(self.suffix.is_some() as usize);
            let tokens: Vec<String> = family_token.into_iter().chain(fields).take(count).collect();
            let Some(suffix) = self.suffix else {
                all.push(Spelt { tokens, name, last: None });
                continue;
            };
            for (choice, value) in kernel.parameters[suffix].values.iter().enumerate() {
                let tokens = tokens.iter().cloned().chain([value.to_string()]).collect();
                all.push(Spelt { tokens, name, last: Some(choice as Choice) });
            }
        }
        all
    }

    fn config(&self, kernel: &Kernel, spelt: &Spelt) -> Option<Config> {
        let mut choices = vec![0; kernel.parameters.len()];
        kernel.instances.as_ref()?.choices_of(spelt.name)?.for_each(|stated| choices[stated.parameter] = stated.choice);
        if let Some((suffix, last)) = self.suffix.zip(spelt.last) {
            choices[suffix] = last;
        }
        Some(Config(choices))
    }
}

/// Refuses a folder that holds no network at all.
///
/// # Errors
/// `Error::Input` where it is so.
pub fn check_folder(folder: &Path) -> Result<()> {
    let files = std::fs::read_dir(folder).map_err(seqtune_kernel::error::io(folder))?;
    match files.flatten().any(|file| file.file_name().to_string_lossy().contains(".ktn.model")) {
        true => Ok(()),
        false => input(format!("{}: holds no file *.ktn.model of KernelTuningNet", folder.display())),
    }
}
