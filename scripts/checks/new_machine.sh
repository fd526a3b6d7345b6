#!/usr/bin/env bash
# Runs a command as on a new machine: in a root folder of its own with Debian's smallest system, the Rust that is used here, and what
# the README names. Programs, libraries, headers and caches of this machine are not seen there.
#
#   scripts/checks/new_machine.sh [--here] [COMMAND...]      scripts/test.sh where no command is named
#
#   --here   in this folder as it is, so that what is built stays; else in a clean clone of the last commit, which is removed
#
# It needs Linux on x86-64, to be root (or sudo), and 8 GB under TMPDIR; it installs debootstrap. CI runs it. Where the kernel makes no
# name spaces it fails: nothing was shown then.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin:/sbin

# What README.md and scripts/setup.sh ask for before they can do anything: a C compiler, g++, Python 3 with pip. Registries want certificates.
named=(gcc g++ python3 python3-pip ca-certificates)
suite=bookworm
say() { printf 'new machine: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# What leads to the registries from here, and nothing else of the environment.
is_handed_on() {
    case $1 in
        *_proxy | *_PROXY | SSL_CERT_FILE | SSL_CERT_DIR | CURL_CA_BUNDLE | REQUESTS_CA_BUNDLE) ;;
        PIP_CERT | PIP_INDEX_URL | PIP_EXTRA_INDEX_URL | PIP_TRUSTED_HOST | PIP_DEFAULT_TIMEOUT) ;;
        CARGO_HTTP_* | CARGO_NET_* | CARGO_REGISTRIES_* | CARGO_TERM_COLOR | CI) ;;
        *) return 1 ;;
    esac
}

# Where this machine gets Debian's packages: the first address of the suite, and that of its security updates.
mirror_of() {
    local found
    found=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 2>/dev/null | awk -v release="$1" '$2 == release {print $1; exit}')
    [ -n "$found" ] || fail "apt-get here knows no mirror of Debian $1: name one in /etc/apt, and run apt-get update"
    printf '%s' "$found"
}

# Debian's smallest system with the packages that are named, under $root.
make_root() {
    local mirror security
    mirror=$(mirror_of "$suite")
    security=$(mirror_of "$suite-security")
    say "Debian $suite, the smallest system, with ${named[*]}"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$work/log" 2>&1 \
        || { tail -20 "$work/log" >&2; fail "debootstrap made no system of Debian $suite from $mirror"; }
    printf 'deb %s\n' "$mirror $suite main" "$mirror $suite-updates main" "$security $suite-security main" > "$root/etc/apt/sources.list"
    # how this machine reaches a mirror
    apt-config dump 2>/dev/null | grep '^Acquire::' > "$root/etc/apt/apt.conf.d/90acquire" || true
    # no service is started there
    printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    local variable file
    for variable in $(compgen -e); do
        file=${!variable}
        case $variable in *CERT* | *BUNDLE*) [ ! -f "$file" ] || install -D -m 644 "$file" "$work/certificates$file" ;; esac
    done
    for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
        [ ! -f "$file" ] || install -D -m 644 "$file" "$root$file"
    done
}

# The first process within the name spaces: puts what is shared into the root, makes it the root, and runs the command there.
enter() {
    local root=$1 sysroot=$2 cargo=$3 place=$4 here=$5
    shift 5
    bind() { mkdir -p "$root$1" && mount --bind "$1" "$root$1"; }
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    bind "$sysroot"
    mount -o remount,ro,bind "$root$sysroot"
    # downloads are shared, programs that cargo installed are not
    bind "$cargo"
    mkdir -p "$cargo/bin"
    mount -t tmpfs none "$root$cargo/bin"
    [ "$here" = no ] || bind "$place"
    mkdir -p "$root/old"
    cd "$root"
    pivot_root . old
    umount -l /old
    rmdir /old
    DEBIAN_FRONTEND=noninteractive apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${named[@]}" >/log 2>&1 \
        || { tail -20 /log >&2; fail "apt-get does not install ${named[*]}"; }
    [ ! -d /certificates ] || { cp -a /certificates/. / && rm -rf /certificates; }
    tell
    cd "$place"
    say "$*"
    # a session of its own, as behind any terminal: else the first process adopts stopped groups, and the kernel does not wake them
    setsid --wait "$@"
}

# What the command finds, for the log.
tell() {
    local absent=() program
    say "$(dpkg-query -f '.' -W | wc -c) packages; $(rustc --version); $(gcc --version | head -1); $(python3 --version)"
    for program in git node chromium cmake pkg-config make strace valgrind pgrep unzip sqlite3 clang nvcc hipcc nvidia-smi; do
        command -v "$program" >/dev/null || absent+=("$program")
    done
    say "not there: ${absent[*]}"
}

if [ "${1:-}" = --inside ]; then
    shift
    enter "$@"
    exit
fi
here=no
if [ "${1:-}" = --here ]; then here=yes && shift; fi
case "${1:-}" in -*) fail "there is no option \`$1\`: scripts/checks/new_machine.sh [--here] [COMMAND...]" ;; esac
[ $# -gt 0 ] || set -- scripts/test.sh
[ "$(uname -sm)" = "Linux x86_64" ] || fail "this is $(uname -sm), not Linux on x86-64"
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || fail "a root folder takes root: run this as root"
    exec sudo -n --preserve-env env "PATH=$PATH" "HOME=$HOME" "$0" $([ $here = no ] || echo --here) "$@"
fi
command -v rustc >/dev/null || fail "rustc is missing: install Rust 1.89 or newer (rustup.rs), then run this again"
sysroot=$(rustc --print sysroot)
cargo=${CARGO_HOME:-$HOME/.cargo}
[ -x "$sysroot/bin/cargo" ] && [ "$sysroot" != /usr ] || fail "the Rust in $sysroot has no folder of its own: install it by rustup.rs"
work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
unshare --mount --pid --fork mount -t tmpfs none "$work" 2>"$work/log" \
    || fail "no name space with mounts of its own can be made here: $(cat "$work/log")"
if ! command -v debootstrap >/dev/null || [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
    command -v apt-get >/dev/null || fail "debootstrap is missing: install it, then run this again"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring; } \
        >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; fail "debootstrap cannot be installed"; }
fi
make_root
mkdir -p "$cargo/registry"
[ ! -d "$work/certificates" ] || mv "$work/certificates" "$root/certificates"
place=$PWD
if [ $here = no ]; then
    place=/root/seqtune
    git clone --quiet . "$root$place"
fi
environment=("HOME=/root" "PATH=$sysroot/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "LANG=C.UTF-8" "CARGO_HOME=$cargo")
for variable in $(compgen -e); do
    ! is_handed_on "$variable" || environment+=("$variable=${!variable}")
done
set +e
env -i "${environment[@]}" unshare --mount --pid --fork --kill-child \
    bash "$PWD/scripts/checks/new_machine.sh" --inside "$root" "$sysroot" "$cargo" "$place" "$here" "$@"
status=$?
set -e
# who asked by sudo goes on with what was built
[ -z "${SUDO_UID:-}" ] || [ $here = no ] || chown -R "$SUDO_UID:$SUDO_GID" "$PWD" "$cargo/registry"
exit $status
