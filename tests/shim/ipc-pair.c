/* SPDX-License-Identifier: Apache-2.0 */
/* ipc-pair: one process allocates device memory, and another one opens it. */
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 3 << 20 };

static int import(int from, int to)
{
    cudaIpcMemHandle_t handle;
    void *memory;
    if (read(from, &handle, sizeof handle) != (ssize_t)sizeof handle ||
        cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) ||
        cudaIpcCloseMemHandle(memory))
        return 1;
    return write(to, "", 1) != 1;
}

int main(void)
{
    int there[2], back[2], status = 0;
    char done;
    cudaIpcMemHandle_t handle;
    void *memory;
    if (pipe(there) || pipe(back))
        return 1;
    pid_t child = fork();
    if (!child)
        return import(there[0], back[1]);
    close(back[1]);
    if (cudaMalloc(&memory, BYTES) || cudaIpcGetMemHandle(&handle, memory) ||
        write(there[1], &handle, sizeof handle) != (ssize_t)sizeof handle)
        return 2;
    if (read(back[0], &done, 1) != 1 || cudaFree(memory))
        return 3;
    return waitpid(child, &status, 0) != child || status;
}
