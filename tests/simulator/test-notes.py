#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test-notes.py CUDASIM LIBDIR: what the simulator says, and what the small launcher returns."""
import subprocess
import sys
import unittest

CUDASIM, LIBDIR = sys.argv[1:3]

CALL = 'import ctypes; cudart = ctypes.CDLL("libcudart.so.13"); '


def run(*command, options=('--gpu', 't4')):
    return subprocess.run([CUDASIM, LIBDIR, *options, '--', *command], text=True,
                          capture_output=True)


def python(code):
    return run(sys.executable, '-c', CALL + code)


class Notes(unittest.TestCase):
    def test_nothing_is_said_without_need(self):
        done = run('true')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        done = python('cudart.cudaProfilerStart(); cudart.cudaMalloc(ctypes.byref('
                      'ctypes.c_void_p()), ctypes.c_size_t(5))')
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_what_nobody_modelled_names_itself_once(self):
        done = python('print([cudart.cudaGraphConditionalHandleCreate() for i in range(3)])')
        self.assertEqual(done.stdout, '[801, 801, 801]\n')
        self.assertEqual(done.stderr, 'cudasim: cudaGraphConditionalHandleCreate is not modelled; '
                                      'it returned "not supported"\n')

    def test_every_declared_name_exists(self):
        """Names of NVIDIA's headers: what is asked for a card's abilities is named on wish only."""
        names = ('libcublas.so.13 cublasHgemm', 'libcublas.so.13 cublasGetStatusName',
                 'libcublasLt.so.13 cublasLtCreate', 'libcublasLt.so.13 cublasLtMatrixTransform',
                 'libcufft.so.12 cufftGetVersion', 'libnvrtc.so.13 nvrtcGetNumSupportedArchs',
                 'libcuda.so.1 cuEventDestroy', 'libcuda.so.1 cuMemAdvise', 'libcusolver.so.12 cusolverRfCreate',
                 'libcusparse.so.12 cusparseAxpby', 'libcudnn.so.9 cudnnAddTensor',
                 'libnvidia-ml.so.1 nvmlDeviceGetPcieThroughput')
        code = f'for name in {names}: library, _, name = name.partition(" "); getattr(ctypes.CDLL(library), name); ' \
               'print(ctypes.CDLL("libnvidia-ml.so.1").nvmlDeviceGetPcieThroughput())'
        done = run(sys.executable, '-c', 'import ctypes\n' + code.replace('; print', '\nprint'))
        self.assertEqual((done.stdout, done.stderr), ('3\n', ''))
        verbose = run('env', 'CUDASIM_VERBOSE=1', sys.executable, '-c',
                      'import ctypes; ctypes.CDLL("libnvidia-ml.so.1").nvmlDeviceGetPcieThroughput()')
        self.assertIn('nvmlDeviceGetPcieThroughput is not modelled', verbose.stderr)

    def test_an_unknown_card_is_named(self):
        done = run(sys.executable, '-c', 'import os; os.environ["CUDASIM_GPU"] = "gtx1"; ' + CALL +
                   'cudart.cudaFree(None)')
        self.assertIn('unknown GPU gtx1', done.stderr)

    def test_a_variable_that_is_no_number_is_named_once(self):
        done = run(sys.executable, '-c', 'import os; os.environ.update(CUDASIM_MEMORY="24X", CUDASIM_GPUS="-1", CUDASIM_STREAM=""); ' +
                   CALL + 'cudart.cudaFree(None); cudart.cudaFree(None)')
        self.assertRegex(done.stderr, r"CUDASIM_MEMORY '24X' is not a size; give one such as 64M, 1.5 GiB or 65536 \(using \d+\)\n")
        self.assertIn("CUDASIM_GPUS '-1' is not a number (using 1)\n", done.stderr)
        self.assertEqual(done.stderr.count('\n'), 2)

    def test_a_variable_takes_a_size_as_options_do(self):
        code = CALL + 'free, total = ctypes.c_size_t(), ctypes.c_size_t()\n' \
                      'cudart.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)); print(total.value)'
        for size in '1610612736', '1.5G', '1536MiB', '1536 MiB', '1.5 gib':
            done = run(sys.executable, '-c', f'import os; os.environ["CUDASIM_MEMORY"] = "{size}"; ' + code)
            self.assertEqual((done.stdout, done.stderr), ('1610612736\n', ''), size)

    def test_no_name_acts_on_a_terminal_or_in_a_log(self):
        done = run(sys.executable, '-c', r'import os; os.environ["CUDASIM_GPU"] = "a\x1b[2J\n::error::b\u009b"; ' +
                   CALL + 'cudart.cudaFree(None)')
        self.assertIn('unknown GPU a?[2J?::error::b??; simulating', done.stderr)
        self.assertEqual(done.stderr.count('\n'), 1)


    def test_the_drivers_files_are_seen(self):
        done = run(sys.executable, '-c', 'import os\nfor name in ("ctl", "-uvm", "0", "1", "2", "x"): name = "/dev/nvidia" + name; '
                   'print(os.path.exists(name), os.access(name, os.R_OK))', options=('--gpus', '2'))
        self.assertEqual(done.stdout.split('\n')[:6], ['True True'] * 4 + ['False False'] * 2)

    def test_a_card_can_be_asked_what_it_compiles_for(self):
        for soname, count in ('libnvrtc.so.13', 12), ('libnvrtc.so.12', 20):
            done = run(sys.executable, '-c', f'import ctypes; nvrtc = ctypes.CDLL("{soname}"); n = ctypes.c_int(); '
                       'nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(n)); all = (ctypes.c_int * n.value)(); '
                       'nvrtc.nvrtcGetSupportedArchs(all); print(n.value, 90 in all)')
            self.assertEqual(done.stdout, f'{count} True\n')

    def test_what_was_said_of_a_matrix_can_be_read_back(self):
        """XLA asks cublasLt for its layouts."""
        done = run(sys.executable, '-c', """from ctypes import *
lt, layout, rows, n = CDLL("libcublasLt.so.13"), c_void_p(), c_uint64(), c_size_t()
lt.cublasLtMatrixLayoutCreate(byref(layout), 0, c_uint64(5), c_uint64(7), c_int64(9))
lt.cublasLtMatrixLayoutSetAttribute(layout, 3, byref(c_uint64(1 << 40)), c_size_t(8))
for attribute in 2, 3, 4, 5, 99:
    lt.cublasLtMatrixLayoutGetAttribute(layout, attribute, byref(rows), c_size_t(8), byref(n))
    print(rows.value, n.value)
print(lt.cublasLtMatrixLayoutGetAttribute(layout, 2, None, c_size_t(0), byref(n)), n.value,
      lt.cublasLtMatrixLayoutGetAttribute(None, 2, None, c_size_t(0), byref(n)), lt.cublasLtMatrixLayoutDestroy(layout))
""")
        self.assertEqual(done.stdout, f'5 8\n{1 << 40} 8\n9 8\n1 8\n0 8\n0 8 7 0\n')


class Launcher(unittest.TestCase):
    def test_the_exit_code_is_the_programs(self):
        self.assertEqual(run('sh', '-c', 'exit 9').returncode, 9)

    def test_a_wrong_command_line_is_two(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run('true', options=('--gpu', 'none')).returncode, 2)
        self.assertEqual(run('true', options=('--memory', '5x')).returncode, 2)
        self.assertEqual(run('true', options=('--memory', '1M')).returncode, 2)

    def test_how_much_is_copied_can_be_chosen(self):
        done = run('sh', '-c', 'echo $CUDASIM_COPY_LIMIT', options=('--copy-limit', '2K'))
        self.assertEqual(done.stdout, '2048\n')
        self.assertEqual(run('true', options=('--copy-limit', 'all')).returncode, 2)

    def test_a_command_that_cannot_run(self):
        self.assertEqual(run('/no/such/command').returncode, 127)
        self.assertEqual(run('/').returncode, 126)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
