//! What came of a match: shares of the best measured speed on unseen sizes, by seconds of tuning.

use crate::tuners::lab::ReplayEnv;
use plotters::prelude::*;
use seqtune_data::MeasuredProblem;
use seqtune_data::stats::quantile;
use seqtune_eval::pages::markdown;
use seqtune_eval::pages::plot;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Device, Kernel, Objective};
use serde::Serialize;
use std::path::Path;

/// What one rival reached with one budget and seed, as shares of the best measured speed.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// Name of the rival.
    pub rival: String,
    /// Its budget in seconds.
    pub seconds: f64,
    /// Seed of the draws and the split.
    pub seed: u64,
    /// Unseen problems.
    pub problems: usize,
    /// Mean of the first choices.
    pub first: f64,
    /// Their 10th percentile.
    pub tenth: f64,
    /// Mean of the best of the first five.
    pub of_five: f64,
    /// First choice of each unseen problem.
    pub choices: Vec<Choice>,
}

/// The config that a rival would run for a problem.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The problem as text.
    pub problem: String,
    /// The config as text.
    pub config: String,
    /// Share of the best speed of the sweep, 0 where the sweep has not measured it.
    pub share: f64,
}

impl Played {
    /// Judges rankings.
    pub fn from_answers(rival: &str, seconds: f64, seed: u64, lab: &ReplayEnv, answers: &[Vec<Config>]) -> Played {
        let unseen = &lab.unseen;
        let shares = |tried: &MeasuredProblem, ranking: &[Config]| -> Vec<f64> {
            let costs = tried.costs(Objective::Time);
            let share = |c: &Config| {
                costs.iter().find(|known| known.config == c).map_or(0.0, |known| costs[0].cost / known.cost)
            };
            ranking.iter().take(5).map(share).collect()
        };
        let all: Vec<Vec<f64>> = unseen.iter().zip(answers).map(|(tried, ranking)| shares(tried, ranking)).collect();
        let mut firsts: Vec<f64> = all.iter().map(|shares| shares.first().copied().unwrap_or(0.0)).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let bests: Vec<f64> = all.iter().map(|shares| shares.iter().copied().fold(0.0, f64::max)).collect();
        let first = mean(&firsts);
        let choice = |((tried, ranking), share): ((&&MeasuredProblem, &Vec<Config>), &f64)| Choice {
            problem: lab.kernel.show_problem(&tried.problem),
            config: ranking.first().map(|config| lab.kernel.show_config(config)).unwrap_or_default(),
            share: *share,
        };
        let choices = unseen.iter().zip(answers).zip(&firsts).map(choice).collect();
        firsts.sort_by(f64::total_cmp);
        Played {
            rival: rival.to_string(),
            seconds,
            seed,
            problems: unseen.len(),
            first,
            tenth: quantile(&firsts, 0.1),
            of_five: mean(&bests),
            choices,
        }
    }
}

/// A match.
#[derive(Clone, Debug, Serialize)]
pub struct TunersReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the device.
    pub device: String,
    /// Budgets in seconds.
    pub seconds: Vec<f64>,
    /// Every game.
    pub played: Vec<Played>,
}

/// Mean, and its standard error over seeds.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

impl TunersReport {
    /// An empty report.
    pub fn new(kernel: &Kernel, device: &Device, seconds: &[f64]) -> TunersReport {
        TunersReport {
            kernel: kernel.name.clone(),
            device: device.name.clone(),
            seconds: seconds.to_vec(),
            played: Vec::new(),
        }
    }

    /// Adds a game.
    pub fn add(&mut self, played: Played) {
        self.played.push(played);
    }

    /// Rivals in the order in which they played.
    fn rivals(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for played in &self.played {
            if !names.contains(&played.rival.as_str()) {
                names.push(&played.rival);
            }
        }
        names
    }

    fn values(&self, rival: &str, seconds: f64, value: fn(&Played) -> f64) -> Vec<f64> {
        self.played.iter().filter(|p| p.rival == rival && p.seconds == seconds).map(value).collect()
    }

    /// A Markdown table: for each budget the mean of first choices with its standard error over seeds, and of the best of five.
    pub fn table(&self) -> String {
        let budgets = self.seconds.iter().map(|s| format!("{s:.0} s"));
        let heads: Vec<String> = std::iter::once("tuned by".to_string()).chain(budgets).collect();
        let mut table = markdown::Table::new(&heads);
        for rival in self.rivals() {
            let cell = |seconds: &f64| {
                let [(first, error), (five, _)] = [|p: &Played| p.first, |p: &Played| p.of_five]
                    .map(|value| mean(&self.values(rival, *seconds, value)));
                format!("{:.1} ± {:.1} / {:.1}", 100.0 * first, 100.0 * error, 100.0 * five)
            };
            table.row(&std::iter::once(rival.to_string()).chain(self.seconds.iter().map(cell)).collect::<Vec<_>>());
        }
        let problems: Vec<f64> = self.played.iter().map(|p| p.problems as f64).collect();
        format!(
            "{} on {}: first choice ± its standard error over seeds / best of five, in percent of the best measured speed, mean of {:.0} sizes \
             that no model saw.\n\n{table}",
            self.kernel,
            self.device,
            mean(&problems).0
        )
    }

    /// Draws the first choices against the seconds as SVG.
    ///
    /// # Errors
    /// Where it cannot be drawn or written.
    pub fn draw(&self, path: &Path) -> Result<()> {
        let svg = self.svg().map_err(|e| Error::Failed(format!("drawing {}: {e}", path.display())))?;
        plot::write(path, &svg)
    }

    fn svg(&self) -> std::result::Result<String, Box<dyn std::error::Error>> {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, (960, 460)).into_drawing_area();
            root.fill(&WHITE)?;
            let title = format!("{} on {}: unseen sizes", self.kernel, self.device);
            let root = root.titled(&title, ("sans-serif", 18))?;
            let last = self.seconds[self.seconds.len() - 1];
            let (from, to) = (self.seconds[0] * 0.9, last * 1.1);
            // a list beside the lines, in the order of the table
            let (lines, list) = root.split_horizontally(500);
            let mut chart = ChartBuilder::on(&lines)
                .margin(12)
                .x_label_area_size(44)
                .y_label_area_size(60)
                .build_cartesian_2d((from..to).log_scale().with_key_points(self.seconds.clone()), 0f64..100f64)?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .light_line_style(TRANSPARENT)
                .x_desc("seconds of tuning")
                .y_desc("first choice, percent of the best")
                .x_label_formatter(&|x| format!("{x:.0}"))
                .draw()?;
            for (at, rival) in self.rivals().into_iter().enumerate() {
                let color = COLORS[at % COLORS.len()];
                let point = |s: &f64| (*s, 100.0 * mean(&self.values(rival, *s, |p| p.first)).0);
                let points: Vec<(f64, f64)> = self.seconds.iter().map(point).collect();
                chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(if at < 2 { 4 } else { 2 })))?;
                chart.draw_series(points.iter().map(|p| Circle::new(*p, 4, color.filled())))?;
                let style = ("sans-serif", 14).into_font().color(&color);
                list.draw(&Text::new(rival.to_string(), (0, 20 + 25 * at as i32), style))?;
            }
            root.present()?;
        }
        Ok(text)
    }
}

/// Colours that colour-blind readers tell apart (Okabe and Ito 2008; Tol's muted scheme), and greys.
const COLORS: [RGBColor; 13] = [
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(120, 90, 40),
    RGBColor(90, 90, 90),
    RGBColor(150, 150, 150),
    RGBColor(190, 190, 190),
    RGBColor(17, 119, 51),
    RGBColor(136, 34, 85),
    RGBColor(153, 153, 51),
];
