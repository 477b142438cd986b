# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The set-up that tools/build, tools/demo and tools/test share; they source this file. It installs
# only what is missing and says what it does. Everything it creates is in .cache/, .venv/ and build*/.

set -euo pipefail
# shellcheck disable=SC2034 # for the scripts that source this
self=$(readlink -f "$0") caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Everything from PyPI, with hashes (*.in: the packages that were requested).
locks=packaging/locks
TORCH=$(cat $locks/torch.in)
PAGE_TOOLS=.cache/page-tools

# After an interrupt, do not retry, even if the interrupted program ended normally.
trap 'exit 130' INT

if ! mkdir -p .cache 2>/dev/null || [ ! -w .cache ]; then
    echo "$0: $PWD cannot be written; clone memtap into a folder of yours" >&2
    exit 1
fi

say() { printf '==> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "$0" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '    %s\n' "$@" >&2
    exit 1
}

# why LOG: prints the known cause that a log contains, and the remedy. (Without Python, which may be what is missing.)
why() {
    local pattern what remedy
    while IFS=$'\t' read -r pattern what remedy; do
        if grep -qE "$pattern" "$1"; then
            echo "$what; $remedy and run this again"
            return
        fi
    done <page/reasons.txt
    return 1
}

# fail LOG COMMAND...: prints one line if the log contains a known cause, else the log's end.
fail() {
    local log=$1 why
    shift
    if why=$(why "$log"); then
        die "$why ($log has all of it)"
    fi
    tail -n 60 "$log" >&2
    die "this failed: $*" "Its whole output is in $log."
}

# quietly NAME COMMAND...: the command's output goes to .cache/NAME.log and is shown if it fails.
quietly() {
    local log=.cache/$1.log
    shift
    mkdir -p .cache
    "$@" >"$log" 2>&1 </dev/null || fail "$log" "$@"
}

# --- system packages -------------------------------------------------------------------------

# The names of a build's packages in Debian, Fedora, Arch Linux and openSUSE. need NAMES TEST... notes a
# row if TEST fails; NAMES has the four names, separated by /.
need() {
    local row=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$row")
}

# Print the names of the missing packages from a package manager's column.
names() {
    local row found
    mapfile -t found < <(for row in "${missing[@]}"; do cut -d/ -f"$1" <<<"$row/$row/$row/$row"; done | sort -u)
    echo "${found[*]}"
}

# Print the command that installs the missing packages; exit code 1 if no known package manager is found.
how() {
    if command -v apt-get >/dev/null; then
        echo "apt-get install --no-install-recommends $(names 1)"
    elif command -v zypper >/dev/null; then
        echo "zypper install $(names 4)"
    elif command -v pacman >/dev/null; then
        echo "pacman -S $(names 3)"
    elif command -v dnf >/dev/null; then
        echo "dnf install $(names 2)"
    else
        return 1
    fi
}

# Install the missing packages with apt-get; if that is impossible, name the command that would.
install_missing() {
    [ ${#missing[@]} -gt 0 ] || return 0
    local root=(env DEBIAN_FRONTEND=noninteractive) packages how
    mkdir -p .cache
    local apt=(apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300)
    how=$(how) || die "missing packages (by their names in Debian): $(names 1); install them and run $0 again"
    if ! command -v apt-get >/dev/null; then
        die "packages are missing; as root, run: $how"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            die "packages are missing, and this is neither root nor has sudo; as root, run: $how"
        root=(sudo '--preserve-env=http_proxy,https_proxy,no_proxy' "${root[@]}")
        sudo -v || die "sudo refused; as root, run: $how"
    fi
    read -ra packages <<<"$(names 1)"
    say "Installing system packages: ${packages[*]}"
    apt_get() { "${root[@]}" "${apt[@]}" "$@" >>.cache/apt.log 2>&1 </dev/null; }
    : >.cache/apt.log
    # A fresh machine has no package lists, an old one has outdated ones.
    if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || ! apt_get install "${packages[@]}"; then
        : >.cache/apt.log
        apt_get update || true # a list that is not needed may fail; the log says why
        apt_get install "${packages[@]}" || fail .cache/apt.log apt-get install "${packages[@]}"
    fi
}

# meson.build requires 1.0 or newer.
has_meson() { meson --version | grep -qE '^([1-9][0-9]*)\.'; }
has_pip() { python3 -m pip --version; }

may_install() { command -v apt-get && { [ "$(id -u)" -eq 0 ] || command -v sudo; }; }

# Set missing to the packages that a build lacks.
find_missing() {
    missing=()
    # Fetched by an earlier call.
    PATH=$PATH:$PWD/.cache/bin
    need python3 command -v python3
    need python3-pip/python3-pip/python-pip/python3-pip has_pip
    need gcc command -v gcc
    need g++/gcc-c++/gcc/gcc-c++ command -v g++
    need libc6-dev/glibc-devel/glibc/glibc-devel test -e /usr/include/stdio.h
    need pkg-config/pkgconf-pkg-config/pkgconf/pkg-config command -v pkg-config
    need libtomlplusplus-dev/tomlplusplus-devel/tomlplusplus/tomlplusplus-devel \
        pkg-config --exists tomlplusplus
    need libzstd-dev/libzstd-static/zstd/libzstd-devel-static pkg-config --exists libzstd
    need libjansson-dev/jansson-devel/jansson/libjansson-devel pkg-config --exists jansson
    need libdw-dev/elfutils-devel/elfutils/libdw-devel pkg-config --exists libdw
    need zlib1g-dev/zlib-devel/zlib/zlib-devel pkg-config --exists zlib
    need libmd-dev/libmd-devel/libmd/libmd-devel pkg-config --exists libmd
    need libsqlite3-dev/sqlite-devel/sqlite/sqlite3-devel pkg-config --exists sqlite3
    need libbz2-dev/bzip2-devel/bzip2/libbz2-devel test -e /usr/include/bzlib.h
}

# Print in one line what a build lacks and how to install it, for pip's build, which installs none of it.
say_missing() {
    local missing how
    find_missing
    [ ${#missing[@]} -gt 0 ] || return 1
    how=$(how) && how="run tools/build, which installs them, or as root: $how" || how="install these packages (Debian's names): $(names 1)"
    echo "memtap: packages are missing; $how"
}

install_build_packages() {
    local missing
    find_missing
    need check/check-devel/check/check-devel pkg-config --exists check
    if may_install >/dev/null; then
        need meson has_meson
        need ninja-build command -v ninja
    fi
    install_missing
    is_python 9 python3 ||
        die "python3 is $(python3 --version), but memtap needs 3.9 or newer; put a newer one first in PATH"
    if ! has_meson >/dev/null 2>&1 || ! command -v ninja >/dev/null; then
        fetch_meson
    fi
}

# Browsers for the page, and tools that tests use.
install_test_packages() {
    local missing=()
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then # Debian has it, and it takes a fifth less time
        need chromium-headless-shell command -v chromium-headless-shell
    else
        need chromium/chromium/chromium/chromium command -v chromium chromium-browser google-chrome
    fi
    need firefox-esr/firefox/firefox/MozillaFirefox command -v firefox-esr firefox
    need libxml2-utils/libxml2/libxml2/libxml2-tools command -v xmllint
    need mandoc command -v mandoc
    need tmux command -v tmux
    need valgrind command -v valgrind
    need git command -v git
    need clang command -v clang
    need bash-completion test -e /usr/share/bash-completion/bash_completion
    need fish command -v fish
    need zsh command -v zsh
    need binutils command -v readelf
    need util-linux command -v setarch
    need mount command -v mount
    install_missing
}

# From PyPI into .cache/: this needs no root, and Ubuntu 22.04 and Debian 11 have an older meson.
fetch_meson() {
    say "Fetching meson and ninja from PyPI"
    # With the system's pip, so that ensurepip is not needed.
    quietly build-venv python3 -m venv --clear --without-pip --system-site-packages .cache/build-tools
    fetch build-tools .cache/build-tools/bin/python -m pip install --ignore-installed --no-deps \
        --require-hashes -r $locks/meson.txt
    mkdir -p .cache/bin
    ln -sf ../build-tools/bin/meson ../build-tools/bin/ninja .cache/bin
    PATH=$PWD/.cache/bin:$PATH
    hash -r
    say "They are in .cache/bin"
}

# --- CUDA headers ----------------------------------------------------------------------------

# Sets cuda_include: an installed CUDA Toolkit's folder, else that of NVIDIA's wheels from PyPI.
find_cuda_headers() {
    local dir wheels=.cache/cuda-headers lock=$locks/cuda-headers.txt
    cuda_include=$(python3 tools/find-cuda-headers.py)
    [ -z "$cuda_include" ] || return 0
    cuda_include=$PWD/$wheels/nvidia/cu13/include
    ! cmp -s $lock $wheels/ready || return 0
    say "Fetching CUDA's headers (NVIDIA's wheels on PyPI; no CUDA Toolkit was found)"
    rm -rf $wheels
    mkdir -p $wheels/download
    fetch cuda-headers python3 -m pip download --no-deps --dest $wheels/download \
        --require-hashes -r $lock
    for dir in "$wheels"/download/*.whl; do
        python3 -m zipfile -e "$dir" $wheels
    done
    rm -rf $wheels/download
    [ -e "$cuda_include/cuda.h" ] || die "NVIDIA's wheels lack a header in $cuda_include"
    cp $lock $wheels/ready
}

# fetch NAME COMMAND...: like quietly, for a command that uses the network: tries three times.
fetch() {
    local try name=$1
    shift
    for try in 1 2; do
        "$@" >".cache/$name.log" 2>&1 </dev/null && return
        say "The download failed; trying again in $((try * 10)) seconds"
        sleep $((try * 10))
    done
    quietly "$name" "$@"
}

# --- the page --------------------------------------------------------------------------------

# What memtap view's page is built with. (ninja would fetch it, too, but silently.)
fetch_page_tools() {
    [ -e $PAGE_TOOLS/ready ] ||
        say "Fetching what builds the page: zig, node, zstd and esbuild (PyPI and npm, 180 MB)"
    python3 page/fetch.py $PAGE_TOOLS || exit 1
}

# --- the project -----------------------------------------------------------------------------

# configure DIR [MESON OPTION...]: sets up DIR if needed.
configure() {
    local dir=$1
    shift
    if [ ! -e "$dir/build.ninja" ]; then
        say "Setting up $dir/"
        quietly "meson-$dir" meson setup "$dir" "-Dnvidia_include=$cuda_include" "$@"
    fi
}

# compile DIR TARGET [MESON OPTION...]: sets up DIR if needed, and compiles TARGET: `all`, or what is `installed`.
compile() {
    configure "$1" "${@:3}"
    say "Building in $1/"
    quietly "ninja-$1" ninja -C "$1" "$2"
}

# --- Python and PyTorch ----------------------------------------------------------------------

# is_python MINOR COMMAND: whether COMMAND is Python 3.MINOR or newer.
is_python() { "$2" -c "import sys; sys.exit(sys.version_info < (3, $1))" >/dev/null 2>&1; }

# Sets python: $PYTHON, or the first one that this PyTorch supports.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.12 python3.11 python3.13}; do
        if is_python 11 "$candidate"; then
            python=$("$candidate" -c 'import sys; print(sys.executable)')
            return
        fi
    done
    candidate=${PYTHON:-python3}
    die "$TORCH needs Python 3.11 or newer; $candidate is $(
        "$candidate" --version 2>/dev/null || echo 'a command that does not run')" \
        "Install a newer one and name it: PYTHON=/path/to/python3.12 $0"
}

# .venv has PyTorch's CUDA build; for the simulated device without NVIDIA's libraries (several GB). The
# file `ready` is written last; without it, .venv is created anew.

has_venv() {
    local kind=$1 ready
    ready=$({ .venv/bin/python -c '' && cat .venv/ready; } 2>/dev/null) || true
    case "$ready " in
    "gpu $TORCH "* | "$kind $TORCH "*) return 0 ;;
    esac
    return 1
}

# Create an empty .venv.
begin_venv() {
    local package
    find_python
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        package=$(basename "$(readlink -f "$python")")-venv
        case $python in
        /usr/bin/*)
            local missing=("$package")
            install_missing
            ;;
        *) die "$python cannot make virtual environments (no module ensurepip)" \
            "Name another one: PYTHON=/path/to/python3 $0" ;;
        esac
    fi
    say "Creating a virtual environment in .venv/ ($("$python" --version))"
    quietly venv "$python" -m venv --clear .venv
}

# in_background COMMAND...: starts it in a process group, so that it ends with us; finish_background waits for it.
in_background() {
    set -m
    { "$@"; } &
    set +m
    background=$!
    trap 'kill -- -$background 2>/dev/null || true' EXIT
}

finish_background() {
    wait "$background" || exit 1
    trap - EXIT
}

# Do not compile all of it: Python compiles what it imports, a tenth of it, at the first import.
unset PYTHONDONTWRITEBYTECODE
pip_install=(.venv/bin/python -m pip install --no-compile --no-deps --require-hashes)

fill_venv() {
    local kind=$1
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    if [ "$kind" = gpu ]; then
        say "Installing $TORCH with NVIDIA's libraries (about 3 GB; takes minutes)"
        fetch pip "${pip_install[@]}" -r $locks/torch-gpu.txt
    else
        say "Installing $TORCH, the CUDA build (about 0.6 GB; takes a minute or two)"
        fetch pip "${pip_install[@]}" -r $locks/torch.txt
        say "Installing what PyTorch imports"
        fetch pip-more "${pip_install[@]}" -r $locks/torch-needs.txt
    fi
    printf '%s\n' "$kind $TORCH" >.venv/ready
}

install_test_tools() {
    local site
    # The tests import PyTorch hundreds of times; tests/support/quick_imports.py makes that faster.
    site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp tests/support/quick_imports.py "$site"
    echo 'import quick_imports' >"$site/quick_imports.pth"
    ! cmp -s $locks/tests.txt .venv/ready-tests || return 0
    say "Installing what the tests need: $(grep -v '^[#-]' $locks/tests.in | tr '\n' ' ')"
    fetch pip-tests "${pip_install[@]}" -r $locks/tests.txt
    cp $locks/tests.txt .venv/ready-tests
}

# Whether this machine has an NVIDIA GPU and its driver.
has_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 1
    /sbin/ldconfig -p | grep -q 'libcuda\.so\.1' || [ -e /usr/lib/wsl/lib/libcuda.so.1 ]
}
