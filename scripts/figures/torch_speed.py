"""Updates a second of seqtune's network in eager PyTorch, for comparison with seqtune-train's.

    python3 -m venv target/torch && target/torch/bin/pip install torch==2.11.0 numpy
    target/torch/bin/python scripts/figures/torch_speed.py cargo bench -q -p seqtune-train --bench updates

The network, its losses and its update are those of src/train, written as PyTorch's own documentation would: modules, autocast
to bfloat16 or none, scaled_dot_product_attention or its formula, fused AdamW. Each of a batch's configs is a row, and
all its steps are one causal pass (teacher forcing); seqtune-train computes what rows begin with in common once. The sizes are read
from the benchmark's JSON: the shapes of all weights, and of the batches of the shipped sweep of gemm. The batches' numbers are random, and are
made before the clock starts; seqtune-train's figure includes the making of its batches. The fastest of PyTorch's ways
and seqtune-train take turns, one thread each; speeds are by the processor's time.
"""

import json
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

#: Rounds of the comparison.
ROUNDS = 5


class FeedForward(nn.Module):
    def __init__(self, d, inner):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, inner), nn.Linear(inner, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(self.norm(x))))


def attend(q, k, v, causal, fused):
    if fused:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        later = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(-1).to(v.dtype) @ v


class SelfAttention(nn.Module):
    def __init__(self, d, heads, causal, fused):
        super().__init__()
        self.heads, self.causal, self.fused = heads, causal, fused
        self.norm, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return self.out(attend(q, k, v, self.causal, self.fused).transpose(1, 2).reshape(n, t, d))


class CrossAttention(nn.Module):
    """Attention of all rows of a problem to the problem's memory, whose keys and values are projected once."""

    def __init__(self, d, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm, self.q, self.kv, self.out = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x, memory):
        (n, t, d), (b, s, _) = x.shape, memory.shape
        q = self.q(self.norm(x)).view(b, n // b * t, self.heads, d // self.heads).transpose(1, 2)
        k, v = self.kv(memory).view(b, s, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return self.out(attend(q, k, v, False, self.fused).transpose(1, 2).reshape(n, t, d))


class EncoderLayer(nn.Module):
    def __init__(self, d, inner, heads, fused):
        super().__init__()
        self.attention, self.feed_forward = SelfAttention(d, heads, False, fused), FeedForward(d, inner)

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.feed_forward(x)


class DecoderLayer(nn.Module):
    def __init__(self, d, inner, heads, fused):
        super().__init__()
        self.attention, self.cross = SelfAttention(d, heads, True, fused), CrossAttention(d, heads, fused)
        self.feed_forward = FeedForward(d, inner)

    def forward(self, x, memory):
        x = x + self.attention(x)
        x = x + self.cross(x, memory)
        return x + self.feed_forward(x)


class Reranker(nn.Module):
    """Says time, energy and rank of finished configs; in f32 always, as seqtune-train's."""

    def __init__(self, d, inner, choice, tokens):
        super().__init__()
        self.features, self.problem, self.tokens = nn.Linear(choice, d), nn.Linear(d, d), nn.Embedding(tokens, d)
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, inner), nn.Linear(inner, d)
        self.norm_out, self.out = nn.LayerNorm(d), nn.Linear(d, 3)

    def forward(self, summary, instance, tokens):
        with torch.autocast("cpu", enabled=False):
            problem = self.problem(summary.float()).repeat_interleave(len(instance) // len(summary), 0)
            x = self.features(instance) + problem + self.tokens(tokens).sum(1)
            x = x + self.down(F.relu(self.up(self.norm(x))))
            return self.out(self.norm_out(x))


class Network(nn.Module):
    def __init__(self, sizes, fused):
        super().__init__()
        d, inner, heads = sizes["width"], sizes["feed_forward"], sizes["heads"]
        tokens = sizes["tokens"]
        self.widths = sizes["source"]
        self.source = nn.ModuleList(nn.Linear(width, d) for width in self.widths)
        self.kernel = nn.Parameter(0.1 * torch.randn(d))
        self.encoder = nn.ModuleList(EncoderLayer(d, inner, heads, fused) for _ in range(sizes["encoder_layers"]))
        self.encoder_norm = nn.LayerNorm(d)
        self.tokens, self.positions = nn.Embedding(tokens + 1, d), nn.Embedding(sizes["parameters"] + 1, d)
        self.features, self.weigh = nn.Linear(sizes["step"], d), nn.Linear(d, sizes["choice"])
        self.decoder = nn.ModuleList(DecoderLayer(d, inner, heads, fused) for _ in range(sizes["decoder_layers"]))
        self.decoder_norm, self.logits = nn.LayerNorm(d), nn.Linear(d, tokens)
        self.reranker = Reranker(d, inner, sizes["choice"], tokens)

    def forward(self, batch):
        sources = [linear(part) for linear, part in zip(self.source, batch["source"].split(self.widths, 1))]
        x = torch.stack([self.kernel.expand_as(sources[0]), *sources], 1)
        for layer in self.encoder:
            x = layer(x)
        memory = self.encoder_norm(x)
        x = self.tokens(batch["before"]) + self.positions(batch["positions"]) + self.features(batch["features"]) + self.kernel
        for layer in self.decoder:
            x = layer(x, memory)
        hidden = self.decoder_norm(x)
        scores = self.logits(hidden).float()
        # what each legal choice decides, weighed by what the hidden state makes of it
        query = self.weigh(hidden).float().gather(2, batch["columns"])
        weights = (batch["encodings"] * query.unsqueeze(2)).sum(-1)
        scores = scores.scatter_add(2, batch["choices"], weights).masked_fill(batch["illegal"], -1e9)
        return scores.log_softmax(-1), self.reranker(memory[:, 0], batch["instance"], batch["config"])


def random_batch(sizes):
    """A batch of the shapes of gemm's: N = B R rows of T steps."""
    b, r, t, v = (sizes[key] for key in ("problems", "rows", "steps", "tokens"))
    n, c, w = b * r, sizes["choices"], sizes["columns"]
    choices = torch.rand(n, t, v).argsort(-1)[..., :c].contiguous()
    illegal = torch.ones(n, t, v, dtype=torch.bool).scatter(2, choices, False)
    return {
        "source": torch.randn(b, sum(sizes["source"])),
        "before": torch.randint(v + 1, (n, t)),
        "positions": torch.arange(t).remainder(sizes["parameters"]).expand(n, t).contiguous(),
        "features": torch.randn(n, t, sizes["step"]),
        "encodings": torch.rand(n, t, c, w),
        "columns": torch.rand(n, t, sizes["choice"]).argsort(-1)[..., :w].contiguous(),
        "choices": choices,
        "illegal": illegal,
        "chosen": choices[..., :1].contiguous(),
        "instance": torch.rand(n, sizes["choice"]),
        "config": torch.randint(v, (n, sizes["parameters"])),
        "target": torch.randn(b, r).softmax(1),
        "relative": 1 + torch.rand(b, r),
        "known": torch.randn(b, r),
    }


def pairwise(rank, cost):
    """LambdaLoss: each pair in the wrong order counts as exchanging the two changes the discounted gain."""
    gain = (15 * (-(cost - 1) / 0.16).exp()).exp2()
    place = torch.arange(rank.shape[1])
    gain = gain / (gain.sort(1, descending=True).values / (place + 2.0).log2()).sum(1, keepdim=True)
    discount = (rank.detach().argsort(1, descending=True).argsort(1) + 2.0).log2().reciprocal()
    between = lambda x: x.unsqueeze(2) - x.unsqueeze(1)
    changes = between(gain).clamp_min(0) * between(discount).abs()
    return (F.softplus(-between(rank).clamp(-50, 50)) * changes).sum() / len(rank)


def costs(predicted, known):
    error = predicted - known
    huber = lambda error: F.huber_loss(error, torch.zeros_like(error))
    return huber(error) + huber(10 * (error - error.mean(1, keepdim=True)))


def losses(net, batch):
    log, judged = net(batch)
    b, r = batch["target"].shape
    chosen = log.gather(2, batch["chosen"]).sum((1, 2)).view(b, r)
    # most of a training's problems have their target among the chosen configs or among all; both cost the same
    likelihood = -((chosen - chosen.logsumexp(1, keepdim=True)) * batch["target"]).sum() / b
    time_of, _, rank = (x.view(b, r) for x in judged.unbind(1))
    listwise = -(rank.log_softmax(1) * batch["target"]).sum() / b
    return likelihood + 2 * listwise + 0.5 * pairwise(rank, batch["relative"]) + 0.3 * costs(time_of, batch["known"])


def updates(sizes, fused, bf16, seconds):
    """Updates a second, by the clock and by the processor's time."""
    torch.manual_seed(1)
    net = Network(sizes, fused)
    parameters = list(net.parameters())
    average = [p.detach().clone() for p in parameters]
    decays = [{"params": [p for p in parameters if (p.dim() > 1) == matrix], "weight_decay": 0.05 * matrix} for matrix in (True, False)]
    optimizer = torch.optim.AdamW(decays, lr=1.5e-3, betas=(0.9, 0.98), fused=True)
    batches = [random_batch(sizes) for _ in range(4)]

    def update(batch):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = losses(net, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, parameters, 0.002)

    for batch in batches[:3]:
        update(batch)
    done, began, processor = 0, time.monotonic(), time.process_time()
    while done < 5 or time.process_time() - processor < seconds:
        update(batches[done % len(batches)])
        done += 1
    return done / (time.monotonic() - began), done / (time.process_time() - processor)


def ours(command):
    """What the benchmark prints: updates, seconds, and the sizes of the network and of a batch."""
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main():
    torch.set_num_threads(1)
    command = sys.argv[1:]
    sizes = ours(command)["sizes"]
    ways = []
    for bf16 in (False, True):
        for fused in (True, False):
            how = f"{'bfloat16' if bf16 else 'f32'}, {'scaled_dot_product_attention' if fused else 'matmul and softmax'}"
            ways.append((updates(sizes, fused, bf16, 5)[1], fused, bf16, how))
            print(f"eager PyTorch {torch.__version__}, {how}: {ways[-1][0]:.2f} updates a second")
    _, fused, bf16, how = max(ways)
    pairs = []
    for _ in range(ROUNDS):  # by turns: the speed of a shared machine drifts
        measured = ours(command)
        pairs.append((measured["updates"] / measured["processor_seconds"], updates(sizes, fused, bf16, 7)[1]))
    ratios = sorted(of_ours / of_torch for of_ours, of_torch in pairs)
    medians = [statistics.median(speeds) for speeds in zip(*pairs)]
    print(f"seqtune-train: {medians[0]:.2f} updates a second, eager PyTorch ({how}): {medians[1]:.2f}")
    print(f"ratio: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f} in {ROUNDS} rounds)")


if __name__ == "__main__":
    main()
