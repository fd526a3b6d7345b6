//! Newton's method for functions of two numbers.

/// Derivatives of a function of two numbers.
#[derive(Clone, Copy, Debug)]
pub struct Derivatives {
    /// By the first number, and by the second.
    pub gradient: [f64; 2],
    /// Twice by the first number, by both, and twice by the second.
    pub hessian: [f64; 3],
}

/// How Newton's method goes on.
#[derive(Clone, Copy, Debug)]
pub struct Newton {
    /// Number of steps.
    pub steps: usize,
    /// Longest step of each number: far from the minimum the curvature misleads.
    pub longest: [f64; 2],
    /// Least value of each number.
    pub least: [f64; 2],
}

/// Least determinant of the Hessian: a function that is flat there is taken as curved a little.
const LEAST_DETERMINANT: f64 = 1e-12;

/// Minimises a convex function of two numbers from `start` on, by its derivatives. Numbers that are not finite lead to ones that are not.
pub fn newton2(start: [f64; 2], how: Newton, derivatives: impl Fn([f64; 2]) -> Derivatives) -> [f64; 2] {
    let mut at = start;
    for _ in 0..how.steps {
        let Derivatives { gradient: g, hessian: h } = derivatives(at);
        let determinant = (h[0] * h[2] - h[1] * h[1]).max(LEAST_DETERMINANT);
        let step = [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
        for i in 0..2 {
            at[i] = (at[i] - step[i].clamp(-how.longest[i], how.longest[i])).max(how.least[i]);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Newton = Newton { steps: 1, longest: [f64::INFINITY; 2], least: [f64::NEG_INFINITY; 2] };

    /// 2 (x - 3)^2 + (x - 3) (y + 1) + (y + 1)^2, whose minimum is at 3 and -1.
    fn bowl([x, y]: [f64; 2]) -> Derivatives {
        let (x, y) = (x - 3.0, y + 1.0);
        Derivatives { gradient: [4.0 * x + y, x + 2.0 * y], hessian: [4.0, 1.0, 2.0] }
    }

    #[test]
    fn a_quadratic_function_is_minimised_in_one_step() {
        let [x, y] = newton2([10.0, 10.0], FREE, bowl);
        assert!((x - 3.0).abs() < 1e-12 && (y + 1.0).abs() < 1e-12, "{x} {y}");
    }

    #[test]
    fn steps_are_no_longer_and_numbers_no_less_than_they_may_be() {
        let short = Newton { longest: [0.5, 0.25], ..FREE };
        assert_eq!(newton2([10.0, 10.0], short, bowl), [9.5, 9.75]);
        let above = Newton { steps: 50, least: [4.0, f64::NEG_INFINITY], ..FREE };
        assert_eq!(newton2([10.0, 10.0], above, bowl)[0], 4.0);
        assert!(newton2([f64::NAN, 0.0], FREE, bowl).iter().all(|x| !x.is_finite()));
    }
}
