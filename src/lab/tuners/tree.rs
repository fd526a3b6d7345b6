//! A decision tree of classes: each cut is the purest by Gini's measure (CART: Breiman et al. 1984).

/// A grown tree.
pub enum Tree {
    /// The most frequent class.
    Leaf(usize),
    /// Rows with a number below the cut go to the first tree, others to the second.
    Cut(usize, f64, Box<[Tree; 2]>),
}

/// A row with its class.
#[derive(Clone, Copy)]
pub struct ClassedRow<'r> {
    /// Numbers of the row.
    pub row: &'r [f64],
    /// Its class.
    pub class: usize,
}

/// Cuts from the root at most: a tree is to be read as code.
const DEPTH: usize = 8;

/// Sum of the squares of the counts by their number.
fn purity(classes: &[usize]) -> f64 {
    let most = classes.iter().max().map_or(0, |most| most + 1);
    let mut counts = vec![0.0; most];
    classes.iter().for_each(|class| counts[*class] += 1.0);
    counts.iter().map(|count| count * count).sum::<f64>() / classes.len().max(1) as f64
}

impl Tree {
    /// Grows a tree of rows with a class each.
    pub fn grow(rows: &[ClassedRow]) -> Tree {
        Tree::grow_to(rows.to_vec(), DEPTH)
    }

    fn grow_to(rows: Vec<ClassedRow>, depth: usize) -> Tree {
        let classes: Vec<usize> = rows.iter().map(|own| own.class).collect();
        let count = |class: usize| classes.iter().filter(|c| **c == class).count();
        let most = (0..classes.iter().max().map_or(1, |most| most + 1))
            .max_by_key(|class| (count(*class), usize::MAX - class));
        let leaf = Tree::Leaf(most.unwrap_or(0));
        if depth == 0 || rows.len() < 2 || count(classes[0]) == classes.len() {
            return leaf;
        }
        let mut best: Option<(f64, usize, f64)> = None;
        for column in 0..rows[0].row.len() {
            let mut values: Vec<f64> = rows.iter().map(|own| own.row[column]).filter(|x| x.is_finite()).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            for pair in values.windows(2) {
                let cut = (pair[0] + pair[1]) / 2.0;
                let side = |below: bool| -> Vec<usize> {
                    rows.iter().filter(|own| (own.row[column] < cut) == below).map(|own| own.class).collect()
                };
                let pure = purity(&side(true)) + purity(&side(false));
                if best.is_none_or(|(highest, _, _)| pure > highest + 1e-9) {
                    best = Some((pure, column, cut));
                }
            }
        }
        let Some((_, column, cut)) = best else { return leaf };
        let (below, above) = rows.into_iter().partition(|own| own.row[column] < cut);
        Tree::Cut(column, cut, Box::new([below, above].map(|rows| Tree::grow_to(rows, depth - 1))))
    }

    /// Class of a row.
    pub fn class(&self, row: &[f64]) -> usize {
        match self {
            Tree::Leaf(class) => *class,
            Tree::Cut(column, cut, sides) => sides[usize::from(row[*column] >= *cut)].class(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_cuts_where_classes_part_and_takes_the_most_frequent_elsewhere() {
        let rows: Vec<[f64; 2]> = (0..40).map(|i| [i as f64, (i * 7 % 5) as f64]).collect();
        let class = |row: &[f64]| (row[0] > 12.5) as usize + (row[0] > 30.5) as usize;
        let labelled: Vec<ClassedRow> = rows.iter().map(|row| ClassedRow { row, class: class(row) }).collect();
        let tree = Tree::grow(&labelled);
        for ClassedRow { row, class } in &labelled {
            assert_eq!(tree.class(row), *class);
        }
        let alike = [2, 2, 0].map(|class| ClassedRow { row: &[1.0], class });
        assert_eq!(Tree::grow(&alike).class(&[5.0]), 2);
    }
}
