#!/usr/bin/env bash
# Runs all tests several times beside busy programs, each time with other draws, in another order and on another number of threads, and
# counts what fails by name: what fails now and then is found within hours.
#
#   scripts/checks/luck.sh [ROUNDS] [WORDS...]      rounds 1 to 10, or to ROUNDS, or those of 4-7; words go to cargo test, such as `--test measuring`
#   SEQTUNE_BUSY=2 scripts/checks/luck.sh           two busy programs; one is usual
#
# The output of round N stays in target/luck/STATE/N.log, where STATE names the commit and what was changed since. A run that was stopped goes on:
# rounds of this state that ended are counted and not run again. `SEQTUNE_TEST_SEED=N cargo test` has the draws of round N.
set -euo pipefail
cd "$(dirname "$0")/../.."
first=1 last=10
if [[ "${1:-}" =~ ^([0-9]+-)?[0-9]+$ ]]; then
    last=${1#*-}
    case $1 in *-*) first=${1%-*} ;; esac
    shift
fi
case "${1:-}" in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit ;; esac
programs=${SEQTUNE_BUSY:-1}
cores=$(nproc)
state=$(git rev-parse --short HEAD)
git diff --quiet HEAD || state=$state-$(git diff HEAD | sha256sum | cut -c1-8)
logs=target/luck/$state${1:+-$(printf '%s ' "$@" | sha256sum | cut -c1-8)}
mkdir -p "$logs"
work=$(mktemp -d)
busy=()
trap '[ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

# builds everything while it is still quiet
scripts/test.sh --no-run "$@" >"$logs/build.log" 2>&1 || { tail -30 "$logs/build.log" >&2; exit 1; }
# configs are drawn anew in each round: one of each problem does, where a single run of all tests takes several
export SEQTUNE_TEST_CONFIGS=${SEQTUNE_TEST_CONFIGS:-1}
for ((program = 0; program < programs; ++program)); do
    # ends with this script, however that ends
    (while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 200000; ++i)); do :; done; done) &
    busy+=($!)
done

# cargo starts test programs through this one: libtest keeps the order behind a word of its own
cat >"$work/runner" <<'EOF'
#!/bin/sh
case $1 in
    */deps/*) RUSTC_BOOTSTRAP=1 exec "$@" -Z unstable-options --report-time --shuffle-seed "$SEQTUNE_TEST_SEED" ;;
    *) exec "$@" ;;
esac
EOF
chmod +x "$work/runner"
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=$work/runner"

failed=0
for ((round = first; round <= last; ++round)); do
    # as many threads as cores, twice and four times as many
    threads=$((cores << (round % 3)))
    status=0
    if grep -aq '^round ended with ' "$logs/$round.log" 2>/dev/null; then
        status=$(sed -n 's/^round ended with //p' "$logs/$round.log")
    else
        SEQTUNE_TEST_SEED=$round RUST_TEST_THREADS=$threads scripts/test.sh "$@" >"$logs/$round.log" 2>&1 || status=$?
        echo "round ended with $status" >>"$logs/$round.log"
    fi
    [ $status = 0 ] || failed=$((failed + 1))
    printf 'round %d, %d threads: %s\n' "$round" "$threads" "$(grep -a ' tests passed, ' "$logs/$round.log" || echo "ended with $status, see $logs/$round.log")"
done
# a test's name, behind the program that it is of
for ((round = first; round <= last; ++round)); do cat "$logs/$round.log"; done | awk '/^ *Running / { unit = $2 == "unittests" ? $4 : $2 } /^test .* FAILED( |$)/ { print unit, $2 }' | sort | uniq -c | sort -rn \
    | sed 's/^ *\([0-9]*\) /  \1 x /'
printf '%d of %d rounds failed, beside %d busy programs, in %d s\n' "$failed" $((last - first + 1)) "$programs" $SECONDS
[ $failed = 0 ]
