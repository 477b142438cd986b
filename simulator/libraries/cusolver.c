/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuSOLVER's handles and workspaces, as they were measured (cuSOLVER 12.0 on an H100): in all four
 * types, squares of 1 to 8192 and some others. All that was measured comes out here, but for what
 * says that it is an estimate: getrf with 2000 rows or more and at most 1500
 * columns, gesvd of what is no
 * square, gesvda, XsyevBatched, and Xgeev of any type but single reals. Sizes between the points of
 * a table are estimates, too.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/device/device.h"
#include "own-memory.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };

/* Create a handle, which contains one of cuBLAS and a workspace. */
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

/* --- sizes: in elements unless called bytes -------------------------------------------------- */

static int64_t up(int64_t size, int64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a square matrix of n needs beyond a multiple of its elements. */
struct point {
    int64_t n, rest;
};
static const struct point of_getrf[] = {
    {1, 768},    {32, 768},   {33, 1280},    {64, 1280},    {65, 2048},   {96, 2048},  {100, 2304},
    {127, 2304}, {128, 2304}, {129, 3584},   {200, 4096},   {256, 4352},  {300, 6912}, {500, 8448},
    {512, 8448}, {600, 9216}, {1000, 12544}, {1024, 12544}, {1500, 21152}};
/* By the size of an element: 4, 8 and 16 bytes. */
static const struct point of_large_getrf[][6] = {
    {{1500, 21152}, {2000, 52224}, {2048, 52480}, {3000, 63232}, {4096, 98560}, {8192, 327936}},
    {{1500, 21152}, {2000, 86016}, {2048, 86272}, {3000, 98048}, {4096, 106752}, {8192, 327936}},
    {{1500, 21152},
     {2000, 153600},
     {2048, 153856},
     {3000, 167680},
     {4096, 176384},
     {8192, 327936}}};
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
static const struct point of_large_syevj[] = {{3000, 135718}, {4096, 25165840}, {8192, 41943104}};
static const struct point of_gesvd[] = {
    {1, 66205},      {2, 66452},     {3, 66693},     {5, 67189},     {6, 67476},     {12, 68976},
    {16, 69984},     {31, 73885},    {32, 74080},    {33, 74557},    {48, 78336},    {63, 82237},
    {64, 82432},     {65, 82877},    {96, 90752},    {127, 98877},   {128, 99072},   {129, 99517},
    {200, 117888},   {256, 132352},  {300, 143888},  {500, 195856},  {512, 198912},  {600, 221824},
    {1000, 325888},  {1024, 332032}, {1500, 455824}, {2000, 585856}, {2048, 598272}, {3000, 845824},
    {4096, 1130752}, {8192, 2195712}};
static const struct point of_gesvda[] = {
    {1, 9},         {2, 0},         {3, -19},       {5, -95},       {6, -152},      {12, -741},
    {16, -1373},    {31, -5451},    {32, -5821},    {33, 177465},   {48, 198164},   {63, 217967},
    {64, 219252},   {65, 220537},   {96, 258356},   {127, 292335},  {128, 293364},  {129, 294393},
    {200, 357151},  {256, 392436},  {300, 411358},  {500, 399763},  {512, 393972},  {600, 333960},
    {1000, 323478}, {1024, 329716}, {1500, 453484}, {2000, 583480}, {2048, 595956}, {3000, 843483},
    {4096, 1128436}};
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
    int64_t tiles = up(n, 32) / 32;
    if (n > 3000)
        return n * n + REST(of_large_syevj, n);
    return n * n + n + 1025 * tiles + 4 * tiles * tiles + 1024;
}

static int64_t syevj_batched(int64_t n, int64_t batch)
{
    int64_t tiles = up(n, 32) / 32;
    return batch * ((n + 1) * (n + 1) + 1024 * tiles) + 4 * tiles * tiles + 1024;
}

static int64_t sytrf(int64_t n, int bytes)
{
    int64_t least = bytes == 4 ? 24608 : bytes == 8 ? 13328 : 11016;
    return larger(least, (n < 4096 ? 64 : 128) * n + 64);
}

/* Return bytes; with 2000 rows or more and at most 1500 columns it is an estimate. */
static int64_t bytes_of_getrf(int64_t m, int64_t n, int bytes)
{
    int64_t least = m < n ? m : n;
    if (least > 1500)
        return REST(of_large_getrf[bytes / 8], least);
    return REST(of_getrf, least) + (m < 2000 ? 0 : 8704 * bytes);
}

/* Return the size, an estimate unless it is one of the squares that were measured. */
static int64_t gesvd(int64_t m, int64_t n)
{
    if (m == n)
        return 3 * n * n + REST(of_gesvd, n);
    return 4 * m * n + larger(786432, 256 * m);
}

/* Return an estimate: only batches of 7 were measured. */
static int64_t gesvda(int64_t m, int64_t n, int64_t batch, bool doubles)
{
    int64_t each = 12 * n * n + REST(of_gesvda, n) + 2 * (m - n) * n;
    return (16384 + batch * each) / (doubles ? 2 : 1);
}

/* fill: 1: the upper triangle, of which one size was measured. */
static int64_t bytes_of_potrf(int64_t n, int fill)
{
    int64_t tiles = (n + 63) / 64, last = n % 64;
    int64_t halves = last > 0 && last <= 32 ? tiles - 1 : 0;
    return up(128 + 16 * (tiles * tiles - halves), 32) + (fill ? 96 : 0);
}

/* Return an estimate: equal to the measurements for single-precision reals, otherwise up to 0.3 %
 * less. */
static int64_t bytes_of_geev(int64_t n, int bytes)
{
    return (4 * n * n + REST(of_geev, n)) * bytes / 4;
}

/* --- the interface of each type ------------------------------------------------------------- */

#define SOLVER(T, bytes, doubles, or, sy)                                                          \
    int cusolverDn##T##getrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *size)   \
    {                                                                                              \
        (void)handle, (void)a, (void)lda;                                                          \
        *size = (int)(bytes_of_getrf(m, n, bytes) / (bytes));                                      \
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
    int cusolverDn##T##gesvd_bufferSize(void *handle, int m, int n, int *size)                     \
    {                                                                                              \
        (void)handle;                                                                              \
        *size = (int)gesvd(m, n);                                                                  \
        return SUCCESS;                                                                            \
    }                                                                                              \
    int cusolverDn##T##gesvdaStridedBatched_bufferSize(                                            \
        void *handle, int job, int rank, int m, int n, void *a, int lda, long long a_step,         \
        void *s, long long s_step, void *u, int ldu, long long u_step, void *v, int ldv,           \
        long long v_step, int *size, int batch)                                                    \
    {                                                                                              \
        (void)handle, (void)job, (void)rank, (void)a, (void)lda, (void)a_step, (void)s;            \
        (void)s_step, (void)u, (void)ldu, (void)u_step, (void)v, (void)ldv, (void)v_step;          \
        *size = (int)gesvda(m, n, batch, doubles);                                                 \
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
SOLVER(S, 4, false, or, sy)
SOLVER(D, 8, true, or, sy)
SOLVER(C, 8, false, un, he)
SOLVER(Z, 16, true, un, he)

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

/* Return an estimate: what was measured is up to 0.1 % less. */
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
