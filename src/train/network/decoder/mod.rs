//! The decoder's layers, forward and backward, without libtorch's record of what is to be differentiated: an update spends most of its time
//! here, and most of that went into passes through memory. Products of matrices are libtorch's, all else are loops of our own. A test holds
//! both directions against libtorch's.
//!
//! Letters of the shapes: B problems, M nodes of each, N = B M, S source tokens, D the model width.

pub mod attention;
pub mod choices;
mod loops;
pub(crate) mod norm;
#[cfg(test)]
mod reference;

use crate::network::decoder::attention::{Attention, Sight};
use crate::network::decoder::norm::{Gradients, Normed, empty, zeros};
use crate::network::layers::{Dropout, Linear, Norm};
use crate::network::tensors::{Weights, slice, slice_mut};
use seqtune_predict::error::Result;
use seqtune_predict::settings::Hparams;
use tch::{Kind, Tensor};

/// Self-attention, attention to the encoder's memory, feed-forward; each after a norm, and added to its input.
struct Layer {
    norms: [Norm; 3],
    qkv: Linear,
    out: Linear,
    q: Linear,
    kv: Linear,
    cross_out: Linear,
    up: Linear,
    down: Linear,
}

impl Layer {
    fn new(weights: &Weights, name: &str) -> Result<Layer> {
        let norm = |of: &str| Norm::new(weights, &format!("{name}.{of}.norm"));
        let linear = |of: &str| Linear::new(weights, &format!("{name}.{of}"));
        Ok(Layer {
            norms: [norm("attention")?, norm("cross")?, norm("feed_forward")?],
            qkv: linear("attention.qkv")?,
            out: linear("attention.out")?,
            q: linear("cross.q")?,
            kv: linear("cross.kv")?,
            cross_out: linear("cross.out")?,
            up: linear("feed_forward.up")?,
            down: linear("feed_forward.down")?,
        })
    }
}

/// Who sees whom in a batch.
pub struct Sights {
    /// By node, the nodes that it follows, and itself.
    pub path: Sight,
    /// By node, the rows of its problem's memory.
    pub memory: Sight,
}

/// What a layer's sublayers leave for their gradients.
struct Trace {
    normed: [Normed; 3],
    qkv: Tensor,
    attended: (Tensor, Vec<f32>),
    q: Tensor,
    kv: Tensor,
    crossed: (Tensor, Vec<f32>),
    /// Slope of the feed-forward layer's GELU, and its output.
    slope: Tensor,
    bent: Tensor,
    /// By sublayer, what its output (B, D) was multiplied by.
    masks: [Option<Vec<f32>>; 3],
}

/// What a pass through the decoder leaves for the way back.
pub struct Pass {
    traces: Vec<Trace>,
    last: Normed,
    /// The encoder's memory: (B S, D).
    memory: Tensor,
}

/// What the gradient of the hidden states means for everything before them.
pub struct Before {
    /// Gradient of the decoder's input: (N, D).
    pub x: Tensor,
    /// That of the encoder's memory: (B S, D).
    pub memory: Tensor,
}

/// The decoder between its embedding and its heads.
pub struct Decoder {
    layers: Vec<Layer>,
    norm: Norm,
    heads: usize,
}

impl Decoder {
    /// Builds the layers on `weights`, whose tensors they share.
    ///
    /// # Errors
    /// `Error::Input` where a weight is missing.
    pub fn new(hparams: &Hparams, weights: &Weights) -> Result<Decoder> {
        let layer = |i: usize| Layer::new(weights, &format!("decoder.{i}"));
        Ok(Decoder {
            layers: (0..hparams.decoder_layers).map(layer).collect::<Result<_>>()?,
            norm: Norm::new(weights, "decoder.norm")?,
            heads: hparams.heads,
        })
    }

    /// Hidden states (N, D) of nodes `x` (N, D), which are used up, with the encoder's memory (B S, D) of B `problems`.
    pub fn forward(
        &self,
        mut x: Tensor,
        memory: &Tensor,
        sights: &Sights,
        problems: usize,
        mut dropout: Option<&mut Dropout>,
    ) -> (Tensor, Pass) {
        let d = x.size()[1] as usize;
        let traces = self.layers.iter().map(|layer| {
            let masks: [_; 3] = std::array::from_fn(|_| dropout.as_mut().map(|dropout| dropout.mask(problems * d)));
            self.through(layer, &mut x, memory, sights, masks)
        });
        let traces = traces.collect();
        let last = Normed::new(&self.norm, &x);
        (last.y.shallow_clone(), Pass { traces, last, memory: memory.shallow_clone() })
    }

    fn through(
        &self,
        layer: &Layer,
        x: &mut Tensor,
        memory: &Tensor,
        sights: &Sights,
        masks: [Option<Vec<f32>>; 3],
    ) -> Trace {
        let d = x.size()[1] as usize;
        let own = Normed::new(&layer.norms[0], x);
        let qkv = layer.qkv.forward(&own.y);
        let attended = self.along(&qkv, &sights.path).forward(d);
        add(x, &layer.out.forward(&attended.0), masks[0].as_deref());
        let cross = Normed::new(&layer.norms[1], x);
        let (q, kv) = (layer.q.forward(&cross.y), layer.kv.forward(memory));
        let crossed = self.across(&q, &kv, &sights.memory).forward(d);
        add(x, &layer.cross_out.forward(&crossed.0), masks[1].as_deref());
        let last = Normed::new(&layer.norms[2], x);
        let mut slope = layer.up.forward(&last.y);
        let mut bent = empty(&slope.size());
        loops::gelu(slice_mut(&mut slope), slice_mut(&mut bent));
        add(x, &layer.down.forward(&bent), masks[2].as_deref());
        Trace { normed: [own, cross, last], qkv, attended, q, kv, crossed, slope, bent, masks }
    }

    fn along<'a>(&self, qkv: &'a Tensor, sight: &'a Sight) -> Attention<'a> {
        Attention { heads: self.heads, queries: qkv, keys_values: qkv, first: qkv.size()[1] as usize / 3, sight }
    }

    fn across<'a>(&self, q: &'a Tensor, kv: &'a Tensor, sight: &'a Sight) -> Attention<'a> {
        Attention { heads: self.heads, queries: q, keys_values: kv, first: 0, sight }
    }

    /// What the gradient (N, D) of the hidden states of a pass means; those of the weights are kept.
    pub(crate) fn back(&self, pass: &Pass, hidden: &Tensor, sights: &Sights, gradients: &mut Gradients) -> Before {
        let (mut x, mut memory) = (zeros(&hidden.size()), zeros(&pass.memory.size()));
        pass.last.back(&self.norm, hidden, &mut x, gradients);
        for (layer, trace) in self.layers.iter().zip(&pass.traces).rev() {
            let dy = masked(&x, trace.masks[2].as_deref());
            let dbent = gradients.linear(&layer.down, &dy, &trace.bent);
            let dup = gradients.linear(&layer.up, &(dbent * &trace.slope), &trace.normed[2].y);
            trace.normed[2].back(&layer.norms[2], &dup, &mut x, gradients);
            self.back_across(layer, trace, (pass, sights), (&mut x, &mut memory), gradients);
            self.back_along(layer, trace, sights, &mut x, gradients);
        }
        Before { x, memory }
    }

    fn back_across(
        &self,
        layer: &Layer,
        trace: &Trace,
        (pass, sights): (&Pass, &Sights),
        (x, memory): (&mut Tensor, &mut Tensor),
        gradients: &mut Gradients,
    ) {
        let dy = masked(x, trace.masks[1].as_deref());
        let dout = gradients.linear(&layer.cross_out, &dy, &trace.crossed.0);
        let mut dkv = zeros(&trace.kv.size());
        let dq = self.across(&trace.q, &trace.kv, &sights.memory).back(&dout, &trace.crossed.1, &mut dkv);
        let dx = gradients.linear(&layer.q, &dq, &trace.normed[1].y);
        *memory += gradients.linear(&layer.kv, &dkv, &pass.memory);
        trace.normed[1].back(&layer.norms[1], &dx, x, gradients);
    }

    fn back_along(&self, layer: &Layer, trace: &Trace, sights: &Sights, x: &mut Tensor, gradients: &mut Gradients) {
        let dy = masked(x, trace.masks[0].as_deref());
        let dout = gradients.linear(&layer.out, &dy, &trace.attended.0);
        let mut dqkv = zeros(&trace.qkv.size());
        let dq = self.along(&trace.qkv, &sights.path).back(&dout, &trace.attended.1, &mut dqkv);
        dqkv.narrow(1, 0, dq.size()[1]).copy_(&dq);
        let dx = gradients.linear(&layer.qkv, &dqkv, &trace.normed[0].y);
        trace.normed[0].back(&layer.norms[0], &dx, x, gradients);
    }
}

/// Adds a sublayer's output `y` (N, D), all nodes of a problem times its row of the mask.
fn add(x: &mut Tensor, y: &Tensor, mask: Option<&[f32]>) {
    let Some(mask) = mask else {
        *x += y;
        return;
    };
    let d = x.size()[1] as usize;
    let (x, y) = (slice_mut(x), slice(y));
    let of_problem = x.len() / (mask.len() / d);
    for ((x, y), mask) in x.chunks_exact_mut(of_problem).zip(y.chunks_exact(of_problem)).zip(mask.chunks_exact(d)) {
        loops::add_masked(x, y, mask);
    }
}

/// The gradient of a sublayer's output from that of the sum.
fn masked(x: &Tensor, mask: Option<&[f32]>) -> Tensor {
    let Some(mask) = mask else { return x.shallow_clone() };
    let (n, d) = (x.size()[0], x.size()[1]);
    let of_problem = n / (mask.len() as i64 / d);
    (x.view([-1, of_problem, d]) * Tensor::from_slice(mask).view([-1, 1, d])).view([n, d]).to_kind(Kind::Float)
}
