/* SPDX-License-Identifier: Apache-2.0 */
#include "info.h"
#include "preload/cuda/cupti.h"
#include "preload/host/notice.h"
#include "preload/host/read-file.h"
#include "preload/modules/module-members.h"
#include "preload/modules/module-roots.h"
#include "preload/modules/module-search.h"
#include "preload/modules/python-modules.h"
#include "preload/python/tensor.h"
#include "preload/record/intern.h"
#include "preload/record/process-end.h"
#include "preload/record/scan.h"
#include "preload/record/tail.h"
#include "preload/stacks/native-stack.h"
#include "preload/stacks/python-stack.h"
#include "preload/torch/blocks.h"
#include "preload/torch/real.h"
#include "preload/write/device-memory.h"
#include "preload/write/launcher.h"
#include "secrets.h"
#include "title.h"
#include "trace-format/end-note.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sink {
    mt_info_sink *call;
    void *data;
};

/* Record a line. Large buffers are static: only the writer's thread runs this. */
__attribute__((format(printf, 2, 3))) static void put(struct sink sink, const char *format, ...)
{
    static char text[MT_TEXT_LIMIT + 1];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        sink.call(sink.data, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* The variables, besides the launchers', that change the use of memory or identify the process in a
 * job. */
static const char *const environment[] = {
    "MASTER_ADDR",
    "MASTER_PORT",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "TORCHELASTIC_RUN_ID",
    "CUDA_VISIBLE_DEVICES",
    "PYTORCH_ALLOC_CONF",
    "SLURM_JOB_ID",
    "SLURM_NODEID",
    "PYTORCH_CUDA_ALLOC_CONF",
    "CUDASIM_GPU",
    "CUDASIM_MEMORY",
    "CUDASIM_ALONE",
    "CUDASIM_STANDS_FOR",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "CUDA_MODULE_LOADING",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "TF_GPU_ALLOCATOR",
};

#define N_VARIABLES (sizeof environment / sizeof *environment)

/* "env.NAME=value" for the variables that are set, and the process's place in the job ("rank=1"),
 * as of the recording's start. */
static char *values[64];
static size_t n_values;

static void keep(const char *before, const char *name, const char *value)
{
    if (!value || n_values == sizeof values / sizeof *values ||
        asprintf(&values[n_values], "%s%s=%s", before, name, value) < 0)
        return;
    char *text = values[n_values++];
    text[mt_mask_secrets(text, strlen(text))] = '\0';
}

void mt_info_prepare(void)
{
    const char *variable;
    n_values = 0; /* a forked child does not free its parent's: little memory, once */
    for (unsigned i = 0; (variable = mt_launcher_variable(i)); i++)
        keep("env.", variable, getenv(variable));
    for (size_t i = 0; i < N_VARIABLES; i++)
        keep("env.", environment[i], getenv(environment[i]));
    for (enum mt_job_place place = 0; place < MT_PLACES; place++)
        keep("", mt_place_names[place], mt_launcher_place(place));
}

static void put_title(struct sink sink, bool is_first)
{
    const char *title = mt_title_read(is_first);
    if (title)
        put(sink, "title=%s", title);
}

static void put_command(struct sink sink)
{
    static char text[MT_TEXT_LIMIT - sizeof "command="];
    char path[PATH_MAX];
    mt_title_command(text, sizeof text);
    put(sink, "command=%s", text);
    put_title(sink, true);
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0)
        put(sink, "program=%.*s", (int)length, path);
    if (getcwd(path, sizeof path))
        put(sink, "working_directory=%s", path);
}

struct library {
    const char *name;
    char path[PATH_MAX]; /* "": not loaded */
};

/* Keep the path if the line of a mapping names the library, in any version. */
static void match(struct library *library, const char *line)
{
    size_t n = strlen(library->name);
    const char *begin = strchr(line, '/'), *slash = strrchr(line, '/');
    if (!*library->path && slash && !strncmp(slash + 1, library->name, n) &&
        (!slash[1 + n] || slash[1 + n] == '.'))
        snprintf(library->path, PATH_MAX, "%s", begin);
}

/* Find the paths of two loaded libraries, without the loader: a thread that waits for us may hold
 * its lock. */
static void find_libraries(struct library *one, struct library *other)
{
    char line[PATH_MAX + 128];
    struct mt_lines maps;
    mt_lines_open(&maps, "/proc/self/maps");
    while ((!*one->path || !*other->path) && mt_lines_next(&maps, line, sizeof line)) {
        match(one, line);
        match(other, line);
    }
    mt_lines_close(&maps);
}

/* Record the version from version.py, which is in the parent directory of libtorch_cpu.so's:
 * __version__ = '2.15.0+cu132'. */
static void put_torch(struct sink sink, const char *library)
{
    char path[PATH_MAX + 32], text[4096];
    const char *slash = strrchr(library, '/');
    if (!slash)
        return;
    snprintf(path, sizeof path, "%.*s/../version.py", (int)(slash - library), library);
    if (!mt_read_file(path, text, sizeof text))
        return;
    const char *at = strstr(text, "__version__ = '");
    const char *end = at ? strchr(at + 15, '\'') : NULL;
    if (end)
        put(sink, "torch=%.*s", (int)(end - at - 15), at + 15);
}

/* Record the versions of PyTorch and of the driver, which the name of its file has. */
static void put_libraries(struct sink sink)
{
    struct library torch = {.name = "libtorch_cpu.so"}, driver = {.name = "libcuda.so"};
    find_libraries(&torch, &driver);
    put_torch(sink, torch.path);
    if (*driver.path)
        put(sink, "cuda_driver=%s", driver.path);
}

void mt_info_collect(uint64_t start_ns, mt_info_sink *call, void *data)
{
    struct sink sink = {call, data};
    char host[256] = "";
    uint64_t since = mt_now() - start_ns;
    put(sink, "memtap=%s", MT_VERSION);
    put_command(sink);
    put(sink, "pid=%d", (int)getpid());
    put(sink, "parent_pid=%d", (int)getppid());
    if (!gethostname(host, sizeof host - 1))
        put(sink, "host=%s", host);
    put(sink, "start_monotonic_ns=%llu", (unsigned long long)start_ns);
    put(sink, "start_realtime_ns=%llu", (unsigned long long)(mt_clock(CLOCK_REALTIME) - since));
    for (size_t i = 0; i < n_values; i++)
        put(sink, "%s", values[i]);
    put_libraries(sink);
}

void mt_info_collect_changes(mt_info_sink *call, void *data)
{
    put_title((struct sink){call, data}, false);
}

void mt_info_collect_late(mt_info_sink *call, void *data)
{
    char missing[512];
    char end[MT_PROCESS_END_TEXT];
    struct sink sink = {call, data};
    if (*mt_process_end(end))
        put(sink, MT_ENDED_INFO "%s", end);
    if (*mt_python_version())
        put(sink, "python=%s", mt_python_version());
    put(sink, "python_stacks=%s", mt_python_status());
    put(sink, "modules=%s", mt_modules_status());
    struct mt_scan_work work = mt_scan_work();
    put(sink, "lookup_reads=%llu", (unsigned long long)work.reads);
    put(sink, "lookup_bytes=%llu", (unsigned long long)work.bytes);
    put(sink, "lookup_calls=%llu", (unsigned long long)work.calls);
    uint32_t cut = mt_module_searches_cut() + mt_module_members_cut() + mt_module_roots_left_out();
    if (cut)
        put(sink, "lookups_cut=%u", cut);
    if (mt_intern_refused())
        put(sink, "definitions_refused=%llu", (unsigned long long)mt_intern_refused());
    put(sink, "native_stacks=%s", mt_native_status());
    put(sink, "labels=%s", mt_tensor_status());
    put(sink, "dtypes=%s", mt_dtype_status());
    put(sink, "device_memory=%s", mt_device_memory_status());
    put(sink, "cupti=%s", mt_cupti_status());
    if (*mt_notice_list(missing, sizeof missing))
        put(sink, "unseen_copies=%s", missing);
    if (mt_real_is_missing(missing, sizeof missing))
        put(sink, "torch_hooks=%s%s", *missing ? "all but" : "all", missing);
    if (mt_real_is_missing(missing, sizeof missing))
        put(sink, "requests=%s", mt_requests_status(missing, sizeof missing));
    put(sink, "kill_proof=%s", mt_tail_status());
    put(sink, "writer_cpu_ns=%llu", (unsigned long long)mt_writer_cpu_ns());
}
