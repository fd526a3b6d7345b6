//! The decoder's layers, forward and backward, without libtorch's record of what is to be differentiated: an update spends most of its time
//! here, and most of that went into passes through memory. Products of matrices are libtorch's, all else are loops of our own. A test holds
//! both directions against libtorch's.
//!
//! Nodes are decoded in parts that stay in the processor's cache. Letters of the shapes: B problems, N nodes of all, S source tokens, D the model
//! width.

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
use seqtune_kernel::error::Result;
use seqtune_predict::Hparams;
use tch::Tensor;

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

/// Problems that are decoded together, and who sees whom among their nodes.
#[derive(Default)]
pub struct DecoderPart {
    /// By problem, its nodes.
    pub nodes: Vec<usize>,
    /// By node, the nodes that it follows, and itself, counted within the part.
    pub path: Sight,
    /// By node, the rows of its problem's memory, counted within the part.
    pub memory: Sight,
}

impl DecoderPart {
    /// Nodes of a part, unless one problem has more: their numbers take a good half of a second-level cache.
    pub const NODES: usize = 800;

    fn all(&self) -> usize {
        self.nodes.iter().sum()
    }
}

/// By part: where its nodes begin and how many there are, likewise its rows of the memory.
fn places(parts: &[DecoderPart], sources: i64) -> impl Iterator<Item = ([i64; 2], [i64; 2])> {
    parts.iter().scan((0, 0), move |(node, row), part| {
        let (nodes, rows) = (part.all() as i64, part.nodes.len() as i64 * sources);
        Some(([std::mem::replace(node, *node + nodes), nodes], [std::mem::replace(row, *row + rows), rows]))
    })
}

fn within(x: &Tensor, [first, count]: [i64; 2]) -> Tensor {
    x.narrow(0, first, count)
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
    masks: Masks,
}

/// By sublayer, factors of its outputs (B, D).
type Masks = [Option<Vec<f32>>; 3];

/// What a part's pass through the decoder leaves for the way back.
pub struct Pass {
    traces: Vec<Trace>,
    last: Normed,
    /// The encoder's memory: (B S, D).
    memory: Tensor,
}

/// Hidden states, with what is kept for the way back.
pub struct HiddenStates {
    /// The states: (N, D).
    pub states: Tensor,
    /// By part, its pass.
    pub passes: Vec<Pass>,
}

/// A layer with what it left of a part.
#[derive(Clone, Copy)]
struct LayerPass<'a> {
    layer: &'a Layer,
    trace: &'a Trace,
    part: &'a DecoderPart,
}

/// What the gradient of the hidden states means for everything before them.
pub struct Before {
    /// Gradient of the decoder's input: (N, D).
    pub x: Tensor,
    /// That of the encoder's memory: (B S, D).
    pub memory: Tensor,
    /// Those of weights, each beside its weight.
    pub weights: Vec<(Tensor, Tensor)>,
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

    /// Hidden states (N, D) of nodes `x` (N, D), which are used up, with the encoder's memory (B S, D) of S `sources`.
    pub fn forward(
        &self,
        x: Tensor,
        memory: &Tensor,
        sources: i64,
        parts: &[DecoderPart],
        mut dropout: Option<&mut Dropout>,
    ) -> HiddenStates {
        let d = x.size()[1] as usize;
        let hidden = empty(&x.size());
        let passes = parts.iter().zip(places(parts, sources)).map(|(part, (nodes, rows))| {
            let (mut x, memory) = (within(&x, nodes), within(memory, rows));
            let traces = self.layers.iter().map(|layer| {
                let mut mask = |_| dropout.as_mut().map(|dropout| dropout.mask(part.nodes.len() * d));
                self.through(layer, &mut x, &memory, part, std::array::from_fn(&mut mask))
            });
            let traces = traces.collect();
            let last = Normed::new(&self.norm, &x);
            within(&hidden, nodes).copy_(&last.y);
            Pass { traces, last, memory }
        });
        let passes = passes.collect();
        HiddenStates { states: hidden, passes }
    }

    fn through(&self, layer: &Layer, x: &mut Tensor, memory: &Tensor, part: &DecoderPart, masks: Masks) -> Trace {
        let d = x.size()[1] as usize;
        let own = Normed::new(&layer.norms[0], x);
        let qkv = layer.qkv.forward(&own.y);
        let attended = self.along(&qkv, &part.path).forward(d);
        add(x, &layer.out, &attended.0, part, masks[0].as_deref());
        let cross = Normed::new(&layer.norms[1], x);
        let (q, kv) = (layer.q.forward(&cross.y), layer.kv.forward(memory));
        let crossed = self.across(&q, &kv, &part.memory).forward(d);
        add(x, &layer.cross_out, &crossed.0, part, masks[1].as_deref());
        let last = Normed::new(&layer.norms[2], x);
        let mut slope = last.y.mm(&layer.up.weight.tr());
        let mut bent = empty(&slope.size());
        loops::gelu(slice_mut(&mut slope), slice(&layer.up.bias), slice_mut(&mut bent));
        add(x, &layer.down, &bent, part, masks[2].as_deref());
        Trace { normed: [own, cross, last], qkv, attended, q, kv, crossed, slope, bent, masks }
    }

    fn along<'a>(&self, qkv: &'a Tensor, sight: &'a Sight) -> Attention<'a> {
        Attention { heads: self.heads, queries: qkv, keys_values: qkv, first: qkv.size()[1] as usize / 3, sight }
    }

    fn across<'a>(&self, q: &'a Tensor, kv: &'a Tensor, sight: &'a Sight) -> Attention<'a> {
        Attention { heads: self.heads, queries: q, keys_values: kv, first: 0, sight }
    }

    /// What the gradient (N, D) of the hidden states of passes means.
    pub fn back(&self, passes: &[Pass], hidden: &Tensor, sources: i64, parts: &[DecoderPart]) -> Before {
        let mut gradients = Gradients::default();
        let rows: i64 = parts.iter().map(|part| part.nodes.len() as i64).sum();
        let (x, memory) = (zeros(&hidden.size()), zeros(&[rows * sources, hidden.size()[1]]));
        for ((pass, part), (nodes, rows)) in passes.iter().zip(parts).zip(places(parts, sources)) {
            gradients.begin();
            let (mut x, mut memory) = (within(&x, nodes), within(&memory, rows));
            pass.last.back(&self.norm, &within(hidden, nodes), &mut x, &mut gradients);
            for (layer, trace) in self.layers.iter().zip(&pass.traces).rev() {
                let own = LayerPass { layer, trace, part };
                self.back_through(own, &mut x, &mut gradients);
                memory += self.back_across(own, &pass.memory, &mut x, &mut gradients);
                self.back_along(own, &mut x, &mut gradients);
            }
        }
        Before { x, memory, weights: gradients.kept }
    }

    fn back_through(&self, own: LayerPass, x: &mut Tensor, gradients: &mut Gradients) {
        let LayerPass { layer, trace, part } = own;
        let dy = mask_gradient(x, part, trace.masks[2].as_deref());
        let dbent = gradients.linear(&layer.down, &dy, &trace.bent);
        let dup = gradients.linear(&layer.up, &(dbent * &trace.slope), &trace.normed[2].y);
        trace.normed[2].back(&layer.norms[2], &dup, x, gradients);
    }

    /// Returns the gradient of the `memory`.
    fn back_across(&self, own: LayerPass, memory: &Tensor, x: &mut Tensor, gradients: &mut Gradients) -> Tensor {
        let LayerPass { layer, trace, part } = own;
        let dy = mask_gradient(x, part, trace.masks[1].as_deref());
        let dout = gradients.linear(&layer.cross_out, &dy, &trace.crossed.0);
        let mut dkv = zeros(&trace.kv.size());
        let dq = self.across(&trace.q, &trace.kv, &part.memory).back(&dout, &trace.crossed.1, &mut dkv);
        let dx = gradients.linear(&layer.q, &dq, &trace.normed[1].y);
        let of_memory = gradients.linear(&layer.kv, &dkv, memory);
        trace.normed[1].back(&layer.norms[1], &dx, x, gradients);
        of_memory
    }

    fn back_along(&self, own: LayerPass, x: &mut Tensor, gradients: &mut Gradients) {
        let LayerPass { layer, trace, part } = own;
        let dy = mask_gradient(x, part, trace.masks[0].as_deref());
        let dout = gradients.linear(&layer.out, &dy, &trace.attended.0);
        let mut dqkv = zeros(&trace.qkv.size());
        let dq = self.along(&trace.qkv, &part.path).back(&dout, &trace.attended.1, &mut dqkv);
        dqkv.narrow(1, 0, dq.size()[1]).copy_(&dq);
        let dx = gradients.linear(&layer.qkv, &dqkv, &trace.normed[0].y);
        trace.normed[0].back(&layer.norms[0], &dx, x, gradients);
    }
}

/// Adds a sublayer's output, the projection of `between`, to `x` (N, D), all nodes of a problem times its row of the mask.
fn add(x: &mut Tensor, last: &Linear, between: &Tensor, part: &DecoderPart, mask: Option<&[f32]>) {
    // the bias is added in the same pass: libtorch would first fill the product with it
    let y = between.mm(&last.weight.tr());
    add_masked(slice_mut(x), slice(&y), slice(&last.bias), part, mask);
}

/// Adds `y` (N, D) plus `bias` (D) to `x`, all nodes of a problem times its row of the mask.
fn add_masked(mut x: &mut [f32], mut y: &[f32], bias: &[f32], part: &DecoderPart, mask: Option<&[f32]>) {
    let d = bias.len();
    let Some(mask) = mask else { return loops::add_masked(x, y, bias, &vec![1.0; d]) };
    for (nodes, mask) in part.nodes.iter().zip(mask.chunks_exact(d)) {
        let (own, others) = x.split_at_mut(nodes * d);
        loops::add_masked(own, &y[..nodes * d], bias, mask);
        (x, y) = (others, &y[nodes * d..]);
    }
}

/// The gradient of a sublayer's output from that of the sum.
fn mask_gradient(x: &Tensor, part: &DecoderPart, mask: Option<&[f32]>) -> Tensor {
    if mask.is_none() {
        return x.shallow_clone();
    }
    let mut y = zeros(&x.size());
    add_masked(slice_mut(&mut y), slice(x), &vec![0.0; x.size()[1] as usize], part, mask);
    y
}
