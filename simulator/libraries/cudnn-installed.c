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

static const char graph[] = "libcudnn_graph.so.9", front[] = "libcudnn.so.9";

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
            (has_library(folder, graph) || has_library(folder, front)))
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

/* A version, and the CUDA that it is for, 13; 0: unknown. */
struct release {
    size_t version;
    unsigned cuda;
};

static struct release release_in(const char *text, const char *format)
{
    unsigned cuda, major, minor, patch;
    return sscanf(text, format, &cuda, &major, &minor, &patch) == 4
               ? (struct release){major * 10000 + minor * 100 + patch, cuda}
               : (struct release){0};
}

/* Return what a wheel's metadata requires. */
static struct release release_required(const char *metadata)
{
    FILE *file = fopen(metadata, "re");
    char line[512];
    struct release release = {0};
    while (file && !release.version && fgets(line, sizeof line, file))
        release = release_in(line, "Requires-Dist: nvidia-cudnn-cu%u%*[ (=]%u.%u.%u");
    if (file)
        fclose(file);
    return release;
}

/* Return what the program's PyTorch uses: the wheel next to it, or what its own wheel requires. */
static struct release release_of_torch(void)
{
    static const char package[] = "nvidia_cudnn_cu";
    char folder[PATH_MAX] = "", pattern[PATH_MAX + 64];
    struct release release = {0};
    glob_t found;
    dl_iterate_phdr(find_torch, folder);
    if (!*folder)
        return release;
    snprintf(pattern, sizeof pattern, "%s../../%s*.dist-info", folder, package);
    if (!glob(pattern, 0, NULL, &found)) {
        release = release_in(strrchr(found.gl_pathv[0], '/') + 1 + strlen(package), "%u-%u.%u.%u");
        globfree(&found);
    }
    snprintf(pattern, sizeof pattern, "%s../../torch-*.dist-info/METADATA", folder);
    if (!release.version && !glob(pattern, 0, NULL, &found)) {
        release = release_required(found.gl_pathv[0]);
        globfree(&found);
    }
    return release;
}

size_t cudnn_installed_version(void)
{
    static _Atomic size_t of_torch; /* 0: not known yet */
    size_t version = of_torch;
    if (!version)
        of_torch = version = release_of_torch().version;
    return version || !is_ready || installed.is_named ? version : installed.version;
}

bool cudnn_installed_is_torchs(void)
{
    struct release torch = release_of_torch();
    return !installed.is_named || (installed.version == torch.version &&
                                   (!installed.cuda || installed.cuda == torch.cuda));
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

/* Return whether all parts of an ELF file that are mapped are in it. */
static bool is_complete(FILE *file, const ElfW(Ehdr) * head)
{
    ElfW(Phdr) part;
    bool is_whole = !fseek(file, 0, SEEK_END);
    long size = ftell(file);
    for (unsigned i = 0; is_whole && i < head->e_phnum; i++)
        is_whole = !fseek(file, (long)(head->e_phoff + i * sizeof part), SEEK_SET) &&
                   fread(&part, sizeof part, 1, file) == 1 &&
                   (part.p_type != PT_LOAD || part.p_offset + part.p_filesz <= (size_t)size);
    return is_whole;
}

/* Return why not to load a library: the loader skips one for another processor and reports that
 * the file does not exist, and a truncated one ends the process. NULL: nothing is against it. */
static const char *why_not(const char *path)
{
    ElfW(Ehdr) head, own;
    FILE *file = fopen(path, "re"), *program = fopen("/proc/self/exe", "re");
    const char *why = NULL;
    if (file && fread(&head, sizeof head, 1, file) == 1 && !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
        if (program && fread(&own, sizeof own, 1, program) == 1 && own.e_machine != head.e_machine)
            why = "it is built for another processor";
        else if (!is_complete(file, &head))
            why = "the file is truncated";
    }
    if (file)
        fclose(file);
    if (program)
        fclose(program);
    return why;
}

/* Load a library by its path, so that no other of the same name is used, and with its own symbols
 * first, since the stand-in has the same names. */
static void *load(const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    const char *why = why_not(path);
    void *library = why ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library)
        sim_print("cuDNN in %s cannot be used: %s%s%s; convolutions have no workspaces", folder,
                  why ? name : "", why ? ": " : "", why ? why : dlerror());
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

static size_t version_of(void *library, const char *function)
{
    void *at = dlsym(library, function);
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
    installed.version = version_of(library, "cudnnGetVersion");
    installed.cuda = (unsigned)version_of(library, "cudnnGetCudartVersion") / 1000;
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
    static char folder[PATH_MAX];
    installed.is_named = find(folder);
    if (!*folder)
        return;
    sim_queried_folder = folder;
    is_ready = load_all(folder) && describe_device(folder);
}

const struct cudnn_installed *cudnn_installed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    return is_ready ? &installed : NULL;
}
