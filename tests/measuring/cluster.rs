//! A sweep as an array of Slurm: a real one of a single node, whose tasks are killed, queued again, and run on two kinds of devices.

use crate::common::{opencl_or_skip, root, seqtune, text, write};
use seqtune_data::Dataset;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Ends the test where Slurm's programs are not installed.
fn slurm_or_skip() -> bool {
    let is_there =
        |program: &str| ["/usr/sbin", "/usr/bin"].iter().any(|p| std::path::Path::new(p).join(program).exists());
    let has = ["slurmctld", "slurmd", "sbatch"].iter().all(|program| is_there(program));
    if !has {
        println!("skipped: Slurm is not installed; `scripts/setup.sh slurm` installs it");
    }
    has
}

const JOB: &str = r#"
set -eu
cd "$1"
mkdir runs
# a task of an array submits a job that is none, which has the task's variables nevertheless
cat > submits.sh <<END
#!/bin/sh
[ "\$SLURM_ARRAY_TASK_ID" = 1 ] || exec sbatch --oversubscribe --output=log-plain "$2/scripts/cluster/sweep.sbatch" gemm --sample 2 \
    --problems problems.txt -o plain.jsonl
END
sbatch --oversubscribe --array=1-2 --output=/dev/null submits.sh
job=$(sbatch --parsable --oversubscribe --array=1-4 --output=log-%a "$2/scripts/cluster/sweep.sbatch" gemm --sample 12 \
    --problems problems.txt -o runs/gemm.jsonl)
records() { grep -c '"outcome"' "runs/gemm.$1-of-4.jsonl" 2>/dev/null || true; }
until [ "$(records 1)" -gt 12 ] 2>/dev/null; do sleep 0.1; done
# out of time: the script's own trap queues it again
scancel --signal=USR1 --batch "${job}_1"
until [ "$(records 2)" -gt 12 ] 2>/dev/null; do sleep 0.1; done
echo "killed at $(records 2)"
scancel --signal=KILL "${job}_2"
# on a busy machine its trap may have heard of it, and has queued it again already
state() { squeue --noheader --jobs "${job}_$1" --format %T; }
until scontrol requeue "${job}_2" 2>/dev/null || [ "$(state 2)" = PENDING ]; do sleep 0.2; done
# Slurm lets what is queued again wait for two minutes; sooner, but not before what was killed is gone
sleep 5
until [ "$(grep -c '"outcome"' plain.jsonl)" = 48 ]; do
    [ "$SECONDS" -lt 300 ] || { cat log-plain; ls; squeue; break; }
    sleep 1
done
until "$3" status runs 2>/dev/null | grep -q '4 of 4 shards complete'; do
    [ "$SECONDS" -lt 600 ] || { "$3" status runs; squeue; break; }
    for task in 1 2; do
        [ "$(state $task)" != PENDING ] ||
            scontrol update "JobId=${job}_$task" StartTime=now || true
    done
    sleep 2
done
"#;

#[test]
fn an_array_of_slurm_measures_every_problem_once_though_tasks_are_killed_and_queued_again() {
    if !slurm_or_skip() || !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let problems: Vec<String> = (0..24).map(|i| format!("M={},N=32,K={}\n", 16 + i, 8 + i % 3)).collect();
    write(folder.path(), "problems.txt", problems.concat().as_bytes());
    let program = seqtune(&[]).get_program().to_string_lossy().into_owned();
    // the tasks of a cluster are on machines of their own: here the last one has another device
    let wrapper = format!(
        "#!/bin/sh\ndevice=fake; [ \"$SLURM_ARRAY_TASK_ID\" = 4 ] && device=live\nexec {program} \"$@\" --device $device\n"
    );
    let wrapper = write(folder.path(), "seqtune.sh", wrapper.as_bytes());
    std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).unwrap();
    write(folder.path(), "job.sh", JOB.as_bytes());
    let script = root().join("scripts/cluster/slurm_one_node.sh");
    let words = [
        &format!("{place}/slurm"),
        "bash",
        &format!("{place}/job.sh"),
        &place,
        &root().display().to_string(),
        &program,
    ];
    let mut command = Command::new(script);
    command.args(words).env("SEQTUNE", wrapper).env("SEQTUNE_FAKE", "slow=15").current_dir(folder.path());
    let (out, err, code) = text(command.output().unwrap());
    assert_eq!(code, 0, "{out}{err}");

    let runs = folder.path().join("runs").display().to_string();
    let status = || text(seqtune(&["sweep", "status", &runs]).output().unwrap()).0;
    assert!(status().contains("gemm: 4 of 4 shards complete"), "{}{out}", status());
    let plain = std::fs::read_to_string(folder.path().join("plain.jsonl")).unwrap();
    assert_eq!(plain.matches("\"outcome\"").count(), 24 * 2, "all shards in one journal");
    let again = std::fs::read_to_string(folder.path().join("log-1")).unwrap();
    assert!(again.contains("stopped by a signal at"), "{again}");
    let all = folder.path().join("all.sqt").display().to_string();
    let (out, err, code) = text(seqtune(&["sweep", "merge", &runs, "--by-device", "-o", &all]).output().unwrap());
    assert_eq!(code, 0, "{out}{err}");
    let mut keys = BTreeSet::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap().flatten() {
        if entry.path().extension().is_some_and(|e| e == "sqt") {
            let records = Dataset::load(&entry.path()).unwrap().records;
            count += records.len();
            keys.extend(records.iter().map(|r| format!("{} {}", r.problem, r.config)));
        }
    }
    // as many as are planned, none of them twice, on two devices
    assert!(out.lines().count() == 2 && count == keys.len() && count == 24 * 12, "{count} {} {out}", keys.len());
}
