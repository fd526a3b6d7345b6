//! Factors of small symmetric matrices. They have some hundred rows at most, and a library of linear algebra would be most of what a browser
//! loads.

/// Sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Lower triangle of the factor of a positive matrix (Cholesky), its rows.
pub fn cholesky(n: usize, entry: &dyn Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for j in 0..=i {
            let sum = entry(i, j) - dot(&row, factor.get(j).map_or(&row, |r| &r[..j]));
            row.push(if i == j { sum.max(1e-12).sqrt() } else { sum / factor[j][j] });
        }
        factor.push(row);
    }
    factor
}

/// Solves for a right side by the factor.
pub fn solve(factor: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let n = factor.len();
    let mut x = forward(factor, right);
    for i in (0..n).rev() {
        let behind: f64 = (i + 1..n).map(|j| factor[j][i] * x[j]).sum();
        x[i] = (x[i] - behind) / factor[i][i];
    }
    x
}

/// Solves the lower triangle alone.
pub fn forward(factor: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(factor.len());
    for (row, right) in factor.iter().zip(right) {
        x.push((right - dot(&row[..x.len()], &x)) / row[x.len()]);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_by_the_factor_solves_the_matrix() {
        let matrix = [[4.0, 2.0, 0.4], [2.0, 5.0, 1.0], [0.4, 1.0, 3.0]];
        let factor = cholesky(3, &|i, j| matrix[i][j]);
        let x = solve(&factor, &[1.0, -2.0, 3.0]);
        for (row, right) in matrix.iter().zip([1.0, -2.0, 3.0]) {
            assert!((dot(row, &x) - right).abs() < 1e-12);
        }
    }
}
