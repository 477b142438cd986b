# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The set-up that tools/build, tools/demo and tools/test share; they source it. It installs only
# what is missing and says what it does. Everything it makes lies in .cache/, .venv/ and build*/.

set -euo pipefail
# shellcheck disable=SC2034 # for the scripts that source this
self=$(readlink -f "$0") caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TORCH=torch==2.15.0
TRANSFORMERS=transformers==5.23.0
# What PyTorch imports besides NVIDIA's libraries, which the simulated device stands in for.
TORCH_NEEDS=(filelock 'typing-extensions>=4.13' 'setuptools>=77' sympy networkx jinja2 fsspec numpy)
# For the tests of pytest --memtap.
PYTEST=pytest==9.2.0
# The last ones read the tables of the Python package, or check its types.
TEST_TOOLS=(meson-python pytest nbclient ipykernel polars pyarrow pandas duckdb mypy)
CUDA_HEADERS=(nvidia-cuda-runtime==13.2.* nvidia-cuda-cupti==13.2.* nvidia-cuda-crt==13.2.*)

# A program that catches an interrupt and ends must not make us try again.
trap 'exit 130' INT

say() { printf '==> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "$0" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '    %s\n' "$@" >&2
    exit 1
}

# quietly NAME COMMAND...: the command's output goes to .cache/NAME.log and is shown if it fails.
quietly() {
    local log=.cache/$1.log
    shift
    mkdir -p .cache
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 60 "$log" >&2
        die "this failed: $*" "Its whole output is in $log."
    fi
}

# --- system packages -------------------------------------------------------------------------

# apt_install PACKAGE...
apt_install() {
    local root=(env DEBIAN_FRONTEND=noninteractive)
    mkdir -p .cache
    local apt=(apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300)
    command -v apt-get >/dev/null ||
        die "this system has no apt-get; install what Debian calls: $*" "Then run $0 again."
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            die "packages are missing, and this is neither root nor is there sudo. As root, run:" \
                "apt-get install --no-install-recommends $*"
        root=(sudo "${root[@]}")
        sudo -v || die "sudo refused; as root, run: apt-get install --no-install-recommends $*"
    fi
    say "Installing system packages: $*"
    # A fresh machine has no package lists, an old one has outdated ones.
    if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null ||
        ! "${root[@]}" "${apt[@]}" install "$@" >.cache/apt.log 2>&1 </dev/null; then
        quietly apt-update "${root[@]}" "${apt[@]}" update
        quietly apt "${root[@]}" "${apt[@]}" install "$@"
    fi
}

# need PACKAGE TEST...: remembers PACKAGE where TEST fails.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

install_build_packages() {
    local missing=()
    need gcc command -v gcc
    need g++ command -v g++
    need libc6-dev test -e /usr/include/stdio.h
    need meson command -v meson
    need ninja-build command -v ninja
    need pkg-config command -v pkg-config
    need libtomlplusplus-dev pkg-config --exists tomlplusplus
    need libzstd-dev pkg-config --exists libzstd
    need libjansson-dev pkg-config --exists jansson
    need libdw-dev pkg-config --exists libdw
    need zlib1g-dev pkg-config --exists zlib
    need libmd-dev pkg-config --exists libmd
    need libsqlite3-dev pkg-config --exists sqlite3
    need check pkg-config --exists check
    need libbz2-dev test -e /usr/include/bzlib.h
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

# --- CUDA headers ----------------------------------------------------------------------------

# Sets cuda_include: of an installed CUDA Toolkit, else of NVIDIA's wheels on PyPI.
find_cuda_headers() {
    local dir wheels=.cache/cuda-headers
    cuda_include=$(python3 tools/find-cuda-headers.py)
    [ -z "$cuda_include" ] || return 0
    cuda_include=$PWD/$wheels/nvidia/cu13/include
    [ "$(cat $wheels/ready 2>/dev/null)" != "${CUDA_HEADERS[*]}" ] || return 0
    say "Fetching CUDA's headers (NVIDIA's wheels on PyPI; no CUDA Toolkit was found)"
    python3 -m pip --version >/dev/null 2>&1 || apt_install python3-pip
    rm -rf $wheels
    mkdir -p $wheels/download
    fetch cuda-headers python3 -m pip download --no-deps --dest $wheels/download \
        "${CUDA_HEADERS[@]}"
    for dir in "$wheels"/download/*.whl; do
        python3 -m zipfile -e "$dir" $wheels
    done
    rm -rf $wheels/download
    [ -e "$cuda_include/cuda.h" ] || die "NVIDIA's wheels lack a header in $cuda_include"
    printf '%s\n' "${CUDA_HEADERS[*]}" >$wheels/ready
}

# fetch NAME COMMAND...: like quietly, and tries a command that uses the network three times.
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

# --- the project -----------------------------------------------------------------------------

# configure DIR [MESON OPTION...]: sets DIR up where it is not yet.
configure() {
    local dir=$1
    shift
    if [ ! -e "$dir/build.ninja" ]; then
        say "Setting up $dir/"
        quietly "meson-$dir" meson setup "$dir" "-Dnvidia_include=$cuda_include" "$@"
    fi
}

# compile DIR [MESON OPTION...]: sets DIR up where it is not yet, and compiles.
compile() {
    configure "$@"
    say "Building in $1/"
    quietly "ninja-$1" ninja -C "$1"
}

# --- Python and PyTorch ----------------------------------------------------------------------

is_new_python() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# Sets python: $PYTHON, or the first that this PyTorch runs on.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.12 python3.11 python3.13}; do
        if is_new_python "$candidate"; then
            python=$("$candidate" -c 'import sys; print(sys.executable)')
            return
        fi
    done
    candidate=${PYTHON:-python3}
    die "$TORCH needs Python 3.11 or newer; $candidate is $(
        "$candidate" --version 2>/dev/null || echo 'not one that runs')" \
        "Install a newer one and name it: PYTHON=/path/to/python3.12 $0"
}

# make_venv simulated|gpu: .venv with PyTorch's CUDA build. For the simulated device it goes without
# NVIDIA's libraries (several GB). The file `ready` is written last: without it, it starts afresh.
make_venv() {
    has_venv "$1" && return
    begin_venv
    fill_venv "$1"
}

has_venv() {
    local kind=$1 ready
    ready=$({ .venv/bin/python -c '' && cat .venv/ready; } 2>/dev/null) || true
    case $ready in
    "gpu $TORCH $TRANSFORMERS $PYTEST" | "$kind $TORCH $TRANSFORMERS $PYTEST") return 0 ;;
    esac
    return 1
}

# An empty one.
begin_venv() {
    local package
    find_python
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        package=$(basename "$(readlink -f "$python")")-venv
        case $python in
        /usr/bin/*) apt_install "$package" ;;
        *) die "$python cannot make virtual environments (no module ensurepip)" \
            "Name another one: PYTHON=/path/to/python3 $0" ;;
        esac
    fi
    say "Making a virtual environment in .venv/ ($("$python" --version))"
    quietly venv "$python" -m venv --clear .venv
}

fill_venv() {
    local kind=$1
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    if [ "$kind" = gpu ]; then
        say "Installing $TORCH with NVIDIA's libraries (about 3 GB; takes minutes)"
        fetch pip .venv/bin/python -m pip install "$TORCH" numpy "$TRANSFORMERS" "$PYTEST"
    else
        say "Installing $TORCH, its CUDA build (about 0.6 GB; takes a minute or two)"
        fetch pip .venv/bin/python -m pip install --no-deps "$TORCH"
        say "Installing $TRANSFORMERS and what PyTorch imports"
        fetch pip-more .venv/bin/python -m pip install "${TORCH_NEEDS[@]}" "$TRANSFORMERS" \
            "$PYTEST"
    fi
    printf '%s\n' "$kind $TORCH $TRANSFORMERS $PYTEST" >.venv/ready
}

# What tests of the wheel, of the pytest plugin and of the notebook want in .venv.
install_test_tools() {
    .venv/bin/python -c 'import mesonpy, pytest, nbclient, ipykernel' 2>/dev/null ||
        fetch pip-tests .venv/bin/python -m pip install "${TEST_TOOLS[@]}"
}

# Whether this machine has an NVIDIA GPU and its driver.
has_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 1
    /sbin/ldconfig -p | grep -q 'libcuda\.so\.1' || [ -e /usr/lib/wsl/lib/libcuda.so.1 ]
}
