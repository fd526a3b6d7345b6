//! Share of the best speed against the number of measurements: predicted against searched, by replay of held-out problems.

use crate::baselines::{Neighbours, expected_of_random};
use crate::measures::replay::{ReplayOptions, Tests, held_out};
use crate::pages::markdown;
use crate::pages::plot;
use seqtune_data::MeasuredProblem;
use seqtune_kernel::error::Result;
use seqtune_kernel::spelling::markup;
use seqtune_kernel::{Config, Kernel, Objective};
use seqtune_predict::{Model, Predictor, Query};
use serde::Serialize;
use std::path::Path;

/// Numbers of measurements per problem that are shown.
pub const COUNTS: [usize; 8] = [1, 2, 3, 5, 10, 20, 50, 100];

/// One method: its name, and for each of [`COUNTS`] the mean share of the best measured speed that the best of so many first configs reaches.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Name of the method.
    pub method: &'static str,
    /// Shares in [0, 1].
    pub shares: Vec<f64>,
}

/// What is plotted.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// The kernel's name.
    pub kernel: String,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Held-out problems that the means are over.
    pub problems: usize,
    /// The model first, random order last.
    pub lines: Vec<Line>,
}

/// Replays the held-out problems of a table: what a model, its nearest measured neighbour and random order find.
///
/// # Errors
/// Where nothing is held out, or the model does not fit the kernel.
pub fn curve(kernel: &Kernel, model: &Model, table: &seqtune_data::Table, options: ReplayOptions) -> Result<Curve> {
    let predictor = Predictor::new(kernel, model)?;
    let Tests { learned, tests } = held_out(kernel, model, table, options)?;
    let objective = options.objective;
    let mut predicted = Vec::new();
    for tried in &tests {
        let configs = tried.configs(objective);
        let (device, width) = (&table.devices[tried.device], configs.len());
        let found = predictor.predict_among(
            &tried.problem,
            &Query { objective, top: width, width, ..Query::new(device) },
            &configs,
        )?;
        predicted.push(found.candidates.into_iter().map(|candidate| candidate.config).collect::<Vec<Config>>());
    }
    let mut lines =
        vec![Line { method: "seqtune, predicted", shares: mean(&tests, objective, |at, _| predicted[at].clone()) }];
    if !learned.is_empty() {
        let neighbours = Neighbours::new(kernel, &learned, objective);
        let nearest = mean(&tests, objective, |_, tried| neighbours.ranking(&tried.problem));
        lines.push(Line { method: "nearest neighbour", shares: nearest });
    }
    lines.push(Line { method: "random search", shares: random(&tests, objective) });
    let devices = table.devices.iter().map(|d| d.name.clone()).collect();
    Ok(Curve { kernel: kernel.name.clone(), devices, problems: tests.len(), lines })
}

/// Mean over the problems of the best share among the first measured configs of a ranking, for each of [`COUNTS`].
fn mean(
    tests: &[&MeasuredProblem],
    objective: Objective,
    ranking: impl Fn(usize, &MeasuredProblem) -> Vec<Config>,
) -> Vec<f64> {
    let mut sums = vec![0.0; COUNTS.len()];
    for (at, tried) in tests.iter().enumerate() {
        let costs = tried.costs(objective);
        let share = |c: &Config| costs.iter().find(|known| known.config == c).map(|known| costs[0].cost / known.cost);
        let shares: Vec<f64> = ranking(at, tried).iter().filter_map(share).collect();
        for (sum, count) in sums.iter_mut().zip(COUNTS) {
            *sum += shares.iter().take(count).copied().fold(0.0, f64::max);
        }
    }
    sums.into_iter().map(|sum| sum / tests.len() as f64).collect()
}

/// The expectation of measuring in random order.
fn random(tests: &[&MeasuredProblem], objective: Objective) -> Vec<f64> {
    let of = |count: usize| {
        let expected = tests.iter().map(|tried| {
            let costs = tried.costs(objective);
            let shares: Vec<f64> = costs.iter().map(|known| costs[0].cost / known.cost).collect();
            expected_of_random(&shares, count)
        });
        expected.sum::<f64>() / tests.len() as f64
    };
    COUNTS.into_iter().map(of).collect()
}

impl Curve {
    /// A Markdown table, a line per method.
    pub fn table(&self) -> String {
        let with = |first: &str, cells: Vec<String>| [vec![first.to_string()], cells].concat();
        let mut table = markdown::Table::new(&with("method", COUNTS.iter().map(usize::to_string).collect()));
        for Line { method, shares } in &self.lines {
            table.row(&with(method, shares.iter().map(|share| format!("{:.1}", 100.0 * share)).collect()));
        }
        format!(
            "Share of the best measured speed in percent after so many measurements per problem, mean of {} problems:\n\n{table}",
            self.problems
        )
    }

    /// Draws the lines as SVG.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn draw(&self, path: &Path) -> Result<()> {
        plot::write(path, &self.svg())
    }

    /// The lines as SVG.
    pub fn svg(&self) -> String {
        let lowest = self.lines.iter().flat_map(|line| &line.shares).copied().fold(1.0, f64::min);
        let floor = (10.0 * lowest).floor() / 10.0;
        let last = COUNTS[COUNTS.len() - 1] as f64;
        let x = |count: usize| LEFT + (RIGHT - LEFT) * (count as f64).ln() / last.ln();
        let y = |share: f64| BOTTOM - (BOTTOM - TOP) * (share - floor) / (1.0 - floor);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 400\" font-family=\"sans-serif\" font-size=\"14\">\n\
             <rect width=\"760\" height=\"400\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"26\" font-size=\"17\" font-weight=\"bold\">How fast after how many measurements?</text>\n\
             <text x=\"{LEFT}\" y=\"46\" fill=\"#555\">{}, {} problem sizes that the model never saw</text>\n",
            markup(&self.kernel),
            self.problems
        );
        let steps = ((1.0 - floor) * 10.0).round() as usize;
        for share in (0..=steps).map(|i| floor + i as f64 / 10.0) {
            let (at, percent) = (y(share), (100.0 * share).round());
            svg += &format!("<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\n");
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>\n",
                LEFT - 8.0,
                at + 5.0
            );
        }
        for count in COUNTS {
            let at = x(count);
            svg += &format!("<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>\n", BOTTOM + 20.0);
        }
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">measurements per problem (configs tried)</text>\n\
             <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\" fill=\"#555\">share of the best measured speed</text>\n",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 42.0,
            (TOP + BOTTOM) / 2.0
        );
        let labels = self.label_places(&y);
        for ((line, color), label) in self.lines.iter().zip(COLORS).zip(labels) {
            let points: Vec<(f64, f64)> = COUNTS.iter().zip(&line.shares).map(|(c, s)| (x(*c), y(*s))).collect();
            let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            svg += &format!(
                "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"3\" points=\"{}\"/>\n",
                path.join(" ")
            );
            for (x, y) in &points {
                svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{color}\"/>\n");
            }
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{label:.1}\" fill=\"{color}\" font-weight=\"bold\">{}: {:.0} %</text>\n",
                RIGHT + 12.0,
                markup(line.method),
                100.0 * line.shares[0]
            );
        }
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">after one:</text>\n</svg>\n",
            RIGHT + 12.0,
            TOP + 4.0
        );
        svg
    }

    /// Heights of the labels: a list beside the plot, in the order of the first points.
    fn label_places(&self, y: &impl Fn(f64) -> f64) -> Vec<f64> {
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        order.sort_by(|a, b| y(self.lines[*a].shares[0]).total_cmp(&y(self.lines[*b].shares[0])));
        let mut places = vec![0.0; self.lines.len()];
        for (place, line) in order.into_iter().enumerate() {
            places[line] = TOP + 30.0 + 26.0 * place as f64;
        }
        places
    }
}

/// Edges of the plot in the picture's units.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 530.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 340.0;

/// Colours that colour-blind readers tell apart (Okabe and Ito 2008).
const COLORS: [&str; 3] = ["#0072b2", "#d55e00", "#777777"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_holds_every_method_and_escapes_names() {
        let line = |method, first: f64| Line { method, shares: vec![first; COUNTS.len()] };
        let lines = vec![line("seqtune, predicted", 0.92), line("random search", 0.41)];
        let curve = Curve { kernel: "<b>&".into(), devices: Vec::new(), problems: 7, lines };
        let svg = curve.svg();
        assert!(svg.contains("&lt;b&gt;&amp;, 7 problem sizes") && !svg.contains("<b>"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("seqtune, predicted: 92 %") && svg.contains("random search: 41 %"));
        assert!(svg.contains(">40 %</text>") && svg.contains(">100 %</text>") && !svg.contains(">30 %</text>"));
        assert_eq!(curve.table().lines().count(), 6);
    }
}
