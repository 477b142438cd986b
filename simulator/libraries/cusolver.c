/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuSOLVER's handles and workspaces, as they were measured (cuSOLVER 12.0 on an H100): in all four
 * types, squares of 1 to 8192 and some others. Each formula gives every measured size; where only a
 * table does, sizes between its points are estimates. Not here, but estimates in the list: gesvd
 * and gesvda.
 */
#include <stdint.h>

#include "core/device/device.h"
#include "own-memory.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };

/* Make a handle. It holds one of cuBLAS and a workspace. */
int cusolverDnCreate(void **handle)
{
    int last = 0;
    if (!handle)
        return INVALID_VALUE;
    if (sim_enter())
        return NOT_INITIALIZED;
    struct own_memory own = own_memory_of_blas();
    while (own.device[last])
        last++;
    own.device[last] = own_memory_workspace();
    return own_memory_take(&own, handle) ? ALLOC_FAILED : SUCCESS;
}

int cusolverDnDestroy(void *handle)
{
    own_memory_give(handle);
    return SUCCESS;
}

/* --- sizes: in elements, if they are not called bytes ---------------------------------------- */

static int64_t up(int64_t size, int64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a square of n takes beyond a multiple of its elements. */
struct point {
    int64_t n, rest;
};
static const struct point of_getrf[] = {
    {1, 768},      {32, 768},     {33, 1280},    {64, 1280},    {65, 2048},    {96, 2048},
    {127, 2304},   {128, 2304},   {129, 3584},   {200, 4096},   {256, 4352},   {300, 6912},
    {500, 8448},   {512, 8448},   {600, 9216},   {1000, 12544}, {1024, 12544}, {1500, 21152},
    {2000, 52224}, {2048, 52480}, {3000, 63232}, {4096, 98560}, {8192, 327936}};
static const struct point of_gesvdj[] = {
    {1, 3134},      {2, 3128},     {3, 3118},      {5, 3118},      {6, 3128},      {12, 3104},
    {16, 3104},     {31, 3166},    {32, 3136},     {33, 5214},     {48, 5216},     {63, 5246},
    {64, 5216},     {65, 7326},    {96, 7328},     {127, 9470},    {128, 9440},    {129, 11550},
    {200, 15776},   {256, 17952},  {300, 22240},   {500, 35360},   {512, 35360},   {600, 42016},
    {1000, 71712},  {1024, 71712}, {1500, 107680}, {2000, 148000}, {2048, 150592}, {3000, 232000},
    {4096, 332928}, {8192, 795904}};
static const struct point of_syevd[] = {
    {1, 66338},     {2, 67131},     {3, 67886},     {5, 69410},     {6, 70147},     {12, 74635},
    {16, 77603},    {31, 88414},    {32, 89123},    {33, 89858},    {48, 100163},   {63, 110014},
    {64, 110659},   {65, 111298},   {96, 130115},   {127, 147006},  {128, 147523},  {129, 148034},
    {200, 179219},  {256, 196675},  {300, 205995},  {500, 199611},  {512, 196675},  {600, 166387},
    {1000, 159987}, {1024, 163011}, {1500, 223467}, {2000, 286979}, {2048, 293059}, {3000, 413971},
    {4096, 553155}, {8192, 1073347}};
static const struct point of_syevj[] = {
    {1, 2054},     {32, 2085},    {33, 3123},     {64, 3154},       {65, 4200},      {96, 4231},
    {127, 5315},   {128, 5316},   {129, 6378},    {200, 8595},      {256, 9736},     {300, 11974},
    {500, 18948},  {512, 18960},  {600, 22543},   {1000, 38920},    {1024, 38944},   {1500, 59535},
    {2000, 83475}, {2048, 85056}, {3000, 135718}, {4096, 25165840}, {8192, 41943104}};
static const struct point of_geev[] = {
    {1, 132604},   {2, 132592},   {3, 132572},   {5, 132508},   {6, 132464},   {12, 132544},
    {16, 132608},  {31, 132860},  {32, 132608},  {33, 132860},  {48, 133120},  {63, 133116},
    {64, 133120},  {65, 133116},  {96, 140288},  {127, 195068}, {128, 197120}, {129, 199164},
    {200, 215808}, {256, 200704}, {300, 170944}, {500, 8128},   {512, 8704},   {600, 9984},
    {1000, 16128}, {1024, 16896}, {1500, 24512}, {2000, 32256}, {2048, 33280}, {3000, 48384},
    {4096, 66048}, {8192, 131584}};
#define REST(table, n) rest_of(table, sizeof(table) / sizeof((table)[0]), n)
static int64_t rest_of(const struct point *at, size_t count, int64_t n)
{
    size_t i = 1;
    while (i < count - 1 && at[i].n < n)
        i++;
    int64_t width = at[i].n - at[i - 1].n;
    return at[i - 1].rest + (at[i].rest - at[i - 1].rest) * (larger(n, 1) - at[i - 1].n) / width;
}

static int64_t geqrf(int64_t n)
{
    return 1024 * larger(n, 256) + 524288;
}

static int64_t orgqr(int64_t m, int64_t n)
{
    if (n > 128)
        return 128 * m + 256 * n + 16640;
    return up(larger(32768, 16384 + 2 * n * n), 32) + up(m * n + 256, 32);
}

/* Return the size for k reflectors of m rows that multiply n columns. */
static int64_t ormqr(int64_t m, int64_t n, int64_t k)
{
    return up(m * k + k * k + 256 * m + 65792 + 512 * n, 32) + (m > 32 ? up(n, 32) : 0);
}

static int64_t gesvdj(int64_t m, int64_t n)
{
    if (m < n)
        return gesvdj(n, m) + up(m * n, 32);
    if (m == n)
        return 2 * n * n + REST(of_gesvdj, n);
    return larger(geqrf(n) + up(n, 32) + 32, ormqr(m, n, n) + up(n, 32));
}

static int64_t syevd(int64_t n)
{
    return 4 * n * n + REST(of_syevd, n);
}

static int64_t syevj(int64_t n)
{
    return n * n + REST(of_syevj, n);
}

static int64_t syevj_batched(int64_t n, int64_t batch)
{
    return 8224 + batch * (n * n + (n > 32 ? 35 * n : 0));
}

static int64_t sytrf(int64_t n, int bytes)
{
    int64_t least = bytes == 4 ? 24608 : bytes == 8 ? 13328 : 11016;
    return larger(least, (n < 4096 ? 64 : 128) * n + 64);
}

static int64_t bytes_of_getrf(int64_t m, int64_t n)
{
    return REST(of_getrf, m < n ? m : n);
}

/* fill: 1: the upper triangle, of which one size was seen. */
static int64_t bytes_of_potrf(int64_t n, int fill)
{
    int64_t tiles = (n + 63) / 64, last = n % 64;
    int64_t halves = last > 0 && last <= 32 ? tiles - 1 : 0;
    return up(128 + 16 * (tiles * tiles - halves), 32) + (fill ? 96 : 0);
}

static int64_t bytes_of_geev(int64_t n, int bytes)
{
    return (4 * n * n + REST(of_geev, n)) * bytes / 4;
}

/* --- the interface of each type ------------------------------------------------------------- */

#define SOLVER(T, bytes, or, sy)                                                                   \
    int cusolverDn##T##getrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *size)   \
    {                                                                                              \
        (void)handle, (void)a, (void)lda;                                                          \
        *size = (int)(bytes_of_getrf(m, n) / (bytes));                                             \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##geqrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *size)   \
    {                                                                                              \
        (void)handle, (void)m, (void)a, (void)lda;                                                 \
        *size = (int)geqrf(n);                                                                     \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##potrf_bufferSize(void *handle, int fill, int n, void *a, int lda,           \
                                        int *size)                                                 \
    {                                                                                              \
        (void)handle, (void)a, (void)lda;                                                          \
        *size = (int)(bytes_of_potrf(n, fill) / (bytes));                                          \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##sytrf_bufferSize(void *handle, int n, void *a, int lda, int *size)          \
    {                                                                                              \
        (void)handle, (void)a, (void)lda;                                                          \
        *size = (int)sytrf(n, bytes);                                                              \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T## or ##gqr_bufferSize(void *handle, int m, int n, int k, void *a, int lda,   \
                                            void *tau, int *size)                                  \
    {                                                                                              \
        (void)handle, (void)k, (void)a, (void)lda, (void)tau;                                      \
        *size = (int)orgqr(m, n);                                                                  \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T## or                                                                         \
        ##mqr_bufferSize(void *handle, int side, int transposed, int m, int n, int k, void *a,     \
                         int lda, void *tau, void *c, int ldc, int *size)                          \
    {                                                                                              \
        (void)handle, (void)transposed, (void)a, (void)lda, (void)tau, (void)c, (void)ldc;         \
        *size = (int)(side ? ormqr(n, m, k) : ormqr(m, n, k));                                     \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##gesvdj_bufferSize(void *handle, int job, int econ, int m, int n, void *a,   \
                                         int lda, void *s, void *u, int ldu, void *v, int ldv,     \
                                         int *size, void *info)                                    \
    {                                                                                              \
        (void)handle, (void)job, (void)econ, (void)a, (void)lda, (void)s, (void)u, (void)ldu;      \
        (void)v, (void)ldv, (void)info;                                                            \
        *size = (int)gesvdj(m, n);                                                                 \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##sy##evd_bufferSize(void *handle, int job, int fill, int n, void *a,         \
                                          int lda, void *w, int *size)                             \
    {                                                                                              \
        (void)handle, (void)job, (void)fill, (void)a, (void)lda, (void)w;                          \
        *size = (int)syevd(n);                                                                     \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##sy##evj_bufferSize(void *handle, int job, int fill, int n, void *a,         \
                                          int lda, void *w, int *size, void *info)                 \
    {                                                                                              \
        (void)handle, (void)job, (void)fill, (void)a, (void)lda, (void)w, (void)info;              \
        *size = (int)syevj(n);                                                                     \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##sy##evjBatched_bufferSize(void *handle, int job, int fill, int n, void *a,  \
                                                 int lda, void *w, int *size, void *info,          \
                                                 int batch)                                        \
    {                                                                                              \
        (void)handle, (void)job, (void)fill, (void)a, (void)lda, (void)w, (void)info;              \
        *size = (int)syevj_batched(n, batch);                                                      \
        return SUCCESS;                                                                            \
    }
SOLVER(S, 4, or, sy)
SOLVER(D, 8, or, sy)
SOLVER(C, 8, un, he)
SOLVER(Z, 16, un, he)

/* --- the interface for all types: bytes ------------------------------------------------------ */

static int bytes_of(int type)
{
    enum { REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5 };
    return type == COMPLEX_64 ? 16 : type == REAL_64 || type == COMPLEX_32 ? 8 : 4;
}

static int answer(int64_t bytes, size_t *device, size_t *host)
{
    *device = (size_t)bytes;
    *host = 0;
    return SUCCESS;
}

int cusolverDnXgeqrf_bufferSize(void *handle, void *parameters, int64_t m, int64_t n, int type,
                                void *a, int64_t lda, int type_tau, void *tau, int computes,
                                size_t *device, size_t *host)
{
    (void)handle, (void)parameters, (void)m, (void)a, (void)lda, (void)type_tau, (void)tau;
    (void)computes;
    return answer(geqrf(n) * bytes_of(type) + 128, device, host);
}

int cusolverDnXpotrf_bufferSize(void *handle, void *parameters, int fill, int64_t n, int type,
                                void *a, int64_t lda, int computes, size_t *device, size_t *host)
{
    (void)handle, (void)parameters, (void)type, (void)a, (void)lda, (void)computes;
    return answer(bytes_of_potrf(n, fill), device, host);
}

int cusolverDnXsyevd_bufferSize(void *handle, void *parameters, int job, int fill, int64_t n,
                                int type, void *a, int64_t lda, int type_w, void *w, int computes,
                                size_t *device, size_t *host)
{
    (void)handle, (void)parameters, (void)job, (void)fill, (void)a, (void)lda, (void)type_w;
    (void)w, (void)computes;
    return answer(syevd(n) * bytes_of(type) + 128, device, host);
}

int cusolverDnXsyevBatched_bufferSize(void *handle, void *parameters, int job, int fill, int64_t n,
                                      int type, void *a, int64_t lda, int type_w, void *w,
                                      int computes, size_t *device, size_t *host, int64_t batch)
{
    (void)handle, (void)parameters, (void)job, (void)fill, (void)a, (void)lda, (void)type_w;
    (void)w, (void)computes;
    return answer(syevd(n) * bytes_of(type) * batch, device, host);
}

int cusolverDnXgeev_bufferSize(void *handle, void *parameters, int left, int right, int64_t n,
                               int type, void *a, int64_t lda, int type_w, void *w, int type_vl,
                               void *vl, int64_t ldvl, int type_vr, void *vr, int64_t ldvr,
                               int computes, size_t *device, size_t *host)
{
    (void)handle, (void)parameters, (void)left, (void)right, (void)a, (void)lda, (void)type_w;
    (void)w, (void)type_vl, (void)vl, (void)ldvl, (void)type_vr, (void)vr, (void)ldvr;
    (void)computes;
    return answer(bytes_of_geev(n, bytes_of(type)), device, host);
}
