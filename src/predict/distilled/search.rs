//! The beam search of the small decoder: the same search as [`crate::search::beam`], with hypotheses as rows of arrays that are used again.

use crate::distilled::network::{Decided, Network};
use crate::distilled::scratch::{Beam, Extension, HypothesisSizes, Scratch, Work};
use crate::features::featurizer::{Featurizer, Instance, set};
use crate::network::simd::dot;
use seqtune_kernel::elementary::{exp, ln};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Choices, Objective};

/// What one problem is asked with.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) network: &'a Network,
    pub(crate) featurizer: &'a Featurizer,
    pub(crate) instance: &'a Instance,
}

impl Search<'_> {
    pub(crate) fn parameters(&self) -> usize {
        self.featurizer.kernel.parameters.len()
    }

    pub(crate) fn sizes(&self) -> HypothesisSizes {
        HypothesisSizes { parameters: self.parameters(), width: self.network.d }
    }

    /// Encodes the problem: its sum before any choice stands in `work.sum`.
    pub(crate) fn begin(&self, objective: Objective, work: &mut Work) {
        work.source.clear();
        let quantities = self.featurizer.quantities(self.instance, objective);
        self.featurizer.vocab.encode(&quantities, &mut work.source);
        self.network.begin(&work.source, &mut work.buffers, &mut work.sum);
        work.env.clear();
        work.env.extend_from_slice(&self.instance.env);
    }

    /// The `width` most probable configs, best first, as far as the beam sees them: in `scratch.beam`.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub(crate) fn run(&self, objective: Objective, width: usize, scratch: &mut Scratch) -> Result<()> {
        let sizes = self.sizes();
        let Scratch { work, beam, next } = scratch;
        self.begin(objective, work);
        beam.begin(sizes.parameters, &work.sum);
        self.advance(beam, 0, work)?;
        while beam.open.iter().any(|open| !open.is_empty()) {
            self.extend(beam, work);
            order(&mut work.extensions, width);
            next.clear();
            // what is forced behind a choice is spelled behind all numbers of the step
            let spelled = work.numbers.len();
            for i in 0..work.extensions.len() {
                let Extension { log, row, choice, numbers } = work.extensions[i];
                next.take(beam, row as usize, log, sizes);
                if let Some(choice) = choice {
                    self.push(next, i, choice, &work.numbers[numbers as usize..]);
                    self.advance(next, i, work)?;
                    work.numbers.truncate(spelled);
                }
            }
            std::mem::swap(beam, next);
        }
        Ok(())
    }

    /// Adds a choice to a hypothesis, with the numbers that spell what it decides; more may stand behind them.
    fn push(&self, beam: &mut Beam, row: usize, choice: Choice, numbers: &[f32]) {
        let (parameters, d) = (self.parameters(), self.network.d);
        let at = beam.lengths[row];
        let decided = Decided { columns: self.featurizer.choice_columns(at), numbers };
        self.network.grow(&mut beam.sums[row * d..][..d], at, choice, decided);
        beam.choices[row * parameters + at] = choice;
        beam.lengths[row] = at + 1;
    }

    /// Spells what a choice behind a prefix decides: in `work.numbers`, from the place that is returned on.
    pub(crate) fn spell(&self, prefix: &[Choice], choice: Choice, work: &mut Work) -> usize {
        let begin = work.numbers.len();
        set(&mut work.env, &self.featurizer.kernel, prefix);
        self.featurizer.decide(self.instance, &mut work.env, prefix.len(), choice, &mut work.numbers);
        begin
    }

    /// Adds all choices that are forced, and finds what may follow.
    fn advance(&self, beam: &mut Beam, row: usize, work: &mut Work) -> Result<()> {
        beam.open[row] = Choices::default();
        while beam.lengths[row] < self.parameters() {
            let legal = self.instance.space.completions(beam.prefix(row))?;
            match legal.only() {
                Some(forced) => {
                    let begin = self.spell(beam.prefix(row), forced, work);
                    self.push(beam, row, forced, &work.numbers[begin..]);
                }
                None => {
                    beam.open[row] = legal;
                    break;
                }
            }
        }
        Ok(())
    }

    /// All extensions of the beam, with their log-probabilities.
    fn extend(&self, beam: &Beam, work: &mut Work) {
        let d = self.network.d;
        work.states.clear();
        for row in (0..beam.lengths.len()).filter(|row| !beam.open[*row].is_empty()) {
            self.place(&beam.sums[row * d..][..d], beam.lengths[row], work);
        }
        self.network.states(&mut work.states, &mut work.buffers);
        work.extensions.clear();
        work.numbers.clear();
        let mut state = 0;
        for (row, (log, open)) in beam.log.iter().zip(&beam.open).enumerate() {
            if open.is_empty() {
                work.extensions.push(Extension { log: *log, row: row as u32, choice: None, numbers: 0 });
                continue;
            }
            let (begin, prefix) = (work.numbers.len(), beam.prefix(row));
            self.choose(state, prefix, *open, work);
            let columns = self.featurizer.choice_columns(prefix.len()).len();
            let extension = |(i, (choice, own)): (usize, (Choice, &f64))| Extension {
                log: log + own,
                row: row as u32,
                choice: Some(choice),
                numbers: (begin + i * columns) as u32,
            };
            work.extensions.extend(open.iter().zip(&work.log).enumerate().map(extension));
            state += 1;
        }
    }

    /// Log-probabilities of the `open` choices behind a prefix, by hidden state number `state` of `work.states`: in `work.log`. What each decides
    /// is added to `work.numbers`.
    pub(crate) fn choose(&self, state: usize, prefix: &[Choice], open: Choices, work: &mut Work) {
        let (at, d) = (prefix.len(), self.network.d);
        let values = self.featurizer.kernel.parameters[at].values.len();
        self.network.scores(&work.states[state * d..][..d], at, &mut work.scores);
        set(&mut work.env, &self.featurizer.kernel, prefix);
        let (scores, weights) = work.scores.split_at(values);
        work.log.clear();
        let mut highest = f32::NEG_INFINITY;
        for choice in open.iter() {
            let begin = work.numbers.len();
            self.featurizer.decide(self.instance, &mut work.env, at, choice, &mut work.numbers);
            let score = scores[choice as usize] + dot(weights, &work.numbers[begin..]);
            highest = highest.max(score);
            work.log.push(score as f64);
        }
        work.log.iter_mut().for_each(|score| *score -= highest as f64);
        let sum: f64 = work.log.iter().map(|score| exp(*score)).sum();
        let sum = ln(sum);
        work.log.iter_mut().for_each(|score| *score -= sum);
    }
}

/// The best `width` in order; ties go to the earlier hypothesis and the smaller choice.
fn order(extensions: &mut Vec<Extension>, width: usize) {
    let by =
        |a: &Extension, b: &Extension| b.log.total_cmp(&a.log).then(a.row.cmp(&b.row)).then(a.choice.cmp(&b.choice));
    if extensions.len() > width {
        extensions.select_nth_unstable_by(width, by);
        extensions.truncate(width);
    }
    extensions.sort_unstable_by(by);
}
