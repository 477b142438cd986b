/* SPDX-License-Identifier: Apache-2.0 */
#include "cudnn-installed.h"

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/device/device.h"
#include "say.h"

enum { OLDEST = 90800, WITH_TENSOR_IR = 92400 };

static struct cudnn_installed installed;
static bool is_ready;

/* --- where it is --------------------------------------------------------------------------- */

static const char graph[] = "libcudnn_graph.so.9";

static bool has_library(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           !access(path, F_OK);
}

/* Write the folder of libtorch_cuda.so, with a slash. */
static int find_torch(struct dl_phdr_info *image, size_t size, void *folder)
{
    static const char torch[] = "/libtorch_cuda.so";
    size_t length = strlen(image->dlpi_name);
    (void)size;
    if (length < sizeof torch || strcmp(image->dlpi_name + length - sizeof torch + 1, torch))
        return 0;
    snprintf(folder, PATH_MAX, "%.*s", (int)(length - sizeof torch + 2), image->dlpi_name);
    return 1;
}

/* Write where packages install it: wheels, PyTorch's own, conda's. */
static void find_next_to_torch(char folder[PATH_MAX])
{
    static const char *const places[] = {"../../nvidia/cudnn/lib", ".", "../../../.."};
    char torch[PATH_MAX] = "";
    dl_iterate_phdr(find_torch, torch);
    for (size_t i = 0; *torch && i < sizeof places / sizeof *places; i++)
        if (snprintf(folder, PATH_MAX, "%s%s", torch, places[i]) < PATH_MAX &&
            has_library(folder, graph))
            return;
    *folder = '\0';
}

/* Write its folder; "": there is none. Return whether CUDASIM_CUDNN names it. */
static bool find(char folder[PATH_MAX])
{
    const char *wanted = getenv("CUDASIM_CUDNN");
    *folder = '\0';
    if (!wanted || !*wanted)
        find_next_to_torch(folder);
    else if (strcmp(wanted, "off"))
        snprintf(folder, PATH_MAX, "%s", wanted);
    return wanted && *wanted;
}

static size_t version_in(const char *text, const char *format)
{
    unsigned cuda, major, minor, patch;
    return sscanf(text, format, &cuda, &major, &minor, &patch) == 4
               ? major * 10000 + minor * 100 + patch
               : 0;
}

/* Return the version that a wheel's metadata requires; 0: none. */
static size_t version_required(const char *metadata)
{
    FILE *file = fopen(metadata, "re");
    char line[512];
    size_t version = 0;
    while (file && !version && fgets(line, sizeof line, file))
        version = version_in(line, "Requires-Dist: nvidia-cudnn-cu%u%*[ (=]%u.%u.%u");
    if (file)
        fclose(file);
    return version;
}

/* Return the version that the program's PyTorch uses: that of the wheel next to it, or the one that
 * its own wheel requires; 0: neither is a wheel. */
static size_t version_of_torch(void)
{
    static const char package[] = "nvidia_cudnn_cu";
    char folder[PATH_MAX] = "", pattern[PATH_MAX + 64];
    size_t version = 0;
    glob_t found;
    dl_iterate_phdr(find_torch, folder);
    if (!*folder)
        return 0;
    snprintf(pattern, sizeof pattern, "%s../../%s*.dist-info", folder, package);
    if (!glob(pattern, 0, NULL, &found)) {
        version = version_in(strrchr(found.gl_pathv[0], '/') + 1 + strlen(package), "%u-%u.%u.%u");
        globfree(&found);
    }
    snprintf(pattern, sizeof pattern, "%s../../torch-*.dist-info/METADATA", folder);
    if (!version && !glob(pattern, 0, NULL, &found)) {
        version = version_required(found.gl_pathv[0]);
        globfree(&found);
    }
    return version;
}

size_t cudnn_installed_version(void)
{
    static _Atomic size_t of_torch; /* 0: not known yet */
    size_t version = of_torch;
    if (!version)
        of_torch = version = version_of_torch();
    return version || !is_ready || installed.is_named ? version : installed.version;
}

/* --- the card, as it knows it -------------------------------------------------------------- */

/* cuDNN's JSON description of a device. Nearly all answers depend only on the compute
 * capability. */
static int write_device(char *out, size_t size, const struct sim_device *device)
{
    const struct sim_gpu *gpu = device->gpu;
    return snprintf(
        out, size,
        "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
        "\"regsPerBlock\":65536,\"multiProcessorCount\":%d,\"smCountOrigin\":0,\"warpSize\":32,"
        "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%" PRIu64 ","
        "\"reservedSharedMemoryPerBlock\":%d,\"oversizedSharedMemoryPerBlock\":0,"
        "\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":%d,\"maxThreadsPerBlock\":1024,"
        "\"maxThreadsPerSM\":%d,\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
        "\"totalGlobalMem\":%" PRIu64 ",\"smClockRateKHz\":%d,\"memClockRateKHz\":%d,"
        "\"memoryBusWidth\":%d,\"l2CacheSize\":%" PRIu64 ",\"cudaDeviceId\":0,"
        "\"deviceVer\":%d,\"driverVer\":13000,\"deviceName\":\"%s\"}",
        gpu->sms, gpu->shared_per_block, gpu->major < 8 ? 0 : 1024, gpu->blocks_per_sm,
        gpu->threads_per_sm, gpu->memory, gpu->core_khz, gpu->memory_khz, gpu->bus_bits, gpu->l2,
        gpu->major * 100 + gpu->minor * 10, gpu->product);
}

/* Create cuDNN's descriptor of the card. A refusal is reported in cuDNN's words. */
static bool describe_device(const char *folder)
{
    char json[4096], why[512] = "";
    const struct sim_device *device = sim_device(sim_thread.device);
    int length = device ? write_device(json, sizeof json, device) : 0;
    if (length <= 0 || length >= (int)sizeof json)
        return false;
    int status = installed.create(CUDNN_DEVICE, &installed.device);
    if (!status)
        status = installed.set(installed.device, CUDNN_JSON_OF_DEVICE, CUDNN_CHARACTER_VALUE,
                               length, json);
    if (!status)
        status = installed.finalize(installed.device);
    if (!status)
        return true;
    installed.last_error(why, sizeof why);
    sim_print("cuDNN in %s refuses this card (status %d: %s); convolutions have no workspaces",
              folder, status, why);
    return false;
}

/* --- loading ------------------------------------------------------------------------------- */

/* Return the processor for which an ELF file is built; 0: it is not one. */
static unsigned processor_of(const char *path)
{
    ElfW(Ehdr) head = {0};
    FILE *file = fopen(path, "re");
    bool is_read = file && fread(&head, sizeof head, 1, file) == 1;
    if (file)
        fclose(file);
    return is_read && !memcmp(head.e_ident, ELFMAG, SELFMAG) ? head.e_machine : 0;
}

/* Return why it was not loaded. The loader skips libraries built for another processor and reports
 * that the file does not exist. */
static const char *why_not(const char *path)
{
    const char *why = dlerror();
    unsigned processor = processor_of(path);
    return processor && processor != processor_of("/proc/self/exe")
               ? "it is built for another processor"
               : why;
}

/* Load a library by its path, so that no other of the same name is used, and with its own symbols
 * first, since the stand-in has the same names. */
static void *load(const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library)
        sim_print("cuDNN in %s cannot be used: %s; convolutions have no workspaces", folder,
                  why_not(path));
    return library;
}

static bool find_functions(void *library)
{
    struct {
        void *to;
        const char *name;
    } wanted[] = {
        {&installed.create, "cudnnBackendCreateDescriptor"},
        {&installed.destroy, "cudnnBackendDestroyDescriptor"},
        {&installed.set, "cudnnBackendSetAttribute"},
        {&installed.get, "cudnnBackendGetAttribute"},
        {&installed.finalize, "cudnnBackendFinalize"},
        {&installed.last_error, "cudnnGetLastErrorString"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function)
            return false;
        memcpy(wanted[i].to, &function, sizeof function);
    }
    return true;
}

static size_t version_of(void *library)
{
    void *at = dlsym(library, "cudnnGetVersion");
    size_t (*version)(void) = NULL;
    memcpy(&version, &at, sizeof at);
    return version ? version() : 0;
}

/* Load the libraries that its answers need: without one, they are silently incomplete. */
static bool load_all(const char *folder)
{
    static const char *const parts[] = {
        "libcudnn_engines_precompiled.so.9", "libcudnn_engines_runtime_compiled.so.9",
        "libcudnn_heuristic.so.9", "libcudnn_engines_tensor_ir.so.9"};
    void *library = load(folder, graph);
    if (!library)
        return false;
    installed.version = version_of(library);
    if (installed.version < OLDEST || !find_functions(library)) {
        if (installed.is_named)
            sim_print("cuDNN in %s is %zu.%zu; only 9.8 and newer can be queried without a "
                      "device; convolutions have no workspaces",
                      folder, installed.version / 10000, installed.version / 100 % 100);
        return false;
    }
    size_t n = sizeof parts / sizeof *parts - (installed.version < WITH_TENSOR_IR);
    for (size_t i = 0; i < n; i++)
        if (!load(folder, parts[i]))
            return false;
    return true;
}

static void start(void)
{
    char folder[PATH_MAX];
    installed.is_named = find(folder);
    if (*folder)
        is_ready = load_all(folder) && describe_device(folder);
}

const struct cudnn_installed *cudnn_installed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    return is_ready ? &installed : NULL;
}
