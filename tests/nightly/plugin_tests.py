# SPDX-License-Identifier: Apache-2.0
"""What tests/nightly/test_pytest_plugin.py lets pytest run."""
import ctypes
import os

import pytest

MIB = 1024 ** 2


def take(mib):
    """From the runtime, which begins sooner than PyTorch."""
    ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(mib * MIB))
    return mib * MIB


@pytest.fixture
def block():
    yield take(8)


@pytest.fixture(scope="session")
def process():
    return os.getpid()


def test_unmarked():
    assert not os.environ.get("PYTEST_MEMTAP_REPORTS")


@pytest.mark.memtap(peak="64 MiB", growth="0 B")
def test_within(process):
    assert os.environ["PYTEST_MEMTAP_REPORTS"] and process == os.getpid()
    take(32)


@pytest.mark.memtap(peak="16 MiB")
def test_over():
    held = take(32)
    assert held == 32 * MIB


@pytest.mark.memtap(peak="64 MiB")
@pytest.mark.parametrize("mib", [16, 128], ids=["small::one", "large[two]"])
def test_sizes(mib):
    take(mib)


@pytest.mark.memtap(peak="64 MiB")
class TestClass:
    def test_method(self, block):
        assert block == 8 * MIB

    @pytest.mark.memtap(peak="4 MiB")
    def test_nearest_marker(self, block):
        pass


@pytest.mark.memtap(peak="1 GiB")
def test_own_reason(block):
    print("said before")
    assert block == 7


@pytest.mark.memtap
@pytest.mark.skip(reason="not today")
def test_skipped():
    pass


@pytest.mark.memtap
def test_skips_itself():
    pytest.skip("after a look")


@pytest.mark.memtap
@pytest.mark.xfail(reason="known")
def test_expected():
    assert not take(1)


@pytest.mark.memtap(peak="1 GiB")
def test_killed():
    take(4)
    os.abort()


@pytest.mark.memtap(peek="1 GiB")
def test_wrong_marker():
    pass  # without memory, too


@pytest.mark.memtap("2 GiB")
def test_no_name():
    take(1)


@pytest.mark.memtap(category="1 GiB")
def test_no_table():
    take(1)


@pytest.mark.memtap(peak="1 MiB")
def test_many_categories():
    import torch  # where the test is recorded: elsewhere it may lack a GPU's libraries

    layer = torch.nn.Linear(64, 64, device="cuda")
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.zeros(8, 64, device="cuda")).relu().sum().backward()
    optimizer.step()
    layer(torch.zeros(8, 64, device="cuda")).relu().sum().backward()
    assert not layer


@pytest.mark.gpu
def test_by_marker():
    take(48)
