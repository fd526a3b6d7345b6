//! `seqtune predict`

use crate::cli::measured::{measured_configs, tried_on};
use seqtune_console::answer::tell;
use seqtune_console::inputs::ModelAndProblems;
use seqtune_data::MeasuredProblem;
use seqtune_eval::baselines::Neighbours;
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::limits;
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{ConfigSpace, Device, Problem, list_names};
use seqtune_predict::confidence::HeldOutResult;
use seqtune_predict::search::WIDTH;
use seqtune_predict::{Candidate, EngineKind, Grounds, MeasuredConfig, Model, Prediction, Predictor};
use seqtune_predict::{Quality, Query, TimeBasis};
use std::path::PathBuf;

/// Predicts the legal configs that are most probably the best for each problem
#[derive(clap::Args)]
#[command(override_usage = "seqtune predict [OPTIONS] <MODEL> [KERNEL] <PROBLEM>...")]
pub struct Args {
    #[command(flatten)]
    asked: ModelAndProblems,
    /// Number of configs per problem, 1 to 10,000
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    top: usize,
    /// Fewest configs that contain the best one with this probability, 1 to 99 percent
    ///
    /// The model must be of tuned configs or of complete sweeps. At most 10,000 configs are printed.
    #[arg(long, value_name = "PERCENT", conflicts_with = "top", value_parser = seqtune_console::value_parsers::count(1..=99))]
    cover: Option<usize>,
    /// Beam width, 1 to 10,000, and at least --top
    ///
    /// Probabilities refer to all legal configs at any width. Below a width of 20, only models of tuned configs can state them. All
    /// other models are searched with at least 20.
    #[arg(long, default_value_t = WIDTH, value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    width: usize,
    /// Device to predict for: a name, `live`, an id or a .toml file
    ///
    /// A name is that of a training device of the model or of a described device. An id is for instance `opencl:0`.
    ///
    /// [default: the model's training device; of several, one that is live]
    #[arg(long)]
    device: Option<String>,
    /// Quantity to minimize
    #[arg(long, value_parser = seqtune_console::value_parsers::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Minimize energy among configs that take at most this share longer than the fastest, 0 to 99 percent
    ///
    /// The model must have learned energy.
    #[arg(long, value_name = "PERCENT", value_parser = seqtune_console::value_parsers::share(), conflicts_with_all = ["cover", "objective", "pareto", "measured"])]
    within_time: Option<f64>,
    /// Print the predicted Pareto front of time and energy instead
    ///
    /// The front runs from the fastest config to the one with the least energy. No other config is predicted to beat one of these in
    /// both.
    #[arg(long, conflicts_with_all = ["top", "cover", "objective"])]
    pareto: bool,
    /// Datasets whose nearest problems answer where the model is unsure
    ///
    /// Below an unsure answer, the best configs of the nearest problems that were measured on the same device are printed too.
    #[arg(long, value_name = "DATASETS", num_args = 1..)]
    fallback: Vec<PathBuf>,
    /// Datasets with measurements of these same problems on the same device
    ///
    /// `sweep` and `validate --record` write them. The measured configs show how far the model is off for a problem, and so correct the
    /// predicted costs of the other configs.
    #[arg(long, value_name = "DATASETS", num_args = 1.., conflicts_with_all = ["cover", "fallback"])]
    measured: Vec<PathBuf>,
    /// Threads to spread the problems over, 1 to 1,024 [default: all cores]
    #[arg(long, value_parser = seqtune_console::value_parsers::count(1..=limits::THREADS))]
    threads: Option<usize>,
    /// Form of the model to use
    #[arg(long, value_parser = seqtune_console::value_parsers::quality(), default_value_t = Quality::Auto)]
    quality: Quality,
    /// Answer by the model with this digest alone
    ///
    /// The digest is 16 hexadecimal digits, which `check` prints and each answer in JSON carries. The same file answers with the same
    /// bytes on every host.
    #[arg(long, value_name = "DIGEST")]
    expect: Option<String>,
    /// Print one JSON object per problem
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    let (named, words) = args.asked.split()?;
    let kernel = seqtune_console::inputs::kernel(&named)?;
    let model = Model::load_as(&args.asked.model, &kernel.name, args.quality)?;
    expect(&model, args.expect.as_deref())?;
    // never freed: the program ends with its answers, and freeing takes a twentieth of the time to the first of them
    let (model, predictor): (&Model, &Predictor) = {
        let predictor = Predictor::new(&kernel, &model)?;
        (Box::leak(Box::new(model)), Box::leak(Box::new(predictor)))
    };
    let problems = seqtune_console::inputs::problems(&kernel, words)?;
    let both = args.pareto || args.within_time.is_some();
    let objectives = if both { Objective::ALL.to_vec() } else { vec![args.objective] };
    objectives.into_iter().try_for_each(|objective| model.check_objective(objective))?;
    let device = seqtune_console::inputs::device_for(&model.meta, args.device.as_deref())?;
    let measured = seqtune_console::inputs::tables(&args.fallback, Some(&named))?;
    let learned = match measured.is_empty() {
        true => Vec::new(),
        false => tried_on(&device, &measured).map_err(|e| e.at_place("--fallback"))?,
    };
    if !measured.is_empty() && learned.iter().all(|tried| tried.costs(args.objective).is_empty()) {
        return input(format!("--fallback: the datasets hold no working config with what {} needs", args.objective));
    }
    let cover = args.cover.map(|percent| percent as f64 / 100.0);
    let grounds = predictor.grounds(&device);
    let on = (&device, &grounds);
    let shown = predictor.held_out_result(&device, args.objective);
    let (objective, measured) = (args.objective, !args.measured.is_empty());
    let say = Printer { predictor, on, objective, json: args.json, cover, measured, shown, digest: model.digest() };
    let threads = args.threads.unwrap_or_else(cores);
    let width = predictor.stated_width(args.width);
    let query =
        Query { objective, top: args.top, width, threads, within_time: args.within_time, ..Query::new(&device) };
    match (measured, args.pareto) {
        (true, _) => with_measured(&args, &named, &problems, &query, &say)?,
        (false, true) => say.fronts(&problems, &query, &learned)?,
        (false, false) => say.best(&problems, &query, &learned)?,
    }
    if !args.json {
        say.what_was_shown();
        warn_of_engine(&args, model);
    }
    Ok(())
}

/// Refuses a model of another digest than is wanted.
fn expect(model: &Model, wanted: Option<&str>) -> Result<()> {
    let found = model.digest();
    match wanted {
        Some(wanted) if wanted != found => {
            let wanted = quote(wanted);
            Err(Error::Mismatch(format!(
                "--expect: the model's digest is {found}, not {wanted}; name the file that it belongs to"
            )))
        }
        _ => Ok(()),
    }
}

/// Answers by what was measured of the problems; one of which nothing was measured is answered as ever.
fn with_measured(args: &Args, kernel: &str, problems: &[Problem], query: &Query, say: &Printer) -> Result<()> {
    let predictor = say.predictor;
    let tables = seqtune_console::inputs::tables(&args.measured, Some(kernel))?;
    let all = tried_on(query.device, &tables).map_err(|e| e.at_place("--measured"))?;
    let known: Vec<Vec<MeasuredConfig>> = problems.iter().map(|problem| measured_configs(&all, problem)).collect();
    if known.iter().all(Vec::is_empty) {
        return input("--measured: the datasets hold no working config of these problems");
    }
    for (problem, known) in problems.iter().zip(&known) {
        let prediction = match (known.is_empty(), args.pareto) {
            (true, true) => predictor.pareto(problem, query)?,
            (true, false) => predictor.predict_one(problem, query)?,
            (false, true) => predictor.pareto_measured(problem, query, known)?,
            (false, false) => predictor.predict_measured(problem, query, known)?,
        };
        say.answer(problem, &prediction, &[])?;
    }
    Ok(())
}

/// Says which form of the model answers and what that costs, where the program chose it and it is behind.
fn warn_of_engine(args: &Args, model: &Model) {
    let chosen = model.meta.distilled.filter(|_| args.quality == Quality::Auto);
    let Some(level) = chosen.filter(|level| !level.is_on_par()) else { return };
    let is_tuned = model.meta.device_calibration.seen.is_some();
    tell(&format!(
        "seqtune: the small decoder answers, the only form of the model that is here; {}",
        level.cost(is_tuned)
    ));
}

/// The form of the model that answered, as JSON names it.
fn engine_name(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Full => "whole",
        EngineKind::Distilled => "distilled",
    }
}

/// A clause that names the fields beyond what was learned; empty where there are none.
fn clause(beyond: &[&str]) -> String {
    let fields = list_names(beyond.iter().copied(), "and");
    match beyond.len() {
        0 => String::new(),
        1 => format!(", {fields} is beyond what it learned from"),
        _ => format!(", {fields} are beyond what it learned from"),
    }
}

/// Printing of answers.
struct Printer<'a> {
    predictor: &'a Predictor,
    /// The device that is asked about, and what answers for it rest on.
    on: (&'a Device, &'a Grounds),
    objective: Objective,
    json: bool,
    /// Probability that the configs together are to hold the best.
    cover: Option<f64>,
    /// Whether some configs were measured.
    measured: bool,
    /// What was shown of the model for such questions.
    shown: Option<&'a HeldOutResult>,
    /// Digest of the model.
    digest: String,
}

impl Printer<'_> {
    /// Answers with the configs that no other beats in both time and energy.
    fn fronts(&self, problems: &[Problem], query: &Query, learned: &[&MeasuredProblem]) -> Result<()> {
        for problem in problems {
            let prediction = self.predictor.pareto(problem, query)?;
            let nearest = if prediction.unsure { self.nearest(problem, learned, 1) } else { Vec::new() };
            self.answer(problem, &prediction, &nearest)?;
        }
        Ok(())
    }

    /// Answers with the configs that are most probably the best, or as few as hold the best.
    fn best(&self, problems: &[Problem], query: &Query, learned: &[&MeasuredProblem]) -> Result<()> {
        let predictor = self.predictor;
        // in portions, so that answers flow while thousands are asked
        for portion in problems.chunks(1_920) {
            let answers = match self.cover {
                Some(share) => {
                    on_threads(portion, query.threads, |problem| predictor.credible_set(problem, query, share))?
                }
                None => predictor.predict(portion, query)?,
            };
            for (problem, prediction) in portion.iter().zip(answers) {
                let count = prediction.candidates.len();
                let nearest = if prediction.unsure { self.nearest(problem, learned, count) } else { Vec::new() };
                self.answer(problem, &prediction, &nearest)?;
            }
        }
        Ok(())
    }

    /// Says what first choices were worth on problems held out, and so what is marked. Of a device never seen the warning has said it.
    fn what_was_shown(&self) {
        let (device, grounds) = self.on;
        match self.shown {
            Some(shown) => {
                tell(&format!(
                    "predict: {}; what is less sure than nine tenths of these is marked unsure",
                    shown.text()
                ));
            }
            None if grounds.is_learned => tell(&format!(
                "predict: the model has no figures of held-out problems for {} on {}; `train` without --no-cross-validation finds them, `seqtune calibrate --held-out-results MODEL DATASETS` those of data that it did not learn from",
                self.objective, device.name
            )),
            None => {}
        }
    }

    /// The costs of a candidate, as wide as those of the others.
    fn costs(&self, candidate: &Candidate, basis: TimeBasis) -> String {
        let time = match (candidate.time_us, basis) {
            (Some(us), _) if candidate.measured => format!("measured {us:.1} us"),
            (None, _) | (_, TimeBasis::Absent) if !self.measured => return self.energy(candidate),
            (None, _) | (_, TimeBasis::Absent) => String::new(),
            (Some(us), TimeBasis::Learned) => format!("{us:.1} us"),
            (Some(us), TimeBasis::Bounded) => format!("≥{us:.1} us"),
        };
        let width = if self.measured { 22 } else { 13 };
        format!("{time:>width$}  {}", self.energy(candidate))
    }

    fn energy(&self, candidate: &Candidate) -> String {
        candidate.joules.map_or(String::new(), |joules| format!("{:>10.3} mJ  ", 1e3 * joules))
    }

    /// The best configs of the nearest measured problems that are legal for this one, as they are written.
    fn nearest(&self, problem: &Problem, learned: &[&MeasuredProblem], top: usize) -> Vec<String> {
        let kernel = self.predictor.kernel();
        let space = ConfigSpace::new(kernel, problem, self.on.0);
        let ranking = Neighbours::new(kernel, learned, self.objective).ranking(problem);
        ranking.iter().filter(|c| space.is_legal(c)).take(top).map(|c| kernel.show_config(c)).collect()
    }

    fn answer(&self, problem: &Problem, prediction: &Prediction, nearest: &[String]) -> Result<()> {
        let Prediction { candidates, unsure, engine, .. } = prediction;
        let (kernel, (device, grounds)) = (self.predictor.kernel(), self.on);
        let bases = self.predictor.time_bases(problem, device, candidates);
        let (problem, beyond) = (kernel.show_problem(problem), self.predictor.beyond(problem));
        let held: f64 = candidates.iter().filter_map(|c| c.probability).sum();
        if self.json {
            let list: Vec<_> = candidates
                .iter()
                .zip(&bases)
                .map(|(c, basis)| {
                    let mut shown = serde_json::json!({
                        "config": kernel.show_config(&c.config), "probability": c.probability,
                        "predicted_us": c.time_us, "time_basis": basis.word(), "predicted_joules": c.joules,
                    });
                    if self.measured {
                        shown["measured"] = c.measured.into();
                    }
                    shown
                })
                .collect();
            let mut answer = serde_json::json!({
                "problem": problem, "device": device.name, "device_learned": grounds.is_learned,
                "learned_on": grounds.learned_on, "predictions": list, "unsure": unsure,
                "by": engine_name(*engine), "shown": self.shown, "model": self.digest, "seqtune": env!("CARGO_PKG_VERSION"),
            });
            if !beyond.is_empty() {
                answer["beyond"] = beyond.into();
            }
            if let Some(note) = grounds.note() {
                answer["note"] = note.into();
            }
            if self.cover.is_some() {
                answer["held"] = held.into();
            }
            if !nearest.is_empty() {
                answer["nearest_measured"] = nearest.into();
            }
            return seqtune_console::answer::answer_json(&answer);
        }
        let mut notes = Vec::new();
        if *unsure {
            notes.push(format!("unsure{}: measure the first few", clause(&beyond)));
        }
        if let Some(share) = self.cover {
            let (count, only) = (candidates.len(), if held < share { "only " } else { "" });
            let configs = if count == 1 { "config holds" } else { "configs hold" };
            notes.push(format!("{count} {configs} the best with {only}{:.1} %", 100.0 * held));
        }
        let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join("; ")) };
        let unseen = if grounds.is_learned { "" } else { ", which the model never saw" };
        seqtune_console::answer::answer(&format!("{problem} on {}{unseen}{notes}", device.name));
        for (c, basis) in candidates.iter().zip(bases) {
            let (percent, config) = (100.0 * c.probability.unwrap_or(f64::NAN), kernel.show_config(&c.config));
            seqtune_console::answer::answer(&format!("  {percent:5.1} %  {}{config}", self.costs(c, basis)));
        }
        for config in nearest {
            seqtune_console::answer::answer(&format!("  nearest  {config}"));
        }
        Ok(())
    }
}
