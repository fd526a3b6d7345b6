#!/usr/bin/env bash
# Tunes High-Performance Linpack on this machine's processors: builds HPL, sweeps 40 sizes, trains a model, and checks it on ten sizes of which
# it knows nothing. Needs Debian's packages: apt-get install openmpi-bin libopenmpi-dev libopenblas-dev. Takes an hour; leave the machine alone
# meanwhile. Called again, it goes on where it was.
# usage: scripts/figures/hpl.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-target/hpl}
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=1.5.0
program=${SEQTUNE:-target/release/seqtune}

command -v mpicc >/dev/null || { echo "hpl: mpicc is missing: apt-get install openmpi-bin libopenmpi-dev libopenblas-dev" >&2; exit 3; }
[ -n "${SEQTUNE:-}" ] || cargo build --release

# HPL's source, as it is inside HPCC, from Debian; the lists of packages of the machine are left alone
if [ ! -x "$out/xhpl" ]; then
    if [ ! -e "$out/hpcc_$version.orig.tar.gz" ]; then
        mkdir -p "$out/apt/lists/partial" "$out/apt/parts"
        for list in /etc/apt/sources.list.d/*.sources; do
            sed 's/^Types: .*$/Types: deb-src/' "$list" > "$out/apt/parts/$(basename "$list")"
        done
        [ ! -s /etc/apt/sources.list ] || sed 's/^deb /deb-src /' /etc/apt/sources.list > "$out/apt/parts/more.list"
        lists=(-o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$out/apt/parts" -o "Dir::State::lists=$out/apt/lists")
        apt-get "${lists[@]}" update >/dev/null
        # Debian's own changes to it are not needed, and not always to be had
        (cd "$out" && apt-get "${lists[@]}" source --download-only hpcc=$version-3) || true
        [ -e "$out/hpcc_$version.orig.tar.gz" ] || { echo "hpl: the source of hpcc $version was not to be had" >&2; exit 1; }
    fi
    tar -xzf "$out/hpcc_$version.orig.tar.gz" -C "$out"
    rm -rf "$out/objects" && mkdir "$out/objects"
    main=$PWD/kernels/hpl/main.c
    (cd "$out/objects"
     find "$out/hpcc-$version/hpl/src" "$out/hpcc-$version/hpl/testing" -name '*.c' | cat - <(echo "$main") |
         xargs -P "$(nproc)" -n 12 mpicc -O3 -march=native -w -DHPL_CALL_CBLAS -DHPL_NO_MPI_DATATYPE \
             "-I$out/hpcc-$version/hpl/include" "-I$out/hpcc-$version/include" -c
     mpicc ./*.o -lopenblas -lm -o "$out/xhpl")
fi
export SEQTUNE_XHPL=$out/xhpl

"$program" sweep hpl --problems datasets/problems/hpl.txt --sample 24 --pool 96 --private-share 0.1 -o "$out/hpl.jsonl"

# shapes of the test part are in no model; what is held out here is no part of the sweep at all
[ -e "$out/model/model.safetensors" ] || "$program" train "$out/hpl.jsonl" -o "$out/model" --epochs 150 --members 3
grid="P=1,Q=$(nproc),threads=1"
# netlib's advice: a grid as square as can be with more columns than rows, blocks of 32 to 256, here 128; and the rest of its HPL.dat
faq="$grid,NB=128,PFACT=left,NBMIN=2,NDIV=2,RFACT=left,BCAST=1rg,DEPTH=0,SWAP=mix"
# the HPL.dat that comes with it has blocks of 4 columns at most
shipped="$grid,NB=4,PFACT=left,NBMIN=2,NDIV=2,RFACT=left,BCAST=1rg,DEPTH=0,SWAP=mix"
[ "$(nproc)" = 2 ] || echo "hpl: the grid 1 x $(nproc) is netlib's advice for two processes; change it for more" >&2
"$program" validate "$out/model" hpl datasets/problems/hpl_held_out.txt --top 5 --random 12 --also "$faq" --also "$shipped" \
    --no-confirm | tee "$out/validated.md"
scripts/figures/put_figures.py hpl.sh "$out/validated.md" docs/results/tables/hpl.md
