//! Who has started whom, as the system tells it in `/proc`.

use std::path::Path;

/// The verb of the program that gives clocks back.
pub const RESTORE_CLOCKS: &str = "restore-clocks";

/// Processes that a process has started and that have not ended, and those that these started.
pub fn descendants(process: u32) -> Vec<u32> {
    let (mut open, mut found) = (vec![process], Vec::new());
    while let Some(process) = open.pop() {
        let children = children(process);
        open.extend(&children);
        found.extend(children);
    }
    found
}

/// Processes that a process has started itself, or taken over from one that ended.
pub fn children(process: u32) -> Vec<u32> {
    // each thread has its own
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists: Vec<_> = threads.map(|thread| std::fs::read_to_string(thread.path().join("children"))).collect();
    let is_told = lists.iter().all(|list| !matches!(list, Err(e) if e.kind() == std::io::ErrorKind::NotFound));
    match is_told || !Path::new(&format!("/proc/{process}/stat")).exists() {
        true => lists.into_iter().flatten().flat_map(|list| numbers(&list)).collect(),
        // a kernel that was built without these lists
        false => all().into_iter().filter(|id| parent(*id) == Some(process)).collect(),
    }
}

fn numbers(list: &str) -> Vec<u32> {
    list.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// All processes that this one can see.
fn all() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // the name in brackets before the state may hold anything
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Whether a process is the one of this program that gives clocks back, which ends by itself once it has done so.
pub fn is_spared(process: u32) -> bool {
    let of = |id: &str| std::fs::read_link(format!("/proc/{id}/exe")).ok();
    let words = || std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    of(&process.to_string()).is_some_and(|program| Some(program) == of("self"))
        && words().split(|byte| *byte == 0).nth(1) == Some(RESTORE_CLOCKS.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_tree_is_told_by_lists_of_children_and_by_parents_alike() {
        let script = "sleep 600 & echo $!; wait";
        let mut shell = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.take().unwrap()), &mut line).unwrap();
        let sleeper: u32 = line.trim().parse().unwrap();
        assert_eq!(children(shell.id()), [sleeper]);
        assert_eq!(all().into_iter().filter(|id| parent(*id) == Some(shell.id())).collect::<Vec<_>>(), [sleeper]);
        assert!(descendants(shell.id()) == [sleeper] && !is_spared(sleeper));
        assert!(crate::processes::guard::kill_tree(shell.id()));
        shell.wait().unwrap();
    }
}
