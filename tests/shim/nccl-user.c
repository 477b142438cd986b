/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl-user HOW: use NCCL as programs do.
 * linked: by linked functions; opened: by those of a library that dlopen found; second: by those of
 * another NCCL than the linked one; absent: ask whether NCCL, the driver and a call of the runtime
 * are there, as a program without them.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct id {
    char bytes[128];
};

unsigned cudaMalloc(void **address, size_t size);

#ifdef LINKED
int ncclCommInitRank(void **out, int size, struct id id, int rank);
int ncclCommInitRankConfig(void **out, int size, struct id id, int rank, void *config);
int ncclCommInitAll(void **out, int n, const int *devices);
int ncclCommSplit(void *whole, int color, int key, void **out, void *config);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
#define FIND(handle, name) name
#else
#define FIND(handle, name) dlsym(handle, #name)
#endif

struct nccl {
    int (*init)(void **out, int size, struct id id, int rank);
    int (*init_config)(void **out, int size, struct id id, int rank, void *config);
    int (*init_all)(void **out, int n, const int *devices);
    int (*split)(void *whole, int color, int key, void **out, void *config);
    int (*destroy)(void *comm);
    int (*abort)(void *comm);
};

/* Leave five communicators of nine: two of device 1, and one that does not block. */
static int use(const struct nccl *nccl)
{
    void *comm[9], *none = NULL, *failed = NULL;
    int blocks = 1, waits = 0, all[2] = {0, 1};
    struct id id;
    memset(&id, 42, sizeof id);
    int wrong = nccl->init(&comm[0], 3, id, 1) || nccl->init_config(&comm[1], 3, id, 1, &blocks) ||
                nccl->init_config(&comm[2], 3, id, 1, &waits) != 7 ||
                nccl->init_all(&comm[3], 2, all) || nccl->init_all(&comm[5], 2, all) ||
                nccl->split(comm[0], 2, 5, &comm[7], NULL) ||
                nccl->split(comm[0], 2, 5, &comm[8], NULL) ||
                nccl->split(comm[0], -1, 5, &none, NULL) || none;
    if (wrong || nccl->init(&failed, 3, id, 0) != 4)
        return 3;
    return nccl->destroy(comm[0]) || nccl->abort(comm[1]) || nccl->destroy(comm[3]) ||
           nccl->destroy(comm[7]);
}

static struct nccl find(void *handle)
{
    (void)handle;
    return (struct nccl){
        .init = (int (*)(void **, int, struct id, int))FIND(handle, ncclCommInitRank),
        .init_config =
            (int (*)(void **, int, struct id, int, void *))FIND(handle, ncclCommInitRankConfig),
        .init_all = (int (*)(void **, int, const int *))FIND(handle, ncclCommInitAll),
        .split = (int (*)(void *, int, int, void **, void *))FIND(handle, ncclCommSplit),
        .destroy = (int (*)(void *))FIND(handle, ncclCommDestroy),
        .abort = (int (*)(void *))FIND(handle, ncclCommAbort)};
}

int main(int argc, char **argv)
{
    void *address = NULL, *handle = NULL;
    if (argc < 2 || cudaMalloc(&address, 100))
        return 2;
    if (!strcmp(argv[1], "absent")) {
        handle = dlopen(NULL, RTLD_NOW);
        bool is_there = dlsym(RTLD_DEFAULT, "ncclCommSplit") || dlsym(handle, "ncclCommSplit") ||
                        dlsym(handle, "cudaMallocPitch") || dlsym(handle, "cuMemAlloc_v2");
        printf("%s, %s\n", is_there ? "there" : "not there", dlerror() ? "said so" : "silent");
        return !dlsym(handle, "cudaMalloc");
    }
    for (int i = 2; i < argc; i++) /* the last one is used */
        handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (argc > 2 && !handle)
        return 4;
    struct nccl nccl = find(handle);
    return use(&nccl);
}
