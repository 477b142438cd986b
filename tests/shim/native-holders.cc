/* SPDX-License-Identifier: Apache-2.0 */
/* native-holders alone|idle|busy: blocks that are held in different ways, each of its own size in
 * KiB, and then memory runs out. idle: with a second thread; busy: which holds some of them. */
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

extern "C" void library_keep(void *memory);
/* The values are kept, as the compiler cannot know that nobody reads them. */
#define KEEP(variable) __asm__ volatile("" : : "g"(&(variable)) : "memory")

static __attribute__((noinline)) void *get(size_t kib)
{
    void *memory = nullptr;
    if (cudaMalloc(&memory, kib * 1024))
        abort();
    return memory;
}

struct piece {
    long number;
    char name[40];
    void *data;
};
struct node {
    node *next;
    void *data;
};
struct __attribute__((packed)) header {
    char kind;
    void *data;
};

void *cache;
static void *pool[8];
static thread_local void *of_thread;
static node *list, *history;
static void *newest, **mapped;
static header unaligned;
static std::vector<piece> pieces;
static std::map<int, void *> table;
static std::shared_ptr<piece> shared;
namespace net
{
struct {
    int n;
    void *inside;
} config;
} // namespace net
static std::atomic<int> step;

static __attribute__((noinline)) void lose()
{
    void *lost = get(1001);
    KEEP(lost);
    node *freed = new node{nullptr, get(1002)}, *leaked = new node{nullptr, get(1003)};
    KEEP(freed->data);
    KEEP(leaked->data);
    memset(freed, 0, sizeof *freed);
    delete freed;
}

static __attribute__((noinline)) void clear_stack()
{
    char old[16384];
    memset(old, 0, sizeof old);
    KEEP(old);
}

static void wait_in_thread()
{
    step = 1;
    while (step < 2)
        std::this_thread::yield();
}

static void hold_in_thread()
{
    void *local = get(1201);
    KEEP(local);
    of_thread = get(1202);
    KEEP(of_thread);
    wait_in_thread();
    KEEP(local);
}

int main(int, char **argv)
{
    void *none, *local;
    cudaFree(nullptr);
    cache = get(1101);
    for (int i = 2; i < 5; i++)
        pool[i] = get(1100 + i);
    KEEP(pool);
    library_keep(get(1105));
    net::config.inside = static_cast<char *>(get(1106)) + 4096;
    KEEP(net::config);
    for (int i = 0; i < 3; i++)
        pieces.push_back(piece{i, "", get(1107)});
    KEEP(pieces);
    for (int i = 0; i < 100; i++)
        table[i] = nullptr;
    table[57] = get(1108);
    KEEP(table);
    shared = std::make_shared<piece>(piece{1, "", get(1109)});
    KEEP(shared);
    for (int i = 0; i < 20; i++)
        list = new node{list, i ? nullptr : get(1110)};
    KEEP(list);
    for (size_t kib : {1111, 1112})
        history = new node{history, newest = get(kib)};
    KEEP(history);
    KEEP(newest);
    mapped = static_cast<void **>(
        mmap(nullptr, size_t{1} << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mapped[100000] = get(1113);
    KEEP(mapped);
    unaligned.data = get(1004);
    KEEP(unaligned);
    lose();
    std::thread thread;
    if (*argv[1] != 'a') {
        thread = std::thread(*argv[1] == 'b' ? hold_in_thread : wait_in_thread);
        while (step < 1)
            std::this_thread::yield();
    }
    clear_stack();
    local = get(1301);
    KEEP(local);
    cudaMalloc(&none, static_cast<size_t>(1) << 50);
    KEEP(local);
    cudaFree(local);
    step = 2;
    if (thread.joinable())
        thread.join();
}
