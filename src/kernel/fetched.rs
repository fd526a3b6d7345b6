//! Where libraries are that `scripts/setup.sh` fetched.

use std::path::{Path, PathBuf};

/// Where what `scripts/setup.sh` fetched may be: in the current folder, and in those above the program, which a clone's build is in.
pub fn fetched_places(name: &str) -> Vec<PathBuf> {
    fetched_for(std::env::current_exe().ok().as_deref(), name)
}

fn fetched_for(program: Option<&Path>, name: &str) -> Vec<PathBuf> {
    let above = program.into_iter().flat_map(|program| program.ancestors().skip(1)).map(|folder| folder.join(name));
    std::iter::once(PathBuf::from(name)).chain(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fetched_is_looked_for_here_and_in_every_folder_above_the_program() {
        let places = fetched_for(Some(Path::new("/clone/target/release/seqtune")), ".nvrtc");
        let places: Vec<&str> = places.iter().filter_map(|place| place.to_str()).collect();
        assert_eq!(
            places,
            [".nvrtc", "/clone/target/release/.nvrtc", "/clone/target/.nvrtc", "/clone/.nvrtc", "/.nvrtc"]
        );
        assert_eq!(fetched_for(None, ".nvrtc"), [PathBuf::from(".nvrtc")]);
    }
}
