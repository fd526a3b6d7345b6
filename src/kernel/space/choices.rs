//! A set of one parameter's values, by their indices.

/// Most values that one parameter may have.
pub const MOST_VALUES: usize = 320;

const WORDS: usize = MOST_VALUES / 64;

/// Index of a value in its parameter's list.
pub type Choice = u16;

/// A set of choices: a bit for each of at most [`MOST_VALUES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices([u64; WORDS]);

impl Choices {
    /// The first `count` choices.
    pub(crate) fn up_to(count: usize) -> Choices {
        let bits = |word: usize| match count.saturating_sub(64 * word) {
            0 => 0,
            some => u64::MAX >> (64 - some.min(64)),
        };
        Choices(std::array::from_fn(bits))
    }

    /// A bit for each choice, the first in the lowest.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }

    /// Takes out what is not in the set of which these are the first words; it holds none behind them.
    pub(crate) fn narrow(&mut self, words: impl Iterator<Item = u64>) {
        self.0.iter_mut().zip(words).for_each(|(word, other)| *word &= other);
    }

    /// Adds a choice.
    pub fn insert(&mut self, choice: Choice) {
        self.0[choice as usize / 64] |= 1 << (choice % 64);
    }

    /// Takes a choice out.
    pub fn remove(&mut self, choice: Choice) {
        self.0[choice as usize / 64] &= !(1 << (choice % 64));
    }

    /// Whether `choice` is in the set.
    pub fn contains(&self, choice: Choice) -> bool {
        self.0[choice as usize / 64] >> (choice % 64) & 1 == 1
    }

    /// Number of choices in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// In rising order.
    pub fn iter(&self) -> impl Iterator<Item = Choice> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some((i * 64) as Choice + bit as Choice)
            })
        })
    }

    /// The choice, where there is exactly one.
    pub fn only(&self) -> Option<Choice> {
        let mut all = self.iter();
        all.next().filter(|_| all.next().is_none())
    }
}

impl FromIterator<Choice> for Choices {
    fn from_iter<I: IntoIterator<Item = Choice>>(choices: I) -> Choices {
        let mut set = Choices::default();
        choices.into_iter().for_each(|c| set.insert(c));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_back_what_was_put_in_once_and_in_order() {
        let set: Choices = [303, 0, 63, 64, 0, 200].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 303]);
        assert_eq!((set.len(), set.is_empty(), set.only()), (5, false, None));
        assert!(set.contains(64) && !set.contains(65));
        assert_eq!(Choices::from_iter([7]).only(), Some(7));
        for count in [0, 1, 63, 64, 65, 128, 320] {
            assert_eq!(Choices::up_to(count), (0..count as Choice).collect());
        }
        assert!(Choices::default().is_empty());
    }
}
