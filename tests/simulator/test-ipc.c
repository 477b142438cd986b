/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that two processes of a machine share. */
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim-test.h"

/* What one process tells the other. */
struct message {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
    int good;
};

static int line[2]; /* a socket between the two */

static void notify(int end, const struct message *message)
{
    ck_assert_int_eq(write(line[end], message, sizeof(*message)), sizeof(*message));
}

static void hear(int end, struct message *message)
{
    ck_assert_int_eq(read(line[end], message, sizeof(*message)), sizeof(*message));
}

/* Starts a process before any CUDA call that runs `work` and tells whether all was well. */
static pid_t start(int (*work)(void))
{
    struct message message = {0};
    pid_t child;

    use_gpu("t4");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, line), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child)
        return child;
    message.good = work();
    notify(1, &message);
    _exit(0);
}

static void finish(pid_t child)
{
    struct message message;

    hear(0, &message);
    ck_assert_int_eq(message.good, 1);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

static int read_and_answer(void)
{
    struct message message;
    unsigned char *shared, *again, bytes[2] = {0};
    cudaEvent_t event;
    size_t before = available();

    hear(1, &message);
    if (cudaIpcOpenMemHandle((void **)&shared, message.memory, cudaIpcMemLazyEnablePeerAccess) ||
        cudaIpcOpenMemHandle((void **)&again, message.memory, cudaIpcMemLazyEnablePeerAccess) ||
        shared != again || available() != before || cudaIpcOpenEventHandle(&event, message.event) ||
        cudaEventSynchronize(event))
        return 0;
    if (cudaMemcpy(bytes, shared + 4095, 2, cudaMemcpyDeviceToHost) || bytes[0] != 7 ||
        bytes[1] != 8 || cudaFree(shared) != cudaErrorInvalidValue)
        return 0;
    bytes[0] = 9;
    return !cudaMemcpy(shared + 5000, bytes, 1, cudaMemcpyHostToDevice) &&
           !cudaIpcCloseMemHandle(shared) && !cudaIpcCloseMemHandle(shared) &&
           cudaIpcCloseMemHandle(shared) == cudaErrorInvalidValue;
}

static const size_t sizes[] = {8192, MIB(30)};

START_TEST(both_see_what_either_writes)
{
    pid_t child = start(read_and_answer);
    unsigned char bytes[2] = {7, 8}, answer;
    struct message message = {0};
    unsigned char *memory, *other;
    cudaEvent_t event;
    size_t before;

    before = available();
    ck_cuda(cudaMalloc((void **)&other, 512)); /* not at the start of its page */
    ck_cuda(cudaMalloc((void **)&memory, sizes[_i]));
    ck_cuda(cudaMemcpy(memory + 4095, bytes, 2, cudaMemcpyHostToDevice));
    ck_cuda(cudaIpcGetMemHandle(&message.memory, memory));
    ck_cuda(cudaMemcpy(bytes, memory + 4095, 2, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(bytes[1], 8);
    ck_cuda(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    ck_cuda(cudaEventRecord(event, NULL));
    ck_cuda(cudaIpcGetEventHandle(&message.event, event));
    notify(0, &message);
    finish(child);
    ck_cuda(cudaMemcpy(&answer, memory + 5000, 1, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(answer, 9);
    ck_cuda(cudaMemset(memory, 0, sizes[_i]));
    ck_cuda(cudaMemcpy(&answer, memory + 5000, 1, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(answer, 0);
    ck_cuda(cudaFree(memory));
    ck_cuda(cudaFree(other));
    ck_assert_uint_eq(available(), before);
}
END_TEST

static int open_what_is_gone(void)
{
    struct message message;
    void *address;

    hear(1, &message);
    return cudaIpcOpenMemHandle(&address, message.memory, 1) == cudaErrorMapBufferObjectFailed;
}

START_TEST(wrong_handles_are_refused)
{
    pid_t child = start(open_what_is_gone);
    struct message message = {0};
    CUipcMemHandle handle;
    cudaEvent_t event;
    void *memory, *address;

    available();
    ck_cuda(cudaMalloc(&memory, MIB(2)));
    ck_cuda(cudaIpcGetMemHandle(&message.memory, memory));
    ck_assert_int_eq(cudaIpcOpenMemHandle(&address, message.memory, 1),
                     cudaErrorDeviceUninitialized); /* it is of this process */
    memcpy(&handle, &message.memory, sizeof(handle));
    ck_assert_int_eq(cuIpcOpenMemHandle((CUdeviceptr *)&address, handle, 1),
                     CUDA_ERROR_INVALID_CONTEXT);
    ck_cuda(cudaFree(memory));
    notify(0, &message);
    finish(child);
    memset(&message, 0, sizeof(message));
    ck_assert_int_eq(cudaIpcOpenMemHandle(&address, message.memory, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaIpcGetMemHandle(&message.memory, &handle), cudaErrorInvalidValue);
    ck_cuda(cudaMallocAsync(&memory, MIB(2), NULL));
    ck_assert_int_eq(cudaIpcGetMemHandle(&message.memory, memory), cudaErrorInvalidValue);
    ck_cuda(cudaEventCreate(&event));
    ck_assert_int_eq(cudaIpcGetEventHandle(&message.event, event), cudaErrorInvalidResourceHandle);
}
END_TEST

/* --- pieces of virtual-memory management -------------------------------------------------- */

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc access = {{.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address;

    ck_cu(cuMemAddressReserve(&address, MIB(4), 0, 0, 0));
    ck_cu(cuMemMap(address, MIB(4), 0, handle, 0));
    ck_cu(cuMemSetAccess(address, MIB(4), &access, 1));
    return address;
}

/* Sends a descriptor along with a byte, or receives one. */
static void pass(int end, int *fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *control;

    if (*fd < 0) {
        ck_assert_int_eq(recvmsg(line[end], &message, 0), 1);
        memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*fd));
        return;
    }
    control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(*fd));
    memcpy(CMSG_DATA(control), fd, sizeof(*fd));
    ck_assert_int_eq(sendmsg(line[end], &message, 0), 1);
}

static int import_and_answer(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t before = available();
    int fd = -1, value;

    pass(1, &fd);
    if (cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return 0;
    close(fd);
    address = map(handle);
    cuMemcpyDtoH(&value, address + MIB(3), sizeof(value));
    if (value != 77 || available() != before)
        return 0;
    value++;
    cuMemcpyHtoD(address + MIB(3), &value, sizeof(value));
    return !cuMemUnmap(address, MIB(4)) && !cuMemRelease(handle) && available() == before;
}

START_TEST(pieces_are_exported_by_descriptor)
{
    pid_t child = start(import_and_answer);
    CUmemAllocationProp piece = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    int fd = -1, value = 77;
    size_t before;

    before = available();
    ck_cu(cuMemCreate(&handle, MIB(4), &piece, 0));
    address = map(handle);
    ck_cu(cuMemcpyHtoD(address + MIB(3), &value, sizeof(value)));
    ck_cu(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    pass(0, &fd);
    finish(child);
    ck_cu(cuMemcpyDtoH(&value, address + MIB(3), sizeof(value)));
    ck_assert_int_eq(value, 78);
    ck_assert_int_eq(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0),
                     CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)line[0],
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                     CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMemUnmap(address, MIB(4)));
    ck_cu(cuMemRelease(handle));
    ck_assert_uint_eq(available(), before);
}
END_TEST

/* --- a forked child (a DataLoader worker) -------------------------------------------------- */

START_TEST(a_forked_child_has_accounts_of_its_own)
{
    void *memory, *more;
    size_t before;
    pid_t child;
    int status;

    use_gpu("t4");
    before = available();
    ck_cuda(cudaMalloc(&memory, MIB(64)));
    child = fork();
    if (!child) {
        int good = before - available() == MIB(64) && !cudaMalloc(&more, MIB(8)) &&
                   !cudaFree(memory) && before - available() == MIB(8);

        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(before - available(), MIB(64));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("ipc");

    tcase_add_loop_test(tests, both_see_what_either_writes, 0, 2);
    tcase_add_test(tests, wrong_handles_are_refused);
    tcase_add_test(tests, pieces_are_exported_by_descriptor);
    tcase_add_test(tests, a_forked_child_has_accounts_of_its_own);
    return RUN_TESTS(tests);
}
