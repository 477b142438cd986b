/* SPDX-License-Identifier: Apache-2.0 */
/* ipc-pair: a process allocates 3 MiB of device memory, and another program, which it starts, opens
 * them twice and has 1 MiB of its own. As the ranks 0 and 1 of a job. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARED = 3 << 20, OWN = 1 << 20 };

/* Over descriptor 0 the handle comes, over 1 the other one learns that it is done. */
static int import(void)
{
    cudaIpcMemHandle_t handle;
    void *memory, *again, *own;
    if (read(0, &handle, sizeof handle) != (ssize_t)sizeof handle ||
        cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) ||
        cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess) ||
        cudaMalloc(&own, OWN) || cudaFree(own) || cudaIpcCloseMemHandle(again) ||
        cudaIpcCloseMemHandle(memory))
        return 1;
    return write(1, "", 1) != 1;
}

static int start_importer(const char *program, const int there[2], const int back[2])
{
    pid_t child = fork();
    if (child)
        return child;
    setenv("RANK", "1", 1);
    dup2(there[0], 0);
    dup2(back[1], 1);
    close(there[1]);
    execl(program, program, "import", NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    int there[2], back[2], status = 0;
    char done;
    cudaIpcMemHandle_t handle;
    void *memory;
    if (argc > 1 && !strcmp(argv[1], "import"))
        return import();
    setenv("WORLD_SIZE", "2", 1);
    setenv("RANK", "0", 1);
    if (pipe(there) || pipe(back))
        return 1;
    pid_t child = start_importer(argv[0], there, back);
    close(back[1]);
    if (cudaMalloc(&memory, SHARED) || cudaIpcGetMemHandle(&handle, memory) ||
        write(there[1], &handle, sizeof handle) != (ssize_t)sizeof handle)
        return 2;
    if (read(back[0], &done, 1) != 1 || cudaFree(memory))
        return 3;
    return waitpid(child, &status, 0) != child || status;
}
