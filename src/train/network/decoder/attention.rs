//! Attention of rows to the rows that each sees, forward and backward. Letters of the shapes: N queries, D the model width.

use crate::network::decoder::loops::{self, Attended, KeysValues};
use crate::network::decoder::norm::empty;
use crate::network::tensors::{slice, slice_mut};
use tch::Tensor;

/// By row, the rows that it attends to.
#[derive(Debug, Default)]
pub struct Sight {
    entries: Vec<u32>,
    /// By row, where its entries end.
    ends: Vec<usize>,
}

impl Sight {
    /// Appends a row that sees these.
    pub fn push(&mut self, entries: impl IntoIterator<Item = u32>) {
        self.entries.extend(entries);
        self.ends.push(self.entries.len());
    }

    /// By row, where its entries begin, and these.
    fn rows(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let begin = |row: usize| if row == 0 { 0 } else { self.ends[row - 1] };
        self.ends.iter().enumerate().map(move |(row, end)| (begin(row), &self.entries[begin(row)..*end]))
    }
}

/// Attention of N queries.
pub(crate) struct Attention<'a> {
    pub(crate) heads: usize,
    /// Queries, D numbers at the beginning of each row.
    pub(crate) queries: &'a Tensor,
    /// Keys and values in rows, from this place on.
    pub(crate) keys_values: &'a Tensor,
    pub(crate) first: usize,
    pub(crate) sight: &'a Sight,
}

impl Attention<'_> {
    fn keys_values(&self, d: usize) -> KeysValues<'_> {
        let stride = self.keys_values.size()[1] as usize;
        KeysValues { numbers: slice(self.keys_values), stride, first: self.first, width: d }
    }

    /// Outputs (N, D), and the shares of all entries.
    pub(crate) fn forward(&self, d: usize) -> (Tensor, Vec<f32>) {
        let stride = self.queries.size()[1] as usize;
        let mut out = empty(&[self.queries.size()[0], d as i64]);
        let mut shares = vec![0.0; self.heads * self.sight.entries.len()];
        let to = self.keys_values(d);
        let rows = slice(self.queries).chunks_exact(stride).zip(slice_mut(&mut out).chunks_exact_mut(d));
        for ((begin, entries), (q, out)) in self.sight.rows().zip(rows) {
            let shares = &mut shares[self.heads * begin..][..self.heads * entries.len()];
            loops::attend(&q[..d], to, entries, shares, out);
        }
        (out, shares)
    }

    /// What the gradient `dout` (N, D) of the outputs means for the queries (N, D); what it means for keys and values is added to
    /// `keys_values`, which lies as those do.
    pub(crate) fn back(&self, dout: &Tensor, shares: &[f32], keys_values: &mut Tensor) -> Tensor {
        let (d, stride) = (dout.size()[1] as usize, self.queries.size()[1] as usize);
        let mut dq = empty(&dout.size());
        let (to, into) = (self.keys_values(d), slice_mut(keys_values));
        let most = self.sight.rows().map(|(_, entries)| entries.len()).max().unwrap_or(0);
        let mut scratch = vec![0.0; self.heads * most];
        let rows = slice(self.queries).chunks_exact(stride).zip(slice(dout).chunks_exact(d));
        for (((begin, entries), (q, dout)), dq) in
            self.sight.rows().zip(rows).zip(slice_mut(&mut dq).chunks_exact_mut(d))
        {
            let shares = &shares[self.heads * begin..][..self.heads * entries.len()];
            let of = Attended { q: &q[..d], to, entries, shares };
            loops::attend_back(dout, of, dq, into, &mut scratch);
        }
        dq
    }
}
