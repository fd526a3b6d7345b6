#!/usr/bin/env bash
# Builds libseqtune and installs it with its headers, CMake and pkg-config files.
#
#   scripts/release/install.sh PREFIX [BUILT]
#
#   PREFIX  a folder: files go to PREFIX/lib and PREFIX/include. DESTDIR, if set, stands before it, for packages
#   BUILT   where libseqtune_c.so and libseqtune_c.a lie already, instead of building them
set -euo pipefail
say() { printf 'install: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }
usage="usage: scripts/release/install.sh PREFIX [BUILT], as in: scripts/release/install.sh \$HOME/.local"

[ $# -ge 1 ] && [ $# -le 2 ] || fail "$usage"
case $1 in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;; -* | "") fail "\`$1\` is no folder; $usage" ;; esac
prefix=$(realpath -m -- "$1")
built=${2:+$(realpath -m -- "$2")}
cd "$(dirname "$0")/../.."
target=${DESTDIR:-}$prefix
[ ! -e "$target" ] || [ -d "$target" ] || fail "$target is no folder; $usage"
mkdir -p "$target" 2>/dev/null && [ -w "$target" ] || fail "you may not write to $target; name another PREFIX, or run this as who may"

if [ -z "$built" ]; then
    command -v cargo >/dev/null || fail "cargo is missing: install Rust 1.89 or newer (rustup.rs), then run this again"
    say "building libseqtune"
    cargo build --quiet --release -p seqtune-c
    built=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
fi
for library in libseqtune_c.so libseqtune_c.a; do
    [ -f "$built/$library" ] || fail "$built holds no $library; build it by: cargo build --release -p seqtune-c"
done

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
soname=libseqtune.so.0
# what Rust's own library asks for: `cargo rustc -p seqtune-c --crate-type staticlib -- --print native-static-libs`
static_libs="-lgcc_s -lutil -lrt -lpthread -lm -ldl"
fill() {
    sed -e "s|@VERSION@|$version|" -e "s|@VERSION_MINOR@|${version%.*}|" -e "s|@STATIC_LIBS@|$static_libs|" \
        -e "s|@STATIC_LIBS_CMAKE@|${static_libs// /;}|" "$1" > "$2"
    chmod 644 "$2"
}

lib=$target/lib
mkdir -p "$lib/pkgconfig" "$lib/cmake/seqtune" "$target/include"
# a program that runs keeps the old library: the new one is another file
install -m 755 "$built/libseqtune_c.so" "$lib/.libseqtune.new"
command -v strip >/dev/null && strip --strip-unneeded "$lib/.libseqtune.new"
mv -f "$lib/.libseqtune.new" "$lib/libseqtune.so.$version"
ln -sf "libseqtune.so.$version" "$lib/$soname"
ln -sf "$soname" "$lib/libseqtune.so"
install -m 644 "$built/libseqtune_c.a" "$lib/libseqtune.a"
command -v strip >/dev/null && strip --strip-debug "$lib/libseqtune.a"
install -m 644 src/c/include/seqtune.h src/c/include/seqtune.hpp "$target/include"
fill src/c/seqtune.pc "$lib/pkgconfig/seqtune.pc"
fill src/c/cmake/seqtuneConfig.cmake "$lib/cmake/seqtune/seqtuneConfig.cmake"
fill src/c/cmake/seqtuneConfigVersion.cmake "$lib/cmake/seqtune/seqtuneConfigVersion.cmake"
say "libseqtune $version is in $target ($(du -kL "$lib/$soname" | cut -f1) KiB shared)"
case ${DESTDIR:-}$prefix in
    /usr | /usr/local) say "run \`ldconfig\` once, so that programs find it" ;;
    "$prefix") say "to use it: export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib" ;;
esac
