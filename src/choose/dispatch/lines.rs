//! A tree that is made of the intervals of lines: it finds the line by the fields that stay, then the interval.

use crate::breakpoints::Breakpoints;
use crate::dispatch::tree::{Node, PER_LEAF, Tree, cut_between};
use crate::dispatch::{Dispatch, LAST_RESORT, Loss};
use crate::losses::speed_lost;
use crate::points::Points;
use seqtune_kernel::error::{Result, input};
use seqtune_predict::{Config, Device, Kernel};

impl Dispatch {
    /// Choices by the intervals of lines along one field. A problem of no line takes the one that is nearest in the order of fields.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where there is no line, or where they vary different fields.
    pub fn from_lines(
        kernel: &Kernel,
        device: &Device,
        points: &dyn Points,
        lines: &[Breakpoints],
    ) -> Result<Dispatch> {
        let [first, rest @ ..] = lines else { return input("there is no line to write") };
        if rest.iter().any(|line| line.line.field != first.line.field) {
            return input("all lines vary the same field");
        }
        let mut growth = Growth { lines, configs: Vec::new(), nodes: Vec::new() };
        growth.branch(&(0..lines.len()).collect::<Vec<_>>());
        let Growth { mut configs, nodes, .. } = growth;
        let default = place(&mut configs, &kernel.default_config());
        let others = (0..configs.len()).filter(|at| *at != default).take(LAST_RESORT);
        let last_resort: Vec<usize> = std::iter::once(default).chain(others).collect();
        let mut dispatch = Dispatch {
            kernel: kernel.clone(),
            device: device.clone(),
            source: points.identity(),
            grounds: points.grounds(),
            basis: basis(kernel, lines),
            is_by_lines: true,
            configs,
            table: Vec::new(),
            tree: Tree(nodes),
            last_resort,
            loss: Loss::default(),
        };
        dispatch.tidy();
        Ok(dispatch)
    }
}

/// What lines were asked, and what their intervals lose.
fn basis(kernel: &Kernel, lines: &[Breakpoints]) -> Vec<String> {
    let first = &lines[0];
    let intervals: usize = lines.iter().map(|line| line.intervals.len()).sum();
    let sizes: usize = lines.iter().map(|line| line.line.sizes.len()).sum();
    let worst = lines.iter().flat_map(|line| &line.intervals).map(|one| one.worst).fold(0.0, f64::max);
    let field = &kernel.fields[first.line.field].name;
    let range = &first.line.range;
    vec![
        format!(
            "{} of {field} from {} to {} in {}: none of {sizes} sizes that were asked loses more than {:.2} % of the speed that the model predicts for its own first choice.",
            seqtune_kernel::count_noun(intervals, "interval"),
            range.least,
            range.greatest,
            seqtune_kernel::count_noun(lines.len(), "line"),
            100.0 * speed_lost(worst)
        ),
        "How good the model is stands with the model.".into(),
    ]
}

fn place(configs: &mut Vec<Config>, config: &Config) -> usize {
    configs.iter().position(|known| known == config).unwrap_or_else(|| {
        configs.push(config.clone());
        configs.len() - 1
    })
}

struct Growth<'l> {
    lines: &'l [Breakpoints],
    configs: Vec<Config>,
    nodes: Vec<Node>,
}

impl Growth<'_> {
    /// Adds the nodes of some lines, and returns the first one's place.
    fn branch(&mut self, members: &[usize]) -> usize {
        let lines = self.lines;
        let varied = lines[members[0]].line.field;
        let value = |line: &usize, field: usize| lines[*line].line.problems[0].values[field];
        let fields = 0..lines[0].line.problems[0].values.len();
        let differs = |field: &usize| members.iter().any(|line| value(line, *field) != value(&members[0], *field));
        let Some(field) = fields.into_iter().find(|field| *field != varied && differs(field)) else {
            return self.chain(members[0]);
        };
        let mut values: Vec<f64> = members.iter().map(|line| value(line, field)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let middle = values.len() / 2;
        let threshold = cut_between(values[middle - 1], values[middle]);
        let (low, high): (Vec<usize>, Vec<usize>) = members.iter().partition(|line| value(line, field) <= threshold);
        let at = self.nodes.len();
        self.nodes.push(Node::Leaf(Vec::new()));
        let to = [self.branch(&low), self.branch(&high)];
        self.nodes[at] = Node::Split { quantity: field, threshold, to };
        at
    }

    /// Adds the intervals of one line, the smallest sizes first.
    fn chain(&mut self, line: usize) -> usize {
        let own = &self.lines[line];
        let first = self.nodes.len();
        for (at, interval) in own.intervals.iter().enumerate() {
            // where the interval's own is illegal at a size that was not asked, a neighbour's may be legal
            let neighbours = [Some(at), at.checked_add(1), at.checked_sub(1)];
            let mut configs: Vec<usize> = Vec::new();
            for neighbour in neighbours.into_iter().flatten().filter_map(|at| own.intervals.get(at)) {
                let at = place(&mut self.configs, own.config(neighbour.config));
                if !configs.contains(&at) && configs.len() < PER_LEAF {
                    configs.push(at);
                }
            }
            if at + 1 < own.intervals.len() {
                let node = self.nodes.len();
                let threshold = interval.greatest as f64;
                self.nodes.push(Node::Split { quantity: own.line.field, threshold, to: [node + 1, node + 2] });
            }
            self.nodes.push(Node::Leaf(configs));
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use crate::breakpoints::{Breakpoints, Line};
    use crate::dispatch::{Dispatch, Source};
    use crate::losses::LossOptions;
    use crate::points::{Given, Point, Points};
    use crate::ranges::Range;
    use seqtune_kernel::{Choice, ConfigSpace};
    use seqtune_predict::{Config, Device, Kernel, Objective, Problem};

    /// The first choice changes at 100, later for larger K.
    fn points(kernel: &Kernel) -> impl Points + use<> {
        let kernel = kernel.clone();
        Given::new("made up", move |problem: &Problem| {
            let [m, k] = [problem.values[0], problem.values[1]];
            let best = if m <= 100.0 + k { 0 } else { 1 };
            let point = |choice: Choice| Point { config: Config(vec![choice]), time_us: Some(1.0), joules: None };
            debug_assert_eq!(kernel.parameters.len(), 1);
            vec![point(best), point(1 - best)]
        })
    }

    #[test]
    fn a_dispatch_of_lines_answers_as_the_intervals_of_the_nearest_line_do() {
        let text = r#"
name = "lines"
meaning = "two fields"
field = [
    { name = "M", kind = "size", min = 1, max = 4096, shape = true, meaning = "m" },
    { name = "K", kind = "size", min = 1, max = 4096, shape = true, meaning = "k" },
]
parameter = [{ name = "V", values = [1, 2], default = 1, meaning = "a" }]
work = { flops = "1", bytes = "1" }
"#;
        let kernel = Kernel::from_files([("kernel.toml".to_string(), text.to_string())].into(), "kernel.toml").unwrap();
        let device = Device::find_described("A100").unwrap();
        let points = points(&kernel);
        let line = |k: u32| {
            let range = Range { field: "M".into(), least: 1, greatest: 4096 };
            let problem = kernel.problem(&format!("M=1,K={k}")).unwrap();
            let line = Line::new(&kernel, &device, &problem, &range, 5000).unwrap();
            Breakpoints::find(&kernel, &points, line, 0.0, &LossOptions::default()).unwrap()
        };
        let lines = [line(10), line(1000), line(50)];
        assert_eq!(lines.iter().map(|line| line.intervals.len()).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(lines[1].intervals[0].greatest, 1100);
        let dispatch = Dispatch::from_lines(&kernel, &device, &points, &lines).unwrap();
        for (k, m, nearest) in
            [(10, 110, 10), (10, 111, 10), (1000, 1100, 1000), (1000, 1101, 1000), (900, 1100, 1000), (2, 111, 10)]
        {
            let problem = kernel.problem(&format!("M={m},K={k}")).unwrap();
            let on_line = kernel.problem(&format!("M={m},K={nearest}")).unwrap();
            let expected = points.best(&on_line, Objective::Time, 1).unwrap().remove(0).config;
            let found = dispatch.choose(&problem).unwrap();
            assert!(ConfigSpace::new(&kernel, &problem, &device).is_legal(&found.config));
            assert_eq!((found.config, found.source), (expected, Source::Tree), "M={m}, K={k}");
        }
        assert_eq!(dispatch.sizes().configs, 2);
        let text = dispatch.text();
        assert!(text.contains("if (quantities[0] <= 1100.0) return tree["), "{text}");
    }
}
