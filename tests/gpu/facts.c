/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts [GROUP]...: what CUDA does with memory where its documents are silent, a line
 * `fact<TAB>value` each. evaluation/results/gpu-facts.csv has what it printed on a card (gcc
 * facts.c -lcudart -lcuda); test_facts.py runs it on the simulated one. Each group runs in a
 * process of its own, since a context, once made, stays.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define GIB(n) ((size_t)(n) << 30)
#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void print_fact(const char *fact, long long value)
{
    printf("%s\t%lld\n", fact, value);
}

static void print_error(const char *fact, cudaError_t error)
{
    printf("%s\t%s\n", fact, cudaGetErrorName(error));
    cudaGetLastError();
}

static long long free_bytes(void)
{
    size_t free = 0, total;

    cudaMemGetInfo(&free, &total);
    return (long long)free;
}

/* Return what NVML says that this process has; negative: it says nothing. */
static long long of_process(void)
{
    struct process {
        unsigned pid;
        unsigned long long used;
        unsigned instance, compute;
    } found[64];
    unsigned n = LENGTH(found);
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW), *device;
    int (*init)(void), (*by_index)(unsigned, void **),
        (*processes)(void *, unsigned *, struct process *);

    if (!library)
        return -2;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (init() || by_index(0, &device) || processes(device, &n, found))
        return -3;
    for (unsigned i = 0; i < n; i++)
        if (found[i].pid == (unsigned)getpid())
            return (long long)found[i].used;
    return -1;
}

static void bring_up(void)
{
    cudaFree(NULL);
}

static void card(void)
{
    static const struct {
        const char *name;
        enum cudaDeviceAttr attribute;
    } chosen[] = {{"processors", cudaDevAttrMultiProcessorCount},
                  {"bytes of level 2 cache", cudaDevAttrL2CacheSize},
                  {"threads a processor", cudaDevAttrMaxThreadsPerMultiProcessor},
                  {"blocks a processor", cudaDevAttrMaxBlocksPerMultiprocessor},
                  {"shared memory a processor", cudaDevAttrMaxSharedMemoryPerMultiprocessor},
                  {"shared memory a block, opt-in", cudaDevAttrMaxSharedMemoryPerBlockOptin},
                  {"bits of the bus", cudaDevAttrGlobalMemoryBusWidth},
                  {"kHz of the memory", cudaDevAttrMemoryClockRate},
                  {"kHz", cudaDevAttrClockRate},
                  {"pools supported", cudaDevAttrMemoryPoolsSupported},
                  {"handle types of pools", cudaDevAttrMemoryPoolSupportedHandleTypes},
                  {"pageable access", cudaDevAttrPageableMemoryAccess},
                  {"managed, concurrent", cudaDevAttrConcurrentManagedAccess},
                  {"texture alignment", cudaDevAttrTextureAlignment},
                  {"pitch alignment", cudaDevAttrTexturePitchAlignment},
                  {"host registration", cudaDevAttrHostRegisterSupported},
                  {"cooperative launch", cudaDevAttrCooperativeLaunch}};
    size_t free, total;

    cudaMemGetInfo(&free, &total);
    print_fact("total", (long long)total);
    for (size_t i = 0; i < LENGTH(chosen); i++) {
        int value = -1;

        cudaDeviceGetAttribute(&value, chosen[i].attribute, 0);
        print_fact(chosen[i].name, value);
    }
}

static void context(void)
{
    CUdevice device;
    CUcontext made;
    size_t free, total, at_start;
    cudaStream_t streams[32];
    cudaEvent_t events[1000];
    long long before;
    size_t limit;

    cuInit(0);
    cuDeviceGet(&device, 0);
    print_fact("process after cuInit", of_process());
    cuDevicePrimaryCtxRetain(&made, device);
    cuCtxSetCurrent(made);
    cuMemGetInfo(&at_start, &total);
    print_fact("context, as the process has it", of_process());
    print_fact("context, as the card lacks it", (long long)(total - at_start));
    bring_up();
    cuMemGetInfo(&free, &total);
    print_fact("the runtime's start", (long long)(at_start - free));
    before = free_bytes();
    for (size_t i = 0; i < LENGTH(streams); i++)
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
    print_fact("32 streams", before - free_bytes());
    before = free_bytes();
    for (size_t i = 0; i < LENGTH(events); i++)
        cudaEventCreate(&events[i]);
    print_fact("1,000 events", before - free_bytes());
    cudaDeviceGetLimit(&limit, cudaLimitStackSize);
    print_fact("stack of a thread", (long long)limit);
    cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    print_fact("heap of kernels", (long long)limit);
    before = free_bytes();
    cudaDeviceSetLimit(cudaLimitStackSize, KIB(8));
    print_fact("stacks of 8 KiB", before - free_bytes());
}

/* Return the largest power of two that divides an address, up to 2 MiB. */
static long long alignment_of(const void *address)
{
    size_t power = (size_t)address & -(size_t)address;

    return (long long)(power < MIB(2) ? power : MIB(2));
}

static void sizes(void)
{
    static const size_t cases[] = {1,          KIB(4),     KIB(64),    KIB(512),     MIB(1) - 512,
                                   MIB(1) - 1, MIB(1),     MIB(1) + 1, MIB(1) + 512, MIB(2) - 1,
                                   MIB(2),     MIB(2) + 1, MIB(3),     MIB(20),      MIB(20) + 1,
                                   MIB(33),    GIB(1) - 1, GIB(5)};
    static void *many[256];
    char name[64];
    void *address;
    long long before;

    bring_up();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        before = free_bytes();
        snprintf(name, sizeof name, "cudaMalloc(%zu)", cases[i]);
        if (cudaMalloc(&address, cases[i]))
            continue;
        print_fact(name, before - free_bytes());
        snprintf(name, sizeof name, "cudaMalloc(%zu), its alignment", cases[i]);
        print_fact(name, alignment_of(address));
        cudaFree(address);
        snprintf(name, sizeof name, "cudaMalloc(%zu), freed", cases[i]);
        print_fact(name, before - free_bytes());
    }
    static const size_t small[] = {1,       256,      257,      512,      513,   KIB(4),
                                   KIB(32), KIB(100), KIB(512), KIB(700), MIB(1)};
    for (size_t i = 0; i < LENGTH(small); i++) {
        size_t least = SIZE_MAX;

        before = free_bytes();
        for (size_t j = 0; j < LENGTH(many); j++)
            cudaMalloc(&many[j], small[i]);
        snprintf(name, sizeof name, "256 of %zu", small[i]);
        print_fact(name, before - free_bytes());
        for (size_t j = 1; j < LENGTH(many); j++) {
            size_t apart = (size_t)llabs((char *)many[j] - (char *)many[j - 1]);

            if (apart < least)
                least = apart;
        }
        snprintf(name, sizeof name, "256 of %zu, the least apart", small[i]);
        print_fact(name, (long long)least);
        for (size_t j = 0; j < LENGTH(many); j++)
            cudaFree(many[j]);
        snprintf(name, sizeof name, "256 of %zu, freed", small[i]);
        print_fact(name, before - free_bytes());
    }
    before = free_bytes();
    size_t pitch;
    cudaMallocPitch(&address, &pitch, 1000, 1000);
    print_fact("pitch of rows of 1,000 bytes", (long long)pitch);
    print_fact("1,000 of them", before - free_bytes());
    cudaFree(address);
    before = free_bytes();
    cudaMallocHost(&address, MIB(64));
    print_fact("cudaMallocHost of 64 MiB", before - free_bytes());
    cudaFreeHost(address);
    before = free_bytes();
    cudaMallocManaged(&address, MIB(64), cudaMemAttachGlobal);
    print_fact("cudaMallocManaged of 64 MiB", before - free_bytes());
    cudaMemset(address, 1, MIB(64));
    cudaDeviceSynchronize();
    print_fact("once it was used on the device", before - free_bytes());
    cudaFree(address);
    cudaArray_t array;
    struct cudaChannelFormatDesc what = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    before = free_bytes();
    cudaMallocArray(&array, &what, 1000, 1000, 0);
    print_fact("array of 1,000 by 1,000 floats", before - free_bytes());
    cudaFreeArray(array);
}

static void vmm(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t unit = 0;
    long long before;

    bring_up();
    cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    print_fact("granularity, least", (long long)unit);
    cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    print_fact("granularity, recommended", (long long)unit);
    before = free_bytes();
    print_fact("cuMemAddressReserve of 1 TiB", cuMemAddressReserve(&address, GIB(1024), 0, 0, 0));
    print_fact("it takes", before - free_bytes());
    print_fact("cuMemCreate of 3 MiB", cuMemCreate(&handle, MIB(3), &prop, 0));
    print_fact("cuMemCreate of 20 MiB", cuMemCreate(&handle, MIB(20), &prop, 0));
    print_fact("20 MiB created", before - free_bytes());
    print_fact("mapped: error", cuMemMap(address, MIB(20), 0, handle, 0));
    print_fact("access: error", cuMemSetAccess(address, MIB(20), &access, 1));
    print_fact("20 MiB mapped", before - free_bytes());
    cuMemUnmap(address, MIB(20));
    print_fact("20 MiB unmapped", before - free_bytes());
    cuMemRelease(handle);
    print_fact("20 MiB released", before - free_bytes());
    before = free_bytes();
    print_fact("cuMemCreate of 2 TiB", cuMemCreate(&handle, GIB(2048), &prop, 0));
}

static void pool(void)
{
    static const size_t cases[] = {1, MIB(2), MIB(31), MIB(33), MIB(100), GIB(1)};
    cudaMemPool_t of_device;
    unsigned long long value;
    void *address[LENGTH(cases)];
    char name[64];
    long long before;

    bring_up();
    cudaDeviceGetDefaultMemPool(&of_device, 0);
    before = free_bytes();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        cudaMallocAsync(&address[i], cases[i], 0);
        cudaMemPoolGetAttribute(of_device, cudaMemPoolAttrReservedMemCurrent, &value);
        snprintf(name, sizeof name, "pool, after %zu: reserved", cases[i]);
        print_fact(name, (long long)value);
        cudaMemPoolGetAttribute(of_device, cudaMemPoolAttrUsedMemCurrent, &value);
        snprintf(name, sizeof name, "pool, after %zu: used", cases[i]);
        print_fact(name, (long long)value);
        snprintf(name, sizeof name, "pool, after %zu: of the card", cases[i]);
        print_fact(name, before - free_bytes());
    }
    for (size_t i = 0; i < LENGTH(cases); i++)
        cudaFreeAsync(address[i], 0);
    cudaMemPoolGetAttribute(of_device, cudaMemPoolAttrReservedMemCurrent, &value);
    print_fact("pool, freed and not waited: reserved", (long long)value);
    cudaStreamSynchronize(0);
    cudaMemPoolGetAttribute(of_device, cudaMemPoolAttrReservedMemCurrent, &value);
    print_fact("pool, freed: reserved", (long long)value);
    print_fact("pool, freed: of the card", before - free_bytes());
    value = ~0ull;
    cudaMemPoolSetAttribute(of_device, cudaMemPoolAttrReleaseThreshold, &value);
    cudaMallocAsync(&address[0], free_bytes() / 4 * 3, 0);
    cudaFreeAsync(address[0], 0);
    cudaStreamSynchronize(0);
    cudaMemPoolGetAttribute(of_device, cudaMemPoolAttrReservedMemCurrent, &value);
    print_fact("pool that keeps: keeps something", value != 0);
    print_error("cudaMalloc of half the card while it keeps", cudaMalloc(&address[1], before / 2));
    cudaFree(address[1]);
    cudaMemPoolGetAttribute(of_device, cudaMemPoolAttrReservedMemCurrent, &value);
    print_fact("pool after that: keeps something", value != 0);
    print_error("cudaMallocAsync of 2 TiB", cudaMallocAsync(&address[1], GIB(2048), 0));
}

/* Fill the card, and print what is left when it gives no more. */
static void full(void)
{
    static void *chunks[1 << 18];
    size_t n = 0, half;
    void *address;
    long long before;

    bring_up();
    before = free_bytes();
    print_error("cudaMalloc of all that is left", cudaMalloc(&address, (size_t)before));
    cudaFree(address);
    print_error("cudaMalloc of a byte more", cudaMalloc(&address, (size_t)before + 1));
    for (long long less = 0; less <= (long long)MIB(1024);
         less = less ? 2 * less : (long long)MIB(1))
        if (!cudaMalloc(&address, (size_t)(before - less))) {
            print_fact("most at once: less than is left by at most", less);
            cudaFree(address);
            break;
        }
    cudaGetLastError();
    print_fact("left again as before", free_bytes() == before);
    while (n < LENGTH(chunks) && !cudaMalloc(&chunks[n], MIB(20)))
        n++;
    cudaGetLastError();
    print_fact("filled by 20 MiB: left", free_bytes());
    print_error("filled: cudaMalloc of 4 MiB", cudaMalloc(&address, MIB(4)));
    print_error("filled: cudaMalloc of 2 MiB", cudaMalloc(&address, MIB(2)));
    for (size_t i = 0; i < n; i += 2)
        cudaFree(chunks[i]);
    half = (size_t)free_bytes();
    print_error("every second one freed: cudaMalloc of a quarter of what is left",
                cudaMalloc(&address, half / 4));
    cudaFree(address);
    print_error("every second one freed: cudaMalloc of all but 64 MiB of it",
                cudaMalloc(&address, half - MIB(64)));
}

static void errors(void)
{
    static char on_host[4096];
    void *address = on_host, *second;
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    struct cudaPointerAttributes what;
    cudaError_t error;

    bring_up();
    print_error("cudaMalloc(0)", cudaMalloc(&address, 0));
    print_fact("cudaMalloc(0) gives an address", address != NULL);
    print_error("cudaFree(NULL)", cudaFree(NULL));
    print_error("cudaFree of the host's", cudaFree(on_host));
    cudaMalloc(&address, MIB(4));
    print_error("cudaFree within a block", cudaFree((char *)address + 512));
    print_error("cudaFree", cudaFree(address));
    print_error("cudaFree twice", cudaFree(address));
    address = on_host;
    print_error("cudaMalloc of 2 TiB", cudaMalloc(&address, GIB(2048)));
    print_fact("cudaMalloc of 2 TiB leaves the pointer", address == on_host);
    print_error("cudaMallocHost(0)", cudaMallocHost(&address, 0));
    print_error("cudaFreeHost of the stack's", cudaFreeHost(on_host));
    cudaPointerGetAttributes(&what, on_host);
    print_fact("kind of the host's memory", what.type);
    cudaMalloc(&second, 4096);
    cudaPointerGetAttributes(&what, (char *)second + 100);
    print_fact("kind of the device's memory", what.type);
    print_error("cudaMemcpy past a block",
                cudaMemcpy(on_host, second, MIB(64), cudaMemcpyDeviceToHost));
    cudaStreamCreate(&stream);
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    for (size_t i = 0; i < LENGTH(modes); i++) {
        char name[64];

        cudaStreamBeginCapture(stream, modes[i]);
        snprintf(name, sizeof name, "capture in mode %zu: cudaMalloc", i);
        print_error(name, cudaMalloc(&address, 4096));
        snprintf(name, sizeof name, "capture in mode %zu: cudaFree", i);
        print_error(name, cudaFree(address));
        snprintf(name, sizeof name, "capture in mode %zu: cudaMemGetInfo", i);
        size_t a, b;
        print_error(name, cudaMemGetInfo(&a, &b));
        snprintf(name, sizeof name, "capture in mode %zu: cudaMallocAsync", i);
        print_error(name, cudaMallocAsync(&address, 4096, stream));
        snprintf(name, sizeof name, "capture in mode %zu: cudaDeviceSynchronize", i);
        print_error(name, cudaDeviceSynchronize());
        snprintf(name, sizeof name, "capture in mode %zu: end", i);
        error = cudaStreamEndCapture(stream, &graph);
        print_error(name, error);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {{"card", card}, {"context", context}, {"sizes", sizes},  {"vmm", vmm},
              {"pool", pool}, {"full", full},       {"errors", errors}};

int main(int argc, char **argv)
{
    int failed = 0;

    for (size_t i = 0; i < LENGTH(groups); i++) {
        int chosen = argc == 1, status;

        for (int j = 1; j < argc; j++)
            chosen |= !strcmp(argv[j], groups[i].name);
        if (!chosen)
            continue;
        fflush(stdout);
        if (!fork()) {
            groups[i].run();
            fflush(stdout);
            _exit(0);
        }
        wait(&status);
        if (status) {
            printf("%s\tended with status %d\n", groups[i].name, status);
            failed = 1;
        }
    }
    return failed;
}
