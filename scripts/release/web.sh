#!/usr/bin/env bash
# Builds what docs/try loads, and tests the page.
#
#   scripts/release/web.sh            builds docs/try/seqtune.wasm, copies the model of gemm beside it, and tests the page
#   scripts/release/web.sh --build    builds alone
#   scripts/release/web.sh --test     tests docs/try as it is, against `seqtune` (SEQTUNE_BIN names a built one)
#   scripts/release/web.sh --check    says whether docs/try was built from the sources as they are, and whether its scripts can be read
#
# It builds with rustup's target wasm32-unknown-unknown, or with Debian's rustc-web, cargo-web, rust-web-src and lld-14. Node asks the
# module, headless Chromium opens the page; where one is missing that is skipped and said, and fails where CI
# is set: `scripts/setup.sh chromium` installs both. Screenshots: target/web-page.
set -euo pipefail
cd "$(dirname "$0")/../.."
page=docs/try
target=wasm32-unknown-unknown
say() { printf 'web: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# One hash of everything that the module and the model beside it are made of.
sources() {
    { find src/web src/kernel src/predict kernels -type f ! -path '*/toy/*' ! -path '*/benches/*'; echo models/gemm-cpu/distilled.safetensors; } \
        | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum | cut -d ' ' -f 1
}

# Whether cargo's own compiler has the target, where rustup can fetch it too.
has_target() { [ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ]; }

build() {
    local flags=(-C target-feature=+simd128)
    # no path of this machine goes into the module
    local home=${CARGO_HOME:-$HOME/.cargo}
    flags+=("--remap-path-prefix=$PWD=." "--remap-path-prefix=$home=cargo")
    if has_target || { command -v rustup >/dev/null && rustup target add $target >&2 && has_target; }; then
        flags+=("--remap-path-prefix=$(rustc --print sysroot)=rust")
        say "building with $(rustc --version)"
        RUSTFLAGS="${flags[*]}" cargo build --quiet --profile web -p seqtune-web --target $target
    elif [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust ] && command -v wasm-ld-14 >/dev/null; then
        flags+=(-C "linker=$(command -v wasm-ld-14)" "--remap-path-prefix=/usr/lib/rustlib=rust")
        say "building with Debian's $(/usr/bin/rustc --version)"
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="${flags[*]}" \
            /usr/bin/cargo build --quiet --profile web -p seqtune-web -Z build-std=std,panic_abort --target $target
    else
        fail "no compiler for WebAssembly: run \`rustup target add $target\`, or install rustc-web, cargo-web, rust-web-src and lld-14"
    fi
    install -m 644 "${CARGO_TARGET_DIR:-target}/$target/web/seqtune_web.wasm" $page/seqtune.wasm
    install -m 644 models/gemm-cpu/distilled.safetensors $page/model.safetensors
    sources > $page/sources.sha256
    say "$(du -cb $page/* | tail -1 | cut -f 1) bytes in $page, of which seqtune.wasm has $(stat -c %s $page/seqtune.wasm)"
}

# What a test wants is not there: its part is left out, but not by CI.
missing() {
    [ -z "${CI:-}" ] || fail "$1 is missing, and CI leaves nothing out: run scripts/setup.sh chromium"
    echo "skipped: $1 is not here; \`scripts/setup.sh chromium\` installs it"
}

# A script with an error in it, such as a name that is declared twice, never starts; Node.js reads each without running it.
parse() {
    local script module
    command -v node >/dev/null || { missing Node.js; return; }
    module=$(mktemp --suffix .mjs)
    for script in $page/*.js; do
        cp "$script" "$module"
        node --check "$module" 2>"$module.said" || { sed "s|$module|$script|" "$module.said" >&2; rm -f "$module" "$module.said"; fail "$script cannot be read"; }
    done
    rm -f "$module" "$module.said"
    say "the scripts of $page can be read"
}

check() {
    parse
    [ "$(cat $page/sources.sha256 2>/dev/null)" = "$(sources)" ] || fail "$page was built from other sources; scripts/release/web.sh builds it anew"
    cmp --silent models/gemm-cpu/distilled.safetensors $page/model.safetensors || fail "$page/model.safetensors is not the model of gemm; scripts/release/web.sh copies it anew"
    say "$page was built from these sources"
}

# The folder of a page has at most so many bytes.
limit=4000000

run_tests() {
    local bytes seqtune=${SEQTUNE_BIN:-} chromium
    [ -e $page/seqtune.wasm ] || fail "$page/seqtune.wasm is missing: run scripts/release/web.sh --build"
    bytes=$(du -cb $page/* | tail -1 | cut -f 1)
    [ "$bytes" -lt $limit ] || fail "$page has $bytes bytes, more than $limit"
    if [ -z "$seqtune" ]; then
        cargo build --quiet --release
        seqtune=target/release/seqtune
    fi
    seqtune=$(realpath "$seqtune")
    parse
    ! command -v node >/dev/null || node scripts/release/web_ask.mjs "$seqtune"
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
    if [ -z "$chromium" ]; then
        missing Chromium
    elif ! command -v python3 >/dev/null; then
        missing python3
    else
        python3 scripts/release/web_page.py "$chromium" "$seqtune" target/web-page
    fi
}

case "${1:-}" in
    "") build && run_tests ;;
    --build) build ;;
    --test) run_tests ;;
    --check) check ;;
    *) fail "there is no option \`$1\`: scripts/release/web.sh [--build | --test | --check]" ;;
esac
