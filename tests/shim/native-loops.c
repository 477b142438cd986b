/* SPDX-License-Identifier: Apache-2.0 */
/* native-loops: TURNS turns of the loop that WAY says. "LOOP WAY" marks what names it: the loop's
 * line, or one in it where the source does not show the loop. */
#include <cuda_runtime_api.h>
#include <pthread.h>

#define TURNS 40
#define MIB (1u << 20)

static void *kept[3 * TURNS];

static inline void serve(int i)
{
    void *scratch;
    cudaMalloc(&scratch, 8 * MIB);
    cudaMalloc(&kept[i], 2 * MIB);
    cudaFree(scratch);
}

#if WAY == 1 /* frees repeat every fifth turn, which is no turn of its own */
/* clang-format off */
int main(void) { for (int i = 0; i < TURNS; i++) {
    cudaMalloc(&kept[i], 2 * MIB); /* LOOP 1 */
    if (i % 5)
        cudaFree(kept[i]);
} return 0; }
/* clang-format on */
#elif WAY == 2 /* serve may be inlined */
int main(void)
{
    for (int i = 0; i < TURNS; i++) /* LOOP 2 */
        serve(i);
    return 0;
}
#elif WAY == 3
int main(void)
{
    void *scratch, *more;
    int i = 0;
    while (i < TURNS) { /* LOOP 3 */
        cudaMalloc(&scratch, 8 * MIB), cudaMalloc(&more, MIB);
        cudaMalloc(&kept[i++], 2 * MIB);
        cudaFree(scratch);
        cudaFree(more);
    }
    return 0;
}
#elif WAY == 4
static void *work(void *first)
{
    for (int i = 0; i < TURNS; i++) /* LOOP 4 */
        serve((int)(long)first + i);
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    for (long k = 0; k < 3; k++)
        pthread_create(&thread[k], NULL, work, (void *)(k * TURNS));
    for (long k = 0; k < 3; k++)
        pthread_join(thread[k], NULL);
    return 0;
}
#endif
