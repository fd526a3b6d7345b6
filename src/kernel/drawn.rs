//! The draws of tests, of all packages: always the same, and others where `SEQTUNE_TEST_SEED` says so. `scripts/checks/luck.sh` does.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The number that makes other draws; 0 where `SEQTUNE_TEST_SEED` is not set.
pub fn seed() -> u64 {
    std::env::var("SEQTUNE_TEST_SEED").map_or(0, |text| text.parse().expect("SEQTUNE_TEST_SEED is a whole number"))
}

/// A generator of a test, by the test's own number.
pub fn test_generator(own: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(own);
    rng.set_stream(seed());
    rng
}
